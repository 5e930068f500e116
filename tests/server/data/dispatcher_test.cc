// The dispatcher between a policy, a store and a client that do what the test says.
#include "server/data/dispatcher.h"

#include <gtest/gtest.h>

#include "env/sim/clock.h"
#include "env/sim/network/network.h"
#include "env/sim/simulation.h"
#include "tests/server/data/scripted.h"

namespace tutti {
namespace {

constexpr ObjectId kObject{5};

TEST(TransferState, OnlyTheDrawnArrowsAreAllowed) {
  using enum TransferState;
  const std::vector<TransferState> all = {arriving, queued, finding, serving, parked, sending, dropped};
  const std::set<std::pair<TransferState, TransferState>> drawn = {
      {arriving, queued}, {queued, finding}, {queued, serving},  {queued, dropped},
      {finding, queued},  {serving, queued}, {finding, sending}, {serving, sending},
      {queued, parked},   {serving, parked}, {parked, queued},   {parked, dropped}};
  for (const TransferState from : all) {
    for (const TransferState to : all) EXPECT_EQ(may_follow(from, to), drawn.contains({from, to}));
  }
}

TEST(Transfer, ItsMemoryCountsExtentsSegmentsAndTheirIndex) {
  Transfer transfer;
  const Bytes blank = transfer.memory();
  transfer.extents.resize(100);
  transfer.region.segments.resize(1000);
  ASSERT_TRUE(transfer.region.index().ok());
  EXPECT_EQ(transfer.memory() - blank, Bytes(100 * 16 + 1000 * 16 + 1000 * 8));
}

class DispatcherTest : public testing::Test {
 protected:
  DispatcherTest() { store_.told.cold = true; }
  // After the traits are told.
  void start(DispatcherLimits limits = {}) {
    dispatcher_ = std::make_unique<Dispatcher>(env_, store_, std::make_unique<ScriptedPolicy>(script_),
                                               std::uint64_t{99}, limits);
    session_ = connect(connection_);
  }
  std::shared_ptr<ClientSession> connect(ScriptedConnection*& connection) {
    auto made = std::make_unique<ScriptedConnection>(simulation_.executor());
    connection = made.get();
    return std::make_shared<ClientSession>(simulation_.executor(), std::move(made));
  }
  // Its id is the number of transfers so far; the frame's is 100 more.
  void add(bool write, std::vector<Extent> extents, const std::function<void(Transfer&)>& change = {}) {
    auto transfer = dispatcher_->blank();
    transfer->write = write;
    transfer->object = kObject;
    transfer->extents = std::move(extents);
    for (const Extent& extent : transfer->extents) transfer->length += extent.length;
    transfer->frame = 100 + ++added_;
    transfer->session = session_;
    if (change) change(*transfer);
    dispatcher_->add(std::move(transfer), wire::Tag(application_, 0, 1, 1, 0), 0_s, 0_s);
  }
  void add(bool write, Bytes length) { add(write, {{0_B, length}}); }
  // Lets the policy be asked.
  void decide(std::vector<Decision> decisions) {
    for (const Decision& decision : decisions) script_.decisions.push_back(decision);
    dispatcher_->drop(nobody_);
  }
  void run() { wait(1_ms); }
  void wait(Nanos time) { simulation_.run_until(simulation_.now() + time); }
  static Task<Status> fill(Store& store, Bytes length) {
    const std::vector<std::byte> bytes(length.count(), std::byte{1});
    MemorySource source(bytes);
    co_return co_await store.write(kObject, 0_B, length, source);
  }
  [[nodiscard]] std::vector<std::uint64_t> answered() const {
    std::vector<std::uint64_t> ids;
    for (const auto& sent : connection_->sent) ids.push_back(sent.id - 100);
    return ids;
  }
  void expect_empty() {
    EXPECT_EQ(dispatcher_->queued() + dispatcher_->in_service(), 0U);
    EXPECT_EQ(dispatcher_->memory(), 0_B);
    EXPECT_EQ(session_->queued + session_->tasks, 0U);
    EXPECT_TRUE(session_->drained.is_set());
  }

  using Served = std::vector<PolicyScript::Served>;
  using Moved = std::vector<ScriptedConnection::Moved>;

