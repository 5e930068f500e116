#include "lab/experiments/gate/storage.h"

#include <algorithm>
#include <cmath>

#include "env/sim/device/hdd.h"
#include "env/sim/device/scheduler.h"

namespace tutti::gatelab {
namespace {

constexpr Bytes kBlock = 4_KiB;

HddParameters with_depth(HddParameters disk, std::size_t depth) {
  if (depth > 0) disk.queue_depth = depth;
  return disk;
}

PlacementOptions anywhere(Bytes span, Random& random) {
  PlacementOptions options;
  options.span = span;
  options.salt = random.next() | 1U;
  return options;
}

std::unique_ptr<IoScheduler> scheduler(const std::string& name) {
  auto made = make_io_scheduler(name);
  return made.ok() ? std::move(*made) : nullptr;
}

}  // namespace

struct NfsStorage::Server {
  Server(SimClock& clock, const NfsOptions& options, Random& random)
      : placement(options.disk.capacity, anywhere(options.span, random)),
        queue(clock, std::make_unique<HddModel>(with_depth(options.disk, options.queue_depth)),
              scheduler(options.scheduler)),
        threads(clock.executor(), options.threads),
        scope(clock.executor()) {}
  Placement placement;
  DeviceQueue queue;
  Semaphore threads;
  Nanos card_free;
  Bytes journal_end;
  Scope scope;
};

NfsStorage::NfsStorage(Simulation& simulation, const NfsOptions& options, Random random)
    : options_(options), clock_(simulation) {
  for (std::uint32_t i = 0; i < options.servers; ++i) {
    servers_.push_back(std::make_unique<Server>(clock_, options_, random));
  }
}
NfsStorage::~NfsStorage() = default;

std::uint64_t NfsStorage::jumps() const {
  std::uint64_t all = 0;
  for (const auto& server : servers_) all += server->queue.motion().jumps;
  return all;
}

Nanos NfsStorage::busy() const {
  Nanos all;
  for (const auto& server : servers_) all += server->queue.statistics().busy;
  return all;
}

// In a row at the begin of the disk.
Task<void> NfsStorage::journal(Server& server) {
  IoDescription what;
  what.write = true;
  what.through = true;
  what.address = server.journal_end;
  what.length = kBlock;
  server.journal_end = (server.journal_end + kBlock) % 128_MiB;
  co_await server.threads.acquire();
  co_await server.queue.io(what);
  server.threads.release();
}

Task<void> NfsStorage::rpc(NfsStorage& storage, Server& server, ObjectId file, Extent extent,
                           std::shared_ptr<Semaphore> slots) {
  const double seconds =
      static_cast<double>(extent.length.count()) / static_cast<double>(storage.options_.network_rate);
  server.card_free = std::max(server.card_free, storage.clock_.now()) + Nanos::from_seconds(seconds);
  co_await storage.clock_.sleep_until(server.card_free + storage.options_.latency);
  co_await server.threads.acquire();
  for (Bytes at = extent.offset; at < extent.offset + extent.length;) {
    IoDescription what;
    what.write = true;
    what.through = true;
    what.stream = file.value;
    what.address = server.placement.locate(file, at);
    what.length = std::min(extent.offset + extent.length - at, server.placement.contiguous(at));
    co_await server.queue.io(what);
    at += what.length;
  }
  server.threads.release();
  co_await storage.clock_.sleep(storage.options_.latency);
  slots->release();
}

Task<void> NfsStorage::write_part(NfsStorage& storage, Server& server, ObjectId file, Bytes size) {
  co_await journal(server);
  const auto slots = std::make_shared<Semaphore>(storage.clock_.executor(), storage.options_.slots);
  for (Bytes at; at < size;) {
    const Bytes length = std::min(size - at, storage.options_.wsize);
    co_await slots->acquire();
    server.scope.spawn(rpc(storage, server, file, Extent{at, length}, slots));
    at += length;
  }
  co_await slots->acquire(storage.options_.slots);
  co_await journal(server);
}

Task<void> NfsStorage::write(std::uint64_t /*job*/, std::vector<std::uint32_t> servers, Bytes size) {
  const ObjectId file{next_file_++};
  Scope parts(clock_.executor());
  for (const std::uint32_t server : servers) {
    parts.spawn(write_part(*this, *servers_[server], file, size / servers.size()));
  }
  co_await parts.join();
  // The place is free again when the next checkpoint replaces this one: the disk never fills.
  for (const std::uint32_t server : servers) servers_[server]->placement.remove(file);
}

CurveStorage::CurveStorage(Simulation& simulation, std::function<double(std::size_t)> rate,
                           std::uint32_t servers)
    : clock_(simulation), rate_(std::move(rate)), scope_(simulation.executor()) {
  for (std::uint32_t i = 0; i < servers; ++i) servers_.push_back(std::make_unique<Server>());
}

void CurveStorage::account(Server& server) {
  const Nanos now = clock_.now();
  const std::size_t n = server.writers.size();
  if (n > 0) {
    const double each = rate_(n) / static_cast<double>(n) * (now - server.since).seconds();
    for (Writer* writer : server.writers) writer->left -= each;
  }
  server.since = now;
}

void CurveStorage::plan(Server& server) {
  ++server.version;
  if (server.writers.empty()) return;
  const auto first = std::min_element(server.writers.begin(), server.writers.end(),
                                      [](const Writer* a, const Writer* b) { return a->left < b->left; });
  const std::size_t n = server.writers.size();
  const double seconds = std::max(0.0, (*first)->left) * static_cast<double>(n) / rate_(n);
  scope_.spawn(end_next(*this, server, server.version,
                        clock_.now() + Nanos(static_cast<std::int64_t>(std::ceil(seconds * 1e9)))));
}

Task<void> CurveStorage::end_next(CurveStorage& storage, Server& server, std::uint64_t version, Nanos when) {
  co_await storage.clock_.sleep_until(when);
  if (server.version != version) co_return;
  storage.account(server);
  constexpr double kNothing = 0.5;  // of a byte
  std::vector<Writer*> stay;
  for (Writer* writer : server.writers) {
    if (writer->left <= kNothing) {
      writer->done->set();
    } else {
      stay.push_back(writer);
    }
  }
  server.writers = std::move(stay);
  storage.plan(server);
}

Task<void> CurveStorage::write_part(CurveStorage& storage, Server& server, double bytes) {
  Event done(storage.clock_.executor());
  Writer writer{bytes, &done};
  // Leaves when it is cancelled, too.
  struct Place {
    Place(CurveStorage& of, Server& at, Writer& who) : storage(of), server(at), writer(who) {
      storage.account(server);
      server.writers.push_back(&writer);
      storage.plan(server);
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
      if (std::find(server.writers.begin(), server.writers.end(), &writer) == server.writers.end()) return;
      storage.account(server);
      std::erase(server.writers, &writer);
      storage.plan(server);
    }
    CurveStorage& storage;
    Server& server;
    Writer& writer;
  };
  const Place place(storage, server, writer);
  co_await done.wait();
}

Task<void> CurveStorage::write(std::uint64_t /*job*/, std::vector<std::uint32_t> servers, Bytes size) {
  Scope parts(clock_.executor());
  const double share = static_cast<double>(size.count()) / static_cast<double>(servers.size());
  for (const std::uint32_t server : servers) parts.spawn(write_part(*this, *servers_[server], share));
  co_await parts.join();
}

}  // namespace tutti::gatelab
