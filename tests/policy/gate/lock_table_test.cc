#include "policy/gate/lock_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tutti::gate {
namespace {

LockOptions preserved() {
  LockOptions options;
  options.order = Order::preserved;
  return options;
}

LockOptions overtaking() {
  LockOptions options;
  options.order = Order::overtaking;
  return options;
}

struct Table : LockTable {
  explicit Table(LockOptions options) : LockTable(options) { reserve(1, 1'000'000); }
  Standing asks(std::uint64_t job, std::vector<Resource> resources, Nanos now = Nanos(),
                std::uint64_t number = 1) {
    return ask({{job, number}, std::move(resources), Bytes()}, now).standing;
  }
  Status gives(std::uint64_t job, Nanos now = Nanos(), std::uint64_t number = 1) {
    return release({job, number}, Bytes(), now);
  }
  Standing standing(std::uint64_t job, std::uint64_t number = 1) { return answer({job, number}).standing; }
  // "granted 2", in order.
  std::vector<std::string> news() {
    std::vector<std::string> all;
    for (const Decision& each : take_decisions()) {
      static constexpr const char* kWords[] = {"waiting ", "granted ", "passed ", "gone "};
      all.push_back(kWords[static_cast<int>(each.answer.standing)] + std::to_string(each.name.job));
    }
    return all;
  }
};

using News = std::vector<std::string>;

TEST(GateLockTable, OneAtATimeInTheOrderOfAsking) {
  Table table(preserved());
  EXPECT_EQ(table.state("nfs"), LockState::idle);
  EXPECT_EQ(table.asks(1, {"nfs"}), Standing::granted);
  EXPECT_EQ(table.state("nfs"), LockState::active);
  EXPECT_EQ(table.asks(2, {"nfs"}), Standing::waiting);
  EXPECT_EQ(table.asks(3, {"nfs"}), Standing::waiting);
  EXPECT_EQ(table.waiting(), 2U);
  EXPECT_TRUE(table.gives(1).ok());
  EXPECT_EQ(table.news(), News{"granted 2"});
  EXPECT_TRUE(table.gives(2).ok());
  EXPECT_EQ(table.news(), News{"granted 3"});
  EXPECT_TRUE(table.gives(3).ok());
  EXPECT_EQ(table.news(), News{});
  EXPECT_EQ(table.state("nfs"), LockState::idle);
}

// Figure 3.5 of the paper: A1 on servers 0 and 1, A2 on 1 and 2, A3 on 2 and 3.
TEST(GateLockTable, WithOrderPreservedTheThirdWaitsBehindTheSecond) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0", "1"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"1", "2"}), Standing::waiting);
  EXPECT_EQ(table.asks(3, {"2", "3"}), Standing::waiting);
  EXPECT_TRUE(table.gives(1).ok());
  EXPECT_EQ(table.news(), News{"granted 2"});
  EXPECT_TRUE(table.gives(2).ok());
  EXPECT_EQ(table.news(), News{"granted 3"});
}

TEST(GateLockTable, WithoutOrderTheThirdOvertakesTheSecond) {
  Table table(overtaking());
  EXPECT_EQ(table.asks(1, {"0", "1"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"1", "2"}), Standing::waiting);
  EXPECT_EQ(table.asks(3, {"2", "3"}), Standing::granted);
  EXPECT_TRUE(table.gives(1).ok());
  EXPECT_EQ(table.news(), News{});
  EXPECT_TRUE(table.gives(3).ok());
  EXPECT_EQ(table.news(), News{"granted 2"});
}