  Simulation simulation_{1};
  SimClock clock_{simulation_};
  SimNetwork fabric_{simulation_, {}, Random(2)};
  Random random_{3};
  Env env_{clock_, fabric_.node(fabric_.add_node()), random_, {}};
  ScriptedStore store_{simulation_.executor()};
  PolicyScript script_;
  std::uint64_t added_ = 0;
  std::uint64_t application_ = 1;  // of what is added
  ScriptedConnection* connection_ = nullptr;
  std::shared_ptr<ClientSession> session_;
  ClientSession nobody_{simulation_.executor(), std::make_unique<ScriptedConnection>(simulation_.executor())};
  std::unique_ptr<Dispatcher> dispatcher_;
};

TEST_F(DispatcherTest, ThePolicyIsToldTheUserThatTheTransportVouchesFor) {
  start();
  connection_->who.uid = 1234;
  add(false, 4_KiB);
  ASSERT_EQ(script_.requests.size(), 1U);
  EXPECT_EQ(script_.requests[0].user, 1234U);
}

TEST_F(DispatcherTest, AWriteIsServedInTheQuantaOfThePolicy) {
  start();
  add(true, {{0_B, 30_KiB}, {1_MiB, 70_KiB}});
  EXPECT_EQ(dispatcher_->queued(), 1U);
  decide({Decision::dispatch(1, 40_KiB)});
  run();
  EXPECT_EQ(connection_->pulled, (Moved{{0_B, 40_KiB}})) << "the extents of a message are one stream";
  EXPECT_EQ(script_.served, (Served{{1, 40_KiB, false}}));
  EXPECT_EQ(dispatcher_->queued(), 1U) << "for the rest";
  decide({Decision::dispatch(1, 40_KiB)});
  run();
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(script_.served, (Served{{1, 40_KiB, false}, {1, 40_KiB, false}, {1, 20_KiB, true}}));
  EXPECT_EQ(connection_->pulled.back(), (ScriptedConnection::Moved{80_KiB, 20_KiB}));
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(connection_->sent[0].reply().boot(), 99U);
  EXPECT_EQ(dispatcher_->totals().bytes_written, 100_KiB);
  EXPECT_EQ(script_.requests[0].offset, 0_B);
  EXPECT_EQ(script_.requests[0].end, 1_MiB + 70_KiB);
  expect_empty();
}

TEST_F(DispatcherTest, BlocksAreFetchedAheadOfAReaderWhereThePolicySaysSo) {
  const auto fetched = [this](Bytes ahead, bool in_memory) {
    store_.told.in_memory = in_memory;
    store_.fetched.clear();
    script_ = {};
    script_.ahead = ahead;
    added_ = 0;
    start();
    for (std::uint64_t i = 0; i < 64; ++i) {
      add(false, {{64_KiB * i, 64_KiB}});
      decide({Decision::dispatch(i + 1)});
      run();
    }
    expect_empty();
    Bytes end;
    for (const auto& extents : store_.fetched) end = std::max(end, extents.back().end());
    return end;
  };
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 4_MiB))->ok());
  EXPECT_GT(fetched(1_MiB, false), 4_MiB) << "past what was read last";
  EXPECT_LE(fetched(1_MiB, false), 6_MiB);
  EXPECT_EQ(fetched(0_B, false), 0_B) << "the policy wants none";
  EXPECT_EQ(fetched(1_MiB, true), 0_B) << "what is in memory need not be fetched";
}

// Two under way would take turns at the device.
TEST_F(DispatcherTest, BlocksAreFetchedAheadOneAfterTheOther) {
  store_.told.in_memory = false;
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 4_MiB))->ok());
  script_.ahead = 1_MiB;
  start();
  store_.fetch_gate.reset();
  for (std::uint64_t i = 0; i < 64; ++i) {
    add(false, {{64_KiB * i, 64_KiB}});
    decide({Decision::dispatch(i + 1)});
    run();
  }
  EXPECT_EQ(store_.fetched.size(), 1U);
  store_.fetch_gate.set();
  run();
  EXPECT_GT(store_.fetched.size(), 2U);
  expect_empty();
}

