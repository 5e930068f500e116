#include "lab/experiments/gate/tutti_storage.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace tutti::gatelab {
namespace {

constexpr std::uint64_t kRanks = 16;
constexpr Bytes kCall = 1_MiB;

SimClusterOptions cluster_of(std::uint64_t seed, const std::string& policy, std::uint32_t servers) {
  const NfsOptions same;
  SimClusterOptions options;
  options.seed = seed;
  options.servers = servers;
  options.client_nodes = 16;
  options.nic = NicModel::gigabit_ethernet();
  options.policy = policy;
  options.coordinated = true;  // some policies take advice
  options.placed_alike = false;
  options.storage.device = SimDevice::hdd;
  options.storage.hdd = same.disk;
  options.storage.scheduler = same.scheduler;
  options.storage.phantom = true;
  options.storage.store.placement.span = same.span;
  options.storage.store.placement.salt = Random(seed * 92'821).next() | 1U;
  return options;
}

}  // namespace

Result<std::unique_ptr<TuttiStorage>> TuttiStorage::make(std::uint64_t seed, const std::string& policy,
                                                         std::uint32_t servers) {
  auto cluster = SimCluster::create(cluster_of(seed, policy, servers));
  if (!cluster.ok()) return cluster.status();
  if (Status started = (*cluster)->start(); !started.ok()) return started;
  return std::unique_ptr<TuttiStorage>(new TuttiStorage(*std::move(cluster)));
}

TuttiStorage::TuttiStorage(std::unique_ptr<SimCluster> cluster) : cluster_(std::move(cluster)) {}
TuttiStorage::~TuttiStorage() = default;

FileSystem& TuttiStorage::files_of(std::uint64_t job) {
  auto& client = clients_[job];
  if (!client) {
    ClientOptions options;
    options.application = job + 1;
    options.target_order = "alternate";  // the order is not what is compared
    Peer peer;
    peer.name = "job";
    client = cluster_->make_client(static_cast<std::uint32_t>(job % cluster_->options().client_nodes), peer,
                                   options);
  }
  return client->files();
}

Task<void> TuttiStorage::write_rank(OpenFile& file, Bytes offset, Bytes size,
                                    std::span<const std::byte> buffer, Status& failed) {
  for (Bytes done; done < size && failed.ok();) {
    const Bytes length = std::min(size - done, kCall);
    if (Status status = co_await file.write(offset + done, buffer.first(length.count())); !status.ok())
      failed = status;
    done += length;
  }
}

Task<void> TuttiStorage::write(std::uint64_t job, std::vector<std::uint32_t> servers, Bytes size) {
  FileSystem& files = files_of(job);
  OpenOptions options;
  options.write = options.create = true;
  options.layout.stripe_count = static_cast<std::uint32_t>(servers.size());
  options.layout.first_server = static_cast<std::int32_t>(servers.front());
  const std::string path = fmt::format("/checkpoint-{}", next_file_++);
  Status failed;
  if (auto file = co_await files.open(path, options); file.ok()) {
    const std::vector<std::byte> buffer(kCall.count());
    Scope ranks(cluster_->simulation().executor());
    const Bytes part = size / kRanks;
    for (std::uint64_t rank = 0; rank < kRanks; ++rank) {
      const Bytes length = rank + 1 < kRanks ? part : size - part * (kRanks - 1);
      ranks.spawn(write_rank(**file, part * rank, length, buffer, failed));
    }
    co_await ranks.join();
    if (failed.ok()) failed = co_await (*file)->sync();
    if (failed.ok()) failed = co_await (*file)->close();
  } else {
    failed = file.status();
  }
  // As the next checkpoint replaces it.
  if (failed.ok()) failed = co_await files.unlink(path);
  if (!failed.ok()) fmt::print(stderr, "{}: {}\n", path, failed.to_string());
}

std::uint64_t TuttiStorage::jumps() const {
  std::uint64_t all = 0;
  for (std::uint32_t i = 0; i < cluster_->servers(); ++i)
    all += cluster_->storage(i).device()->device_motion().jumps;
  return all;
}

Nanos TuttiStorage::busy() const {
  Nanos all;
  for (std::uint32_t i = 0; i < cluster_->servers(); ++i)
    all += cluster_->storage(i).device()->device_statistics().busy;
  return all;
}

}  // namespace tutti::gatelab