TEST(GateLockTable, WhoIsBlockedForTheLimitPassesAndIsCounted) {
  LockOptions options = overtaking();
  options.most_blocked = 5_s;
  Table table(options);
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0"}, 1_s), Standing::waiting);
  EXPECT_EQ(table.next(), 6_s);
  table.advance(6_s - 1_ns);
  EXPECT_EQ(table.news(), News{});
  table.advance(6_s);
  EXPECT_EQ(table.news(), News{"passed 2"});
  EXPECT_EQ(table.answer({2, 1}).fence, 0U);
  EXPECT_EQ(table.answer({2, 1}).reason, PassReason::blocked);
  EXPECT_EQ(table.counters().passed_blocked, 1U);
  // It holds nothing: the next one waits for job 1 only.
  EXPECT_EQ(table.asks(3, {"0"}, 7_s), Standing::waiting);
  EXPECT_TRUE(table.gives(1, 8_s).ok());
  EXPECT_EQ(table.news(), News{"granted 3"});
  EXPECT_TRUE(table.gives(2, 8_s).ok());
}

TEST(GateLockTable, AGrantThatIsDueTogetherWithTheLimitIsAGrant) {
  LockOptions options = overtaking();
  options.most_blocked = 10_s;
  options.lease = 10_s;
  Table table(options);
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0"}), Standing::waiting);
  table.renew(2, 5_s);
  table.advance(10_s);  // the lease of job 1 ends, and the limit of job 2 is reached
  EXPECT_EQ(table.news(), (News{"gone 1", "granted 2"}));
}

TEST(GateLockTable, SeveralHoldAsSet) {
  LockOptions options = preserved();
  options.holders = 2;
  Table table(options);
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(3, {"0"}), Standing::waiting);
  EXPECT_EQ(table.asks(4, {"0"}), Standing::waiting);
  table.set_holders("0", 3, Nanos());
  EXPECT_EQ(table.news(), News{"granted 3"});
  table.set_holders("0", 1, Nanos());
  EXPECT_TRUE(table.gives(1).ok());
  EXPECT_TRUE(table.gives(2).ok());
  EXPECT_EQ(table.news(), News{});
  EXPECT_TRUE(table.gives(3).ok());
  EXPECT_EQ(table.news(), News{"granted 4"});
}

TEST(GateLockTable, WhoWantsToBeAloneIsAloneAndIsNotOvertaken) {
  LockOptions learned;
  for (const LockOptions& options : {learned, overtaking()}) {
    Table table(options);
    table.set_holders("nfs", 3, Nanos());
    const auto alone = [&](std::uint64_t job) {
      return table.ask({{job, 1}, {"nfs"}, Bytes(), true}, Nanos()).standing;
    };
    EXPECT_EQ(table.asks(1, {"nfs"}), Standing::granted);
    EXPECT_EQ(table.asks(2, {"nfs"}), Standing::granted);
    EXPECT_EQ(alone(3), Standing::waiting);
    EXPECT_EQ(alone(4), Standing::waiting);
    EXPECT_EQ(table.asks(5, {"nfs"}), Standing::waiting) << "not beside one that waits to be alone";
    EXPECT_TRUE(table.gives(1).ok());
    EXPECT_EQ(table.news(), News{});
    EXPECT_TRUE(table.gives(2).ok());
    EXPECT_EQ(table.news(), News{"granted 3"});
    EXPECT_EQ(table.asks(6, {"nfs"}), Standing::waiting);
    EXPECT_TRUE(table.gives(3).ok());
    EXPECT_EQ(table.news(), News{"granted 4"});
    EXPECT_TRUE(table.gives(4).ok());
    EXPECT_EQ(table.news().size(), 2U) << "the two that need not be alone";
  }
}

TEST(GateLockTable, ASilentHolderLosesItsGrantWithinOneLease) {
  Table table(preserved());
  const Answer first = table.ask({{1, 1}, {"0"}, Bytes()}, Nanos());
  EXPECT_EQ(first.expiry, 10_s);
  EXPECT_EQ(table.asks(2, {"0"}, 1_s), Standing::waiting);
  EXPECT_TRUE(table.renew(1, 4_s));
  EXPECT_TRUE(table.renew(2, 9_s));
  table.advance(14_s - 1_ns);
  EXPECT_EQ(table.standing(1), Standing::granted);
  table.advance(14_s);
  const auto decisions = table.take_decisions();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].answer.standing, Standing::gone);
  EXPECT_EQ(decisions[0].answer.fence, first.fence);
  EXPECT_EQ(decisions[1].name.job, 2U);
  EXPECT_GT(decisions[1].answer.fence, first.fence);
  EXPECT_EQ(table.gives(1, 15_s).code(), Code::stale);
  EXPECT_FALSE(table.renew(1, 15_s));
  EXPECT_EQ(table.counters().lost, 1U);
}

