// The gate: the coordinator's lock service and the sessions of jobs, in a simulated cluster.
#include <gtest/gtest.h>

#include "client/gate_session.h"
#include "client/transfer/gate.h"
#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

constexpr Nanos kLease = 5_s;

class GateTest : public ClusterTest {
 protected:
  void begin(bool alone, gate::Order order = gate::Order::preserved, bool coordinated = false) {
    sessions_.clear();
    SimClusterOptions options;
    options.servers = 1;
    options.coordinated = coordinated;
    options.coordinator_alone = alone;
    options.gate.order = order;
    options.gate.lease = options.gate.grace = kLease;
    start(options);
  }
  ~GateTest() override { sessions_.clear(); }

  // A job on a client node; gone with forget().
  GateSession& job(std::uint64_t number) {
    auto& session = sessions_[number];
    if (!session) {
      GateSessionOptions options;
      options.address =
          cluster_->map().coordinator.empty() ? cluster_->map().meta : cluster_->map().coordinator;
      options.cluster = cluster_->map().id;
      options.job = number;
      options.program = "job";
      options.patience = 10_s;
      const NodeId node = cluster_->client_node(0);
      session = std::make_unique<GateSession>(
          Env{cluster_->clock(node), cluster_->fabric().node(node), random_, Log()}, options);
    }
    return *session;
  }
  void forget(std::uint64_t number) { sessions_.erase(number); }

  std::uint64_t asks(std::uint64_t number, std::vector<std::string> resources = {"nfs"}) {
    GateAsk ask;
    ask.resources = std::move(resources);
    return job(number).ask(std::move(ask));
  }
  GateOutcome outcome(std::uint64_t number, std::uint64_t turn) { return job(number).test(turn).outcome; }
  [[nodiscard]] Nanos now() { return cluster_->simulation().now(); }
  void pass(Nanos length) { cluster_->simulation().run_until(now() + length); }
  // Virtual time until the turn is decided.
  Nanos until_decided(std::uint64_t number, std::uint64_t turn) {
    const Nanos since = now();
    cluster_->simulation().run_until(
        [&] { return outcome(number, turn) != GateOutcome::waiting || now() > since + 1000_s; });
    return now() - since;
  }
  void restart(bool alone, Nanos away, bool power = false) {
    if (power) {
      cluster_->lose_power_coordinator();
    } else {
      alone ? cluster_->stop_coordinator() : cluster_->stop_meta();
    }
    pass(away);
    alone ? cluster_->start_coordinator() : cluster_->start_meta();
  }

  Random random_{3};
  std::map<std::uint64_t, std::unique_ptr<GateSession>> sessions_;
};

TEST_F(GateTest, OneAtATimeInTheOrderOfAsking) {
  for (const bool alone : {false, true}) {
    begin(alone);
    const std::uint64_t first = asks(1);
    pass(10_ms);
    const std::uint64_t second = asks(2);
    pass(10_ms);
    const std::uint64_t third = asks(3);
    pass(100_s);
    EXPECT_EQ(outcome(1, first), GateOutcome::granted) << "it is renewed";
    EXPECT_TRUE(job(1).valid(first));
    EXPECT_EQ(outcome(2, second), GateOutcome::waiting);
    job(1).release(first);
    EXPECT_LT(until_decided(2, second), 10_ms);
    EXPECT_EQ(outcome(2, second), GateOutcome::granted);
    EXPECT_EQ(outcome(3, third), GateOutcome::waiting);
    job(2).release(second);
    EXPECT_LT(until_decided(3, third), 10_ms);
    EXPECT_GT(job(3).test(third).fence, 2U);
  }
}

TEST_F(GateTest, AHolderThatDiesHasTheNextWaitForOneLeaseAtMost) {
  begin(true);
  const std::uint64_t first = asks(1);
  until_decided(1, first);
  const std::uint64_t second = asks(2);
  pass(20_s);
  EXPECT_EQ(outcome(2, second), GateOutcome::waiting);
  forget(1);
  EXPECT_LE(until_decided(2, second), kLease);
  EXPECT_EQ(outcome(2, second), GateOutcome::granted);
}