TEST_F(DispatcherTest, AReadGivesItsTurnBackWhenTheStoreHasHandedOverItsBytes) {
  start();
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 1_MiB))->ok());
  connection_->gate.reset();
  add(false, 64_KiB);
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(script_.served, (Served{{1, 64_KiB, true}}));
  EXPECT_EQ(dispatcher_->in_service(), 0U);
  EXPECT_TRUE(answered().empty()) << "the network has its bytes";
  EXPECT_FALSE(session_->drained.is_set());
  connection_->gate.set();
  run();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1}));
  expect_empty();
}

// By its first turn, whatever the policy's quantum; small holes come along, since a device reads them sooner than it takes a request.
TEST_F(DispatcherTest, ADeviceWithoutHeadsIsAskedForAllOfAListAtOnce) {
  DispatcherLimits limits;
  limits.fetch_at_once = true;
  start(limits);
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 1_MiB))->ok());
  add(false, {{0_B, 4_KiB}, {8_KiB, 4_KiB}, {100_KiB, 4_KiB}});
  decide({Decision::dispatch(1, 6_KiB)});
  run();
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(store_.fetched, (std::vector<std::vector<Extent>>{{{0_B, 12_KiB}, {100_KiB, 4_KiB}}}));
  add(false, 64_KiB);
  add(true, {{0_B, 4_KiB}, {100_KiB, 4_KiB}});
  decide({Decision::dispatch(2), Decision::dispatch(3)});
  run();
  EXPECT_EQ(store_.fetched.size(), 1U) << "neither what a kernel reads in one go nor what is written";
  add(false, {{0_B, 12_MiB}});
  decide({Decision::dispatch(4)});
  run();
  ASSERT_EQ(store_.fetched.size(), 2U);
  EXPECT_EQ(store_.fetched.back(), (std::vector<Extent>{{0_B, 8_MiB}}));
}

TEST_F(DispatcherTest, ADiskWithHeadsAndMemoryAreNotAskedAhead) {
  start();
  add(false, {{0_B, 4_KiB}, {100_KiB, 4_KiB}});
  decide({Decision::dispatch(1)});
  run();
  store_.told.in_memory = true;
  DispatcherLimits limits;
  limits.fetch_at_once = true;
  start(limits);
  added_ = 0;
  add(false, {{0_B, 4_KiB}, {100_KiB, 4_KiB}});
  decide({Decision::dispatch(1)});
  run();
  EXPECT_TRUE(store_.fetched.empty());
}

TEST_F(DispatcherTest, NoMoreThanSixteenReadsAreOnTheNetwork) {
  DispatcherLimits limits;
  limits.stall = 1_s;
  start(limits);
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 1_MiB))->ok());
  connection_->gate.reset();
  for (int i = 0; i < 20; ++i) add(false, 64_KiB);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    decide({Decision::dispatch(id)});
    run();
  }
  EXPECT_EQ(script_.served.size(), 16U);
  EXPECT_EQ(dispatcher_->queued(), 4U);
  connection_->gate.set();
  run();
  EXPECT_EQ(answered().size(), 20U);
  expect_empty();
}

TEST_F(DispatcherTest, AColdObjectHasATurnWithoutBytesFirst) {
  start();
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 1_MiB))->ok());
  store_.cold_objects.insert(kObject);
  add(false, 64_KiB);
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(script_.served, (Served{{1, 0_B, false}}));
  EXPECT_EQ(store_.reads, 0);
  EXPECT_EQ(dispatcher_->queued(), 1U);
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(script_.served, (Served{{1, 0_B, false}, {1, 64_KiB, true}}));
  expect_empty();
}

TEST_F(DispatcherTest, AStoreWithoutColdObjectsIsNotAskedForThem) {
  store_.told.cold = false;
  store_.cold_objects.insert(kObject);
  start();
  add(true, 64_KiB);
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(script_.served, (Served{{1, 64_KiB, true}}));
}

TEST_F(DispatcherTest, ASmallWriteThatWaitsIsPulledMeanwhileAndOnce) {
  start();
  add(true, 16_KiB);
  add(true, 16_KiB + 1_B);
  run();
  EXPECT_EQ(connection_->pulled, (Moved{{0_B, 16_KiB}})) << "the other one is too large";
  EXPECT_EQ(store_.writes, 0);
  decide({Decision::dispatch(1, 10_KiB)});
  run();
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(connection_->pulled.size(), 1U);
  EXPECT_EQ(store_.writes, 2);
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1}));
}