TEST(GateLockTable, ARenewalThatComesTooLateDoesNotBringItBack) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_FALSE(table.renew(1, 10_s));
  EXPECT_EQ(table.standing(1), Standing::gone);
}

TEST(GateLockTable, ASilentWaiterLosesItsPlace) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0"}), Standing::waiting);
  EXPECT_EQ(table.asks(3, {"0"}), Standing::waiting);
  for (const std::uint64_t job : {1, 3}) EXPECT_TRUE(table.renew(job, 6_s));
  table.advance(12_s);
  EXPECT_EQ(table.news(), News{"gone 2"});
  EXPECT_TRUE(table.gives(1, 12_s).ok());
  EXPECT_EQ(table.news(), News{"granted 3"});
}

TEST(GateLockTable, AStateOfErrorLastsUntilTheNextGrant) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  table.advance(10_s);
  EXPECT_EQ(table.state("0"), LockState::error);
  EXPECT_EQ(table.asks(2, {"0"}, 11_s), Standing::granted);
  EXPECT_EQ(table.state("0"), LockState::active);
  const std::vector<Resource> claimed = {"0"};
  EXPECT_EQ(table.release({9, 9}, Bytes(), 11_s, claimed).code(), Code::not_found);
  EXPECT_EQ(table.state("0"), LockState::error);
  EXPECT_EQ(table.counters().errors, 1U);
  EXPECT_TRUE(table.gives(2, 11_s).ok());
  EXPECT_EQ(table.asks(3, {"0"}, 11_s), Standing::granted);
  EXPECT_EQ(table.state("0"), LockState::active);
}

TEST(GateLockTable, ProcessesOfOneJobJoinOneGrant) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0", "1"}, Nanos(), 1), Standing::granted);
  EXPECT_EQ(table.asks(1, {"1"}, Nanos(), 2), Standing::granted);
  EXPECT_EQ(table.asks(2, {"1"}), Standing::waiting);
  EXPECT_EQ(table.asks(2, {"1"}, Nanos(), 2), Standing::waiting);
  EXPECT_EQ(table.counters().joined, 2U);
  EXPECT_EQ(table.answer({1, 1}).fence, table.answer({1, 2}).fence);
  EXPECT_TRUE(table.gives(1, Nanos(), 1).ok());
  EXPECT_EQ(table.news(), News{});
  EXPECT_TRUE(table.gives(1, Nanos(), 2).ok());
  EXPECT_EQ(table.news(), (News{"granted 2", "granted 2"}));
}

TEST(GateLockTable, AskingAgainChangesNothing) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0"}), Standing::waiting);
  EXPECT_EQ(table.asks(3, {"0"}), Standing::waiting);
  EXPECT_EQ(table.asks(2, {"0"}), Standing::waiting);
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.counters().asked, 3U);
  EXPECT_TRUE(table.gives(1).ok());
  EXPECT_EQ(table.news(), News{"granted 2"});
}

TEST(GateLockTable, AJobThatHoldsNeverWaits) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"1"}), Standing::granted);
  EXPECT_EQ(table.asks(1, {"2"}, Nanos(), 2), Standing::granted);  // free: a second grant
  EXPECT_EQ(table.asks(1, {"1"}, Nanos(), 3), Standing::passed);
  EXPECT_EQ(table.answer({1, 3}).reason, PassReason::holding);
  EXPECT_EQ(table.asks(2, {"0", "1"}, Nanos(), 2), Standing::passed);
  EXPECT_EQ(table.counters().passed_holding, 2U);
}

