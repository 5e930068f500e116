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
    return statistics_.report(rows);
  }
  Statistics::Way start(std::uint64_t application, std::uint64_t object, Bytes offset,
                        std::optional<Dedicated> dedicated = {}, Nanos now = 0_s) {
    const Extent extent{offset, 64_KiB};
    return statistics_.started(application, ObjectId{object}, {&extent, 1}, false, {}, dedicated, now);
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
  start(7, 1, 0_B);
  start(8, 1, 4_MiB);
  start(7, 1, 1_MiB);
  statistics_.ended(ObjectId{1}, Statistics::Way::far, 64_KiB, false, 0_s, 1_ms);
  EXPECT_TRUE(statistics_.news().is_set());
  const UseReport told = report();
  EXPECT_FALSE(statistics_.news().is_set());
  EXPECT_EQ(told.applications[0].gaps, 1U);
  EXPECT_EQ(told.applications[0].distance, 1_MiB);
  EXPECT_EQ(told.applications[1].gaps, 0U);
  EXPECT_EQ(told.gaps, 2U);
  EXPECT_EQ(told.distance, 4_MiB + 3_MiB);
}

TEST_F(StatisticsTest, NothingIsNotedBeforeSomebodyWantsIt) {
  statistics_.arrived();
  EXPECT_EQ(start(7, 1, 0_B), Statistics::Way::none);
  statistics_.ended(ObjectId{1}, Statistics::Way::none, 64_KiB, false, 0_s, 1_ms);
  EXPECT_FALSE(statistics_.news().is_set());
}

TEST_F(StatisticsTest, WhatIsInThePageCacheCostsTheDeviceNoWay) {
  statistics_.begin();
  std::vector<std::byte> memory(64U << 10U);
  MemorySink sink(memory);
  EXPECT_EQ(start(7, 1, 4_MiB), Statistics::Way::near);
  EXPECT_TRUE(simulation_.run(disk_.read(ObjectId{1}, 4_MiB, 64_KiB, sink))->ok());
  EXPECT_EQ(start(7, 1, 4_MiB), Statistics::Way::none);
  EXPECT_EQ(report().gaps, 0U);
}

// Read-ahead that comes into what was fetched before finds it in memory, and asks the device for nothing.
TEST_F(StatisticsTest, ReadAheadIntoWhatIsInMemoryCostsTheDeviceNoWay) {
  statistics_.begin();
  const Extent fetched{1_MiB, 8_MiB};
  simulation_.run(disk_.prefetch(ObjectId{1}, {&fetched, 1}));
  simulation_.run();
  std::vector<std::byte> memory(64U << 10U);
  for (Bytes at; at < 5_MiB; at += 64_KiB) {
    const Statistics::Way way = start(7, 1, at);
    if (at >= 1_MiB) {
      EXPECT_EQ(way, Statistics::Way::none) << to_string(at);
    }
    MemorySink sink(memory);
    EXPECT_TRUE(simulation_.run(disk_.read(ObjectId{1}, at, 64_KiB, sink))->ok());
  }
}

// Memory takes them; where the device goes for them later, and when, is not theirs.
TEST_F(StatisticsTest, WritesCostTheDeviceNoWayUnlessAPageHasToBeReadFirst) {
  statistics_.begin();
  const auto write = [&](Bytes offset, Bytes length) {
    const Extent extent{offset, length};
    return statistics_.started(7, ObjectId{1}, {&extent, 1}, true, {}, {}, 0_s);
  };
  EXPECT_EQ(write(4_MiB, 64_KiB), Statistics::Way::none);
  EXPECT_EQ(write(12_MiB, 64_KiB), Statistics::Way::none);
  EXPECT_EQ(write(8_MiB + 64_B, 64_KiB), Statistics::Way::near) << "the first one that needs the device";
  EXPECT_EQ(write(0_B, 8_KiB - 64_B), Statistics::Way::far);
  EXPECT_TRUE(report().addresses) << "though hardly anything was seen";
}

TEST_F(StatisticsTest, ComingBackCountsWhileTheServiceIsDedicated) {
  statistics_.begin();
  const Dedicated slice{1_s, false};
  start(7, 1, 0_B, slice, 1_s);
  start(7, 1, 1_MiB, slice, 1_s + 5_ms);
  start(8, 1, 1_MiB, {}, 1_s + 6_ms);
  start(8, 1, 1_MiB, {}, 1_s + 7_ms);
  const UseReport told = report();
  EXPECT_EQ(told.applications[0].reuses, 1U);
  EXPECT_EQ(told.applications[0].reuse, 5_ms);
  EXPECT_EQ(told.applications[1].reuses, 0U);
}

}  // namespace
}  // namespace tutti
