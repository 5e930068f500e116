// Changes of the request policy in a simulated cluster, with servers lost at every step.
#include <gtest/gtest.h>

#include "server/coordinator/policy_keeper.h"
#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

class PolicyTest : public ClusterTest {
 protected:
  void start_following(std::uint64_t seed = 1, const std::string& policy = "fcfs") {
    SimClusterOptions options;
    options.seed = seed;
    options.policy = policy;
    options.servers = 3;
    options.coordinated = true;
    start(options);
    pass(100_ms);
  }
  void pass(Nanos length) { cluster_->simulation().run_until(cluster_->simulation().now() + length); }
  [[nodiscard]] std::string policy_of(std::uint32_t server) {
    return cluster_->data_server(server)->dispatcher().policy_name();
  }
  [[nodiscard]] std::uint64_t version_of(std::uint32_t server) {
    return cluster_->data_server(server)->policy_switch().active().version;
  }
  // All servers follow what the metadata server has recorded, and nothing is left over.
  void expect_agreement() {
    const auto now = run(files().policy());
    ASSERT_TRUE(now.ok()) << now.status().to_string();
    const std::string name = (*make_request_policy(now->policy))->name();
    for (std::uint32_t server = 0; server < cluster_->servers(); ++server) {
      EXPECT_EQ(policy_of(server), name) << "data server " << server;
      EXPECT_EQ(version_of(server), now->version) << "data server " << server;
      EXPECT_FALSE(cluster_->data_server(server)->policy_switch().pending());
    }
  }
};

TEST_F(PolicyTest, ChangesOnAllServersFromTheBeginOfAWindow) {
  start_following();
  const auto set = run(files().set_policy("window;interval=400"));
  ASSERT_TRUE(set.ok()) << set.status().to_string();
  EXPECT_EQ(set->from.count() % 400'000'000, 0);
  EXPECT_GT(set->from, set->now);
  EXPECT_EQ(set->version, 2U);
  const Nanos left = set->from - (Simulation::kWallEpoch + cluster_->simulation().now());
  pass(left - 1_ms);
  for (std::uint32_t server = 0; server < 3; ++server) EXPECT_TRUE(policy_of(server).starts_with("fcfs"));
  pass(2_ms);
  for (std::uint32_t server = 0; server < 3; ++server) EXPECT_TRUE(policy_of(server).starts_with("window"));
  expect_agreement();
}

TEST_F(PolicyTest, TheSlowestDeviceDecidesTheIntervalOfAll) {
  start_following();
  const auto set = run(files().set_policy("window"));
  ASSERT_TRUE(set.ok());
  EXPECT_TRUE(set->policy.starts_with("window;interval=8;adaptive=true;"));
}

TEST_F(PolicyTest, OnlyRootAndTheOwnerMay) {
  SimClusterOptions options;
  options.coordinated = true;
  options.meta.root_uid = 1000;
  start(options);
  const auto stranger = make_client({}, 1001);
  EXPECT_EQ(run(stranger->files().set_policy("window")).code(), Code::permission);
  EXPECT_TRUE(run(stranger->files().policy()).ok()) << "reading is free";
  const auto owner = make_client({}, 1000);
  EXPECT_TRUE(run(owner->files().set_policy("window")).ok());
}

TEST_F(PolicyTest, IsRefusedWithTheNameOfAServerThatIsAway) {
  start_following();
  cluster_->stop_data(1);
  const auto refused = run(files().set_policy("window"));
  EXPECT_EQ(refused.code(), Code::unavailable);
  EXPECT_NE(refused.status().message().find("data server 1"), std::string::npos)
      << refused.status().message();
  cluster_->start_data(1);
  pass(60_s);
  EXPECT_EQ(run(files().policy())->version, 1U);
  expect_agreement();
  EXPECT_TRUE(run(files().set_policy("window")).ok());
  pass(60_s);
  expect_agreement();
}