TEST(GateLockTable, AJobThatIsGrantedPassesWhatElseItWaitsFor) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"1"}), Standing::granted);
  EXPECT_EQ(table.asks(3, {"0"}, Nanos(), 1), Standing::waiting);
  EXPECT_EQ(table.asks(3, {"1"}, Nanos(), 2), Standing::waiting);
  EXPECT_TRUE(table.gives(1).ok());
  EXPECT_EQ(table.news(), (News{"granted 3", "passed 3"}));
  EXPECT_EQ(table.standing(3, 1), Standing::granted);
  EXPECT_EQ(table.standing(3, 2), Standing::passed);
}

TEST(GateLockTable, AJobThatLeavesGivesBackEverything) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(1, {"1"}, Nanos(), 2), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0", "1"}), Standing::waiting);
  table.leave(1, Nanos());
  table.leave(7, Nanos());
  EXPECT_EQ(table.news(), News{"granted 2"});
  EXPECT_EQ(table.counters().errors, 0U);
}

TEST(GateLockTable, GivingUpWhileWaitingLetsTheNextOneUp) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0", "1"}), Standing::waiting);
  EXPECT_EQ(table.asks(3, {"1"}), Standing::waiting);
  EXPECT_TRUE(table.gives(2).ok());
  EXPECT_EQ(table.news(), News{"granted 3"});
}

TEST(GateLockTable, WithoutFencingNumbersNothingIsGranted) {
  LockTable table(preserved());
  EXPECT_EQ(table.ask({{1, 1}, {"0"}, Bytes()}, Nanos()).standing, Standing::waiting);
  table.reserve(100, 101);
  auto decisions = table.take_decisions();
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].answer.fence, 100U);
  EXPECT_EQ(table.fences_left(), 0U);
  EXPECT_TRUE(table.release({1, 1}, Bytes(), Nanos()).ok());
  EXPECT_EQ(table.ask({{2, 1}, {"0"}, Bytes()}, Nanos()).standing, Standing::waiting);
}

TEST(GateLockTable, ChangesAreWhatMustBeStored) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {"0"}), Standing::granted);
  EXPECT_EQ(table.asks(2, {"0"}), Standing::waiting);
  auto changes = table.take_changes();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].record->standing, Standing::granted);
  EXPECT_EQ(changes[1].record->standing, Standing::waiting);
  EXPECT_TRUE(table.renew(1, 1_s));
  EXPECT_TRUE(table.take_changes().empty());
  EXPECT_TRUE(table.gives(1, 1_s).ok());
  changes = table.take_changes();
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_FALSE(changes[0].record.has_value());
  EXPECT_EQ(changes[1].record->standing, Standing::granted);
}

TEST(GateLockTable, AfterARestartTheOrderIsKeptAndNothingIsGrantedInTheGrace) {
  Table before(preserved());
  EXPECT_EQ(before.asks(1, {"0"}), Standing::granted);
  for (const std::uint64_t job : {4, 2, 3}) EXPECT_EQ(before.asks(job, {"0"}), Standing::waiting);
  const auto records = before.records();

  LockTable after(preserved());
  after.restore(records, 100_s);
  after.reserve(1'000'000, 2'000'000);
  EXPECT_TRUE(after.in_grace());
  EXPECT_EQ(after.next(), 110_s);
  EXPECT_EQ(after.ask({{5, 1}, {"0"}, Bytes()}, 101_s).standing, Standing::waiting);
  EXPECT_EQ(after.ask({{6, 1}, {"1"}, Bytes()}, 101_s).standing,
            Standing::waiting);  // nobody else in the grace either
  EXPECT_TRUE(after.reassert({{1, 1}, {"0"}, Bytes()}, records[0].fence, 102_s).ok());
  EXPECT_TRUE(after.renew(4, 103_s));
  EXPECT_EQ(after.ask({{3, 1}, {"0"}, Bytes()}, 104_s).standing, Standing::waiting);
  for (const std::uint64_t job : {5, 6}) EXPECT_TRUE(after.renew(job, 105_s));
  EXPECT_TRUE(after.renew(1, 109_s));
  after.advance(110_s);  // job 2 was not heard of
  auto decisions = after.take_decisions();
  ASSERT_EQ(decisions.size(), 2U);
  EXPECT_EQ(decisions[0].name.job, 2U);
  EXPECT_EQ(decisions[0].answer.standing, Standing::gone);
  EXPECT_EQ(decisions[1].name.job, 6U);
  EXPECT_GE(decisions[1].answer.fence, 1'000'000U);
  EXPECT_TRUE(after.release({1, 1}, Bytes(), 111_s).ok());
  decisions = after.take_decisions();
  ASSERT_EQ(decisions.size(), 1U);
  EXPECT_EQ(decisions[0].name.job, 4U);
}