TEST_F(GateTest, AHolderThatIsNotRenewedLosesItsTurnAndIsTold) {
  begin(true);
  std::uint64_t told = 0;
  const std::uint64_t first = asks(1);
  until_decided(1, first);
  bool hangs = true;
  job(1).set_alive([&] { return !hangs; });
  job(1).on_lost([&](std::uint64_t number) { told = number; });
  const std::uint64_t second = asks(2);
  EXPECT_LE(until_decided(2, second), kLease + 10_ms);
  EXPECT_FALSE(job(1).valid(first));
  hangs = false;
  pass(kLease);
  EXPECT_EQ(told, first);
  EXPECT_EQ(outcome(1, first), GateOutcome::lost);
  EXPECT_EQ(outcome(2, second), GateOutcome::granted);
}

TEST_F(GateTest, ARestartKeepsHoldersAndTheOrderOfTheQueue) {
  for (const bool alone : {false, true}) {
    begin(alone);
    const std::uint64_t holder = asks(1);
    until_decided(1, holder);
    std::map<std::uint64_t, std::uint64_t> waiting;
    for (const std::uint64_t number : {4, 2, 3}) {
      waiting[number] = asks(number);
      pass(1_ms);
    }
    restart(alone, 2_s);
    pass(3_s);
    EXPECT_TRUE(job(1).valid(holder));
    for (const std::uint64_t number : {4, 2, 3})
      EXPECT_EQ(outcome(number, waiting[number]), GateOutcome::waiting);
    std::uint64_t last = holder;
    std::uint64_t last_job = 1;
    for (const std::uint64_t number : {4, 2, 3}) {
      job(last_job).release(last);
      EXPECT_LT(until_decided(number, waiting[number]), 10_ms) << number;
      EXPECT_EQ(outcome(number, waiting[number]), GateOutcome::granted) << number;
      last_job = number;
      last = waiting[number];
    }
  }
}

TEST_F(GateTest, AfterALossOfPowerHoldersSayAgainWhatTheyHoldAndNumbersGoOn) {
  for (const bool alone : {false, true}) {
    begin(alone);
    const std::uint64_t first = asks(1);
    until_decided(1, first);
    const std::uint64_t fence = job(1).test(first).fence;
    restart(alone, 1_s, true);
    const std::uint64_t second = asks(2);
    pass(kLease * 4);
    EXPECT_EQ(outcome(1, first), GateOutcome::granted);
    EXPECT_TRUE(job(1).valid(first));
    EXPECT_EQ(outcome(2, second), GateOutcome::waiting);
    job(1).release(first);
    until_decided(2, second);
    EXPECT_GT(job(2).test(second).fence, fence);
  }
}

TEST_F(GateTest, WhileNobodyAnswersJobsGoOnAfterTheirPatienceAndAreCounted) {
  begin(true);
  const std::uint64_t first = asks(1);
  until_decided(1, first);
  cluster_->stop_coordinator();
  const std::uint64_t second = asks(2);
  const Nanos waited = until_decided(2, second);
  EXPECT_EQ(outcome(2, second), GateOutcome::unguarded);
  EXPECT_GE(waited, 9_s);
  EXPECT_LE(waited, 16_s);
  EXPECT_EQ(job(2).test(second).fence, 0U);
  cluster_->start_coordinator();
  pass(10_s);
  EXPECT_EQ(cluster_->coordinator()->gate().unguarded(), 1U);
  EXPECT_EQ(outcome(1, first), GateOutcome::granted);
}

TEST_F(GateTest, AReleaseThatWasLostWithItsConnectionIsToldAgain) {
  begin(true);
  const std::uint64_t first = asks(1);
  until_decided(1, first);
  cluster_->stop_coordinator();
  pass(10_ms);
  job(1).release(first);
  const std::uint64_t next = asks(1, {"other"});
  cluster_->start_coordinator();
  until_decided(1, next);
  const std::uint64_t second = asks(2);
  EXPECT_LT(until_decided(2, second), 50_ms);
  EXPECT_EQ(outcome(2, second), GateOutcome::granted);
}

