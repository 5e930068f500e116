#include "lab/experiments/orchestra/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>

#include "env/sim/device/hdd.h"
#include "env/sim/store/modelled_device.h"
#include "lab/experiments/orchestra/program.h"
#include "lab/experiments/pentium.h"
#include "lab/report/numbers.h"
#include "lab/sim/sim_cluster.h"
#include "policy/request/window_options.h"

namespace tutti::orchestra {
namespace {

constexpr Nanos kWakeJitter = 100_us;

SimClusterOptions cluster_of(const RunSpec& spec) {
  SimClusterOptions options;
  options.seed = spec.seed;
  options.servers = kServers;
  options.client_nodes = kNodes;
  options.nic = NicModel::gigabit_ethernet();
  options.fabric.wake_jitter = kWakeJitter;
  options.policy = spec.policy;
  options.coordinated = spec.policy.starts_with(tutti::kOrchestrated);
  SimStorageOptions& storage = options.storage;
  storage.device = SimDevice::hdd;
  storage.hdd = shared_disk();
  storage.phantom = true;
  storage.cpu = kPentium;
  storage.scheduler = kSharedDiskScheduler;
  storage.store = shared_disk_store();
  storage.store.stream = spec.stream;
  storage.store.cache.read_ahead = spec.read_ahead;
  storage.store.cache.read_ahead_kind = spec.read_ahead_kind;
  storage.store.placement.gap = spec.gap;
  if (spec.change) spec.change(options);
  return options;
}

struct Mark {
  Nanos busy;
  Bytes device;
  Motion motion;
};

Mark mark(SimStorage& storage) {
  const DeviceStatistics& statistics = storage.device()->device_statistics();
  return {statistics.busy, statistics.bytes_read + statistics.bytes_written,
          storage.device()->device_motion()};
}

ServerOutcome difference(const Mark& before, const Mark& after, const SimStorageOptions& storage) {
  ServerOutcome outcome;
  outcome.busy = (after.busy - before.busy).seconds();
  outcome.bytes = static_cast<double>((after.device - before.device).count());
  outcome.jumps = static_cast<double>(after.motion.jumps - before.motion.jumps);
  if (outcome.jumps > 0)
    outcome.distance =
        static_cast<double>((after.motion.distance - before.motion.distance).count()) / outcome.jumps;
  if (storage.device != SimDevice::hdd) return outcome;
  const HddModel model(storage.hdd);
  const Bytes place = storage.store.placement.start;
  const std::uint64_t cylinders =
      model.cylinder_of(place + Bytes(static_cast<std::uint64_t>(outcome.distance))) -
      model.cylinder_of(place);
  const double jump = model.seek_time(std::max<std::uint64_t>(cylinders, 1), false).seconds() +
                      30.0 / static_cast<double>(storage.hdd.rpm) + storage.hdd.overhead.seconds();
  outcome.expected = outcome.bytes / static_cast<double>(model.rate_at(place)) + outcome.jumps * jump;
  return outcome;
}

// What the orchestrator said, window by window.
struct Observer {
  std::size_t looks = 0;
  std::vector<double> eligible, part;
  double predicted = 0;
  void look(SimCluster& cluster, const std::vector<std::unique_ptr<Program>>& programs) {
    const Coordinator* coordinator = cluster.coordinator();
    const Orchestrator* orchestrator =
        coordinator != nullptr ? coordinator->conductor().orchestrator() : nullptr;
    eligible.resize(programs.size());
    part.resize(programs.size());
    if (orchestrator == nullptr) return;
    ++looks;
    if (orchestrator->predicted_gain() > 0) predicted = orchestrator->predicted_gain();
    for (std::size_t i = 0; i < programs.size(); ++i) {
      for (const ProgramView& view : orchestrator->programs()) {
        if (view.application != programs[i]->id() || view.part <= 0) continue;
        eligible[i] += 1;
        part[i] += view.part;
      }
    }
  }
};

}  // namespace

Result<RunOutcome> run_once(const RunSpec& spec) {
  const SimClusterOptions options = cluster_of(spec);
  auto made = SimCluster::create(options);
  if (!made.ok()) return made.status();
  SimCluster& cluster = **made;
  TUTTI_TRY(cluster.start());
  Simulation& simulation = cluster.simulation();
  std::vector<std::unique_ptr<Program>> programs;
  for (std::size_t i = 0; i < spec.programs.size(); ++i) {
    programs.push_back(std::make_unique<Program>(cluster, spec.programs[i], i));
    const auto prepared = simulation.run(programs.back()->prepare());
    if (!prepared) return Status(Code::internal, "the files cannot be prepared");
    TUTTI_TRY(*prepared);
  }
  for (std::uint32_t server = 0; server < options.servers; ++server)
    cluster.storage(server).begin_measurement();
  const Nanos began = simulation.now();
  for (auto& program : programs) program->start(began);
  Observer observer;
  std::vector<Mark> before;
  std::vector<Bytes> moved(programs.size());
  const bool writes = std::any_of(spec.programs.begin(), spec.programs.end(),
                                  [](const ProgramSpec& each) { return each.write; });
  const Nanos warm = writes ? Nanos() : spec.warm;
  for (Nanos at; at < spec.length; at += 100_ms) {
    if (at == warm) {
      for (std::uint32_t server = 0; server < options.servers; ++server)
        before.push_back(mark(cluster.storage(server)));
      for (std::size_t i = 0; i < programs.size(); ++i) moved[i] = programs[i]->moved();
    }
    simulation.run_until(began + at + 100_ms);
    if (at >= spec.warm) observer.look(cluster, programs);
    if (spec.watch) spec.watch(cluster, at + 100_ms);
    TUTTI_TRY(cluster.health());
  }
  Nanos ended = simulation.now();
  if (writes) {
    for (auto& program : programs) program->finish();
    const Nanos limit = ended + 600_s;
    simulation.run_until([&] {
      return simulation.now() > limit ||
             std::all_of(programs.begin(), programs.end(), [](const auto& each) { return each->over(); });
    });
    ended = simulation.now();
  }
  RunOutcome outcome;
  outcome.seconds = (ended - began - warm).seconds();
  for (std::uint32_t server = 0; server < options.servers; ++server) {
    outcome.servers.push_back(difference(before[server], mark(cluster.storage(server)), options.storage));
    const PolicyCounters counters = cluster.data_server(server)->dispatcher().policy_counters();
    outcome.switches += counters.switches;
    outcome.drain += counters.drain.seconds();
  }
  if (outcome.switches > 0) outcome.drain /= static_cast<double>(outcome.switches);
  observer.look(cluster, programs);
  for (std::size_t i = 0; i < programs.size(); ++i) {
    TUTTI_TRY(programs[i]->status());
    ProgramOutcome each;
    each.id = programs[i]->id();
    each.rate = static_cast<double>((programs[i]->moved() - moved[i]).count()) / outcome.seconds;
    each.times = programs[i]->times();
    each.eligible = observer.looks > 0 ? observer.eligible[i] / static_cast<double>(observer.looks) : 0;
    each.part = observer.eligible[i] > 0 ? observer.part[i] / observer.eligible[i] : 0;
    outcome.rate += each.rate;
    outcome.programs.push_back(std::move(each));
    outcome.addresses += programs[i]->addresses();
  }
  outcome.predicted = observer.predicted;
  if (const Coordinator* coordinator = cluster.coordinator();
      coordinator != nullptr && coordinator->conductor().orchestrator() != nullptr) {
    const SliceTrial& trial = coordinator->conductor().orchestrator()->trial();
    outcome.with_slices = trial.with();
    outcome.without_slices = trial.without();
  }
  outcome.events = simulation.events();
  return outcome;
}

Result<std::vector<RunOutcome>> run_all(const std::vector<RunSpec>& specs, const ExperimentOptions& options) {
  std::vector<std::optional<Result<RunOutcome>>> outcomes(specs.size());
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < specs.size(); i = next++) {
      auto outcome = run_once(specs[i]);
      const std::lock_guard lock(mutex);
      outcomes[i] = std::move(outcome);
      if (options.progress) options.progress(++done, specs.size());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<RunOutcome> results;
  for (auto& outcome : outcomes) {
    if (!outcome->ok()) return outcome->status();
    results.push_back(std::move(**outcome));
  }
  return results;
}

std::string_view column_name(std::size_t column) {
  constexpr std::string_view kNames[] = {"fcfs 16", "fcfs 16, read-ahead 4 MiB", "window",
                                         "orchestrated as the paper has it", "orchestrated"};
  return kNames[column];
}

std::string orchestrated(std::string_view parameters) {
  return for_device(fmt::format("{}{}", tutti::kOrchestrated, parameters), true);
}

std::string as_the_paper(std::string_view parameters) {
  return orchestrated(fmt::format(";by=addresses;idle=wait;rest=arrival;ahead=0{}", parameters));
}

std::string policy_of(std::size_t column) {
  if (column == kWindow) return for_device("window", true);
  if (column == kPaper) return as_the_paper();
  return column == kSliced ? orchestrated() : "fcfs;dispatch_depth=16";
}

RunSpec in_column(RunSpec spec, std::size_t column) {
  spec.policy = policy_of(column);
  if (column == kReadAhead) spec.read_ahead = 4_MiB;
  return spec;
}

std::string settings(std::size_t seeds, const RunSpec& like) {
  return fmt::format(
      "{} servers with {} (CFQ, a stream for each operation, its own queue, 1 GiB page cache, read-ahead 128 "
      "KiB, dirty ratios "
      "10 and 40 %), {} nodes with Gigabit Ethernet, {} processes a program; files at full length from 73 % "
      "of the disk on; {} "
      "virtual seconds, reads measured from {} on, writes to the end of their sync; {} seeds",
      kServers, shared_disk().name, kNodes, kProcesses, like.length.seconds(), to_string(like.warm), seeds);
}

std::size_t Points::add(Json parameters, const RunSpec& spec, std::size_t seeds) {
  parameters_.push_back(std::move(parameters));
  for (std::size_t column = 0; column < kColumns; ++column)
    add_cell(parameters_.size() - 1, column, in_column(spec, column), std::max(seeds, seeds_));
  return parameters_.size() - 1;
}

std::size_t Points::add_one(Json parameters, const RunSpec& spec) {
  parameters_.push_back(std::move(parameters));
  add_cell(parameters_.size() - 1, kColumns, spec, seeds_);
  return parameters_.size() - 1;
}

void Points::add_cell(std::size_t point, std::size_t column, const RunSpec& spec, std::size_t seeds) {
  cells_.push_back({point, column, {}});
  for (std::size_t i = 0; i < seeds; ++i) {
    specs_.push_back(spec);
    specs_.back().seed = options_.seed + i;
    cell_of_.push_back(cells_.size() - 1);
  }
}

Status Points::run() {
  auto outcomes = run_all(specs_, options_);
  if (!outcomes.ok()) return outcomes.status();
  for (std::size_t i = 0; i < outcomes->size(); ++i)
    cells_[cell_of_[i]].outcomes.push_back(std::move((*outcomes)[i]));
  return {};
}

double Points::Cell::rate() const {
  std::vector<double> rates;
  for (const RunOutcome& outcome : outcomes) rates.push_back(outcome.rate);
  return mean(rates);
}

double Points::Cell::deviation() const {
  std::vector<double> rates;
  for (const RunOutcome& outcome : outcomes) rates.push_back(outcome.rate);
  return tutti::deviation(rates);
}

double Points::Cell::eligible() const {
  std::vector<double> parts;
  for (const RunOutcome& outcome : outcomes) {
    for (const ProgramOutcome& program : outcome.programs) parts.push_back(program.eligible);
  }
  return mean(parts);
}

const Points::Cell& Points::cell(std::size_t point, std::size_t column) const {
  for (const Cell& each : cells_) {
    if (each.point == point && (each.column == column || each.column == kColumns)) return each;
  }
  return cells_.front();
}

double Points::gain(std::size_t point) const {
  return cell(point, kPaper).rate() / cell(point, kFcfs).rate() - 1;
}

double Points::worst_ratio(bool same_read_ahead) const {
  double worst = 1e9;
  for (const Cell& own : cells_) {
    if (own.column != kSliced) continue;
    for (const Cell& other : cells_) {
      if (other.point != own.point || other.column >= kPaper) continue;
      if (same_read_ahead && other.column == kReadAhead) continue;
      worst = std::min(worst, own.rate() / other.rate());
    }
  }
  return worst;
}

double Points::never_loses() const { return worst_ratio(false); }
double Points::never_loses_same_read_ahead() const { return worst_ratio(true); }

double Points::first_principles() const {
  double farthest = 1;
  for (const Cell& each : cells_) {
    for (const RunOutcome& outcome : each.outcomes) {
      for (const ServerOutcome& server : outcome.servers) {
        if (server.busy <= 0 || server.expected <= 0) continue;
        const double ratio = server.busy / server.expected;
        if (std::abs(ratio - 1) > std::abs(farthest - 1)) farthest = ratio;
      }
    }
  }
  return farthest;
}

Json Points::rows() const {
  Json rows = Json::array();
  for (const Cell& each : cells_) {
    Json row = parameters_[each.point];
    if (each.column < kColumns) row["column"] = column_name(each.column);
    row["mb_per_second"] = rounded(each.rate() / 1e6);
    row["deviation"] = rounded(each.deviation() / 1e6);
    std::vector<double> times;
    ServerOutcome sum;
    double seconds = 0;
    double drain = 0;
    for (const RunOutcome& outcome : each.outcomes) {
      for (const ProgramOutcome& program : outcome.programs)
        times.insert(times.end(), program.times.begin(), program.times.end());
      for (const ServerOutcome& server : outcome.servers) {
        sum.busy += server.busy;
        sum.expected += server.expected;
        sum.jumps += server.jumps;
        sum.distance += server.distance * server.jumps;
        sum.bytes += server.bytes;
        seconds += outcome.seconds;
      }
      drain += outcome.drain / static_cast<double>(each.outcomes.size());
    }
    std::sort(times.begin(), times.end());
    if (!times.empty()) {
      row["p99_ms"] = rounded(times[(times.size() - 1) * 99 / 100] * 1e3);
      row["longest_ms"] = rounded(times.back() * 1e3);
    }
    row["busy"] = rounded(sum.busy / seconds);
    row["busy_over_expected"] = rounded(sum.expected > 0 ? sum.busy / sum.expected : 0);
    row["jumps_per_second"] = rounded(sum.jumps / seconds);
    row["jump_mb"] = rounded(sum.jumps > 0 ? sum.distance / sum.jumps / 1e6 : 0);
    row["eligible"] = rounded(each.eligible());
    row["drain_ms"] = rounded(drain * 1e3);
    row["events"] = each.outcomes.front().events;
    row["seeds"] = each.outcomes.size();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tutti::orchestra
