#include "daemon/make_store.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/parse.h"
#include "base/random.h"
#include "daemon/metadata_options.h"
#include "env/real/kv/lmdb_kv.h"
#include "env/real/network/socket_network.h"
#include "env/real/store/file_store.h"
#include "env/real/system_random.h"
#include "server/meta/meta_server.h"
#include "server/meta/records.h"

namespace tutti {
namespace {

Status check_name(const ClusterConfig& config, const std::string& name) {
  const auto names = daemon_names(config.servers(), !config.coordinator.empty());
  if (std::find(names.begin(), names.end(), name) != names.end()) return {};
  return {Code::invalid,
          fmt::format("the cluster has no daemon '{}': it has meta{} and data.0 to data.{}", name,
                      config.coordinator.empty() ? "" : ", coordinator", config.servers() - 1)};
}

StoreIdentity identity_of(const ClusterConfig& config, const std::string& name, bool replace) {
  Random random(system_random());
  const auto index = static_cast<std::uint32_t>(std::stoul(name.substr(name.find('.') + 1)));
  return {config.id, index, Uuid::make(random), Uuid(), replace};
}

Result<std::unique_ptr<LmdbKv>> open_kv(Loop& loop, const std::string& path, const ClusterConfig& config,
                                        bool create) {
  LmdbOptions lmdb;
  lmdb.map_size = config.metadata_limit;
  lmdb.create = create;
  return LmdbKv::open(loop, path, lmdb);
}

Status make_metadata(const StateDirectory& state, const ClusterConfig& config, const std::string& path) {
  Loop loop;
  auto kv = open_kv(loop, path, config, true);
  if (!kv.ok()) return kv.status();
  auto key = ServerKey::load(state.key_path());
  if (!key.ok()) return key.status();
  SocketNetwork network(loop, SocketOptions());
  Random random(system_random());
  MetaServerOptions options = metadata_options(config);
  options.create = true;
  MetaServer server({loop.clock(), network, random, {}}, **kv, *key, options);
  return loop.run(server.open());
}

Status upgrade_metadata(const ClusterConfig& config, const std::string& path) {
  Loop loop;
  auto kv = open_kv(loop, path, config, false);
  if (!kv.ok()) return kv.status();
  Random random(system_random());
  std::function<Status(KvWriter&)> body = [uuid = Uuid::make(random),
                                           id = config.id](KvWriter& writer) -> Status {
    const auto stored = writer.get(meta::superblock_key());
    if (!stored.ok()) return stored.status();
    const auto superblock = meta::upgrade_superblock(stored->value_or(""), uuid);
    if (!superblock.ok()) return superblock.status();
    if (superblock->cluster != id)
      return {Code::invalid,
              fmt::format("the metadata belong to cluster {:x}, not to {:x}", superblock->cluster, id)};
    return writer.put(meta::superblock_key(), meta::encode(*superblock));
  };
  return loop.run((*kv)->update(std::move(body)));
}

}  // namespace

Status make_store(const StateDirectory& state, const ClusterConfig& config, const std::string& name,
                  bool replace) {
  TUTTI_TRY(check_name(config, name));
  const std::string path = state.store_path(name);
  if (name.starts_with("data.")) return FileStore::create(path, identity_of(config, name, replace));
  if (replace)
    return {Code::invalid, fmt::format("{}: only the store of a data server can be replaced", name)};
  if (::access((path + "/data.mdb").c_str(), F_OK) == 0)
    return {Code::exists, fmt::format("{} holds a store already: move it away first", path)};
  if (name == "meta") return make_metadata(state, config, path);
  Loop loop;
  return open_kv(loop, path, config, true).status();
}

Status upgrade_store(const StateDirectory& state, const ClusterConfig& config, const std::string& name) {
  TUTTI_TRY(check_name(config, name));
  const auto claimed = state.claim(name);  // nobody serves it meanwhile
  if (!claimed.ok()) return claimed.status();
  const std::string path = state.store_path(name);
  if (name.starts_with("data.")) return FileStore::upgrade(path, identity_of(config, name, false));
  if (name == "meta") return upgrade_metadata(config, path);
  return {};  // the coordinator's has no other format
}

}  // namespace tutti
