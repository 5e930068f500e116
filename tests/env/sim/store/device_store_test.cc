#include "env/sim/store/device_store.h"

#include "env/combine.h"
#include "env/sim/device/hdd.h"
#include "env/sim/store/memory_store.h"
#include "tests/env/conformance/store_helpers.h"
#include "tests/env/sim/world.h"

namespace tutti {
namespace {

using conformance::pattern;
using conformance::read_bytes;
using conformance::write_bytes;

class DeviceStoreTest : public testing::Test {
 protected:
  // Without inodes, unless a test is about them: their reads would stand in every count.
  DeviceStore& make(DeviceStoreOptions options, bool inodes = false) {
    options.inodes = inodes;
    store_ = std::make_unique<DeviceStore>(clock_, memory_, std::make_unique<HddModel>(),
                                           *make_io_scheduler("anticipatory"), options);
    return *store_;
  }
  // An object of zeros that is on the device and not in the cache.
  void prepare(std::uint64_t object, Bytes length) {
    ASSERT_TRUE(run_or_die(simulation_, memory_.truncate(ObjectId{object}, length)).ok());
  }
  Nanos read(std::uint64_t object, Bytes offset, Bytes length) {
    const Nanos start = simulation_.now();
    EXPECT_TRUE(run_or_die(simulation_, read_bytes(*store_, ObjectId{object}, offset, length)).ok());
    return simulation_.now() - start;
  }
  Nanos write(std::uint64_t object, Bytes offset, Bytes length) {
    const Nanos start = simulation_.now();
    EXPECT_TRUE(
        run_or_die(simulation_, write_bytes(*store_, ObjectId{object}, offset, pattern(length.count(), 1)))
            .ok());
    return simulation_.now() - start;
  }

