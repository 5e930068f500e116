#include "lab/experiments/gate/run.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "lab/experiments/gate/lock_server.h"
#include "lab/experiments/gate/tutti_storage.h"

namespace tutti::gatelab {
namespace {

constexpr Nanos kMessage = 30_us;   // to the lock server or from it
constexpr Nanos kBarrier = 30_us;   // of 16 ranks on one node
constexpr Nanos kStep = 500_ms;     // of computing, after which a job that asked ahead tests
constexpr double kLocalRate = 1e9;  // bytes per second into a node's memory or local disk
constexpr double kSecondsPerHour = 3600;

gate::LockOptions lock_options(const RunOptions& options) {
  gate::LockOptions lock;
  lock.holders = options.holders;
  lock.order = options.method == Method::gate              ? gate::Order::learned
               : options.method == Method::lock_overtaking ? gate::Order::overtaking
                                                           : gate::Order::preserved;
  if (options.method == Method::lock_overtaking) lock.most_blocked = options.most_blocked;
  return lock;
}

bool locks(Method method) {
  return method == Method::lock || method == Method::lock_overtaking || method == Method::gate ||
         method == Method::lock_probe || method == Method::ask_ahead || method == Method::drain;
}

class World {
 public:
  explicit World(const RunOptions& options)
      : options_(options),
        own_simulation_(options.tutti.empty() ? std::make_unique<Simulation>(options.seed) : nullptr),
        tutti_(options.tutti.empty() ? nullptr : *TuttiStorage::make(options.seed, options.tutti, 1)),
        simulation_(tutti_ ? tutti_->simulation() : *own_simulation_),
        clock_(simulation_),
        storage_(tutti_ ? nullptr : options.storage(simulation_, simulation_.random().fork())),
        locks_(simulation_, lock_options(options), kMessage),
        queue_(options.nodes),
        scope_(simulation_.executor()) {
    result_.jobs.resize(options.jobs.size());
    result_.ask_overhead = 1e9;
    for (std::size_t i = 0; i < options.jobs.size(); ++i) {
      states_.push_back(std::make_unique<State>(simulation_.executor(), simulation_.random().fork()));
    }
  }

  RunResult run() {
    for (std::size_t i = 0; i < options_.jobs.size(); ++i) scope_.spawn(submit(*this, i));
    simulation_.run_until([this] { return ended_ == options_.jobs.size(); });
    Nanos first = Nanos::max();
    Nanos last;
    for (std::size_t i = 0; i < options_.jobs.size(); ++i) {
      first = std::min(first, options_.jobs[i].start);
      last = std::max(last, result_.jobs[i].ended);
    }
    result_.makespan = (last - first).seconds();
    result_.jumps = storage().jumps();
    result_.busy = storage().busy().seconds();
    result_.longest_wait = locks_.longest_wait().seconds();
    result_.passed = locks_.table().counters().passed_blocked + locks_.table().counters().passed_holding;
    for (const gate::AskName& name : locks_.grants()) result_.grants.push_back(name.job - 1);
    return std::move(result_);
  }

 private:
  struct State {
    State(Executor& executor, Random chance) : random(chance), scope(executor), drained(executor) {
      drained.set();
    }
    Random random;
    Scope scope;  // of the running job
    bool writing = false;
    Nanos wrote;  // when it last did
    std::uint64_t asks = 0;
    Event drained;
  };

  const JobSpec& spec(std::size_t job) const { return options_.jobs[job]; }

  static Task<void> submit(World& world, std::size_t job) {
    co_await world.clock_.sleep_until(world.spec(job).start);
    const std::uint32_t nodes = (world.spec(job).cores + 15) / 16;
    world.queue_.submit(job, nodes, world.spec(job).wall_limit);
    world.start_jobs();
  }

  void start_jobs() {
    for (const std::uint64_t job : queue_.start(clock_.now())) scope_.spawn(supervise(*this, job));
  }

  // A running job, ended by its limit if need be.
  static Task<void> supervise(World& world, std::size_t job) {
    State& state = *world.states_[job];
    JobResult& result = world.result_.jobs[job];
    result.started = world.clock_.now();
    auto over = std::make_shared<Event>(world.simulation_.executor());
    state.scope.spawn(run_to_end(world, job, over));
    if (world.spec(job).wall_limit < Nanos::max()) {
      world.scope_.spawn(limit(world, job, over));
    }
    co_await over->wait();
    result.ended = world.clock_.now();
    state.writing = false;
    world.locks_.leave(job + 1);
    ++world.ended_;
    world.queue_.ended(job);
    world.start_jobs();
  }

  static Task<void> run_to_end(World& world, std::size_t job, std::shared_ptr<Event> over) {
    co_await run_job(world, job);
    over->set();
  }

