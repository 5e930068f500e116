#include "lab/faults/fault_saboteur.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

// While one lives, operations may take as long as they like; the line before and after says which fault it
// was.
class FaultSaboteur::UnderWay {
 public:
  UnderWay(FaultWorld& world, std::string what) : world_(world), what_(std::move(what)) {
    ++world_.faults_under_way;
    world_.journal.add("fault: " + what_);
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;
  ~UnderWay() {
    --world_.faults_under_way;
    world_.healed_at = world_.now();
    world_.journal.add("end of fault: " + what_);
  }

 private:
  FaultWorld& world_;
  std::string what_;
};

// A server that has another's store already gets no third one: what each must do would not be clear.
class FaultSaboteur::Exchanged {
 public:
  Exchanged(FaultSaboteur& saboteur, std::uint32_t a, std::uint32_t b) : saboteur_(saboteur), a_(a), b_(b) {
    saboteur_.exchanged_.insert({a, b});
  }
  Exchanged(const Exchanged&) = delete;
  Exchanged& operator=(const Exchanged&) = delete;
  ~Exchanged() {
    saboteur_.exchanged_.erase(a_);
    saboteur_.exchanged_.erase(b_);
  }

 private:
  FaultSaboteur& saboteur_;
  std::uint32_t a_;
  std::uint32_t b_;
};

FaultSaboteur::FaultSaboteur(FaultWorld& world, const FaultPlan& plan, Random random)
    : world_(world),
      plan_(plan),
      random_(random),
      clock_(world.cluster.clock(SimCluster::meta_node())),
      scope_(world.cluster.simulation().executor()) {}

Task<void> FaultSaboteur::run() {
  while (!stopping_) {
    co_await clock_.sleep(random_.exponential(plan_.mean_pause));
    if (!stopping_) begin_one();
  }
}

NodeId FaultSaboteur::any_node() {
  return static_cast<NodeId>(random_.below(world_.cluster.fabric().size()));
}

Nanos FaultSaboteur::any_length() {
  // Mostly short, so that several attempts of a client meet the same gap only now and then.
  const Nanos length = random_.exponential(plan_.longest / 6);
  return std::min(length + 1_ms, plan_.longest);
}

void FaultSaboteur::begin_one() {
  const auto server = static_cast<std::uint32_t>(random_.below(world_.cluster.servers()));
  const NodeId a = any_node();
  const NodeId b = any_node();
  const Nanos length = any_length();
  const bool power = plan_.power_losses && random_.chance(0.5);
  if (plan_.pauses && random_.chance(0.25)) {
    const auto client = static_cast<std::uint32_t>(random_.below(world_.cluster.options().client_nodes));
    return scope_.spawn(pause(world_.cluster.client_node(client), length));
  }
  if (plan_.clock_jumps && random_.chance(0.2) && a != SimCluster::meta_node()) {
    const auto seconds = static_cast<std::int64_t>(random_.below(20'000'000'000)) - 10'000'000'000;
    return scope_.spawn(jump(a, Nanos(seconds), length));
  }
  const std::uint64_t dice = random_.below(100);
  if (dice < 35) {
    if (plan_.data_deaths && world_.cluster.data_running(server))
      scope_.spawn(stop_data(server, power, length));
  } else if (dice < 50 && world_.cluster.coordinator_running() && random_.chance(0.5)) {
    if (plan_.metadata_deaths) scope_.spawn(stop_coordinator(length));
  } else if (dice < 50) {
    if (plan_.metadata_deaths && world_.cluster.meta_running()) scope_.spawn(stop_meta(power, length));
  } else if (dice < 75) {
    if (plan_.cuts && a != b) scope_.spawn(cut(a, b, length));
  } else if (dice < 85) {
    if (plan_.slow_links && a != b) scope_.spawn(slow(a, b, length));
  } else if (dice < 92 && plan_.wrong_stores) {
    begin_wrong_store(server, length);
  } else {
    if (plan_.store_errors) scope_.spawn(spoil(server, length));
  }
}

void FaultSaboteur::begin_wrong_store(std::uint32_t server, Nanos length) {
  const std::uint32_t other = (server + 1) % world_.cluster.servers();
  if (!world_.cluster.data_running(server) || !world_.cluster.data_running(other)) return;
  if (exchanged_.contains(server) || exchanged_.contains(other)) return;
  if (other != server && random_.chance(0.5)) {
    scope_.spawn(swap(server, other, length));
  } else {
    scope_.spawn(empty(server, length));
  }
}

Task<void> FaultSaboteur::stop_data(std::uint32_t server, bool power, Nanos length) {
  const UnderWay under_way(world_, fmt::format("data server {} {}", server, power ? "loses power" : "dies"));
  SimCluster& cluster = world_.cluster;
  if (power) {
    ++world_.counts.power_losses;
    cluster.lose_power_data(server);
    for (WatchedFile& file : world_.files) FaultWorld::lost(file, server);
  } else {
    ++world_.counts.process_deaths;
    cluster.stop_data(server);
  }
  co_await clock_.sleep(length);
  cluster.start_data(server);
}

Task<void> FaultSaboteur::stop_meta(bool power, Nanos length) {
  const UnderWay under_way(world_, fmt::format("metadata server {}", power ? "loses power" : "dies"));
  if (power) {
    ++world_.counts.power_losses;
    world_.cluster.lose_power_meta();
  } else {
    ++world_.counts.process_deaths;
    world_.cluster.stop_meta();
  }
  co_await clock_.sleep(length);
  world_.cluster.start_meta();
}

Task<void> FaultSaboteur::stop_coordinator(Nanos length) {
  const UnderWay under_way(world_, "coordinator dies");
  ++world_.counts.process_deaths;
  world_.cluster.stop_coordinator();
  co_await clock_.sleep(length);
  world_.cluster.start_coordinator();
}

Task<void> FaultSaboteur::cut(NodeId a, NodeId b, Nanos length) {
  const UnderWay under_way(world_, fmt::format("link {}-{} is cut", a, b));
  ++world_.counts.cuts;
  world_.cluster.fabric().cut(a, b);
  co_await clock_.sleep(length);
  world_.cluster.fabric().heal(a, b);
}

Task<void> FaultSaboteur::slow(NodeId a, NodeId b, Nanos length) {
  const UnderWay under_way(world_, fmt::format("link {}-{} is slow", a, b));
  for (const NodeId node : {a, b}) world_.slow_down(node, clock_.now() + length + 1_s);
  world_.cluster.fabric().slow(a, b, 20);
  world_.cluster.fabric().delay(a, b, 50_ms);
  co_await clock_.sleep(length);
  world_.cluster.fabric().slow(a, b, 1);
  world_.cluster.fabric().delay(a, b, Nanos());
}

// What it says arrives when it goes on, and nothing reaches it before.
Task<void> FaultSaboteur::pause(NodeId client, Nanos length) {
  const UnderWay under_way(world_, fmt::format("client node {} is paused", client));
  world_.slow_down(client, clock_.now() + length * 2);
  const auto others = static_cast<NodeId>(world_.cluster.fabric().size());
  for (NodeId other = 0; other < others; ++other) {
    if (other != client) world_.cluster.fabric().delay(client, other, length);
  }
  co_await clock_.sleep(length);
  for (NodeId other = 0; other < others; ++other) {
    if (other != client) world_.cluster.fabric().delay(client, other, Nanos());
  }
}

Task<void> FaultSaboteur::jump(NodeId node, Nanos offset, Nanos length) {
  const UnderWay under_way(world_, fmt::format("clock of node {} jumps by {}", node, to_string(offset)));
  world_.cluster.clock(node).skew(offset);
  co_await clock_.sleep(length);
  world_.cluster.clock(node).skew(Nanos());
}

Task<void> FaultSaboteur::spoil(std::uint32_t server, Nanos length) {
  const bool full = random_.chance(0.5);
  const UnderWay under_way(world_, fmt::format("store {} {}", server, full ? "is full" : "fails"));
  ++world_.counts.store_faults;
  world_.store_faults = true;
  StoreFaults faults;
  if (full) {
    faults.no_space = 0.5;
  } else {
    faults.read_error = faults.write_error = faults.torn_write = 0.15;
    faults.sync_error = 0.5;  // they are rarer
  }
  SimStorage& storage = world_.cluster.storage(server);  // whichever server it is put under meanwhile
  storage.spoil(faults);
  co_await clock_.sleep(length);
  storage.spoil(StoreFaults());
}

// Each server comes up with the other's store, and must refuse it.
Task<void> FaultSaboteur::swap(std::uint32_t a, std::uint32_t b, Nanos length) {
  const UnderWay under_way(world_, fmt::format("stores of data servers {} and {} are swapped", a, b));
  const Exchanged exchanged(*this, a, b);
  ++world_.counts.wrong_stores;
  SimCluster& cluster = world_.cluster;
  for (const std::uint32_t server : {a, b}) cluster.stop_data(server);
  cluster.swap_storage(a, b);
  for (const std::uint32_t server : {a, b}) cluster.start_data(server);
  co_await clock_.sleep(length);
  for (const std::uint32_t server : {a, b}) check_refused(server);
  for (const std::uint32_t server : {a, b}) cluster.stop_data(server);
  cluster.swap_storage(a, b);
  for (const std::uint32_t server : {a, b}) cluster.start_data(server);
}

// A server comes up with a new store in the place of its own. It must wait for the metadata server, which refuses it.
Task<void> FaultSaboteur::empty(std::uint32_t server, Nanos length) {
  const UnderWay under_way(world_, fmt::format("data server {} has an empty store", server));
  const Exchanged exchanged(*this, server, server);
  ++world_.counts.wrong_stores;
  SimCluster& cluster = world_.cluster;
  cluster.stop_data(server);
  cluster.exchange_storage(server);
  cluster.start_data(server);
  co_await clock_.sleep(length);
  cluster.stop_data(server);
  cluster.exchange_storage(server);
  cluster.start_data(server);
}

void FaultSaboteur::check_refused(std::uint32_t server) {
  if (world_.cluster.refusal(server).code() != Code::invalid)
    world_.violation(fmt::format("data server {} serves the store of another", server));
}

}  // namespace tutti