TEST_F(PolicyTest, ASecondChangeWaitsForTheFirst) {
  start_following();
  const auto other = make_client();
  std::optional<Result<ClusterPolicy>> first;
  auto task = [](FileSystem& files, std::optional<Result<ClusterPolicy>>& into) -> Task<void> {
    into.emplace(co_await files.set_policy("window;interval=100"));
  };
  Scope scope(cluster_->simulation().executor());
  scope.spawn(task(other->files(), first));
  const auto second = run(files().set_policy("window;interval=200"));
  ASSERT_TRUE(cluster_->simulation().run_until([&] { return first.has_value(); }));
  ASSERT_TRUE(first->ok());
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  pass(10_s);
  EXPECT_EQ(run(files().policy())->version, 3U);
  expect_agreement();
}

// What happens to somebody at a moment of the change, and how it is undone.
struct Mishap {
  const char* name;
  void (*strike)(SimCluster&);
  void (*repair)(SimCluster&);
};
const Mishap kMishaps[] = {
    {"cut off", [](SimCluster& c) { c.fabric().cut(SimCluster::meta_node(), SimCluster::data_node(1)); },
     [](SimCluster& c) { c.fabric().heal(SimCluster::meta_node(), SimCluster::data_node(1)); }},
    {"data server dies", [](SimCluster& c) { c.stop_data(1); }, [](SimCluster& c) { c.start_data(1); }},
    {"metadata server dies", [](SimCluster& c) { c.stop_meta(); }, [](SimCluster& c) { c.start_meta(); }},
    {"metadata server loses power", [](SimCluster& c) { c.lose_power_meta(); },
     [](SimCluster& c) { c.start_meta(); }},
};

TEST_F(PolicyTest, WhoeverIsLostAtWhicheverStepAllEndWithTheSame) {
  // The change talks for some 600 us and takes effect after two seconds and more.
  std::vector<Nanos> moments;
  for (Nanos at = 0_s; at < 1200_us; at += 25_us) moments.push_back(at);
  for (const Nanos at : {50_ms, 500_ms, 1900_ms, 2500_ms}) moments.push_back(at);
  for (const Mishap& mishap : kMishaps) {
    int changed = 0;
    int refused = 0;
    for (const Nanos at : moments) {
      SCOPED_TRACE(std::string(mishap.name) + " after " + to_string(at));
      start_following();
      std::optional<Result<ClusterPolicy>> outcome;
      auto task = [](FileSystem& files, std::optional<Result<ClusterPolicy>>& into) -> Task<void> {
        into.emplace(co_await files.set_policy("window;interval=500"));
      };
      Scope scope(cluster_->simulation().executor());
      scope.spawn(task(files(), outcome));
      pass(at);
      mishap.strike(*cluster_);
      pass(4_s);
      // Nothing is decided before all have acknowledged.
      if (cluster_->data_running(1) && outcome && outcome->ok()) {
        const PolicySwitch& agreed = cluster_->data_server(1)->policy_switch();
        EXPECT_TRUE(agreed.pending() || agreed.active().version == 2);
      }
      mishap.repair(*cluster_);
      ASSERT_TRUE(cluster_->simulation().run_until([&] { return outcome.has_value(); }));
      pass(6_s);  // who is in doubt asks every second, not only with the regular poll
      expect_agreement();
      const auto now = run(files().policy());
      ASSERT_TRUE(now.ok());
      // A client that got an answer got the right one.
      if (outcome->ok()) {
        EXPECT_EQ((*outcome)->version, now->version);
      }
      if (outcome->code() == Code::unavailable) {
        EXPECT_EQ(now->version, 1U);
      }
      ++(now->version > 1 ? changed : refused);
      scope.cancel();
    }
    EXPECT_GT(changed, 0) << mishap.name;
    if (std::string_view(mishap.name) == "cut off") {
      EXPECT_GT(refused, 0);
    }
  }
}