  static Task<void> limit(World& world, std::size_t job, std::shared_ptr<Event> over) {
    co_await world.clock_.sleep(world.spec(job).wall_limit);
    if (over->is_set()) co_return;
    world.states_[job]->scope.cancel();
    world.result_.jobs[job].killed = true;
    over->set();
  }

  void note(std::size_t job, PhaseKind kind, Nanos begin, Bytes bytes = {}) {
    const Nanos now = clock_.now();
    if (now <= begin) return;
    result_.phases.push_back({job, kind, begin, now, bytes});
    JobResult& result = result_.jobs[job];
    const double seconds = (now - begin).seconds();
    if (kind == PhaseKind::wait) {
      result.wait += seconds;
      result_.core_hours_waiting += seconds * spec(job).cores / kSecondsPerHour;
    }
    if (kind == PhaseKind::probe) result.probe += seconds;
    if (kind == PhaseKind::write) result.write += seconds;
  }

  static Task<void> run_job(World& world, std::size_t job) {
    const JobSpec& spec = world.spec(job);
    State& state = *world.states_[job];
    if (world.options_.method == Method::stagger && spec.gated) {
      co_await world.clock_.sleep(
          Nanos(static_cast<std::int64_t>(state.random.unit() * static_cast<double>(spec.compute.count()))));
    }
    if (world.options_.method == Method::ask_ahead && spec.gated) {
      co_await run_ahead(world, job);
      co_return;
    }
    for (std::uint32_t i = 0; i < spec.checkpoints; ++i) {
      const Nanos begin = world.clock_.now();
      co_await world.clock_.sleep(spec.compute);
      world.note(job, PhaseKind::compute, begin);
      co_await checkpoint(world, job);
    }
    if (!state.drained.is_set()) {
      const Nanos begin = world.clock_.now();
      co_await state.drained.wait();
      world.note(job, PhaseKind::wait, begin);
    }
  }

  static Task<void> checkpoint(World& world, std::size_t job) {
    const JobSpec& spec = world.spec(job);
    State& state = *world.states_[job];
    const Method method = spec.gated ? world.options_.method : Method::nothing;
    const Nanos begin = world.clock_.now();
    const double writes = world.result_.jobs[job].write;
    Bytes left = spec.checkpoint;
    if (method == Method::drain) {
      co_await save(world, job);
    } else {
      const gate::AskName name{job + 1, ++state.asks};
      if (locks(method)) {
        co_await acquire(world, job, name);
      }
      if (method == Method::backoff || method == Method::lock_probe || method == Method::checkpoint_probe) {
        co_await back_off(world, job, method == Method::checkpoint_probe ? &left : nullptr);
      }
      co_await world.clock_.sleep(kBarrier);
      const Nanos write_begin = world.clock_.now();
      if (write_begin > begin) {
        world.result_.ask_overhead = std::min(world.result_.ask_overhead, (write_begin - begin).seconds());
      }
      co_await write(world, job, left);
      world.note(job, PhaseKind::write, write_begin, left);
      if (locks(method)) co_await world.locks_.release(name, spec.checkpoint);
    }
    world.result_.jobs[job].checkpoints.push_back((world.clock_.now() - begin).seconds());
    world.result_.jobs[job].writes.push_back(world.result_.jobs[job].write - writes);
  }

  static Task<void> write(World& world, std::size_t job, Bytes size) {
    State& state = *world.states_[job];
    if (size > Bytes()) {
      state.writing = true;
      co_await world.storage().write(job, world.spec(job).servers, size);
      state.writing = false;
      state.wrote = world.clock_.now();
      world.result_.written += static_cast<double>(size.count());
    }
    co_await world.clock_.sleep(kBarrier);
  }

  gate::Ask ask_of(std::size_t job, gate::AskName name) const {
    gate::Ask ask;
    ask.name = name;
    for (const std::uint32_t server : spec(job).servers) ask.resources.push_back(std::to_string(server));
    if (options_.sizes_known) ask.expected = spec(job).checkpoint;
    return ask;
  }

  static Task<void> acquire(World& world, std::size_t job, gate::AskName name) {
    const Nanos begin = world.clock_.now();
    const gate::Ask ask = world.ask_of(job, name);
    const gate::Answer answer = co_await world.locks_.ask(ask);
    if (answer.standing == gate::Standing::waiting) co_await world.locks_.wait(name);
    world.note(job, PhaseKind::wait, begin);
  }

