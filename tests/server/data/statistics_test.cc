#include "server/data/statistics.h"

#include <gtest/gtest.h>

#include "env/sim/clock.h"
#include "env/sim/device/hdd.h"
#include "env/sim/simulation.h"
#include "env/sim/store/device_store.h"
#include "env/sim/store/memory_store.h"

namespace tutti {
namespace {

class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() {
    for (const std::uint64_t object : {1, 2})
      EXPECT_TRUE(simulation_.run(memory_.truncate(ObjectId{object}, 16_MiB))->ok());
  }
  UseReport report() {
    std::vector<Accounting::Row> rows(2);
    rows[0].application = 7;
    rows[1].application = 8;
    return *simulation_.run(statistics_.report(rows));
  }

  Simulation simulation_{1};
  SimClock clock_{simulation_};
  MemoryStore memory_;
  DeviceStore disk_{clock_, memory_, std::make_unique<HddModel>(default_hdd()),
                    std::move(*make_io_scheduler("none"))};
  Statistics statistics_{simulation_.executor(), disk_};
};

TEST_F(StatisticsTest, GapsAreCountedForEachApplicationAndInAll) {
  statistics_.begin();
  statistics_.served(7, ObjectId{1}, 0_B, 1_MiB);
  statistics_.served(8, ObjectId{1}, 4_MiB, 5_MiB);
  statistics_.served(7, ObjectId{1}, 1_MiB, 2_MiB);  // goes on where it was, after another's
  EXPECT_TRUE(statistics_.news().is_set());
  UseReport told = report();
  EXPECT_FALSE(statistics_.news().is_set());
  EXPECT_EQ(told.applications[0].gaps, 1U);
  EXPECT_EQ(told.applications[0].distance, 0_B);
  EXPECT_EQ(told.applications[1].gaps, 0U);
  EXPECT_EQ(told.gaps, 2U);
  EXPECT_EQ(told.distance, 3_MiB + 4_MiB);
  statistics_.served(8, ObjectId{1}, 6_MiB, 7_MiB);
  told = report();
  EXPECT_EQ(told.applications[1].gaps, 1U);
  EXPECT_EQ(told.applications[1].distance, 1_MiB);
  EXPECT_EQ(told.gaps, 3U);
}

TEST_F(StatisticsTest, NothingIsNotedBeforeSomebodyWantsIt) {
  statistics_.arrived();
  statistics_.served(7, ObjectId{1}, 0_B, 1_MiB);
  EXPECT_FALSE(statistics_.news().is_set());
}

// After a request that was not noted nobody knows where the device was.
TEST_F(StatisticsTest, BeyondASampleNothingIsNotedAndNoGapIsInvented) {
  statistics_.begin();
  for (std::size_t i = 0; i < Statistics::kMostNoted + 10; ++i)
    statistics_.served(7, ObjectId{1}, 0_B, 1_MiB);
  EXPECT_EQ(report().gaps, Statistics::kMostNoted - 1);
  statistics_.served(7, ObjectId{1}, 0_B, 1_MiB);
  EXPECT_EQ(report().gaps, Statistics::kMostNoted - 1);
}

TEST_F(StatisticsTest, ObjectsThatAreGoneBreakTheWay) {
  statistics_.begin();
  statistics_.served(7, ObjectId{1}, 0_B, 1_MiB);
  statistics_.served(7, ObjectId{99}, 0_B, 1_MiB);
  statistics_.served(7, ObjectId{1}, 0_B, 1_MiB);
  EXPECT_EQ(report().gaps, 0U);
}

}  // namespace
}  // namespace tutti
