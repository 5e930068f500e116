// target-directed: disk-directed against two-phase I/O, over one step of BTIO.
//
// Nine ranks and nine servers; each rank has three cells of a cube of 162 points of 40 bytes a side, which are runs of
// 2,160 bytes, and all write them with one collective call through a view, sync, and read them back from cold caches. The
// media and their networks are those of the experiments on window coordination (window/testbed.h), but for write-back: a server
// that collects blocks in its memory is what disk-directed I/O is about. Memory stands beside them, with the solid state's
// network.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "env/combine.h"
#include "lab/experiments/experiment.h"
#include "lab/experiments/window/testbed.h"
#include "lab/sim/sim_group.h"
#include "parallel/parallel_file.h"

namespace tutti {
namespace {

constexpr std::int64_t kPoint = 40;  // five doubles
constexpr int kRow = 3;              // cells in each direction, and ranks in a row
constexpr int kRanks = kRow * kRow;

// The bytes of a rank: a cell of each plane of cells, on a diagonal.
FlatType cells_of(int rank, std::int64_t grid) {
  const std::int64_t cell = grid / kRow;
  const std::int64_t row = grid * kPoint;
  const std::int64_t plane = grid * row;
  std::vector<FlatType> types;
  std::vector<std::int64_t> places;
  for (int i = 0; i < kRow; ++i) {
    const std::int64_t x = (rank % kRow + i) % kRow;
    const std::int64_t y = (rank / kRow + kRow - i) % kRow;
    const FlatType rows =
        FlatType::vector(cell, 1, row, FlatType::contiguous(cell * kPoint, FlatType::bytes(1)));
    types.push_back(FlatType::vector(cell, 1, plane, rows));
    places.push_back(i * cell * plane + y * cell * row + x * cell * kPoint);
  }
  const std::vector<std::int64_t> ones(types.size(), 1);
  return FlatType::resized(0, grid * plane, FlatType::structure(ones, places, types));
}

struct Point {
  std::string medium;
  std::string policy;
  std::string plan;
  std::int64_t grid = 162;  // class C
};

struct Times {
  double write = 0;
  double read = 0;
};

SimClusterOptions cluster_of(const Point& point, std::uint64_t seed) {
  const Medium medium = point.medium == "hdd" ? Medium::hdd : Medium::ssd;
  SimClusterOptions options = make_testbed(medium, kRanks, point.policy, seed).cluster;
  options.client_nodes = kRanks;
  options.storage.phantom = true;
  const PageCacheOptions write_back;
  options.storage.store.cache.background_ratio = write_back.background_ratio;
  options.storage.store.cache.dirty_ratio = write_back.dirty_ratio;
  if (point.medium == "memory") options.storage.device = SimDevice::memory;
  return options;
}

// What all ranks share.
struct Run {
  SimCluster& cluster;
  const Point& point;
  std::array<Nanos, 4> marks{};  // begin and end of both calls, as the last rank has them
};

struct Rank {
  std::unique_ptr<SimClient> client;
  std::unique_ptr<SimGroup> group;
};

Task<Status> timed(Run& run, Group& group, std::size_t call, Task<Status> work) {
  TUTTI_CO_TRY(co_await group.barrier());
  run.marks[2 * call] = std::max(run.marks[2 * call], run.cluster.simulation().now());
  TUTTI_CO_TRY(co_await std::move(work));
  run.marks[2 * call + 1] = std::max(run.marks[2 * call + 1], run.cluster.simulation().now());
  co_return co_await group.barrier();
}

Task<Status> move(ParallelFile& file, std::span<std::byte> buffer, bool write) {
  ParallelTransfer transfer;
  transfer.write = write;
  transfer.collective = true;
  transfer.base = buffer.data();
  transfer.count = static_cast<std::int64_t>(buffer.size());
  const auto moved = co_await file.transfer(std::move(transfer));
  if (!moved.ok()) co_return moved.status();
  if (*moved != Bytes(buffer.size())) co_return Status(Code::internal, "fewer bytes than the file has");
  if (write) co_return co_await file.sync();
  co_return Status();
}

Task<Status> program(Run& run, Rank& rank) {
  Executor& executor = run.cluster.simulation().executor();
  ParallelOpen options;
  options.path = "/btio";
  options.write = options.create = true;
  options.same_user = true;
  options.hints.collective.plan = run.point.plan;
  options.hints.collective.cb_read = options.hints.collective.cb_write =
      run.point.plan == "two_phase" ? Toggle::enable : Toggle::automatic;
  auto opened = co_await ParallelFile::open(executor, &rank.client->files(), *rank.group, options, 1);
  if (!opened.ok()) co_return opened.status();
  ParallelFile& file = **opened;
  ViewChange change;
  change.view = {0, 1, cells_of(rank.group->rank(), run.point.grid)};
  HintReport ignored;
  const auto bytes = static_cast<std::size_t>(change.view.filetype.size());
  TUTTI_CO_TRY(co_await file.set_view(std::move(change), ignored));
  std::vector<std::byte> buffer(bytes);
  TUTTI_CO_TRY(co_await timed(run, *rank.group, 0, move(file, buffer, true)));
  if (rank.group->rank() == 0) {
    for (std::uint32_t i = 0; i < run.cluster.servers(); ++i) run.cluster.storage(i).begin_measurement();
  }
  TUTTI_CO_TRY(co_await timed(run, *rank.group, 1, move(file, buffer, false)));
  co_return co_await file.close();
}

Result<Times> measure(const Point& point, std::uint64_t seed) {
  auto made = SimCluster::create(cluster_of(point, seed));
  if (!made.ok()) return made.status();
  SimCluster& cluster = **made;
  TUTTI_TRY(cluster.start());
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t i = 0; i < kRanks; ++i) nodes.push_back(i);
  auto groups = SimGroup::create_all(cluster, nodes, "btio");
  if (!groups.ok()) return groups.status();
  std::vector<Rank> ranks(kRanks);
  Run run{cluster, point};
  std::vector<Task<Status>> tasks;
  for (std::uint32_t i = 0; i < kRanks; ++i) {
    Peer peer;
    peer.name = fmt::format("rank {}", i);
    ClientOptions options;
    options.application = 7;
    ranks[i] = {cluster.make_client(i, peer, options), std::move((*groups)[i])};
    tasks.push_back(program(run, ranks[i]));
  }
  const auto ended = cluster.simulation().run(when_all(std::move(tasks)));
  if (!ended) return Status(Code::internal, "the simulation ran dry");
  for (const Status& status : *ended) TUTTI_TRY(status);
  return Times{(run.marks[1] - run.marks[0]).seconds(), (run.marks[3] - run.marks[2]).seconds()};
}

Result<Report> run(const ExperimentOptions& options) {
  const std::uint64_t seeds = options.quick ? 1 : 3;
  const std::vector<std::string> plans = {"two_phase", "disk_directed", "independent"};
  Report report;
  report.settings = fmt::format(
      "9 ranks, 9 servers, one step of BTIO class C (170 MB, runs of 2,160 bytes), writes synced, reads "
      "cold; {} seeds",
      seeds);
  const std::size_t total = 3 * 2 * plans.size() * seeds;
  std::size_t done = 0;
  for (const std::string medium : {"hdd", "ssd", "memory"}) {
    for (const std::string policy : {"fcfs", "window"}) {
      std::vector<Times> means;
      for (const std::string& plan : plans) {
        Times sum;
        for (std::uint64_t seed = 0; seed < seeds; ++seed) {
          const auto times = measure({medium, policy, plan, options.quick ? 36 : 162}, options.seed + seed);
          if (!times.ok())
            return times.status().with_context(fmt::format("{}, {}, {}", medium, policy, plan));
          sum.write += times->write / static_cast<double>(seeds);
          sum.read += times->read / static_cast<double>(seeds);
          if (options.progress) options.progress(++done, total);
        }
        means.push_back(sum);
        report.rows.push_back({{"medium", medium},
                               {"policy", policy},
                               {"plan", plan},
                               {"write_s", rounded(sum.write)},
                               {"read_s", rounded(sum.read)}});
      }
      report.figure(fmt::format("{}_{}_write_over_two_phase", medium, policy),
                    rounded(means[1].write / means[0].write));
      report.figure(fmt::format("{}_{}_read_over_two_phase", medium, policy),
                    rounded(means[1].read / means[0].read));
    }
  }
  report.notes.push_back(
      "..._over_two_phase: time of disk_directed over that of two_phase; below 1 it is faster.");
  return report;
}

}  // namespace

constinit const Experiment known_experiments::target_directed = {
    "target-directed", "disk-directed against two-phase I/O, over one step of BTIO", run};

}  // namespace tutti