  // Whether another job that shares a server writes, or did so after `since`.
  [[nodiscard]] bool others_wrote(std::size_t job, Nanos since) const {
    for (std::size_t other = 0; other < states_.size(); ++other) {
      if (other == job) continue;
      const auto& theirs = spec(other).servers;
      const auto& ours = spec(job).servers;
      if (std::find_first_of(theirs.begin(), theirs.end(), ours.begin(), ours.end()) == theirs.end())
        continue;
      if (states_[other]->writing || states_[other]->wrote > since) return true;
    }
    return false;
  }

  // With `left`, probes are parts of the checkpoint, which it then is shorter by.
  static Task<void> back_off(World& world, std::size_t job, Bytes* left) {
    gate::BackoffOptions options = world.options_.backoff;
    if (left != nullptr) options.priming = Bytes();
    gate::Backoff backoff(options, world.states_[job]->random.fork());
    Nanos probing_since = world.clock_.now();
    std::uint32_t count = 0;
    const std::vector<std::uint32_t> servers = world.spec(job).servers;
    for (gate::Backoff::Step step = backoff.next(); step.kind != gate::Backoff::Step::proceed;
         step = backoff.next()) {
      const Nanos begin = world.clock_.now();
      if (step.kind == gate::Backoff::Step::sleep || step.kind == gate::Backoff::Step::pause) {
        co_await world.clock_.sleep(step.duration);
      } else {
        Bytes size = step.size * servers.size();
        if (left != nullptr) {
          if (*left < size) break;  // all of it is written
          *left -= size;
          world.result_.written += static_cast<double>(size.count());
        } else {
          world.result_.probed += size;
        }
        co_await world.storage().write(job, servers, size);
      }
      world.note(job, step.kind == gate::Backoff::Step::sleep ? PhaseKind::wait : PhaseKind::probe, begin);
      backoff.done(world.clock_.now() - begin);
      if (step.kind == gate::Backoff::Step::sleep) probing_since = world.clock_.now();
      if (backoff.count() == count) continue;
      count = backoff.count();
      ++world.result_.probes;
      const bool busy = world.others_wrote(job, probing_since);
      const bool quiet = backoff.rate() >= options.threshold;
      if (quiet && busy) ++world.result_.misses;
      if (!quiet && !busy) ++world.result_.false_alarms;
      if (backoff.gave_up()) ++world.result_.gave_up;
    }
  }

  // Asks half an interval ahead, computes in steps until the grant is there, and at most one interval longer.
  static Task<void> run_ahead(World& world, std::size_t job) {
    const JobSpec& spec = world.spec(job);
    State& state = *world.states_[job];
    const Nanos all = spec.compute * spec.checkpoints;
    Nanos done;  // of computing
    for (std::uint32_t i = 0; i < spec.checkpoints; ++i) {
      const Nanos due = spec.compute * (i + 1);
      const Nanos latest = std::min(all, due + spec.compute / 2);
      co_await compute(world, job, done, due - spec.compute / 2);
      const gate::AskName name{job + 1, ++state.asks};
      const Nanos asked = world.clock_.now();
      co_await world.locks_.ask(world.ask_of(job, name));
      while (world.locks_.test(name) == gate::Standing::waiting && done < latest) {
        co_await compute(world, job, done, std::min(done + kStep, latest));
      }
      const Nanos begin = world.clock_.now();
      if (world.locks_.test(name) == gate::Standing::waiting) {
        co_await world.locks_.wait(name);
        world.note(job, PhaseKind::wait, begin);
      }
      const Nanos write_begin = world.clock_.now();
      co_await write(world, job, spec.checkpoint);
      world.note(job, PhaseKind::write, write_begin, spec.checkpoint);
      co_await world.locks_.release(name, spec.checkpoint);
      world.result_.jobs[job].checkpoints.push_back((world.clock_.now() - begin).seconds());
      world.result_.jobs[job].writes.push_back((world.clock_.now() - write_begin).seconds());
      world.result_.ask_overhead = std::min(world.result_.ask_overhead, (begin - asked).seconds());
    }
    co_await compute(world, job, done, all);
  }

  static Task<void> compute(World& world, std::size_t job, Nanos& done, Nanos until) {
    if (done >= until) co_return;
    const Nanos begin = world.clock_.now();
    co_await world.clock_.sleep(until - done);
    done = until;
    world.note(job, PhaseKind::compute, begin);
  }

  // On the node; the one before must have left it.
  static Task<void> save(World& world, std::size_t job) {
    State& state = *world.states_[job];
    const Bytes size = world.spec(job).checkpoint;
    if (!state.drained.is_set()) {
      const Nanos begin = world.clock_.now();
      co_await state.drained.wait();
      world.note(job, PhaseKind::wait, begin);
    }
    const Nanos begin = world.clock_.now();
    co_await world.clock_.sleep(Nanos::from_seconds(static_cast<double>(size.count()) / kLocalRate));
    world.note(job, PhaseKind::write, begin, size);
    state.drained.reset();
    state.scope.spawn(drain(world, job));
  }

