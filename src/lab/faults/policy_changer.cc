#include "lab/faults/policy_changer.h"

#include <fmt/format.h>

#include <utility>

#include "policy/request/window.h"

namespace tutti {
namespace {

constexpr int kChanges = 4;
constexpr Nanos kAgreementLimit = 60_s;

std::unique_ptr<SimClient> make_root(SimCluster& cluster) {
  ClientOptions options;
  options.patience = 8_s;
  options.first_patience = 4_s;
  return cluster.make_client(0, {.uid = 0, .gid = 0, .groups = {}, .pid = 1, .name = "root"}, options);
}

}  // namespace

PolicyChanger::PolicyChanger(FaultWorld& world, Random random)
    : world_(world),
      random_(random),
      clock_(world.cluster.clock(world.cluster.client_node(0))),
      root_(make_root(world.cluster)) {}

Task<void> PolicyChanger::run() {
  for (int i = 0; i < kChanges; ++i) {
    co_await clock_.sleep(random_.exponential(1_s));
    advise();
    co_await change();
  }
}

Task<void> PolicyChanger::change() {
  std::string policy = random_.chance(0.5) ? fmt::format("window;interval={}", random_.between(50, 500))
                                           : fmt::format("fcfs;dispatch_depth={}", random_.between(1, 16));
  world_.journal.add("policy: " + policy);
  const auto changed = co_await root_->files().set_policy(std::move(policy));
  if (changed.ok()) version_ = changed->version;
  world_.journal.add(changed.ok() ? fmt::format("policy: version {}", version_)
                                  : "policy: " + changed.status().to_string());
}

void PolicyChanger::advise() {
  Coordinator* coordinator = world_.cluster.coordinator();
  if (coordinator == nullptr) return;
  const Nanos wall = coordinator->wall();
  Advice advice{0, wall + 1_s, {}, {}};
  advice.slices.push_back({random_.below(8), false, wall, wall + 500_ms});
  advice.slices.push_back({0, true, wall + 500_ms, wall + 1_s});
  coordinator->members().advise(std::move(advice));
}

bool PolicyChanger::agreed(const ClusterPolicy& policy) {
  const Coordinator* coordinator = world_.cluster.coordinator();
  if (coordinator == nullptr) return false;
  const bool rotational = world_.cluster.options().data.rotational;
  const std::string name = (*make_request_policy(for_device(policy.policy, rotational)))->name();
  for (std::uint32_t server = 0; server < world_.cluster.servers(); ++server) {
    DataServer* data = world_.cluster.data_server(server);
    if (data == nullptr || coordinator->members().member(server) == nullptr ||
        data->policy_switch().active().version != policy.version || data->dispatcher().policy_name() != name)
      return false;
  }
  return true;
}

Task<void> PolicyChanger::check() {
  const Nanos deadline = clock_.now() + kAgreementLimit;
  for (;;) {
    const auto policy = co_await root_->files().policy();
    if (!policy.ok()) co_return world_.violation("policy: " + policy.status().to_string());
    if (policy->version < version_) co_return world_.violation("a change of the policy was lost");
    if (agreed(*policy)) co_return;
    if (clock_.now() > deadline) {
      co_return world_.violation(
          fmt::format("the data servers do not follow version {} of the policy", policy->version));
    }
    co_await clock_.sleep(500_ms);
  }
}

}  // namespace tutti