TEST_F(GateTest, WhoIsNotGrantedWithinItsLimitGoesOnWithout) {
  begin(true);
  until_decided(1, asks(1));
  GateAsk ask;
  ask.resources = {"nfs"};
  ask.limit = 3_s;
  const std::uint64_t second = job(2).ask(ask);
  EXPECT_EQ(until_decided(2, second), 3_s);
  EXPECT_EQ(outcome(2, second), GateOutcome::blocked);
  const std::uint64_t third = asks(3);
  pass(1_s);
  forget(1);
  until_decided(3, third);
  EXPECT_EQ(outcome(3, third), GateOutcome::granted) << "nobody waits behind one that gave up";
}

TEST_F(GateTest, AJobThatHoldsDoesNotWait) {
  begin(true);
  until_decided(1, asks(1, {"a"}));
  until_decided(2, asks(2, {"b"}));
  const std::uint64_t both = asks(1, {"b"});
  until_decided(1, both);
  EXPECT_EQ(outcome(1, both), GateOutcome::holding);
}

// A client that writes in the turn whose number it is told.
class TurnOfJob final : public TransferGate {
 public:
  Task<Status> enter(const TransferFacts& /*facts*/) override { co_return Status(); }
  [[nodiscard]] std::uint64_t turn(std::uint32_t /*server*/) const override { return number; }
  void leave(const TransferFacts& /*facts*/) override {}
  std::uint64_t number = 0;
};

class Fenced : public GateTest {
 protected:
  // A client writes in a turn that its job has lost to another one.
  void lose(bool alone) {
    file_.reset();
    begin(alone, gate::Order::preserved, true);
    gate_ = std::make_shared<TurnOfJob>();
    ClientOptions options;
    options.gate = gate_;
    client_ = make_client(options);
    file_ = open("/checkpoint");
    const std::uint64_t turn = asks(1);
    until_decided(1, turn);
    gate_->number = job(1).test(turn).fence;
    ASSERT_NE(gate_->number, 0U);
    EXPECT_LT(write(0_s, [] {}), 1_s) << "in the job's turn";
    const std::uint64_t next = asks(2);
    forget(1);
    until_decided(2, next);
    ASSERT_EQ(outcome(2, next), GateOutcome::granted);
    pass(10_ms);
  }
  // How long a write takes during which something happens.
  Nanos write(Nanos after, const std::function<void()>& action) {
    const Nanos since = now();
    EXPECT_TRUE(run_with(file_->write(0_B, bytes_), after, action).ok());
    return now() - since;
  }
  ~Fenced() override { file_.reset(); }

  std::shared_ptr<TurnOfJob> gate_;
  std::unique_ptr<OpenFile> file_;
  const std::vector<std::byte> bytes_ = random_bytes(100'000, 1);
};

TEST_F(Fenced, AWriteInALostTurnWaitsForAnotherTurn) {
  for (const bool alone : {false, true}) {
    lose(alone);
    const Nanos took = write(3_s, [&] { gate_->number += 1000; });
    EXPECT_GE(took, 3_s);
    EXPECT_LT(took, 5_s);
    EXPECT_LT(write(0_s, [] {}), 1_s);
  }
}

TEST_F(Fenced, AWriteInALostTurnIsNotHeldBackForEver) {
  lose(false);
  const Nanos took = write(0_s, [] {});
  EXPECT_GE(took, 9_s);
  EXPECT_LT(took, 12_s);
}

TEST_F(Fenced, AWriteInNoTurnIsNotHeldBack) {
  lose(false);
  gate_->number = 0;
  EXPECT_LT(write(0_s, [] {}), 1_s);
}

TEST_F(Fenced, ADataServerThatComesBackKnowsOfLostTurns) {
  lose(true);
  cluster_->stop_data(0);
  cluster_->start_data(0);
  pass(5_s);
  EXPECT_GE(write(0_s, [] {}), 9_s);
}

TEST(GateRecord, ComesBackAsItWas) {
  gate::LockRecord record;
  record.sequence = 7;
  record.job = 8;
  record.numbers = {1, 5};
  record.resources = {"a", "tutti:5/data.3"};
  record.standing = gate::Standing::granted;
  record.fence = 99;
  record.holders = 3;
  record.expected = 5_MiB;
  record.alone = true;
  const std::string bytes = encode(record);
  EXPECT_EQ(decode_lock_record(bytes), record);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const auto cut = decode_lock_record(bytes.substr(0, length));
    EXPECT_TRUE(!cut || *cut != record) << length;
  }
}

}  // namespace
}  // namespace tutti