TEST_F(DispatcherTest, AFailedEarlyPullFailsTheWriteWithoutTheStore) {
  start();
  connection_->bulk_failure = Status(Code::invalid, "no such memory");
  add(true, 4_KiB);
  run();
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(store_.writes, 0);
  EXPECT_EQ(static_cast<Code>(connection_->sent.at(0).reply().code()), Code::invalid);
  EXPECT_EQ(dispatcher_->totals().writes, 0U);
  expect_empty();
}

TEST_F(DispatcherTest, WhoIsDroppedDuringAnEarlyPullIsForgottenAfterIt) {
  start();
  connection_->gate.reset();
  add(true, 4_KiB);
  add(true, 64_KiB);
  run();
  dispatcher_->drop(*session_);
  EXPECT_EQ(script_.dropped, (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(dispatcher_->queued(), 0U);
  EXPECT_GT(dispatcher_->memory(), 0_B);
  EXPECT_FALSE(session_->drained.is_set()) << "its memory is still reached into";
  connection_->gate.set();
  run();
  EXPECT_TRUE(answered().empty());
  expect_empty();
}

TEST_F(DispatcherTest, AClientThatIsGoneHasHadItsLastTurn) {
  start();
  store_.gate.reset();
  add(true, {{0_B, 200_KiB}});
  decide({Decision::dispatch(1, 64_KiB)});
  run();
  connection_->close();
  dispatcher_->drop(*session_);
  EXPECT_EQ(dispatcher_->in_service(), 1U);
  store_.gate.set();
  run();
  EXPECT_EQ(script_.served, (Served{{1, 64_KiB, true}}));
  EXPECT_TRUE(answered().empty());
  expect_empty();
}

TEST_F(DispatcherTest, AFailureOfTheStoreEndsTheTransferWithItsTurn) {
  start();
  store_.failure = Status(Code::no_space, "full");
  add(true, 200_KiB);
  decide({Decision::dispatch(1, 64_KiB)});
  run();
  EXPECT_EQ(script_.served, (Served{{1, 64_KiB, true}}));
  EXPECT_EQ(static_cast<Code>(connection_->sent.at(0).reply().code()), Code::no_space);
  EXPECT_EQ(dispatcher_->totals().writes, 0U);
  expect_empty();
}

TEST_F(DispatcherTest, ANewPolicyGetsTheQueueInOrderOfArrivalAndTheRestOfWhatIsInService) {
  start();
  store_.gate.reset();
  for (int i = 0; i < 5; ++i) add(true, 200_KiB);
  decide({Decision::dispatch(2, 64_KiB)});
  run();
  PolicyScript second;
  dispatcher_->change_policy(std::make_unique<ScriptedPolicy>(second));
  EXPECT_EQ(second.added, (std::vector<std::uint64_t>{1, 3, 4, 5}));
  store_.gate.set();
  run();
  EXPECT_EQ(second.added, (std::vector<std::uint64_t>{1, 3, 4, 5, 2}));
  EXPECT_TRUE(script_.served.empty()) << "the old policy is gone";
  EXPECT_TRUE(second.served.empty()) << "it was another one's turn";
  dispatcher_->drop(*session_);
  EXPECT_EQ(second.dropped, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  expect_empty();
}

TEST_F(DispatcherTest, ASmallReadOfAnObjectInMemoryIsAnsweredAtOnce) {
  store_.told = StoreTraits();
  store_.told.in_memory = true;
  start();
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 10_KiB))->ok());
  for (std::uint64_t id = 1; id <= 3; ++id) {
    script_.decisions.push_back(Decision::dispatch(id));
    add(false, {{8_KiB, 4_KiB}}, [](Transfer& transfer) { transfer.inside_reply = true; });
    ASSERT_EQ(answered().size(), id) << "nothing has run since";
  }
  EXPECT_EQ(connection_->sent[2].reply().bytes()->size(), 4096U);
  EXPECT_EQ(connection_->sent[2].reply().valid_end(), 10240U);
  EXPECT_EQ(script_.served, (Served{{1, 4_KiB, true}, {2, 4_KiB, true}, {3, 4_KiB, true}}));
  expect_empty();
}

