#include "lab/faults/fault_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "env/scope.h"
#include "lab/faults/fault_saboteur.h"
#include "lab/faults/fault_worker.h"
#include "lab/faults/policy_changer.h"

namespace tutti {

void Journal::add(const std::string& line) {
  lines_.push_back(fmt::format("{:>12.6f} {}", simulation_.now().seconds(), line));
  if (!keep_all_ && lines_.size() > kKept) lines_.pop_front();
}

void FaultWorld::violation(const std::string& what) {
  journal.add("VIOLATION: " + what);
  if (outcome.ok()) outcome = Status(Code::internal, what);
}

void FaultWorld::lost(WatchedFile& file, std::uint32_t server) {
  ++file.losses.at(server);
  file.oracle->power_lost(server);
}

void FaultWorld::slow_down(NodeId node, Nanos until) {
  arrives_by_[node] = std::max(arrives_by_[node], until);
}

void FaultWorld::leave_in_doubt(FileOracle& oracle, FileOracle::OperationId id, NodeId node) {
  doubts_.push_back({std::max(now(), arrives_by_[node]) + kService, &oracle, id});
}

void FaultWorld::end_doubts(bool all) {
  std::erase_if(doubts_, [&](const Doubt& doubt) {
    if (!all && doubt.until > now()) return false;
    doubt.oracle->end(doubt.id, false);
    return true;
  });
}

namespace {

constexpr Nanos kRunLimit = 3600_s;    // of virtual time for the whole work
constexpr Nanos kSettleLimit = 300_s;  // for the removal of objects afterwards

struct Plan {
  SimClusterOptions cluster;
  FaultPlan faults;
  std::uint32_t clients = 1;
  std::uint32_t lanes = 1;  // of each client
  std::uint32_t files = 1;
  std::uint64_t operations = 40;  // of each lane
  bool client_deaths = false;
};

Plan make_plan(Random& random, std::uint64_t seed) {
  Plan plan;
  plan.clients = static_cast<std::uint32_t>(random.between(1, 4));
  plan.lanes = static_cast<std::uint32_t>(random.between(1, 2));
  plan.files = static_cast<std::uint32_t>(random.between(1, 3));
  plan.operations = random.between(20, 60);
  plan.client_deaths = random.chance(0.3);
  plan.cluster.seed = seed;
  plan.cluster.servers = static_cast<std::uint32_t>(random.between(1, 4));
  plan.cluster.client_nodes = plan.clients;
  plan.cluster.policy =
      fmt::format("{};dispatch_depth={}", random.chance(0.7) ? "fcfs" : "window", random.between(1, 16));
  plan.cluster.fabric.detection_delay = Nanos(static_cast<std::int64_t>(random.between(1, 2000)) * 1'000'000);
  plan.cluster.meta.capability_lifetime =
      Nanos(static_cast<std::int64_t>(random.between(20, 60)) * 1'000'000'000);
  if (random.chance(0.3)) plan.cluster.storage.device = SimDevice::hdd;
  for (std::uint32_t node = 0; node < 1 + plan.cluster.servers + plan.clients; ++node) {
    plan.cluster.skew.push_back(
        Nanos(static_cast<std::int64_t>(random.below(2'000'000'000)) - 1'000'000'000));
  }
  Random own(mix64(seed ^ 0xc00dU));
  plan.cluster.coordinated = own.chance(0.5);
  plan.cluster.coordinator_alone = plan.cluster.coordinated && own.chance(0.4);
  plan.cluster.enrol = true;
  plan.cluster.meta.lock_lease = Nanos(static_cast<std::int64_t>(own.between(2, 20)) * 1'000'000'000);
  plan.faults.wrong_stores = own.chance(0.3);
  plan.faults.mean_pause = Nanos(static_cast<std::int64_t>(random.between(50, 2000)) * 1'000'000);
  plan.faults.longest = Nanos(static_cast<std::int64_t>(random.between(100, 20'000)) * 1'000'000);
  plan.faults.power_losses = random.chance(0.4);
  plan.faults.store_errors = random.chance(0.25);
  plan.faults.cuts = random.chance(0.8);
  plan.faults.slow_links = random.chance(0.6);
  plan.faults.pauses = own.chance(0.5);
  plan.faults.clock_jumps = own.chance(0.3);
  return plan;
}

// A client process with its workers, which live and die with it.
struct ClientProcess {
  std::unique_ptr<SimClient> client;
  std::vector<std::unique_ptr<FaultWorker>> workers;
  std::unique_ptr<Scope> tasks;

  void die() {
    tasks.reset();
    workers.clear();
    client.reset();
  }
};

class Schedule {
 public:
  Schedule(std::unique_ptr<SimCluster> cluster, const Plan& plan, Random& random, bool verbose)
      : cluster_(std::move(cluster)),
        plan_(plan),
        random_(random.fork()),
        world_(*cluster_, verbose),
        processes_(plan.clients),
        left_(std::size_t{plan.clients} * plan.lanes, plan.operations),
        scope_(cluster_->simulation().executor()) {
    if (plan_.cluster.coordinated)
      policies_ = std::make_unique<PolicyChanger>(world_, Random(mix64(plan_.cluster.seed)));
  }

  FaultReport run();

 private:
  Task<Status> set_up(SimClient& client);
  Task<void> check_at_end(SimClient& client);
  Task<void> check_file(SimClient& client, std::size_t file);
  Task<void> check_names(SimClient& client, std::size_t lane, std::set<std::uint64_t>& live);
  Task<void> check_objects(std::set<std::uint64_t> live);
  void watch_syncs();
  Task<void> kill_clients();
  void launch(std::size_t client);
  void work();
  [[nodiscard]] bool finished() const;
  template <typename Done>
  void run_until(const char* what, Nanos limit, Done done);
  std::unique_ptr<SimClient> make_client(std::uint32_t node);

  std::unique_ptr<SimCluster> cluster_;
  Plan plan_;
  Random random_;
  FaultWorld world_;
  std::vector<ClientProcess> processes_;
  std::vector<std::uint64_t> left_;          // operations to do, by lane
  std::unique_ptr<PolicyChanger> policies_;  // if there are sessions with the coordinator
  Scope scope_;
};

std::unique_ptr<SimClient> Schedule::make_client(std::uint32_t node) {
  ClientOptions options;
  options.patience = 8_s;
  options.first_patience = 4_s;
  options.piece = Bytes(512 * random_.between(1, 64));
  options.pieces_in_flight = static_cast<std::size_t>(random_.between(1, 8));
  options.inline_limit = random_.chance(0.5) ? 0 : 4096;
  const Peer peer{
      .uid = 1000, .gid = 1000, .groups = {}, .pid = 1, .name = fmt::format("client on node {}", node)};
  return cluster_->make_client(node, peer, options);
}

Task<Status> Schedule::set_up(SimClient& client) {
  for (std::size_t lane = 0; lane < left_.size(); ++lane) {
    TUTTI_CO_TRY(co_await client.files().make_directory(fmt::format("/lane{}", lane), 0777, LayoutWish()));
    world_.names.emplace_back();
    AppendLog log{fmt::format("/log{}", lane)};
    OpenOptions options;
    options.write = true;
    options.create = true;
    options.layout.stripe_size = AppendLog::kBlock;
    const auto opened = co_await client.files().open(log.path, options);
    if (!opened.ok()) co_return opened.status();
    TUTTI_CO_TRY(co_await (*opened)->close());
    world_.logs.push_back(std::move(log));
  }
  OpenOptions guarded;
  guarded.write = true;
  guarded.create = true;
  auto block = co_await client.files().open(world_.guarded.path, guarded);
  if (!block.ok()) co_return block.status();
  TUTTI_CO_TRY(co_await (*block)->close());
  for (std::uint32_t i = 0; i < plan_.files; ++i) {
    WatchedFile file;
    file.path = fmt::format("/shared{}", i);
    file.reach = Bytes(random_.between(1, 64) * 1024);
    OpenOptions options;
    options.write = true;
    options.create = true;
    options.layout.stripe_size = Bytes(512 * random_.between(1, 16));
    options.layout.stripe_count = static_cast<std::uint32_t>(random_.between(1, cluster_->servers()));
    auto opened = co_await client.files().open(file.path, options);
    if (!opened.ok()) co_return opened.status();
    file.inode = (*opened)->attributes().inode;
    file.oracle = std::make_unique<FileOracle>((*opened)->layout());
    file.losses.resize(cluster_->servers());
    TUTTI_CO_TRY(co_await (*opened)->close());
    world_.files.push_back(std::move(file));
  }
  co_return Status();
}

// A sync that fails loses what was not synced of the file on that server, as a loss of power does.
void Schedule::watch_syncs() {
  for (std::uint32_t server = 0; server < cluster_->servers(); ++server) {
    cluster_->storage(server).on_failed_sync([this, server](ObjectId object) {
      ++world_.counts.failed_syncs;
      for (WatchedFile& file : world_.files) {
        if (file.inode == object.value) FaultWorld::lost(file, server);
      }
    });
  }
}

void Schedule::launch(std::size_t index) {
  ClientProcess& process = processes_[index];
  process.client = make_client(static_cast<std::uint32_t>(index));
  process.tasks = std::make_unique<Scope>(cluster_->simulation().executor());
  for (std::uint32_t i = 0; i < plan_.lanes; ++i) {
    const std::size_t lane = index * plan_.lanes + i;
    process.workers.push_back(
        std::make_unique<FaultWorker>(world_, *process.client, lane, left_[lane], random_.fork()));
    process.tasks->spawn(process.workers.back()->run());
  }
}

bool Schedule::finished() const {
  return std::all_of(processes_.begin(), processes_.end(),
                     [](const ClientProcess& each) { return each.tasks && each.tasks->size() == 0; });
}

// A dead client's successor is another client and goes on in the same directories.
Task<void> Schedule::kill_clients() {
  Clock& clock = cluster_->clock(SimCluster::meta_node());
  for (int deaths = 0; deaths < 5; ++deaths) {
    co_await clock.sleep(random_.exponential(2_s));
    const auto index = static_cast<std::size_t>(random_.below(processes_.size()));
    if (!processes_[index].client || processes_[index].tasks->size() == 0) continue;
    world_.journal.add(fmt::format("fault: client {} dies", index));
    ++world_.counts.client_deaths;
    processes_[index].die();
    co_await clock.sleep(random_.exponential(100_ms));
    launch(index);
  }
}

template <typename Done>
void Schedule::run_until(const char* what, Nanos limit, Done done) {
  Simulation& simulation = cluster_->simulation();
  const Nanos end = simulation.now() + limit;
  const bool reached =
      simulation.run_until([&] { return done() || !world_.outcome.ok() || simulation.now() > end; });
  if (!cluster_->health().ok()) world_.violation("a server gave up: " + cluster_->health().to_string());
  if (!world_.outcome.ok() || done()) return;
  world_.violation(fmt::format(
      "{}: {}", what, reached ? "not done within " + to_string(limit) : "waits for what cannot happen"));
}

void Schedule::work() {
  FaultSaboteur saboteur(world_, plan_.faults, random_.fork());
  watch_syncs();
  for (std::size_t i = 0; i < processes_.size(); ++i) launch(i);
  saboteur.start();
  if (plan_.client_deaths) scope_.spawn(kill_clients());
  if (policies_) scope_.spawn(policies_->run());
  run_until("the work of the clients", kRunLimit, [this] { return finished() && scope_.size() == 0; });
  saboteur.stop();
  if (world_.outcome.ok()) run_until("the end of the faults", kRunLimit, [&] { return saboteur.idle(); });
  for (ClientProcess& process : processes_) process.die();
}

FaultReport Schedule::run() {
  auto client = make_client(0);
  const auto ready = cluster_->simulation().run(set_up(*client));
  if (!ready) {
    world_.violation("the preparation waits for what cannot happen");
  } else if (!ready->ok()) {
    world_.violation("the preparation failed: " + ready->to_string());
  } else {
    work();
    // An own client, so that nothing of the work before helps it.
    client = make_client(0);
    if (world_.outcome.ok()) {
      world_.end_doubts(true);
      scope_.spawn(check_at_end(*client));
      run_until("the last check", kSettleLimit, [this] { return scope_.size() == 0; });
    }
  }
  scope_.cancel();
  FaultReport report;
  report.outcome = world_.outcome;
  report.counts = world_.counts;
  report.virtual_time = cluster_->simulation().now();
  report.events = cluster_->simulation().events();
  report.trace_hash = cluster_->simulation().trace();
  report.journal = world_.journal.lines();
  return report;
}

Task<void> Schedule::check_at_end(SimClient& client) {
  world_.journal.add("last check");
  std::set<std::uint64_t> live;
  for (std::size_t file = 0; file < world_.files.size(); ++file) co_await check_file(client, file);
  const auto root = co_await client.files().list("/", false);
  if (!root.ok()) co_return world_.violation("list /: " + root.status().to_string());
  for (const DirectoryEntry& entry : *root) live.insert(entry.inode);
  for (std::size_t lane = 0; lane < world_.names.size(); ++lane) co_await check_names(client, lane, live);
  co_await check_objects(std::move(live));
  if (policies_) co_await policies_->check();
}

Task<void> Schedule::check_file(SimClient& client, std::size_t index) {
  const WatchedFile& file = world_.files[index];
  OpenOptions options;
  auto opened = co_await client.files().open(file.path, options);
  if (!opened.ok()) co_return world_.violation(opened.status().to_string());
  std::vector<std::byte> buffer(file.reach.count() + 4096);
  std::vector<Extent> extents = {Extent{0_B, Bytes(buffer.size())}};
  const auto id = file.oracle->begin_read(std::move(extents));
  const auto got = co_await (*opened)->read(0_B, buffer);
  if (!got.ok()) co_return world_.violation(got.status().to_string());
  world_.counts.bytes_checked += got->count();
  const Status verdict = file.oracle->end_read(id, std::span(buffer).first(got->count()));
  if (!verdict.ok()) world_.violation(fmt::format("at the end, {}: {}", file.path, verdict.message()));
  const auto size = co_await (*opened)->size();
  const auto named = co_await client.files().stat(file.path);
  if (!size.ok() || !named.ok() || !named->size_unknown.ok())
    co_return world_.violation(fmt::format("at the end, {}: no size", file.path));
  if (*size != named->size) {
    world_.violation(fmt::format("at the end, {} has {} bytes by its objects, {} by its name", file.path,
                                 size->count(), named->size.count()));
  }
}

Task<void> Schedule::check_names(SimClient& client, std::size_t lane, std::set<std::uint64_t>& live) {
  const std::string path = fmt::format("/lane{}", lane);
  const auto entries = co_await client.files().list(path, true);
  if (!entries.ok()) co_return world_.violation(entries.status().to_string());
  std::map<std::string, std::uint64_t> found;
  for (const DirectoryEntry& entry : *entries) {
    found[entry.name] = entry.inode;
    if (!live.insert(entry.inode).second)
      world_.violation(fmt::format("inode {} has two names", entry.inode));
  }
  const Status verdict = world_.names[lane].listed(found);
  if (!verdict.ok()) world_.violation(fmt::format("at the end, {}: {}", path, verdict.message()));
}

// The objects of removed files go in the background, but they go.
Task<void> Schedule::check_objects(std::set<std::uint64_t> live) {
  Clock& clock = cluster_->clock(SimCluster::meta_node());
  const Nanos deadline = clock.now() + kSettleLimit / 2;
  for (;;) {
    std::vector<std::string> left;
    for (std::uint32_t server = 0; server < cluster_->servers(); ++server) {
      const auto objects = co_await cluster_->storage(server).store().list();
      if (!objects.ok()) co_return world_.violation(objects.status().to_string());
      for (const ObjectId object : *objects) {
        if (!live.contains(object.value))
          left.push_back(fmt::format("{} on server {}", object.value, server));
      }
    }
    if (left.empty()) co_return;
    if (clock.now() > deadline) {
      co_return world_.violation(fmt::format("objects of removed files are left: {}", fmt::join(left, ", ")));
    }
    co_await clock.sleep(1_s);
  }
}

}  // namespace

FaultReport run_fault_schedule(std::uint64_t seed, bool verbose) {
  Random random(mix64(seed));
  const Plan plan = make_plan(random, seed);
  FaultReport report;
  auto cluster = SimCluster::create(plan.cluster);
  Status started = cluster.status();
  if (started.ok()) started = (*cluster)->start();
  if (started.ok()) {
    Schedule schedule(std::move(*cluster), plan, random, verbose);
    report = schedule.run();
  } else {
    report.outcome = started;
  }
  report.seed = seed;
  report.setup = fmt::format(
      "{} servers ({}, {}), {} clients x {} lanes, {} files{}{}{}{}{}", plan.cluster.servers,
      device_name(plan.cluster.storage.device), plan.cluster.policy, plan.clients, plan.lanes, plan.files,
      plan.cluster.coordinator_alone ? ", coordinator alone"
      : plan.cluster.coordinated     ? ", coordinated"
                                     : "",
      plan.faults.power_losses ? ", power losses" : "", plan.faults.store_errors ? ", store errors" : "",
      plan.faults.wrong_stores ? ", wrong stores" : "", plan.client_deaths ? ", client deaths" : "");
  return report;
}

}  // namespace tutti
