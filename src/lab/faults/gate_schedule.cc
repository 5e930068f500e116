#include "lab/faults/gate_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "client/gate_session.h"
#include "env/scope.h"
#include "lab/sim/sim_cluster.h"

namespace tutti {
namespace {

constexpr Nanos kLimit = 3600_s;  // of virtual time
constexpr Nanos kLook = 20_ms;    // how often the oracle looks
constexpr std::size_t kJournal = 200;

struct Plan {
  std::uint32_t jobs = 0;
  std::uint32_t resources = 0;
  std::uint32_t turns = 0;  // of each job
  gate::LockOptions locks;
  Nanos longest_hold;
  Nanos patience;
  bool alone = false;  // every ask
  double hangs = 0;    // how often a holder stops to renew
};

Plan make_plan(Random& random) {
  Plan plan;
  plan.jobs = static_cast<std::uint32_t>(random.between(2, 6));
  plan.resources = static_cast<std::uint32_t>(random.between(1, 4));
  plan.turns = static_cast<std::uint32_t>(random.between(4, 10));
  const std::uint64_t order = random.below(3);
  plan.locks.order = order == 0   ? gate::Order::preserved
                     : order == 1 ? gate::Order::overtaking
                                  : gate::Order::learned;
  plan.alone = plan.locks.order == gate::Order::learned;  // else there is no bound to hold it to
  plan.locks.holders = plan.alone || random.chance(0.6) ? 1 : 2;
  plan.locks.lease = plan.locks.grace = random.chance(0.5) ? 1_s : 5_s;
  if (random.chance(0.3)) plan.locks.most_blocked = plan.locks.lease * 4;
  plan.longest_hold = plan.locks.lease * static_cast<std::int64_t>(random.between(1, 3));
  plan.patience = plan.locks.lease * 2;
  plan.hangs = random.chance(0.5) ? 0.1 : 0;
  return plan;
}

class Schedule;

// A job: takes its turns, and may die and come again as another.
struct Job {
  std::unique_ptr<Network> network;
  Random random{1};
  std::unique_ptr<GateSession> session;
  std::unique_ptr<Scope> scope;
  std::uint32_t node = 0;
  std::uint32_t done = 0;
  bool asking = false;
  Nanos asked;
  std::map<std::uint64_t, std::set<std::string>> held;  // by the session's number
  bool hangs = false;
};

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed) : random_(seed) {
    report_.seed = seed;
    plan_ = make_plan(random_);
    SimClusterOptions options;
    options.seed = seed;
    options.servers = 1;
    options.client_nodes = plan_.jobs;
    options.coordinator_alone = random_.chance(0.5);
    options.gate = plan_.locks;
    for (std::uint32_t node = 0; node < plan_.jobs + 3; ++node)
      options.skew.emplace_back(static_cast<std::int64_t>(random_.below(20'000'000'000)) - 10'000'000'000);
    auto made = SimCluster::create(options);
    if (!made.ok()) {
      report_.outcome = made.status();
      return;
    }
    cluster_ = *std::move(made);
    report_.setup = fmt::format(
        "{} jobs, {} resources, order {}, {} at a time, lease {}, {}", plan_.jobs, plan_.resources,
        static_cast<int>(plan_.locks.order), plan_.locks.holders, to_string(plan_.locks.lease),
        options.coordinator_alone ? "coordinator alone" : "coordinator in the metadata server");
  }

  GateReport run() {
    if (!report_.outcome.ok()) return std::move(report_);
    report_.outcome = cluster_->start();
    if (!report_.outcome.ok()) return std::move(report_);
    Simulation& simulation = cluster_->simulation();
    scope_ = std::make_unique<Scope>(simulation.executor());
    jobs_.resize(plan_.jobs);
    for (std::uint32_t i = 0; i < plan_.jobs; ++i) {
      jobs_[i].node = i;
      start(jobs_[i]);
    }
    scope_->spawn(look());
    scope_->spawn(sabotage());
    simulation.run_until([&] { return !report_.outcome.ok() || finished() || simulation.now() > kLimit; });
    if (report_.outcome.ok() && !finished()) violation("somebody waits for ever");
    if (report_.outcome.ok()) report_.outcome = cluster_->health();
    report_.virtual_time = simulation.now();
    for (Job& job : jobs_) count(job);
    scope_.reset();
    for (Job& job : jobs_) end(job);
    jobs_.clear();
    cluster_.reset();
    return std::move(report_);
  }

 private:
  [[nodiscard]] Nanos now() const { return cluster_->simulation().now(); }
  void tell(const std::string& what) {
    if (report_.journal.size() >= kJournal) report_.journal.erase(report_.journal.begin());
    report_.journal.push_back(fmt::format("{:>12.6f} {}", now().seconds(), what));
  }
  void violation(const std::string& what) {
    if (!report_.outcome.ok()) return;
    tell("VIOLATION " + what);
    report_.outcome = Status(Code::internal, what);
  }
  [[nodiscard]] bool finished() const {
    return std::all_of(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.done >= plan_.turns; });
  }

  void start(Job& job) {
    const NodeId node = cluster_->client_node(job.node);
    Peer peer;
    peer.uid = 1000 + job.node;
    job.network = cluster_->fabric().process(node, peer);
    job.random = random_.fork();
    GateSessionOptions options;
    options.address =
        cluster_->map().coordinator.empty() ? cluster_->map().meta : cluster_->map().coordinator;
    options.cluster = cluster_->map().id;
    options.program = fmt::format("job {}", job.node);
    options.patience = plan_.patience;
    const Env env{cluster_->clock(node), *job.network, job.random, Log()};
    job.session = std::make_unique<GateSession>(env, options);
    job.hangs = false;
    job.session->set_alive([&job] { return !job.hangs; });
    job.scope = std::make_unique<Scope>(cluster_->simulation().executor());
    job.scope->spawn(work(job));
  }

  void count(const Job& job) {
    if (!job.session) return;
    const GateCounts& counts = job.session->counts();
    report_.counts.turns += counts.granted;
    report_.counts.blocked += counts.blocked;
    report_.counts.holding += counts.holding;
    report_.counts.unguarded += counts.unguarded;
    report_.counts.lost += counts.lost;
  }

  static void end(Job& job) {
    job.scope.reset();
    job.held.clear();
    job.asking = false;
    job.session.reset();
    job.network.reset();
  }

  Task<void> work(Job& job) {
    Clock& clock = cluster_->clock(cluster_->client_node(job.node));
    while (job.done < plan_.turns) {
      co_await clock.sleep(job.random.exponential(plan_.locks.lease / 4));
      co_await turn(job, clock, true);
      ++job.done;
    }
  }

  Task<void> turn(Job& job, Clock& clock, bool may_nest) {
    GateAsk ask;
    std::set<std::string> resources;
    for (std::uint32_t i = 0; i < plan_.resources; ++i) {
      if (job.random.chance(0.5)) resources.insert(fmt::format("server {}", i));
    }
    if (resources.empty()) resources.insert("server 0");
    ask.resources.assign(resources.begin(), resources.end());
    ask.alone = plan_.alone;
    ask.label = fmt::format("turn {}", job.done);
    job.asking = true;
    job.asked = clock.now();
    const GateTurn turn = co_await job.session->acquire(std::move(ask));
    job.asking = false;
    report_.longest_wait = std::max(report_.longest_wait, clock.now() - job.asked);
    tell(fmt::format("job {} {} {} with {}", job.node, to_string(turn.outcome), fmt::join(resources, ", "),
                     turn.fence));
    if (turn.outcome == GateOutcome::granted) {
      check_fence(turn.fence, job.session->job(), resources);
      job.held[turn.number] = resources;
      check_holders();
    }
    job.hangs = job.random.chance(plan_.hangs);
    const Nanos length = job.random.exponential(plan_.longest_hold / 3);
    co_await clock.sleep(std::min(length, plan_.longest_hold) / 2);
    if (may_nest && job.random.chance(0.1)) co_await this->turn(job, clock, false);
    co_await clock.sleep(std::min(length, plan_.longest_hold) / 2);
    job.hangs = false;
    job.held.erase(turn.number);
    job.session->release(turn.number, 1_MiB);
  }

  // ---- oracle ----

  void check_fence(std::uint64_t fence, std::uint64_t job, const std::set<std::string>& resources) {
    if (fence == 0) return violation("a grant without a fencing number");
    // A turn inside a turn of the same job joins it.
    if (fences_.emplace(fence, job).first->second != job)
      violation(fmt::format("fencing number {} was given out twice", fence));
    for (const std::string& resource : resources) {
      std::uint64_t& last = last_fence_[resource];
      if (plan_.locks.holders == 1 && fence < last)
        violation(fmt::format("{} has fencing number {} after {}", resource, fence, last));
      last = std::max(last, fence);
    }
  }

  void check_holders() {
    std::map<std::string, std::vector<std::uint32_t>> holders;
    for (const Job& job : jobs_) {
      for (const auto& [number, resources] : job.held) {
        if (!job.session->valid(number)) continue;
        for (const std::string& resource : resources) holders[resource].push_back(job.node);
      }
    }
    for (const auto& [resource, list] : holders) {
      const std::set<std::uint32_t> different(list.begin(), list.end());
      if (different.size() > plan_.locks.holders)
        violation(fmt::format("{} is held by jobs {}", resource, fmt::join(different, ", ")));
    }
  }

  // Nobody is granted while somebody who asked before him waits for one of the same resources.
  void check_order() {
    Coordinator* coordinator = cluster_->coordinator();
    if (coordinator == nullptr || plan_.locks.order == gate::Order::overtaking) return;
    const auto records = coordinator->gate().table().records();
    for (const gate::LockRecord& waits : records) {
      if (waits.standing != gate::Standing::waiting) continue;
      for (const gate::LockRecord& has : records) {
        if (has.standing != gate::Standing::granted || has.sequence < waits.sequence) continue;
        if (has.fence <= forgotten_) continue;  // it was granted before the one that waits asked
        if (std::find_first_of(has.resources.begin(), has.resources.end(), waits.resources.begin(),
                               waits.resources.end()) != has.resources.end())
          violation(fmt::format("demand {} overtook {}", has.sequence, waits.sequence));
      }
    }
  }

  [[nodiscard]] std::vector<gate::AskName> queue() const {
    std::vector<gate::AskName> names;
    Coordinator* coordinator = cluster_->coordinator();
    if (coordinator == nullptr) return names;
    for (const gate::LockRecord& record : coordinator->gate().table().records()) {
      if (record.standing == gate::Standing::waiting) names.push_back({record.job, record.numbers.front()});
    }
    return names;
  }

  Task<void> look() {
    Clock& clock = cluster_->clock(SimCluster::meta_node());
    for (;;) {
      co_await clock.sleep(kLook);
      check_holders();
      check_order();
    }
  }

  // ---- faults ----

  void stop_coordinator(bool power) {
    const bool alone = cluster_->options().coordinator_alone;
    if (power) {
      cluster_->lose_power_coordinator();
    } else if (alone) {
      cluster_->stop_coordinator();
    } else {
      cluster_->stop_meta();
    }
  }
  void start_coordinator() {
    if (cluster_->options().coordinator_alone) {
      cluster_->start_coordinator();
    } else {
      cluster_->start_meta();
    }
  }

  Task<void> restart(Nanos length, bool power) {
    const std::vector<gate::AskName> before = queue();
    ++(power ? report_.counts.power_losses : report_.counts.coordinator_deaths);
    tell(power ? "the coordinator loses power" : "the coordinator dies");
    if (power && cluster_->coordinator() != nullptr) {
      for (const gate::LockRecord& record : cluster_->coordinator()->gate().table().records())
        forgotten_ = std::max(forgotten_, record.fence);
    }
    stop_coordinator(power);
    Clock& clock = cluster_->clock(SimCluster::data_node(0));
    co_await clock.sleep(length);
    start_coordinator();
    tell("the coordinator is back");
    co_await clock.sleep(5_ms);
    if (power || cluster_->coordinator() == nullptr) co_return;
    // Those who still wait do so in the order of before.
    std::size_t at = 0;
    for (const gate::AskName& name : queue()) {
      const auto found = std::find(before.begin(), before.end(), name);
      if (found == before.end()) continue;
      const auto place = static_cast<std::size_t>(found - before.begin());
      if (place < at) violation("a restart changed the order of the queue");
      at = place;
    }
  }

  Task<void> sabotage() {
    Clock& clock = cluster_->clock(SimCluster::data_node(0));
    SimNetwork& fabric = cluster_->fabric();
    const NodeId server = cluster_->coordinator_node();
    for (;;) {
      co_await clock.sleep(random_.exponential(plan_.locks.lease));
      const Nanos length = std::min(random_.exponential(plan_.locks.lease), plan_.locks.lease * 4) + 1_ms;
      Job& job = jobs_[random_.below(jobs_.size())];
      const NodeId node = cluster_->client_node(job.node);
      const std::uint64_t dice = random_.below(100);
      if (dice < 25) {
        ++report_.counts.job_deaths;
        tell(fmt::format("job {} dies", job.node));
        count(job);
        end(job);
        start(job);
      } else if (dice < 45) {
        co_await restart(length, false);
      } else if (dice < 52) {
        co_await restart(length, true);
      } else if (dice < 75) {
        ++report_.counts.cuts;
        tell(fmt::format("the link of job {} is cut", job.node));
        fabric.cut(node, server);
        co_await clock.sleep(length);
        fabric.heal(node, server);
      } else if (dice < 90) {
        ++report_.counts.slow_links;
        tell(fmt::format("the link of job {} is slow", job.node));
        fabric.delay(node, server, length);
        co_await clock.sleep(length * 2);
        fabric.delay(node, server, Nanos());
      } else {
        ++report_.counts.jumps;
        const auto offset = static_cast<std::int64_t>(random_.below(20'000'000'000)) - 10'000'000'000;
        cluster_->clock(random_.chance(0.5) ? node : server).skew(Nanos(offset));
      }
    }
  }

  Random random_;
  Plan plan_;
  GateReport report_;
  std::unique_ptr<SimCluster> cluster_;
  std::vector<Job> jobs_;
  std::map<std::uint64_t, std::uint64_t> fences_;  // the job of each
  std::map<std::string, std::uint64_t> last_fence_;
  std::uint64_t forgotten_ = 0;  // fencing numbers of turns that a loss of power took from the coordinator
  std::unique_ptr<Scope> scope_;
};

}  // namespace

GateReport run_gate_schedule(std::uint64_t seed) { return Schedule(seed).run(); }

std::string to_text(const GateReport& report) {
  const GateCountsOfFaults& counts = report.counts;
  std::string text =
      fmt::format("gate schedule {} ({}): {}; {} turns, {} unguarded, {} lost, longest wait {}\n",
                  report.seed, report.setup, report.outcome.ok() ? "held" : report.outcome.message(),
                  counts.turns, counts.unguarded, counts.lost, to_string(report.longest_wait));
  if (report.outcome.ok()) return text;
  for (const std::string& line : report.journal) text += line + "\n";
  return text + fmt::format("repeat with TUTTI_GATE_SEED={}\n", report.seed);
}

}  // namespace tutti