  Simulation simulation_;
  SimClock clock_{simulation_};
  MemoryStore memory_;
  std::unique_ptr<DeviceStore> store_;
};

TEST_F(DeviceStoreTest, TheFirstUseOfAColdObjectReadsItsInode) {
  DeviceStore& store = make({}, true);
  prepare(1, 1_MiB);
  read(1, 512_KiB, 4_KiB);
  EXPECT_EQ(store.device_statistics().reads, 2U);
  read(1, 256_KiB, 4_KiB);
  EXPECT_EQ(store.device_statistics().reads, 3U) << "the inode is in memory now";
  store.drop_caches();
  write(1, Bytes(), 4_KiB);
  EXPECT_EQ(store.device_statistics().reads, 4U);
  write(2, Bytes(), 4_KiB);
  EXPECT_EQ(store.device_statistics().reads, 4U) << "a new object has none to read";
}

TEST_F(DeviceStoreTest, AWarmObjectHasItsInodeInMemory) {
  DeviceStore& store = make({}, true);
  prepare(1, 1_MiB);
  EXPECT_TRUE(store.cold(ObjectId{1}));
  EXPECT_TRUE(simulation_.run([](DeviceStore& disk) -> Task<bool> {
    co_await disk.warm(ObjectId{1});
    co_return true;
  }(store)));
  EXPECT_FALSE(store.cold(ObjectId{1}));
  EXPECT_EQ(store.device_statistics().reads, 1U);
  read(1, 512_KiB, 4_KiB);
  EXPECT_EQ(store.device_statistics().reads, 2U);
}

TEST_F(DeviceStoreTest, FirstReadTakesTheDiskAndTheSecondNothing) {
  make({});
  prepare(1, 1_MiB);
  EXPECT_GT(read(1, Bytes(), 64_KiB), 500_us);
  EXPECT_EQ(read(1, Bytes(), 64_KiB), Nanos());
}

TEST_F(DeviceStoreTest, SequentialReadIsReadAheadInWindowsUpToTheLargest) {
  make({});
  prepare(1, 8_MiB);
  for (std::uint64_t i = 0; i < 2048; ++i) read(1, 4_KiB * i, 4_KiB);
  const DeviceStatistics& device = store_->device_statistics();
  EXPECT_EQ(device.bytes_read, 8_MiB);
  // 128 KiB at a time: 64 requests, and a few small ones while the window grows.
  EXPECT_GE(device.reads, 64U);
  EXPECT_LE(device.reads, 70U);
}

TEST_F(DeviceStoreTest, SequentialReadRunsAtTheRateOfTheDisk) {
  make({});
  prepare(1, 64_MiB);
  const Nanos start = simulation_.now();
  for (std::uint64_t i = 0; i < 1024; ++i) read(1, 64_KiB * i, 64_KiB);
  EXPECT_NEAR(64.0 * 1.048576 / (simulation_.now() - start).seconds(), 78.0, 4.0);
}

TEST_F(DeviceStoreTest, RandomReadsAreNotReadAhead) {
  make({});
  prepare(1, 1_GiB);
  Random random(5);
  for (int i = 0; i < 50; ++i) read(1, Bytes(4096 * (2 + 2 * random.below(100'000))), 4_KiB);
  EXPECT_EQ(store_->device_statistics().bytes_read, 4_KiB * 50);
}

TEST_F(DeviceStoreTest, ReadAheadStopsAtTheEndOfTheObject) {
  make({});
  prepare(1, 10_KiB);
  read(1, Bytes(), 4_KiB);
  simulation_.run();
  EXPECT_EQ(store_->device_statistics().bytes_read, 12_KiB);
}

TEST_F(DeviceStoreTest, WritesAreFastUntilTheDirtyLimitThenAsFastAsTheDisk) {
  DeviceStoreOptions options;
  options.cache.size = 100_MiB;
  make(options);
  Nanos early;
  for (std::uint64_t i = 0; i < 10; ++i) early += write(1, 1_MiB * i, 1_MiB);
  EXPECT_EQ(early, Nanos());
  EXPECT_LE(store_->cache().dirty(), 10_MiB);
  Nanos late;
  for (std::uint64_t i = 10; i < 110; ++i) late += write(1, 1_MiB * i, 1_MiB);
  EXPECT_GT(store_->statistics().throttled, 500_ms);
  // 110 MiB less the 20 MiB that may stay dirty have to be written by then.
  EXPECT_NEAR(late.seconds(), (90 - 15) * 1.048576 / 78.0, 0.1);
  EXPECT_LE(store_->cache().dirty(), 20_MiB);
}

TEST_F(DeviceStoreTest, DirtyPagesAreWrittenBackWhenTheyExpire) {
  make({});
  write(1, Bytes(), 64_KiB);
  simulation_.run_until(simulation_.now() + 29_s);
  EXPECT_EQ(store_->device_statistics().writes, 0U);
  simulation_.run_until(simulation_.now() + 2_s);
  EXPECT_EQ(store_->device_statistics().bytes_written, 64_KiB);
  EXPECT_EQ(store_->cache().dirty(), Bytes());
}

TEST_F(DeviceStoreTest, SyncWaitsForTheDiskAndCostsNothingWhenClean) {
  make({});
  write(1, Bytes(), 1_MiB);
  write(2, Bytes(), 1_MiB);
  Nanos start = simulation_.now();
  EXPECT_TRUE(run_or_die(simulation_, store_->sync(ObjectId{1})).ok());
  EXPECT_GT(simulation_.now() - start, 13_ms);
  EXPECT_EQ(store_->device_statistics().bytes_written, 1_MiB);
  start = simulation_.now();
  EXPECT_TRUE(run_or_die(simulation_, store_->sync(ObjectId{1})).ok());
  EXPECT_EQ(simulation_.now(), start);
}

TEST_F(DeviceStoreTest, DropForgetsCleanPagesOnly) {
  make({});
  prepare(1, 1_MiB);
  read(1, Bytes(), 128_KiB);
  write(2, Bytes(), 64_KiB);
  simulation_.run_until(simulation_.now() + 1_s);
  store_->drop_caches();
  EXPECT_EQ(store_->cache().used(), 64_KiB);
  EXPECT_EQ(read(2, Bytes(), 64_KiB), Nanos());
  EXPECT_GT(read(1, Bytes(), 128_KiB), Nanos());
  EXPECT_TRUE(simulation_.run(store_->flush()));
  EXPECT_EQ(store_->cache().dirty(), Bytes());
}

TEST_F(DeviceStoreTest, CacheStaysWithinItsSize) {
  DeviceStoreOptions options;
  options.cache.size = 1_MiB;
  make(options);
  prepare(1, 8_MiB);
  for (std::uint64_t i = 0; i < 128; ++i) {
    read(1, 64_KiB * i, 64_KiB);
    EXPECT_LE(store_->cache().used(), 1_MiB + 256_KiB);
  }
  EXPECT_GT(read(1, Bytes(), 64_KiB), Nanos());
}

TEST_F(DeviceStoreTest, PartialPageOfOldDataIsReadBeforeItIsWritten) {
  make({});
  prepare(1, 1_MiB);
  EXPECT_EQ(write(1, 8_KiB, 4_KiB), Nanos());
  EXPECT_GT(write(1, 16_KiB + Bytes(100), Bytes(10)), Nanos());
  EXPECT_EQ(store_->device_statistics().reads, 1U);
  EXPECT_EQ(write(1, 2_MiB + Bytes(100), Bytes(10)), Nanos());
}

// As of ranks whose small blocks lie between each other's, in a new file.
TEST_F(DeviceStoreTest, PagesThatWereNeverWrittenAreHolesAndNotRead) {
  make({});
  EXPECT_EQ(write(1, 1_MiB, 4_KiB), Nanos());
  EXPECT_EQ(write(1, 16_KiB + Bytes(100), Bytes(10)), Nanos());
  EXPECT_EQ(store_->device_statistics().reads, 0U);
  EXPECT_TRUE(simulation_.run(store_->flush()));
  store_->power_loss();  // nothing is in memory any more
  EXPECT_GT(write(1, 16_KiB + Bytes(200), Bytes(10)), Nanos());
  EXPECT_GE(store_->device_statistics().reads, 1U);
}

TEST_F(DeviceStoreTest, WithoutACacheEveryOperationTakesTheDisk) {
  DeviceStoreOptions options;
  options.cache.size = Bytes();
  make(options);
  EXPECT_GT(write(1, Bytes(), 64_KiB), 300_us);
  EXPECT_GT(read(1, Bytes(), 64_KiB), 500_us);
  EXPECT_GT(read(1, Bytes(), 64_KiB), 500_us);
}

TEST_F(DeviceStoreTest, LocateTellsThePlaceOfObjectsThatExist) {
  DeviceStoreOptions options;
  options.placement.distance = 1_GiB;
  make(options);
  prepare(1, 1_MiB);
  prepare(2, 1_MiB);
  EXPECT_EQ(*run_or_die(simulation_, store_->locate(ObjectId{1}, 64_KiB)), 64_KiB);
  EXPECT_EQ(*run_or_die(simulation_, store_->locate(ObjectId{2}, Bytes())), 1_GiB);
  EXPECT_EQ(*run_or_die(simulation_, store_->locate(ObjectId{3}, Bytes())), std::nullopt);
}

TEST_F(DeviceStoreTest, RemovedObjectIsNotWrittenBack) {
  make({});
  write(1, Bytes(), 1_MiB);
  ASSERT_TRUE(run_or_die(simulation_, store_->remove(ObjectId{1})).ok());
  simulation_.run();
  EXPECT_EQ(store_->device_statistics().writes, 0U);
  EXPECT_EQ(store_->cache().used(), Bytes());
}

TEST_F(DeviceStoreTest, SameRunTwiceGivesTheSameTrace) {
  const auto trace = [] {
    Simulation simulation(4);
    SimClock clock(simulation);
    MemoryStore memory;
    DeviceStoreOptions options;
    options.cache.size = 4_MiB;
    DeviceStore store(clock, memory, std::make_unique<HddModel>(), *make_io_scheduler("deadline"), options);
    std::vector<Task<Status>> writes;
    for (std::uint64_t i = 0; i < 200; ++i) {
      writes.push_back(
          write_bytes(store, ObjectId{i % 7}, 32_KiB * simulation.random().below(1000), pattern(32'768, i)));
    }
    simulation.run(when_all(std::move(writes)));
    simulation.run();
    return simulation.trace();
  };
  EXPECT_EQ(trace(), trace());
}

}  // namespace
}  // namespace tutti
