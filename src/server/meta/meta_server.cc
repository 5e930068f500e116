#include "server/meta/meta_server.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "server/coordinator/cluster_follower.h"
#include "server/meta/meta_session.h"

namespace tutti {
namespace {

using meta::Superblock;

Status check(const MetaServerOptions& options, const meta::ClusterDefaults& defaults) {
  if (options.data_servers.empty()) return {Code::invalid, "the cluster has no data servers: list them"};
  if (options.capability_lifetime <= 0_s)
    return {Code::invalid, "the lifetime of capabilities must be positive"};
  const Result<Layout> layout = meta::choose_layout(defaults, {}, {}, wire::kRootInode);
  if (!layout.ok()) return layout.status().with_context("default layout of the cluster");
  return {};
}

// Objects that an earlier Tutti left to be removed become removed files, on all servers.
Status take_over_orphans(KvWriter& kv, std::uint32_t servers) {
  std::vector<std::string> keys;
  TUTTI_TRY(kv.scan(meta::orphan_key(0, 0), [&](std::string_view key, std::string_view) {
    if (meta::orphan_inode(key) == 0) return false;
    keys.emplace_back(key);
    return true;
  }));
  meta::Inode node;
  node.layout = Layout{64_KiB, servers, 0, servers};
  for (const std::string& key : keys) {
    TUTTI_TRY(kv.put(meta::removed_key(meta::orphan_inode(key)), meta::encode(node)));
    TUTTI_TRY(kv.erase(key));
  }
  return {};
}

// Checks what is stored, or stores the superblock and the root.
Status prepare(KvWriter& kv, const Superblock& fresh, const meta::Inode& root, std::uint32_t servers,
               bool create) {
  Result<std::optional<std::string>> stored = kv.get(meta::superblock_key());
  if (!stored.ok()) return stored.status();
  if (stored->has_value()) {
    const Result<Superblock> superblock = meta::decode_superblock(**stored);
    if (!superblock.ok()) return superblock.status();
    if (superblock->cluster == fresh.cluster) return take_over_orphans(kv, servers);
    return {Code::invalid,
            fmt::format("the metadata belong to cluster {:x}, not to {:x}: correct the configuration",
                        superblock->cluster, fresh.cluster)};
  }
  bool empty = true;
  const std::string first(1, '\0');
  TUTTI_TRY(kv.scan(first, [&](std::string_view, std::string_view) { return empty = false; }));
  if (!empty)
    return {Code::malformed, "there are data, but no superblock: these are not the metadata of Tutti"};
  if (!create) {
    return {Code::not_found,
            "there are no metadata: is their disk mounted? A new cluster's are made by `tutti server init`, "
            "old ones "
            "come back by `tutti meta restore`"};
  }
  TUTTI_TRY(kv.put(meta::inode_key(root.id), meta::encode(root)));
  return kv.put(meta::superblock_key(), meta::encode(fresh));
}

}  // namespace

class MetaServer::Impl {
 public:
  Impl(Env env, Kv& kv, ServerKey key, MetaServerOptions options)
      : service_(env, kv, key, options), scope_(env.clock.executor()) {
    if (options.coordinator.empty()) {
      CoordinatorOptions role{options.data_servers, options.policy, options.root_uid, options.gate,
                              options.gate_state};
      service_.coordinator = std::make_unique<Coordinator>(env, kv, key, std::move(role));
    } else {
      follower_ = std::make_unique<ClusterFollower>(env, PeerAddress{options.coordinator, options.cluster, 0},
                                                    "tutti metadata server", service_.clock,
                                                    ClusterFollower::Handlers());
    }
  }

  Task<Status> open() {
    TUTTI_CO_TRY(check(service_.options, service_.defaults));
    Superblock fresh;
    fresh.cluster = service_.options.cluster;
    fresh.uuid = Uuid::make(service_.env.random);
    meta::Inode root;
    root.id = root.parent = wire::kRootInode;
    root.type = wire::kDirectory;
    root.mode = service_.options.root_mode & 07777U;
    root.uid = service_.options.root_uid;
    root.gid = service_.options.root_gid;
    root.links = 2;
    root.accessed = root.modified = root.changed = service_.clock.now();
    const std::uint32_t servers = service_.defaults.server_total;
    std::function<Status(KvWriter&)> body = [fresh, root, servers,
                                             create = service_.options.create](KvWriter& kv) {
      return prepare(kv, fresh, root, servers, create);
    };
    const Status status = co_await service_.kv.update(std::move(body));
    if (!status.ok()) co_return status.with_context("open metadata");
    TUTTI_CO_TRY(service_.locks.open());
    if (service_.coordinator) TUTTI_CO_TRY(co_await service_.coordinator->open());
    if (follower_) follower_->start();
    service_.stores.start();
    co_return service_.purger.start();
  }

  Task<Status> serve(std::unique_ptr<Listener> listener) {
    for (;;) {
      Result<std::unique_ptr<Connection>> connection = co_await listener->accept();
      if (!connection.ok()) co_return connection.status();
      scope_.spawn(run_session(*std::move(connection)));
    }
  }

  Task<Status> refused() { return service_.stores.refused(); }
  Task<Status> settled() {
    co_await service_.stores.settled();
    co_return Status();
  }

  [[nodiscard]] Coordinator* coordinator() { return service_.coordinator.get(); }

 private:
  Task<void> run_session(std::unique_ptr<Connection> connection) {
    meta::MetaSession session(service_, std::move(connection));
    co_await session.run();
  }

  meta::Service service_;
  std::unique_ptr<ClusterFollower> follower_;  // of a coordinator elsewhere
  Scope scope_;
};

MetaServer::MetaServer(Env env, Kv& kv, ServerKey key, MetaServerOptions options)
    : impl_(std::make_unique<Impl>(env, kv, key, std::move(options))) {}

MetaServer::~MetaServer() = default;

Coordinator* MetaServer::coordinator() { return impl_->coordinator(); }

Task<Status> MetaServer::open() { return impl_->open(); }
Task<Status> MetaServer::refused() { return impl_->refused(); }
Task<Status> MetaServer::settled() { return impl_->settled(); }

Task<Status> MetaServer::serve(std::unique_ptr<Listener> listener) {
  return impl_->serve(std::move(listener));
}

}  // namespace tutti
