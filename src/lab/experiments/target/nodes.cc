#include "lab/experiments/target/nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "env/scope.h"

namespace tutti {
namespace {

constexpr Nanos kSample = 500_us;    // between two looks at the queues
constexpr Nanos kProbePause = 1_ms;  // of the probe, between two reads
constexpr Nanos kLimit = 3600_s;

// One client with its file.
struct Visitor {
  std::unique_ptr<SimClient> client;
  std::unique_ptr<OpenFile> file;
  const ClientLoad* load = nullptr;
  Nanos delay;
};

class PointRun {
 public:
  PointRun(const TargetPoint& point, SimCluster& cluster)
      : point_(point),
        cluster_(cluster),
        random_(cluster.simulation().random().fork()),
        go_(cluster.simulation().executor()),
        scope_(cluster.simulation().executor()) {}

  Result<TargetResult> run() {
    Simulation& simulation = cluster_.simulation();
    const auto prepared = simulation.run(prepare());
    if (!prepared) return Status(Code::internal, "the simulation is dry");
    TUTTI_TRY(*prepared);
    if (point_.slow_server != 1) slow_down();
    for (std::uint32_t server = 0; server < cluster_.servers(); ++server)
      cluster_.storage(server).begin_measurement();
    std::uint64_t sent = 0;
    for (const Visitor& each : visitors_)
      sent += cluster_.fabric().traffic(each.client->node()).bytes_sent.count();
    working_ = visitors_.size();
    for (Visitor& each : visitors_) scope_.spawn(work(each));
    if (probe_.file) scope_.spawn(probe());
    scope_.spawn(sample());
    began_ = simulation.now();
    go_.set();
    const Nanos limit = began_ + kLimit;
    simulation.run_until([&] { return working_ == 0 || simulation.now() > limit; });
    TUTTI_TRY(cluster_.health());
    TUTTI_TRY(failed_);
    if (working_ > 0) return Status(Code::timed_out, "a point of the experiment did not end");
    TargetResult result;
    result.seconds = (ended_ - began_).seconds();
    for (const Visitor& each : visitors_) {
      const auto bytes = static_cast<double>(each.load->bytes().count());
      result.bytes += bytes;
      result.sent += static_cast<double>(cluster_.fabric().traffic(each.client->node()).bytes_sent.count());
      if (point_.write) result.sent -= bytes;
    }
    result.sent -= static_cast<double>(sent);
    result.queue = samples_ > 0 ? queue_ / static_cast<double>(samples_) / cluster_.servers() : 0;
    if (!times_.empty()) {
      std::sort(times_.begin(), times_.end());
      result.p99 = times_[(times_.size() - 1) * 99 / 100].seconds();
    }
    return result;
  }

 private:
  std::unique_ptr<SimClient> make_client(std::uint32_t number) {
    ClientOptions options;
    options.application = 1;
    options.inline_limit = point_.inline_limit;
    if (point_.ranked && number < point_.clients.size()) {
      options.rank = number;
      options.ranks = static_cast<std::uint32_t>(point_.clients.size());
    }
    const Peer peer{.uid = 0,
                    .gid = 0,
                    .groups = {},
                    .pid = std::int64_t{number} + 1,
                    .name = fmt::format("client {}", number)};
    return cluster_.make_client(number, peer, options);
  }

  Task<Result<std::unique_ptr<OpenFile>>> open(SimClient& client, std::string path, Bytes stripe) {
    OpenOptions options;
    options.write = options.create = true;
    options.layout.stripe_size = stripe;
    options.layout.stripe_count = point_.servers;
    options.layout.first_server = 0;
    options.visit = point_.visit;
    auto opened = co_await client.files().open(std::move(path), options);
    if (!opened.ok()) co_return opened;
    TUTTI_CO_TRY((co_await (*opened)->size()).status());  // connections stand
    co_return opened;
  }

  Task<Status> fill(const OpenFile& file, Bytes length) {
    const Attributes& attributes = file.attributes();
    for (std::uint32_t slot = 0; slot < attributes.layout.stripe_count; ++slot) {
      SimStorage& storage = cluster_.storage(attributes.layout.server_of_slot(slot));
      TUTTI_CO_TRY(co_await storage.prepare(ObjectId{attributes.inode},
                                            attributes.layout.object_length(slot, length)));
    }
    co_return Status();
  }