// Ends of turns inside a start must not start others inside it.
TEST_F(DispatcherTest, ALongQueueThatNeedsNoWaitingIsServedInOrder) {
  store_.told = StoreTraits();
  store_.told.in_memory = true;
  start();
  ASSERT_TRUE(simulation_.run(store_.truncate(kObject, 10_KiB))->ok());
  constexpr std::uint64_t kMany = 50'000;
  for (std::uint64_t id = 1; id <= kMany; ++id) {
    add(false, {{0_B, 16_B}}, [](Transfer& transfer) { transfer.inside_reply = true; });
  }
  for (std::uint64_t id = kMany; id > 0; --id) script_.decisions.push_back(Decision::dispatch(id));
  dispatcher_->drop(nobody_);
  const auto order = answered();
  ASSERT_EQ(order.size(), kMany);
  for (std::uint64_t i = 0; i < kMany; ++i) ASSERT_EQ(order[i], kMany - i);
  expect_empty();
}

TEST_F(DispatcherTest, ALocalReadMovesNothingAndIsGrantedMoreOnlyWhileNobodyElseWaits) {
  store_.told = StoreTraits();
  store_.told.in_memory = store_.told.shareable = true;
  store_.shared = {7, 1_MiB, std::make_shared<NoFile>()};
  start({.read_grant = 128_KiB, .write_grant = 0_B});
  const auto local = [](Transfer& transfer) {
    transfer.local.known = 1;
    transfer.local.ahead = 1_MiB;
  };
  add(false, {{0_B, 64_KiB}}, local);
  application_ = 2;
  add(false, {{64_KiB, 64_KiB}}, local);
  decide({Decision::dispatch(1)});
  decide({Decision::dispatch(2)});
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1, 2})) << "nothing has to be waited for";
  EXPECT_EQ(connection_->sent[0].reply().taken(), 7U);
  EXPECT_EQ(connection_->sent[0].reply().granted_bytes(), 0U) << "another one waits";
  EXPECT_EQ(connection_->sent[1].reply().granted_bytes(), (128_KiB).count());
  EXPECT_EQ(store_.reads, 0);
  EXPECT_TRUE(connection_->pushed.empty());
  dispatcher_->count_local(*session_, 1, wire::Took(100'000, 2, 0, 0));
  EXPECT_EQ(dispatcher_->totals().reads, 4U);
  EXPECT_EQ(dispatcher_->totals().bytes_read, 128_KiB + Bytes(100'000));
  expect_empty();
}

TEST_F(DispatcherTest, AWriterIsGrantedMoreOnlyWhileNobodyElseWaits) {
  store_.told = StoreTraits();
  store_.told.in_memory = store_.told.writable = true;
  store_.writable = {7, std::make_shared<NoFile>(), 2, std::make_shared<NoFile>(), 5, 11};
  start({.read_grant = 0_B, .write_grant = 128_KiB});
  connection_->own = true;
  const auto local = [](Transfer& transfer) {
    transfer.local.known = 1;
    transfer.local.ahead = 1_MiB;
  };
  add(true, {{0_B, 64_KiB}}, local);
  application_ = 2;
  add(true, {{64_KiB, 64_KiB}}, local);
  decide({Decision::dispatch(1)});
  run();
  decide({Decision::dispatch(2)});
  run();
  ASSERT_EQ(answered(), (std::vector<std::uint64_t>{1, 2}));
  EXPECT_EQ(connection_->sent[0].reply().granted_bytes(), 0U) << "another one waits";
  const wire::TransferReply& second = connection_->sent[1].reply();
  EXPECT_EQ(second.granted_bytes(), (128_KiB).count());
  EXPECT_EQ(second.taken(), 7U);
  EXPECT_EQ(second.marks(), 2U);
  EXPECT_EQ(second.mark(), 5U);
  EXPECT_EQ(second.mark_value(), 11U);
  dispatcher_->count_local(*session_, 1, wire::Took(0, 0, 100'000, 2));
  EXPECT_EQ(dispatcher_->totals().writes, 4U);
  EXPECT_EQ(dispatcher_->totals().bytes_written, 128_KiB + Bytes(100'000));
  expect_empty();
}

// Lists that are reused must not remember anything.
TEST_F(DispatcherTest, MemoryOfTransfersThatAreGoneServesTheNext) {
  start();
  for (std::uint64_t id = 1; id <= 200; ++id) {
    script_.decisions.push_back(Decision::dispatch(id));
    std::vector<Extent> extents(id % 7 + 1, Extent{Bytes(id), 3000_B});
    add(true, extents);
    run();
    ASSERT_EQ(script_.served.back(), (PolicyScript::Served{id, 3000_B * extents.size(), true}));
  }
  const auto blank = dispatcher_->blank();
  EXPECT_TRUE(blank->extents.empty() && blank->region.segments.empty() && blank->region.ends.empty() &&
              blank->inside.empty());
  expect_empty();
}

TEST_F(DispatcherTest, AWriteWhoseBytesDoNotComeGivesItsTurnBackAndComesAgainWithThem) {
  start();
  connection_->gate.reset();
  add(true, 64_KiB);
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(dispatcher_->in_service(), 1U);
  wait(20_ms);
  EXPECT_EQ(dispatcher_->in_service(), 0U);
  EXPECT_EQ(dispatcher_->parked(), 1U);
  EXPECT_EQ(script_.served, (Served{{1, 0_B, false}}));
  EXPECT_EQ(script_.dropped, (std::vector<std::uint64_t>{1})) << "the policy has it no more";
  connection_->gate.set();
  run();
  EXPECT_EQ(script_.added, (std::vector<std::uint64_t>{1, 1}));
  const std::size_t pulls = connection_->pulled.size();
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(connection_->pulled.size(), pulls) << "its bytes were there before its turn";
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(dispatcher_->totals().bytes_written, 64_KiB);
  expect_empty();
}

TEST_F(DispatcherTest, AClientThatHasStalledIsGivenNoFurtherTurnToWaitIn) {
  start();
  connection_->gate.reset();
  add(true, 64_KiB);
  decide({Decision::dispatch(1)});
  wait(20_ms);
  add(true, {{1_MiB, 64_KiB}});
  add(true, {{2_MiB, 4_KiB}});  // small enough to be pulled early
  const int writes = store_.writes;
  decide({Decision::dispatch(2), Decision::dispatch(3)});
  EXPECT_EQ(dispatcher_->in_service(), 0U);
  EXPECT_EQ(dispatcher_->parked(), 3U);
  run();
  EXPECT_EQ(store_.writes, writes) << "the store is not asked before the bytes are here";
  connection_->gate.set();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    run();
    decide({Decision::dispatch(id)});
  }
  run();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1, 2, 3}));
  expect_empty();
}

// It stood outside the queue for ever: what it waited for were bytes that stopped ones held.
TEST_F(DispatcherTest, AWriterThatRecoversIsServedThoughStoppedOnesHaveAllTheMemory) {
  start();
  constexpr std::uint64_t kStopped = ParkedBytes::kMost.count() / ParkedBytes::kPiece.count();
  std::vector<std::shared_ptr<ClientSession>> stopped;
  for (std::uint64_t id = 1; id <= kStopped + 1; ++id) {
    session_ = connect(connection_);
    connection_->gate.reset();
    add(true, {{Bytes(id << 20U), ParkedBytes::kPiece}});
    decide({Decision::dispatch(id)});
    stopped.push_back(session_);
  }
  wait(20_ms);
  ASSERT_EQ(dispatcher_->parked(), kStopped + 1) << "of the last one no bytes are pulled: there is no room";
  const std::size_t pulls = connection_->pulled.size();
  connection_->gate.set();
  wait(Pace::kShortest);
  ASSERT_EQ(script_.added.back(), kStopped + 1) << "it stands in line without its bytes";
  decide({Decision::dispatch(kStopped + 1)});
  run();
  EXPECT_GT(connection_->pulled.size(), pulls);
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{kStopped + 1}));
  EXPECT_EQ(dispatcher_->parked(), kStopped);
}

TEST_F(DispatcherTest, ASmallWriteWhoseEarlyPullDoesNotEndGivesItsTurnBack) {
  start();
  connection_->gate.reset();
  add(true, 4_KiB);
  run();
  decide({Decision::dispatch(1)});
  wait(20_ms);
  EXPECT_EQ(dispatcher_->in_service(), 0U);
  EXPECT_EQ(dispatcher_->parked(), 1U);
  connection_->gate.set();
  run();
  decide({Decision::dispatch(1)});
  run();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1}));
  expect_empty();
}

