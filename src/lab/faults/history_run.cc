#include "lab/faults/history_run.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "env/scope.h"
#include "lab/faults/fault_saboteur.h"

namespace tutti {
namespace {

constexpr Bytes kBlock = 512_B;
constexpr std::uint64_t kBlocks = 6;
constexpr std::uint64_t kOperations = 8;  // of each client
constexpr Nanos kLimit = 3600_s;          // of virtual time

using Kind = HistoryOperation::Kind;

// One client's operations, one after the other.
class Player {
 public:
  Player(FaultWorld& world, std::unique_ptr<SimClient> client, HistoryReport& report, std::uint64_t& tick,
         Random random)
      : world_(world), client_(std::move(client)), report_(report), tick_(tick), random_(random) {}

  Task<void> run() {
    OpenOptions options;
    options.write = true;
    auto opened = co_await client_->files().open("/history", options);
    if (!opened.ok()) co_return;
    file_ = std::move(*opened);
    for (std::uint64_t i = 0; i < kOperations && world_.outcome.ok(); ++i) {
      co_await client_->clock().sleep(random_.exponential(500_us));
      co_await step();
    }
  }

 private:
  // Its place in the history; ended when it is answered.
  std::size_t begin(HistoryOperation operation) {
    operation.begin = tick_++;
    report_.history.push_back(std::move(operation));
    return report_.history.size() - 1;
  }
  void end(std::size_t place, const Status& status) {
    HistoryOperation& operation = report_.history[place];
    if (status.ok()) {
      operation.end = tick_++;
    } else if (operation.kind == Kind::read || operation.kind == Kind::size) {
      operation.may_be_left_out = true;  // nothing was seen
      operation.end = operation.begin;
    }
  }

  Task<void> step() {
    const std::uint64_t dice = random_.below(100);
    if (dice < 40) {
      co_await write(random_.below(kBlocks));
    } else if (dice < 50) {
      co_await append();
    } else if (dice < 85) {
      co_await read();
    } else if (dice < 93) {
      co_await truncate();
    } else {
      (co_await size()).status().ignore();
    }
  }

  Task<void> write(std::uint64_t first) {
    HistoryOperation operation{.kind = Kind::write};
    operation.first = first;
    operation.count = random_.between(1, kBlocks - operation.first);
    operation.value = static_cast<std::uint32_t>(report_.history.size() + 1);
    const std::vector<std::uint32_t> words(operation.count * kBlock.count() / sizeof(std::uint32_t),
                                           operation.value);
    const std::size_t place = begin(std::move(operation));
    const Status status = co_await file_->write(kBlock * first, std::as_bytes(std::span(words)));
    end(place, status);
  }

  // At the end, wherever that is.
  Task<void> append() {
    const auto length = co_await size();
    if (length.ok() && *length < kBlocks) co_await write(*length);
  }

  Task<void> read() {
    HistoryOperation operation{.kind = Kind::read};
    operation.first = random_.below(kBlocks);
    operation.count = random_.between(1, kBlocks - operation.first);
    const Bytes offset = kBlock * operation.first;
    std::vector<std::uint32_t> words(operation.count * kBlock.count() / sizeof(std::uint32_t), 0xeeeeeeee);
    const std::size_t place = begin(std::move(operation));
    const auto got = co_await file_->read(offset, std::as_writable_bytes(std::span(words)));
    if (got.ok()) see(report_.history[place], words, *got);
    end(place, got.status());
  }

  void see(HistoryOperation& operation, const std::vector<std::uint32_t>& words, Bytes got) {
    if (got.count() % kBlock.count() != 0) world_.violation(fmt::format("a read of {} bytes", got.count()));
    const std::size_t in_block = kBlock.count() / sizeof(std::uint32_t);
    for (std::size_t at = 0; at < got.count() / sizeof(std::uint32_t); ++at) {
      if (at % in_block == 0) operation.seen.push_back(words[at]);
      if (words[at] != operation.seen.back())
        return world_.violation("a block of two values: " + operation.text());
    }
  }