  Task<Status> prepare() {
    Bytes end;
    Bytes most;
    for (const ClientLoad& load : point_.clients) {
      most = std::max(most, load.bytes());
      for (const Extent& extent : load.extents) end = std::max(end, extent.end());
    }
    length_ = most.count();
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(length_);
    for (std::uint32_t i = 0; i < point_.clients.size(); ++i) {
      Visitor visitor;
      visitor.client = make_client(i);
      visitor.load = &point_.clients[i];
      const auto jitter = static_cast<std::uint64_t>(point_.start_jitter.count());
      if (point_.in_order) {
        visitor.delay = 1_us * i;
      } else if (jitter > 0) {
        visitor.delay = Nanos(static_cast<std::int64_t>(random_.below(jitter)));
      }
      auto opened = co_await open(*visitor.client, "/shared", point_.stripe);
      if (!opened.ok()) co_return opened.status();
      visitor.file = *std::move(opened);
      visitors_.push_back(std::move(visitor));
    }
    if (!point_.write) TUTTI_CO_TRY(co_await fill(*visitors_.front().file, end));
    TUTTI_CO_TRY(co_await greet());
    if (!point_.probe) co_return Status();
    probe_.client = make_client(static_cast<std::uint32_t>(point_.clients.size()));
    auto opened = co_await open(*probe_.client, "/probe", 64_KiB);
    if (!opened.ok()) co_return opened.status();
    probe_.file = *std::move(opened);
    co_return co_await fill(*probe_.file, 64_KiB * point_.servers);
  }

  // Every client has heard of every server before the measurement, as in a program that has read its input.
  Task<Status> greet() {
    std::vector<Extent> heads;
    for (std::uint32_t i = 0; i < point_.servers; ++i) heads.push_back({64_KiB * i, 4_KiB});
    std::vector<std::byte> memory(4096 * std::size_t{point_.servers});
    const std::span<std::byte> all = memory;
    bool filled = false;
    for (Visitor& visitor : visitors_) {
      auto header = co_await open(*visitor.client, "/header", 64_KiB);
      if (!header.ok()) co_return header.status();
      if (!std::exchange(filled, true)) TUTTI_CO_TRY(co_await fill(**header, 64_KiB * point_.servers));
      TUTTI_CO_TRY((co_await (*header)->read_list(heads, {&all, 1})).status());
    }
    co_return Status();
  }

  void slow_down() {
    NicModel nic = point_.nic;
    nic.bandwidth = static_cast<std::uint64_t>(static_cast<double>(nic.bandwidth) / point_.slow_server);
    cluster_.fabric().set_nic(SimCluster::data_node(0), nic);
  }

  Task<void> work(Visitor& visitor) {
    Clock& clock = visitor.client->clock();
    co_await go_.wait();
    co_await clock.sleep_until(began_ + visitor.delay);
    const Status status = co_await transfer(*visitor.file, *visitor.load);
    if (!status.ok() && failed_.ok()) failed_ = status;
    if (--working_ == 0) ended_ = clock.now();
  }

  Task<Status> transfer(OpenFile& file, const ClientLoad& load) {
    const std::span<std::byte> memory = std::span(buffer_.get(), length_).first(load.bytes().count());
    const ViewPointer view = point_.views && load.view ? file.declare(*load.view) : nullptr;
    if (point_.write) {
      const std::span<const std::byte> bytes = memory;
      if (view != nullptr) co_return co_await file.write_view(view, 0_B, bytes);
      co_return co_await file.write_list(load.extents, {&bytes, 1});
    }
    Task<Result<Bytes>> read =
        view != nullptr ? file.read_view(view, 0_B, memory) : file.read_list(load.extents, {&memory, 1});
    const auto got = co_await std::move(read);
    if (got.ok() && *got < load.bytes()) co_return Status(Code::internal, "a read came short");
    co_return got.status();
  }

  Task<void> probe() {
    Clock& clock = probe_.client->clock();
    std::vector<std::byte> memory(4096);
    co_await go_.wait();
    for (std::uint32_t i = 0; working_ > 0; ++i) {
      co_await clock.sleep(kProbePause);
      const Nanos begin = clock.now();
      const auto got = co_await probe_.file->read(64_KiB * (i % point_.servers), memory);
      if (got.ok() && working_ > 0) times_.push_back(clock.now() - begin);
    }
  }