  static Task<void> drain(World& world, std::size_t job) {
    State& state = *world.states_[job];
    const gate::AskName name{job + 1, ++state.asks};
    const gate::Ask ask = world.ask_of(job, name);
    const gate::Answer answer = co_await world.locks_.ask(ask);
    if (answer.standing == gate::Standing::waiting) co_await world.locks_.wait(name);
    co_await write(world, job, world.spec(job).checkpoint);
    co_await world.locks_.release(name, world.spec(job).checkpoint);
    state.drained.set();
  }

  [[nodiscard]] SharedStorage& storage() const { return tutti_ ? *tutti_ : *storage_; }

  const RunOptions& options_;
  std::unique_ptr<Simulation> own_simulation_;
  std::unique_ptr<TuttiStorage> tutti_;  // has its own
  Simulation& simulation_;
  SimClock clock_;
  std::unique_ptr<SharedStorage> storage_;
  LockServer locks_;
  BatchQueue queue_;
  std::vector<std::unique_ptr<State>> states_;
  RunResult result_;
  std::size_t ended_ = 0;
  Scope scope_;
};

double mean_of(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace

std::string_view method_name(Method method) {
  switch (method) {
    case Method::nothing:
      return "nothing";
    case Method::stagger:
      return "stagger";
    case Method::backoff:
      return "backoff";
    case Method::lock:
      return "lock";
    case Method::lock_overtaking:
      return "lock without order";
    case Method::gate:
      return "gate";
    case Method::lock_probe:
      return "lock+probe";
    case Method::checkpoint_probe:
      return "checkpoint as probe";
    case Method::ask_ahead:
      return "ask ahead";
    case Method::drain:
      return "drain";
  }
  return "";
}

double RunResult::total_io() const {
  double all = 0;
  for (const JobResult& job : jobs) all += job.io();
  return all;
}

double RunResult::mean_io() const { return total_io() / static_cast<double>(jobs.size()); }

double RunResult::deviation() const {
  std::vector<double> each;
  for (const JobResult& job : jobs) {
    const double mean = mean_of(job.checkpoints);
    if (mean <= 0 || job.checkpoints.size() < 2) continue;
    double squares = 0;
    for (const double value : job.checkpoints) squares += (value - mean) * (value - mean);
    each.push_back(std::sqrt(squares / static_cast<double>(job.checkpoints.size() - 1)) / mean);
  }
  return mean_of(each);
}

RunResult run_mix(const RunOptions& options) { return World(options).run(); }

std::vector<RunResult> run_mixes(const std::vector<RunOptions>& all, const ExperimentOptions& options) {
  std::vector<RunResult> results(all.size());
  std::atomic<std::size_t> next{0};
  std::size_t done = 0;
  std::mutex mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < all.size(); i = next++) {
      results[i] = run_mix(all[i]);
      const std::lock_guard lock(mutex);
      if (options.progress) options.progress(++done, all.size());
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.threads; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  return results;
}

double quiet_probe(const std::function<std::unique_ptr<SharedStorage>(Simulation&, Random)>& storage,
                   const gate::BackoffOptions& backoff) {
  Simulation simulation(1);
  const auto made = storage(simulation, Random(7));
  std::vector<double> times;
  for (int i = 0; i < 15; ++i) {
    const Nanos begin = simulation.now();
    simulation.run(made->write(0, {0}, backoff.data_size));
    times.push_back((simulation.now() - begin).seconds());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

Efficiency measure_efficiency(
    const std::function<std::unique_ptr<SharedStorage>(Simulation&, Random)>& storage, std::uint32_t writers,
    Bytes each) {
  Efficiency mean;
  // Two are what the formulas are about, and depend most on how far apart two files lie.
  const int seeds = writers == 2 ? 40 : 8;
  for (int seed = 1; seed <= seeds; ++seed) {
    Simulation simulation(static_cast<std::uint64_t>(seed));
    const auto made = storage(simulation, simulation.random().fork());
    Scope scope(simulation.executor());
    for (std::uint32_t i = 0; i < writers; ++i) scope.spawn(made->write(i, {0}, each));
    simulation.run_until([&] { return scope.size() == 0; });
    const double seconds = simulation.now().seconds();
    const double bytes = static_cast<double>(each.count()) * writers;
    mean.rate += bytes / seconds / seeds;
    mean.jumps_per_gigabyte += static_cast<double>(made->jumps()) / (bytes / 1e9) / seeds;
    mean.busy += std::min(1.0, made->busy().seconds() / seconds) / seeds;
  }
  return mean;
}

}  // namespace tutti::gatelab