  Task<void> truncate() {
    HistoryOperation operation{.kind = Kind::truncate};
    const std::uint64_t length = random_.below(kBlocks + 1);
    operation.first = length;
    const std::size_t place = begin(std::move(operation));
    const Status status = co_await file_->truncate(kBlock * length);
    end(place, status);
  }

  Task<Result<std::uint64_t>> size() {
    const std::size_t place = begin(HistoryOperation{.kind = Kind::size});
    const auto length = co_await file_->size();
    if (length.ok()) report_.history[place].first = length->count() / kBlock.count();
    end(place, length.status());
    if (!length.ok()) co_return length.status();
    co_return length->count() / kBlock.count();
  }

  FaultWorld& world_;
  std::unique_ptr<SimClient> client_;
  HistoryReport& report_;
  std::uint64_t& tick_;
  Random random_;
  std::unique_ptr<OpenFile> file_;
};

Task<Status> make_file(SimClient& client, std::uint32_t servers) {
  OpenOptions options;
  options.write = true;
  options.create = true;
  options.layout.stripe_size = kBlock;
  options.layout.stripe_count = servers;
  auto opened = co_await client.files().open("/history", options);
  if (!opened.ok()) co_return opened.status();
  co_return co_await (*opened)->close();
}

}  // namespace

HistoryReport run_history(std::uint64_t seed) {
  Random random(mix64(seed));
  HistoryReport report;
  SimClusterOptions options;
  options.seed = seed;
  options.servers = seed % 2 == 0 ? 1 : 3;
  options.client_nodes = 3;
  options.policy = random.chance(0.5) ? "fcfs" : "window;interval=5";
  options.fabric.detection_delay = Nanos(static_cast<std::int64_t>(random.between(1, 500)) * 1'000'000);
  auto cluster = SimCluster::create(options);
  if (!cluster.ok() || !(*cluster)->start().ok()) {
    report.outcome = Status(Code::internal, "the cluster does not start");
    return report;
  }
  Simulation& simulation = (*cluster)->simulation();
  FaultWorld world(**cluster, false);
  const auto make_client = [&](std::uint32_t node) {
    ClientOptions client;
    client.patience = 4_s;
    client.first_patience = 4_s;
    const Peer peer{.uid = 1000, .gid = 1000, .groups = {}, .pid = 1, .name = fmt::format("client {}", node)};
    return (*cluster)->make_client(node, peer, client);
  };
  const auto maker = make_client(0);
  const auto made = simulation.run(make_file(*maker, options.servers));
  if (!made || !made->ok()) {
    report.outcome = Status(Code::internal, "the file cannot be made");
    return report;
  }

  FaultPlan plan;
  plan.mean_pause = 2_ms;
  plan.longest = 600_ms;
  plan.metadata_deaths = plan.data_deaths = false;  // a write may be applied twice when its server has died
  plan.pauses = true;
  FaultSaboteur saboteur(world, plan, random.fork());
  std::uint64_t tick = 1;
  std::vector<std::unique_ptr<Player>> players;
  {
    Scope scope(simulation.executor());
    for (std::uint32_t node = 0; node < options.client_nodes; ++node) {
      players.push_back(std::make_unique<Player>(world, make_client(node), report, tick, random.fork()));
      scope.spawn(players.back()->run());
    }
    saboteur.start();
    const Nanos end = simulation.now() + kLimit;
    simulation.run_until([&] { return scope.size() == 0 || simulation.now() > end || !world.outcome.ok(); });
    saboteur.stop();
    simulation.run_until([&] { return saboteur.idle() || simulation.now() > end; });
    if (scope.size() != 0 && world.outcome.ok()) world.violation("the clients do not end");
  }
  for (std::size_t i = 0; i < report.history.size(); ++i) {
    const HistoryOperation& each = report.history[i];
    report.in_doubt += each.end == HistoryOperation::kNever ? 1 : 0;
    for (std::size_t j = 0; j < i; ++j) report.overlapping += report.history[j].end > each.begin ? 1 : 0;
  }
  report.outcome = world.outcome;
  if (report.outcome.ok()) {
    report.outcome =
        options.servers == 1 ? linearizable(report.history) : linearizable_blocks(report.history, kBlocks);
  }
  return report;
}

}  // namespace tutti