  Task<void> sample() {
    Clock& clock = cluster_.clock(SimCluster::meta_node());
    co_await go_.wait();
    while (working_ > 0) {
      co_await clock.sleep(kSample);
      for (std::uint32_t server = 0; server < cluster_.servers(); ++server) {
        const Dispatcher& dispatcher = cluster_.data_server(server)->dispatcher();
        queue_ += static_cast<double>(dispatcher.backlog().requests());
      }
      ++samples_;
    }
  }

  const TargetPoint& point_;
  SimCluster& cluster_;
  Random random_;
  std::vector<Visitor> visitors_;
  Visitor probe_;
  std::unique_ptr<std::byte[]> buffer_;  // of all, never touched: bytes are only counted
  std::size_t length_ = 0;
  std::vector<Nanos> times_;  // of the probe
  double queue_ = 0;
  std::uint64_t samples_ = 0;
  std::size_t working_ = 0;
  Nanos began_;
  Nanos ended_;
  Status failed_;
  Event go_;
  Scope scope_;
};

}  // namespace

Bytes ClientLoad::bytes() const {
  Bytes sum;
  for (const Extent& extent : extents) sum += extent.length;
  return sum;
}

NicModel myrinet() { return {120'000'000, 2_us, 500_ns, 300_ns, 64_KiB}; }

// Fitted; see the header. What a block costs beside it (four messages on the fabric, headers) is counted.
CpuModel fitted_cpu() { return {42_us, 0, 4'700, 14_us}; }

TargetPoint paper_point(bool fitted) {
  TargetPoint point;
  point.nic = point.client_nic = myrinet();
  point.storage.phantom = true;
  if (fitted) point.storage.cpu = fitted_cpu();
  return point;
}

void to_the_letter(TargetPoint& point, const std::string& order, Bytes block) {
  point.inline_limit = 0;
  point.sending = 1;
  point.today = false;
  if (point.write) {
    point.policy = "fcfs;dispatch_depth=1";
    point.visit = {order, block, 1, 0};
    return;
  }
  // All servers hear of the whole request, and decide.
  point.policy =
      fmt::format("visit;order={};block={};dispatch_depth=1;seed={}", order, block.count(), point.seed);
  point.visit = {"alternate", 8_MiB, 0, 0};
}

void as_today(TargetPoint& point) {
  point.today = true;
  point.visit = {"alternate", 4_MiB, 0, 0};
}

void with_order(TargetPoint& point, const std::string& order, Bytes block, std::size_t in_flight) {
  point.today = false;
  point.visit = {order, block, in_flight, 0};
}

std::vector<ClientLoad> contiguous(std::uint32_t clients, Bytes each) {
  std::vector<ClientLoad> loads;
  for (std::uint32_t i = 0; i < clients; ++i) loads.push_back({{Extent{each * i, each}}});
  return loads;
}

std::vector<ClientLoad> btio(std::uint32_t clients) {
  constexpr std::uint64_t kPoints = 162;
  constexpr Bytes kPoint = 40_B;
  const auto side = static_cast<std::uint64_t>(std::lround(std::sqrt(clients)));
  const std::uint64_t cell = kPoints / side;
  std::vector<ClientLoad> loads(clients);
  const auto bytes = [kPoint](std::uint64_t points) {
    return static_cast<std::int64_t>((kPoint * points).count());
  };
  const FlatType rows =
      FlatType::vector(static_cast<std::int64_t>(cell), bytes(cell), bytes(kPoints), FlatType::bytes(1));
  const FlatType cube = FlatType::vector(static_cast<std::int64_t>(cell), 1, bytes(kPoints * kPoints), rows);
  for (std::uint32_t rank = 0; rank < clients; ++rank) {
    std::vector<std::int64_t> places;
    // Of each layer of cells every rank has one, one further in x and one back in y from layer to layer.
    for (std::uint64_t layer = 0; layer < side; ++layer) {
      const std::uint64_t x = (rank % side + layer) % side;
      const std::uint64_t y = (rank / side + side - layer) % side;
      places.push_back(bytes((layer * cell * kPoints + y * cell) * kPoints + x * cell));
      for (std::uint64_t plane = 0; plane < cell; ++plane) {
        for (std::uint64_t row = 0; row < cell; ++row) {
          const std::uint64_t at = ((layer * cell + plane) * kPoints + y * cell + row) * kPoints + x * cell;
          loads[rank].extents.push_back(Extent{kPoint * at, kPoint * cell});
        }
      }
    }
    const std::vector<std::int64_t> ones(places.size(), 1);
    const FlatType cells = FlatType::structure(ones, places, std::vector<FlatType>(places.size(), cube));
    loads[rank].view = FileView{0, 1, FlatType::resized(0, bytes(kPoints * kPoints * kPoints), cells)};
  }
  return loads;
}

std::vector<ClientLoad> irregular(std::uint32_t clients, std::uint32_t servers, std::uint64_t seed) {
  constexpr std::uint64_t kTransfers = 16;
  constexpr double kMedian = 1 << 20;
  Random random(mix64(seed ^ 0x1229e9));
  std::vector<std::uint32_t> places(servers);  // the most wanted server first
  for (std::uint32_t i = 0; i < servers; ++i) places[i] = i;
  random.shuffle(std::span(places));
  std::vector<double> sums;
  for (std::uint32_t i = 0; i < servers; ++i) sums.push_back((i > 0 ? sums.back() : 0) + 1.0 / (i + 1));
  std::vector<ClientLoad> loads(clients);
  for (std::uint32_t client = 0; client < clients; ++client) {
    std::vector<std::uint64_t> bytes(servers);
    for (std::uint64_t i = 0; i < kTransfers; ++i) {
      const double wanted = random.unit() * sums.back();
      const auto popular =
          static_cast<std::size_t>(std::upper_bound(sums.begin(), sums.end(), wanted) - sums.begin());
      // A normal value, by Box and Muller.
      const double normal = std::sqrt(-2 * std::log(1 - random.unit())) * std::cos(2 * M_PI * random.unit());
      bytes[places[std::min<std::size_t>(popular, servers - 1)]] +=
          static_cast<std::uint64_t>(kMedian * std::exp(normal)) + 1;
    }
    for (std::uint32_t server = 0; server < servers; ++server) {
      if (bytes[server] == 0) continue;
      const std::uint64_t stripe = std::uint64_t{client} * servers + server;
      const Bytes length(std::min(bytes[server], kIrregularStripe.count()));
      loads[client].extents.push_back(Extent{kIrregularStripe * stripe, length});
    }
  }
  return loads;
}

double bound(const TargetPoint& point) {
  const Layout layout{point.stripe, point.servers, 0, point.servers};
  std::vector<double> servers(point.servers);
  double longest = 0;
  for (const ClientLoad& load : point.clients) {
    longest = std::max(
        longest, static_cast<double>(load.bytes().count()) / static_cast<double>(point.client_nic.bandwidth));
    for (Extent extent : load.extents) {
      while (extent.length > 0_B) {
        const Bytes step = std::min(extent.length, point.stripe - extent.offset % point.stripe);
        servers[layout.slot_of(extent.offset)] += static_cast<double>(step.count());
        extent = {extent.offset + step, extent.length - step};
      }
    }
  }
  for (std::uint32_t server = 0; server < point.servers; ++server) {
    const double slow = server == 0 ? point.slow_server : 1;
    double rate = static_cast<double>(point.nic.bandwidth) / slow;
    if (point.storage.device == SimDevice::ssd) {
      const SsdParameters& ssd = point.storage.ssd;
      const auto drive = static_cast<double>(point.write ? ssd.total_write_rate : ssd.total_read_rate);
      rate = std::min(rate, drive / slow);
    }
    longest = std::max(longest, servers[server] / rate);
  }
  return longest;
}

namespace {

void slow_down(SsdParameters& ssd, double times) {
  for (std::uint64_t* rate :
       {&ssd.channel_read_rate, &ssd.channel_write_rate, &ssd.total_read_rate, &ssd.total_write_rate})
    *rate = static_cast<std::uint64_t>(static_cast<double>(*rate) / times);
  for (Nanos* time : {&ssd.read_latency, &ssd.write_latency, &ssd.channel_overhead})
    *time = Nanos(static_cast<std::int64_t>(static_cast<double>(time->count()) * times));
}

}  // namespace

Result<TargetResult> run_point(const TargetPoint& point) {
  SimClusterOptions options;
  options.seed = point.seed;
  options.servers = point.servers;
  options.client_nodes = static_cast<std::uint32_t>(point.clients.size()) + (point.probe ? 1 : 0);
  options.nic = point.nic;
  options.storage = point.storage;
  options.policy = point.policy;
  options.data.sending = point.sending;
  options.data.rotational = point.storage.device == SimDevice::hdd;
  if (point.slow_server != 1) {
    options.change_storage = [slow = point.slow_server](std::uint32_t server, SimStorageOptions& storage) {
      if (server == 0) slow_down(storage.ssd, slow);
    };
  }
  auto cluster = SimCluster::create(options);
  if (!cluster.ok()) return cluster.status();
  for (std::uint32_t i = 0; i < options.client_nodes; ++i)
    (*cluster)->fabric().set_nic((*cluster)->client_node(i), point.client_nic);
  TUTTI_TRY((*cluster)->start());
  PointRun run(point, **cluster);
  auto result = run.run();
  if (result.ok()) result->bound = bound(point);
  return result;
}

Result<std::vector<TargetResult>> run_points(std::size_t count,
                                             const std::function<TargetPoint(std::size_t)>& make,
                                             const ExperimentOptions& options) {
  std::vector<std::optional<Result<TargetResult>>> outcomes(count);
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      const TargetPoint point = make(i);
      auto result = run_point(point);
      if (!result.ok()) result = result.status().with_context(point.parameters.dump());
      const std::lock_guard lock(mutex);
      outcomes[i] = std::move(result);
      if (options.progress) options.progress(++done, count);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  std::vector<TargetResult> results;
  for (auto& outcome : outcomes) {
    if (!outcome->ok()) return outcome->status();
    results.push_back(**outcome);
  }
  return results;
}

std::size_t TargetSeries::add(Json parameters, std::size_t seeds,
                              std::function<TargetPoint(std::uint64_t seed)> make) {
  Sample sample;
  sample.parameters = std::move(parameters);
  sample.make = std::move(make);
  sample.seeds = seeds;
  samples_.push_back(std::move(sample));
  return samples_.size() - 1;
}

void TargetSeries::extend(std::size_t point, std::size_t seeds) { samples_[point].seeds += seeds; }

Status TargetSeries::run() {
  struct Job {
    Sample* sample;
    std::uint64_t seed;
  };
  std::vector<Job> jobs;
  for (Sample& sample : samples_) {
    for (std::size_t i = sample.results.size(); i < sample.seeds; ++i)
      jobs.push_back({&sample, options_.seed + i});
  }
  auto results = run_points(
      jobs.size(),
      [&](std::size_t number) {
        TargetPoint point = jobs[number].sample->make(jobs[number].seed);
        point.parameters = jobs[number].sample->parameters;
        return point;
      },
      options_);
  if (!results.ok()) return results.status();
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].sample->results.push_back((*results)[i]);
  return {};
}

template <typename Value>
double TargetSeries::mean(std::size_t point, Value value) const {
  std::vector<double> values;
  for (const TargetResult& result : samples_[point].results) values.push_back(value(result));
  return mean_of(values);
}

double TargetSeries::seconds(std::size_t point) const {
  return mean(point, [](const TargetResult& each) { return each.seconds; });
}
double TargetSeries::mb_per_second(std::size_t point) const {
  return mean(point, [](const TargetResult& each) { return each.mb_per_second(); });
}
double TargetSeries::error(std::size_t point, std::size_t other) const {
  const std::vector<TargetResult>& ours = samples_[point].results;
  const std::vector<TargetResult>& theirs = samples_[other].results;
  const std::size_t count = std::min(ours.size(), theirs.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < count; ++i)
    differences.push_back(ours[i].mb_per_second() - theirs[i].mb_per_second());
  const double middle = mean_of(differences);
  for (double& each : differences) each = (each - middle) * (each - middle);
  return std::sqrt(mean_of(differences) / static_cast<double>(count)) / mb_per_second(point);
}
double TargetSeries::queue(std::size_t point) const {
  return mean(point, [](const TargetResult& each) { return each.queue; });
}
double TargetSeries::p99(std::size_t point) const {
  return mean(point, [](const TargetResult& each) { return each.p99; });
}
double TargetSeries::sent(std::size_t point) const {
  return mean(point, [](const TargetResult& each) { return each.sent; });
}

Json TargetSeries::rows() const {
  Json rows = Json::array();
  for (std::size_t i = 0; i < samples_.size(); ++i) {
    Json row = samples_[i].parameters;
    row["mb_per_second"] = rounded_to(mb_per_second(i), 1);
    row["seconds"] = rounded_to(seconds(i), 5);
    row["queue"] = rounded_to(queue(i), 2);
    if (p99(i) > 0) row["probe_p99_ms"] = rounded_to(1000 * p99(i), 3);
    rows.push_back(std::move(row));
  }
  return rows;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

double rounded_to(double value, int digits) {
  const double unit = std::pow(10.0, digits);
  return std::round(value * unit) / unit;
}

}  // namespace tutti