TEST_F(PolicyTest, MovesTheQueueWithoutLoss) {
  start_following(1, "fcfs;dispatch_depth=1");  // one of several at a time: the store is in memory
  ClientOptions all_at_once;
  all_at_once.target_order = "alternate";  // `auto` leaves servers in memory no queue
  client_ = make_client(all_at_once);
  auto file = open("/f");
  const auto bytes = random_bytes(48U << 20U, 5);
  std::optional<Status> wrote;
  auto task = [](OpenFile& into, std::span<const std::byte> from,
                 std::optional<Status>& status) -> Task<void> {
    status.emplace(co_await into.write(0_B, from));
  };
  Scope scope(cluster_->simulation().executor());
  int changes = 0;
  for (const char* text : {"window;interval=100;dispatch_depth=1", "fcfs;dispatch_depth=1",
                           "window;order=smallest;dispatch_depth=1", "fcfs;dispatch_depth=2"}) {
    const auto set = run(files().set_policy(text));
    ASSERT_TRUE(set.ok());
    const Nanos left = set->from - (Simulation::kWallEpoch + cluster_->simulation().now());
    pass(left - 50_ms);
    wrote.reset();
    scope.spawn(task(*file, bytes, wrote));
    pass(49_ms);
    EXPECT_FALSE(wrote.has_value());
    EXPECT_GT(cluster_->data_server(0)->dispatcher().queued(), 0U) << text;
    pass(2_ms);
    EXPECT_FALSE(wrote.has_value());
    EXPECT_TRUE(cluster_->simulation().run_until([&] { return wrote.has_value(); }));
    EXPECT_TRUE(wrote->ok()) << wrote->to_string();
    ++changes;
  }
  EXPECT_EQ(changes, 4);
  std::vector<std::byte> back(bytes.size());
  const auto got = run(file->read(0_B, back));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(back, bytes);
}

TEST_F(PolicyTest, ADataServerThatComesBackLearnsWhatHolds) {
  start_following();
  ASSERT_TRUE(run(files().set_policy("window;interval=300")).ok());
  pass(10_s);
  cluster_->stop_data(2);
  cluster_->start_data(2);
  pass(100_ms);
  expect_agreement();
  cluster_->stop_meta();
  cluster_->start_meta();
  pass(1_s);
  expect_agreement();
}

TEST(PolicyChange, TheCapabilityIsGoodForOneMessageOnly) {
  const ServerKey key = ServerKey::from_seed(1);
  const PolicyMessage message{PolicyStep::prepare, {2, 5, "window", 7_s}};
  const auto good = policy_change_message(key, message, 0_s);
  const auto read = read_policy_change(key, wire::bytes(good), 1_s);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->what.policy, "window");
  EXPECT_EQ(read->what.from, 7_s);
  EXPECT_EQ(read_policy_change(key, wire::bytes(good), 301_s).code(), Code::expired);
  const auto* sound = wire::parse<wire::PolicyChangeRequest>(wire::bytes(good));
  flatbuffers::FlatBufferBuilder other;
  const auto text = other.CreateString("window");
  other.Finish(wire::CreatePolicyChangeRequest(other, sound->capability(), 2, 2, 5, text, (7_s).count()));
  EXPECT_EQ(read_policy_change(key, wire::bytes(other), 1_s).code(), Code::bad_capability) << "another step";
}

TEST(PolicyRecord, DamagedOnesAreNotRead) {
  const PolicyRecord record{{3, 4, "window", 5_s}, "fcfs", "fcfs;dispatch_depth=2"};
  const std::string bytes = encode(record);
  const auto back = decode_policy(bytes);
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->now.policy, "window");
  EXPECT_EQ(back->previous, "fcfs");
  EXPECT_EQ(back->configured, "fcfs;dispatch_depth=2");
  EXPECT_EQ(back->now.from, 5_s);
  for (std::size_t length = 0; length < 33; ++length) {
    EXPECT_EQ(decode_policy(std::string_view(bytes).substr(0, length)).code(), Code::malformed);
  }
}

}  // namespace
}  // namespace tutti