TEST_F(DispatcherTest, ManyReadsWhoseClientTakesNothingHoldUpNobody) {
  start();
  ASSERT_TRUE(simulation_.run(fill(store_.memory, 64_KiB)));
  connection_->gate.reset();
  for (std::uint64_t id = 1; id <= 20; ++id) add(false, 4_KiB);
  for (std::uint64_t id = 1; id <= 20; ++id) decide({Decision::dispatch(id)});
  wait(60_ms);
  EXPECT_EQ(dispatcher_->in_service(), 0U);
  const int reads = store_.reads;
  add(false, 4_KiB);
  decide({Decision::dispatch(21)});
  run();
  EXPECT_EQ(dispatcher_->parked(), 1U);
  EXPECT_EQ(store_.reads, reads) << "nothing more is read for it";
  ScriptedConnection* others = nullptr;
  const auto stopped = std::exchange(session_, connect(others));
  add(false, 4_KiB);
  decide({Decision::dispatch(22)});
  run();
  ASSERT_EQ(others->sent.size(), 1U);
  session_ = stopped;
  connection_->gate.set();
  run();
  EXPECT_EQ(connection_->sent.size(), 20U);
  decide({Decision::dispatch(21)});
  run();
  EXPECT_EQ(connection_->sent.size(), 21U);
  expect_empty();
}

