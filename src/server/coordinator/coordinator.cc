#include "server/coordinator/coordinator.h"

#include <utility>

namespace tutti {

Coordinator::Coordinator(Env env, Kv& kv, ServerKey key, CoordinatorOptions options)
    : env_(env),
      key_(key),
      owner_(options.owner),
      members_(env, key, std::move(options.data_servers)),
      policy_(env, kv, members_, std::move(options.policy)),
      guide_(env, members_, policy_),
      conductor_(env, members_, policy_),
      gate_(env, kv, options.gate_state, options.gate) {}

Task<Status> Coordinator::open() {
  TUTTI_CO_TRY((co_await policy_.open()).with_context("request policy"));
  gate_.on_lost([this](std::uint64_t fence) { members_.lose_turn(fence); });
  TUTTI_CO_TRY(co_await gate_.open());
  guide_.start();
  conductor_.start();
  co_return Status();
}

std::vector<wire::Lease> to_wire(const std::vector<Lease>& leases) {
  std::vector<wire::Lease> list;
  for (const Lease& lease : leases)
    list.emplace_back(lease.index, lease.connected, lease.since.count(), lease.heard.count());
  return list;
}

}  // namespace tutti
