#include "lab/experiments/resonant/bed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lab/experiments/pentium.h"
#include "lab/experiments/window/testbed.h"
#include "policy/request/window.h"

namespace tutti::resonance {
namespace {

constexpr Nanos kStartJitter = 200_us;
constexpr Bytes kFullFile = 10_GiB;

Load with_file(Load load, Bytes file, Bytes full) {
  load.file = file == 0_B ? full : file;
  return load;
}

}  // namespace

Way letter_two_phase() { return {"two_phase;only=interleaved", "fcfs_serial", 4_MiB, Kernel::linux_2_6_21}; }
Way letter_independent() { return {"", "fcfs_serial", 4_MiB, Kernel::linux_2_6_21}; }
Way letter_resonant() {
  return {"resonant;reading=reread_all;blocking=1;group=servers", "fcfs_serial", 4_MiB, Kernel::linux_2_6_21};
}

std::string default_policy(bool rotational) { return for_device("window", rotational); }

std::vector<Way> users_baselines(bool rotational) {
  std::vector<Way> ways;
  for (const std::string& policy : {std::string("fcfs;dispatch_depth=16"), default_policy(rotational)}) {
    ways.push_back({"two_phase", policy, 4_MiB});
    ways.push_back({"two_phase", policy, 16_MiB});
    ways.push_back({"two_phase;domains=cyclic", policy, 16_MiB});
    ways.push_back({"independent", policy, 16_MiB});
  }
  return ways;
}

std::vector<Way> every_plan(bool rotational) {
  const std::string policy = default_policy(rotational);
  return {{"independent", policy},
          {"two_phase", policy},
          {"two_phase;domains=cyclic", policy},
          {"resonant;reading=prefetch", policy},
          {"resonant", policy}};
}

std::string name_of(const Way& way) {
  return fmt::format("{}, {}", way.plan.empty() ? "no collective calls" : way.plan, way.policy);
}

Load demo(std::uint32_t processes, Bytes segment, Bytes file) {
  Load load;
  load.processes = processes;
  load.piece = segment;
  load.request = segment * 4;
  return with_file(load, file, kFullFile);
}

Load demo_apart(std::uint32_t processes, Bytes segment, Bytes file) {
  Load load = mpi_io_test(processes, segment, file);
  return load;
}

Load mpi_io_test(std::uint32_t processes, Bytes segment, Bytes file) {
  Load load;
  load.processes = processes;
  load.pattern = AccessPattern::strided;
  load.request = segment;
  return with_file(load, file, kFullFile);
}

Load ior(Bytes segment, Bytes file) {
  Load load;
  load.pattern = AccessPattern::sequential;
  load.request = segment;
  return with_file(load, file, 1_GiB);
}

Load noncontig(Bytes piece, Bytes file) {
  Load load;
  load.piece = piece;
  load.request = 4_MiB;
  return with_file(load, file, kFullFile);
}

Load hpio(Bytes region, std::uint64_t regions) {
  Load load;
  load.piece = region;
  load.request = region * regions;
  load.file = load.request * load.processes;
  return load;
}

// MPI_Dims_create gives four processes 2 x 2 x 1: each has half of the planes, and half of the rows of each.
Load coll_perf(std::uint64_t edge) {
  Load load;
  load.columns = 2;
  load.piece = Bytes(edge * edge / 2 * 4);
  load.request = load.piece * (edge / 2);
  load.file = load.request * load.processes;
  return load;
}

std::string_view machine_name(Machine medium) {
  switch (medium) {
    case Machine::small_hdd:
      return "hdd 80 GB";
    case Machine::hdd:
      return "hdd";
    case Machine::ssd:
      return "ssd";
    case Machine::nvme:
      return "nvme";
    case Machine::memory:
      break;
  }
  return "memory";
}

bool rotational(Machine medium) { return medium == Machine::small_hdd || medium == Machine::hdd; }

Scenario make(const Bed& bed, const Way& way, const std::vector<Load>& loads, std::uint64_t seed) {
  Scenario scenario;
  SimClusterOptions& cluster = scenario.cluster;
  cluster.seed = seed;
  cluster.servers = bed.servers;
  cluster.policy = way.policy;
  cluster.fabric.wake_jitter = bed.wake_jitter;
  SimStorageOptions& storage = cluster.storage;
  storage.phantom = true;
  storage.store.cache.size = bed.page_cache;
  storage.store.cache.read_ahead = bed.read_ahead;
  if (way.kernel == Kernel::linux_2_6_21) {
    if (bed.pentium) storage.cpu = kPentium;
    storage.scheduler = "anticipatory";
    storage.store.cache.read_ahead_kind = ReadAheadKind::two_windows;
    storage.store.cache.background_ratio = 0.10;
    storage.store.cache.dirty_ratio = 0.40;
  }
  storage.store.placement.extent = bed.extent;
  storage.store.placement.fragmented = bed.fragmented;
  cluster.nic = NicModel::gigabit_ethernet();
  switch (bed.medium) {
    case Machine::small_hdd:
      storage.device = SimDevice::hdd;
      storage.hdd = small_hdd();
      storage.store.placement.span = 16_GiB;
      break;
    case Machine::hdd:
      storage.device = SimDevice::hdd;
      storage.store.placement.span = 48_GiB;
      break;
    case Machine::ssd:
      storage.device = SimDevice::ssd;
      cluster.nic = NicModel::infiniband_4x_ddr();
      break;
    case Machine::nvme:
      storage.device = SimDevice::ssd;
      storage.ssd = default_nvme();
      storage.store.cache.size = 16_GiB;
      cluster.nic = NicModel::hundred_gigabit();
      break;
    case Machine::memory:
      storage.device = SimDevice::memory;
      cluster.nic = NicModel::infiniband_4x_ddr();
      break;
  }
  cluster.data.rotational = rotational(bed.medium);
  Random random(mix64(seed));
  const Nanos start = Nanos(static_cast<std::int64_t>(random.below(1'000'000'000)));
  std::uint32_t nodes = 0;  // that programs share
  for (const Load& load : loads) {
    ApplicationSpec spec;
    spec.name = fmt::format("program{}", scenario.applications.size() + 1);
    spec.id = random.between(1, 1'000'000);
    spec.processes = load.processes;
    spec.start = start;
    spec.start_jitter = kStartJitter;
    spec.write = load.write;
    spec.sync = load.sync;
    spec.pattern = load.pattern;
    spec.piece = load.piece;
    spec.columns = load.columns;
    spec.request = load.request;
    spec.requests = std::max<std::uint64_t>(1, load.file / (load.request * load.processes));
    spec.think = load.think;
    spec.collective = way.plan;
    spec.cb_buffer_size = way.buffer;
    nodes = std::max(nodes, load.processes);
    scenario.applications.push_back(spec);
  }
  cluster.client_nodes = nodes;
  return scenario;
}

std::size_t Points::add(Json parameters, const std::function<Scenario(std::uint64_t seed)>& make) {
  for (std::size_t i = 0; i < seeds_; ++i) {
    scenarios_.push_back(make(options_.seed + i));
    scenarios_.back().name = parameters.dump();
  }
  samples_.push_back({std::move(parameters), {}, {}, {}});
  return samples_.size() - 1;
}

std::size_t Points::add(Json parameters, const Bed& bed, const Way& way, const Load& load) {
  parameters["plan"] = way.plan.empty() ? "none" : way.plan;
  parameters["policy"] = way.policy;
  return add(std::move(parameters), [&](std::uint64_t seed) { return make(bed, way, load, seed); });
}

Status Points::run() {
  const auto results = run_all(scenarios_, options_);
  if (!results.ok()) return results.status();
  for (std::size_t i = 0; i < results->size(); ++i) {
    Sample& sample = samples_[i / seeds_];
    const ScenarioResult& result = (*results)[i];
    std::vector<double> rates;
    for (const ApplicationResult& program : result.applications)
      rates.push_back(static_cast<double>(program.bytes.count()) / (program.end - program.start).seconds() /
                      1e6);
    sample.rates.push_back(rates);
    double jumps = 0;
    double requests = 0;
    for (const ServerResult& server : result.servers) {
      jumps += static_cast<double>(server.jumps);
      requests += static_cast<double>(server.requests);
    }
    const double calls = static_cast<double>(result.servers.size() * scenarios_[i].applications[0].requests);
    sample.jumps.push_back(jumps / calls);
    sample.requests.push_back(requests / calls);
  }
  return {};
}

double Points::rate(std::size_t point, std::size_t program) const {
  std::vector<double> rates;
  for (const std::vector<double>& each : samples_[point].rates) rates.push_back(each[program]);
  return mean(rates);
}

double Points::jumps(std::size_t point) const { return mean(samples_[point].jumps); }
double Points::requests(std::size_t point) const { return mean(samples_[point].requests); }

Json Points::rows() const {
  Json rows = Json::array();
  for (const Sample& sample : samples_) {
    Json row = sample.parameters;
    for (std::size_t program = 0; program < sample.rates.front().size(); ++program) {
      std::vector<double> rates;
      for (const std::vector<double>& each : sample.rates) rates.push_back(each[program]);
      const std::string suffix = program == 0 ? "" : fmt::format("_{}", program + 1);
      row["mb_per_second" + suffix] = rounded(mean(rates));
      if (program == 0) row["variation"] = rounded(deviation(rates) / mean(rates));
    }
    row["jumps"] = rounded(mean(sample.jumps));
    row["requests"] = rounded(mean(sample.requests));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string settings(std::size_t seeds) {
  return fmt::format(
      "4 clients, 4 servers, 64 KiB stripes, Gigabit Ethernet, 80 GB SATA disks unless a row says otherwise; "
      "cold caches, "
      "writes go back from the page cache; a message waits 0 to 100 us for its process, ranks poll; {} "
      "seeds; MB are 10^6 "
      "bytes, jumps and requests are of one server in one call",
      seeds);
}

Pair add_letter(Points& points, const Json& parameters, const Load& load, const Bed& bed) {
  return {points.add(parameters, bed, letter_two_phase(), load),
          points.add(parameters, bed, letter_resonant(), load)};
}

}  // namespace tutti::resonance