TEST(GateLockTable, AHolderThatWasNotStoredReassertsInTheGraceOnly) {
  LockTable table(preserved());
  table.restore({}, Nanos());
  table.reserve(1000, 2000);
  EXPECT_EQ(table.reassert({{1, 1}, {"0"}, Bytes()}, 1500, 1_s).code(), Code::stale);  // was never given out
  EXPECT_TRUE(table.reassert({{1, 1}, {"0"}, Bytes()}, 500, 1_s).ok());
  EXPECT_TRUE(table.reassert({{1, 2}, {"0"}, Bytes()}, 500, 1_s).ok());  // joined it before
  EXPECT_EQ(table.reassert({{2, 1}, {"0"}, Bytes()}, 400, 1_s).code(), Code::stale);
  EXPECT_EQ(table.answer({1, 1}).standing, Standing::granted);
  // Job 3 got it after job 1 had lost it.
  EXPECT_TRUE(table.reassert({{3, 1}, {"0"}, Bytes()}, 600, 2_s).ok());
  EXPECT_EQ(table.answer({1, 1}).standing, Standing::gone);
  EXPECT_EQ(table.take_decisions().size(), 2U);
  EXPECT_EQ(table.reassert({{4, 1}, {"1"}, Bytes()}, 700, 10_s).code(), Code::stale);
  EXPECT_EQ(table.counters().reasserted, 3U);
}

TEST(GateLockTable, AWaiterWhoseGrantWasNotStoredReassertsIt) {
  LockRecord waiting{.sequence = 5, .job = 1, .numbers = {1}, .resources = {"0"}};
  LockTable table(preserved());
  table.restore(std::vector{waiting}, Nanos());
  table.reserve(1000, 2000);
  EXPECT_TRUE(table.reassert({{1, 1}, {"0"}, Bytes()}, 10, 1_s).ok());
  EXPECT_EQ(table.waiting(), 0U);
  EXPECT_EQ(table.answer({1, 1}).fence, 10U);
}

TEST(GateLockTable, DamagedRecordsAreLeftOut) {
  const std::vector<LockRecord> records = {
      {.sequence = 1, .job = 1, .numbers = {1}, .resources = {}},
      {.sequence = 2, .job = 1, .numbers = {}, .resources = {"0"}},
      {.sequence = 3, .job = 1, .numbers = {1}, .resources = {"0"}},
      {.sequence = 3, .job = 2, .numbers = {1}, .resources = {"0"}},
      {.sequence = 4, .job = 1, .numbers = {1}, .resources = {"1"}},
  };
  LockTable table(preserved());
  table.restore(records, Nanos());
  EXPECT_EQ(table.records().size(), 1U);
  EXPECT_EQ(table.waiting(), 1U);
}

TEST(GateLockTable, AnAskForNothingIsNoAsk) {
  Table table(preserved());
  EXPECT_EQ(table.asks(1, {}), Standing::gone);
  EXPECT_EQ(table.counters().asked, 0U);
}

}  // namespace
}  // namespace tutti::gate
