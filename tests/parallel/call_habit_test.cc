#include "parallel/call_habit.h"

#include <gtest/gtest.h>

#include "tests/parallel/collective_fixture.h"

namespace tutti {
namespace {

TEST(CallHabit, TwoCallsInARowMakeOneOfReadsAndOfWritesByThemselves) {
  CallHabit habit;
  EXPECT_FALSE(habit.assumes_own(true));
  habit.saw(true, true, false);
  EXPECT_FALSE(habit.assumes_own(true));
  habit.saw(true, true, false);
  EXPECT_TRUE(habit.assumes_own(true));
  EXPECT_FALSE(habit.assumes_own(false));
}

TEST(CallHabit, OneCallEndsItAndItTakesFourTimesAsManyToComeBack) {
  CallHabit habit;
  for (int i = 0; i < 2; ++i) habit.saw(false, true, false);
  habit.saw(false, false, true);
  for (int i = 0; i < 7; ++i) {
    habit.saw(false, true, false);
    ASSERT_FALSE(habit.assumes_own(false)) << i;
  }
  habit.saw(false, true, false);
  EXPECT_TRUE(habit.assumes_own(false));
}

TEST(CallHabit, CallsThatAlternateNeverMakeOne) {
  CallHabit habit;
  for (int i = 0; i < 100; ++i) {
    ASSERT_FALSE(habit.assumes_own(true));
    habit.saw(true, i % 2 == 0, false);
  }
}

TEST(CallHabit, AGuessThatWasWrongIsTheLast) {
  CallHabit habit;
  EXPECT_TRUE(habit.may_guess(true));
  habit.saw(true, false, false);  // nobody had guessed
  EXPECT_TRUE(habit.may_guess(true));
  habit.saw(true, false, true);
  EXPECT_FALSE(habit.may_guess(true));
  EXPECT_TRUE(habit.may_guess(false));
}

class HabitualCalls : public CollectiveTest {
 protected:
  Nanos time_of_a_write(std::int64_t block, std::int64_t blocks) {
    stride(ranks_, block, blocks);
    const Nanos before = cluster_->simulation().now();
    for (const Status& status : write_all(CollectiveOptions()))
      EXPECT_TRUE(status.ok()) << status.to_string();
    const Nanos took = cluster_->simulation().now() - before;
    const std::vector<std::byte> expected =
        strided_file(ranks_, static_cast<std::size_t>(block), static_cast<std::size_t>(blocks));
    std::vector<std::byte> found(expected.size());
    EXPECT_TRUE(run(reference_->read(0_B, found)).ok());
    EXPECT_EQ(found, expected);
    return took;
  }
  [[nodiscard]] bool assumed() const {
    for (const Rank& rank : ranks_)
      EXPECT_EQ(rank.habit.assumes_own(true), ranks_[0].habit.assumes_own(true));
    return ranks_[0].habit.assumes_own(true);
  }
};

TEST_F(HabitualCalls, NobodyAsksBeforeTheThirdCallOfAKind) {
  SimClusterOptions rotating;
  rotating.data.rotational = true;
  start_ranks(4, rotating);
  time_of_a_write(65536, 1);
  const Nanos asked = time_of_a_write(65536, 1);
  ASSERT_TRUE(assumed());
  EXPECT_LT(time_of_a_write(65536, 1), asked);
}

// Small blocks between each other's are exchanged; the first time they come each rank writes its own.
TEST_F(HabitualCalls, AnotherKindOfCallIsRightAtOnceAndAskedForFromThenOn) {
  start_ranks(4);
  for (int i = 0; i < 3; ++i) time_of_a_write(65536, 1);
  ASSERT_TRUE(assumed());
  time_of_a_write(100, 300);
  EXPECT_FALSE(assumed());
  time_of_a_write(100, 300);
  EXPECT_FALSE(assumed());
}

// Devices that do not rotate, and long runs: what the others want does not matter.
TEST_F(HabitualCalls, WhoseServersAreKnownNotToRotateDoesNotAskForTheFirstCallEither) {
  start_ranks(4);
  const Nanos asked = time_of_a_write(65536, 1);
  for (Rank& rank : ranks_) {
    ASSERT_TRUE(rank.file->solid());
    rank.habit = CallHabit();
  }
  EXPECT_LT(time_of_a_write(65536, 1), asked);  // each writes to a server that it knows
  EXPECT_FALSE(assumed());  // it was a guess
}

TEST_F(HabitualCalls, NobodyGuessesAtServersThatHaveNotBeenHeard) {
  start_ranks(4);
  for (const Rank& rank : ranks_) EXPECT_FALSE(rank.file->solid());
}

TEST_F(HabitualCalls, NobodyGuessesOnRotatingDisks) {
  SimClusterOptions options;
  options.data.rotational = true;
  start_ranks(4, options);
  time_of_a_write(65536, 1);
  for (const Rank& rank : ranks_) {
    EXPECT_TRUE(rank.file->rotational());
    EXPECT_FALSE(rank.file->solid());
  }
}

// One has long runs, and begins; the others have short ones, and ask.
TEST_F(HabitualCalls, RanksThatGuessDifferentlyEndTheCallTogether) {
  start_ranks(4);
  time_of_a_write(65536, 1);
  stride(ranks_, 100, 300);
  Rank& one = ranks_[0];
  one.filetype = {};
  one.view = {1'000'000, 1, FlatType::bytes(1)};
  one.memory_type.flat = FlatType::bytes(1);
  one.count = 200'000;
  one.base = 0;
  one.memory = random_bytes(200'000, 7);
  for (Rank& rank : ranks_) rank.habit = CallHabit();
  for (const Status& status : write_all(CollectiveOptions())) EXPECT_TRUE(status.ok()) << status.to_string();
  std::vector<std::byte> found(200'000);
  EXPECT_TRUE(run(reference_->read(Bytes(1'000'000), found)).ok());
  EXPECT_EQ(found, one.memory);
  for (std::size_t i = 1; i < ranks_.size(); ++i) {
    std::vector<std::byte> block(100);
    EXPECT_TRUE(run(reference_->read(Bytes(100 * (i + 4 * 299)), block)).ok());
    EXPECT_TRUE(std::equal(block.begin(), block.end(), ranks_[i].memory.begin() + 299 * 100)) << i;
    EXPECT_EQ(ranks_[i].habit.may_guess(true), ranks_[0].habit.may_guess(true));
  }
}

TEST_F(HabitualCalls, AnErrorOfOneRankIsEverybodysAndTheGroupStillWorks) {
  ClientOptions impatient;
  impatient.patience = 5_s;
  start_ranks(4, {}, impatient);
  for (int i = 0; i < 3; ++i) time_of_a_write(65536, 1);
  ASSERT_TRUE(assumed());
  const CollectiveOptions options;
  std::vector<Task<Status>> tasks;
  for (Rank& rank : ranks_) {
    FileAccess access = rank.access();
    if (rank.group->rank() >= 2)
      access.refused = Status(Code::invalid, "negative count on rank " + std::to_string(rank.group->rank()));
    tasks.push_back(write_collective(*rank.group, *rank.file, std::move(access), options));
  }
  for (const Status& status : run(when_all(std::move(tasks))))
    EXPECT_EQ(status.message(), "negative count on rank 2");
  EXPECT_TRUE(assumed());
  cluster_->stop_data(2);
  const auto results = write_all(CollectiveOptions());
  for (const Status& status : results) {
    EXPECT_EQ(status.code(), Code::timed_out);
    EXPECT_EQ(status.to_string(), results[0].to_string());
  }
  cluster_->start_data(2);
  time_of_a_write(65536, 1);
}

}  // namespace
}  // namespace tutti