TEST_F(DispatcherTest, AReaderThatWaitsForItsShareOfALinkIsNotTakenForSlow) {
  start();
  ASSERT_TRUE(simulation_.run(fill(store_.memory, 64_KiB)));
  connection_->gate.reset();
  add(false, 16_KiB);
  decide({Decision::dispatch(1)});
  wait(40_ms);
  add(false, 16_KiB);
  decide({Decision::dispatch(2)});
  EXPECT_EQ(dispatcher_->parked(), 0U);
  connection_->gate.set();
  run();
  EXPECT_EQ(connection_->pushed.size(), 2U) << "each was sent once";
  EXPECT_EQ(answered().size(), 2U);
  expect_empty();
}

TEST_F(DispatcherTest, AReaderThatHasStalledTakesNoPlaceOnTheNetworkForAWhile) {
  start();
  ASSERT_TRUE(simulation_.run(fill(store_.memory, 64_KiB)));
  connection_->gate.reset();
  add(false, 16_KiB);
  decide({Decision::dispatch(1)});
  wait(60_ms);
  connection_->gate.set();
  run();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1}));
  connection_->gate.reset();
  add(false, 16_KiB);
  decide({Decision::dispatch(2)});
  run();
  add(false, 16_KiB);
  decide({Decision::dispatch(3)});
  EXPECT_EQ(dispatcher_->parked(), 1U) << "the bytes of the one before are in memory already";
  connection_->gate.set();
  run();
  decide({Decision::dispatch(3)});
  run();
  EXPECT_EQ(answered(), (std::vector<std::uint64_t>{1, 2, 3}));
  expect_empty();
}

TEST_F(DispatcherTest, AClientThatDoesNotComeBackInTimeLosesItsConnection) {
  DispatcherLimits limits;
  limits.transfer_limit = 1_s;
  start(limits);
  connection_->gate.reset();
  add(true, 64_KiB);
  decide({Decision::dispatch(1)});
  wait(900_ms);
  EXPECT_FALSE(connection_->closed());
  wait(200_ms);
  EXPECT_TRUE(connection_->closed());
  dispatcher_->drop(*session_);
  run();
  EXPECT_EQ(dispatcher_->queued(), 0U);
  EXPECT_EQ(dispatcher_->memory(), 0_B);
}

TEST_F(DispatcherTest, ParkedTransfersGoWithTheirSession) {
  start();
  connection_->gate.reset();
  add(true, 64_KiB);
  add(true, {{1_MiB, 64_KiB}});
  decide({Decision::dispatch(1)});
  wait(20_ms);
  decide({Decision::dispatch(2)});
  EXPECT_EQ(dispatcher_->parked(), 2U);
  connection_->close();
  dispatcher_->drop(*session_);
  connection_->bulk_failure = Status(Code::unavailable, "gone");
  connection_->gate.set();
  run();
  expect_empty();
}

}  // namespace
}  // namespace tutti
