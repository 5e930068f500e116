#include "cli/gate/local_gate.h"

#include <fmt/format.h>

#include <utility>

#include "base/parse.h"
#include "client/cluster_config.h"
#include "daemon/make_store.h"
#include "env/real/system_random.h"
#include "server/capability.h"

namespace tutti::cli {
namespace {

Status apply(const GateServeOptions& options, ClusterConfig& config) {
  if (!options.order.empty()) config.gate_order = options.order;
  if (!options.lease.empty()) {
    const auto lease = parse_duration(options.lease);
    if (!lease.ok()) return lease.status().with_context("--lease");
    if (*lease < 1_s || *lease > 3600_s) return {Code::invalid, "--lease: one second to one hour"};
    config.gate_lease = *lease;
  }
  if (!options.limit.empty()) {
    const auto limit = parse_duration(options.limit);
    if (!limit.ok()) return limit.status().with_context("--limit");
    config.gate_limit = *limit;
  }
  return {};
}

}  // namespace

Status prepare_gate(const StateDirectory& state, const GateServeOptions& options) {
  TUTTI_TRY(state.create());
  ClusterConfig config;
  const bool fresh = !state.has_cluster();
  if (!fresh) {
    auto stored = ClusterConfig::load(state.config_path());
    if (!stored.ok()) return stored.status();
    if (stored->has_files()) {
      return {
          Code::exists,
          fmt::format(
              "{} holds a cluster with files, whose gate is open while it is up: use that, or choose another "
              "directory with --dir",
              state.path())};
    }
    config = *std::move(stored);
  } else {
    config.id = system_random() | 1U;
  }
  if (!options.listen.empty()) {
    config.coordinator = options.listen;
    const std::string key = state.path() + "/auth.key";
    const auto made = ServerKey::create(key);
    if (!made.ok() && made.code() != Code::exists) return made.status();
    config.auth = "key";
    config.auth_keys = {key};
  } else if (fresh) {
    config.coordinator = "unix:" + StateDirectory::socket_name("coordinator");
  }
  TUTTI_TRY(apply(options, config));
  const auto key = ServerKey::create(state.key_path());
  if (!key.ok() && key.code() != Code::exists) return key.status();
  if (fresh) TUTTI_TRY(make_store(state, config, "coordinator", false));
  return config.save(state.config_path(), 0600);
}

}  // namespace tutti::cli
