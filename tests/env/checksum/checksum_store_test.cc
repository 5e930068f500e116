#include "env/checksum/checksum_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/random.h"
#include "env/combine.h"
#include "env/fault/faulty_store.h"
#include "env/sim/device/scheduler.h"
#include "env/sim/device/ssd.h"
#include "env/sim/store/device_store.h"
#include "env/sim/store/memory_store.h"
#include "tests/env/conformance/store_helpers.h"
#include "tests/env/conformance/store_suite.h"
#include "tests/env/sim/world.h"

namespace tutti {
namespace {

using conformance::pattern;
using conformance::read_bytes;
using conformance::write_bytes;

constexpr ObjectId kObject{7};
using Content = std::vector<std::byte>;

Task<Status> sleep(Clock& clock, Nanos time) {
  co_await clock.sleep(time);
  co_return Status();
}

class ChecksumStoreTest : public testing::Test {
 protected:
  explicit ChecksumStoreTest(std::uint64_t seed = 3)
      : data_({}, Random(seed)), sums_({}, Random(seed + 1'000'000)) {
    start();
  }
  // A new process on the same stores.
  void start() {
    store_.reset();
    ChecksumOptions options;
    options.trusted = Nanos(-1);  // every read is checked
    store_.emplace(clock_, data_, sums_, options);
    ASSERT_TRUE(run(store_->open()).ok());
  }
  void power_loss() {
    store_.reset();
    data_.crash();
    sums_.crash();
    start();
  }
  template <typename T>
  T run(Task<T> task) {
    return run_or_die(simulation_, std::move(task));
  }
  Status write(Bytes offset, const Content& bytes) {
    return run(write_bytes(*store_, kObject, offset, bytes));
  }
  Result<Content> read(Bytes offset, Bytes length) {
    return run(read_bytes(*store_, kObject, offset, length));
  }
  Status settle() { return run(store_->settle()); }
  Scrubbed verify(Bytes length = 16_MiB) { return *run(store_->verify(kObject, Extent{Bytes(), length})); }
  // What a disk does that nobody asked for.
  void flip(Bytes offset, ObjectId object = kObject) {
    Content byte = *run(read_bytes(data_, object, offset, 1_B));
    byte[0] ^= std::byte{0x10};
    ASSERT_TRUE(run(write_bytes(data_, object, offset, byte)).ok());
  }

  Simulation simulation_;
  SimClock clock_{simulation_};
  MemoryStore data_;
  MemoryStore sums_;
  std::optional<ChecksumStore> store_;
};

TEST_F(ChecksumStoreTest, ABitThatFlippedIsAnErrorThatSaysWhere) {
  const Content bytes = pattern(300'000, 1);
  ASSERT_TRUE(write(0_B, bytes).ok());
  flip(Bytes(150'000));
  const auto bad = read(0_B, Bytes(300'000));
  ASSERT_EQ(bad.code(), Code::corrupt);
  EXPECT_NE(bad.status().message().find("0000000000000007, bytes 131072 to 196607"), std::string::npos)
      << bad.status().message();
  // The other blocks are as good as before.
  EXPECT_EQ(*read(0_B, 128_KiB), Content(bytes.begin(), bytes.begin() + (128 << 10)));
  EXPECT_EQ(read(192_KiB, 1_KiB)->size(), 1024U);
}

TEST_F(ChecksumStoreTest, APartOfARottenBlockIsNotGivenOutEither) {
  ASSERT_TRUE(write(0_B, pattern(64 << 10, 1)).ok());
  flip(Bytes(60'000));
  EXPECT_EQ(read(0_B, 4_KiB).code(), Code::corrupt);
  EXPECT_EQ(read(8_KiB, 1_B).code(), Code::corrupt);
}

TEST_F(ChecksumStoreTest, NoByteOfARottenBlockReachesTheSink) {
  ASSERT_TRUE(write(0_B, pattern(64 << 10, 1)).ok());
  flip(Bytes(60'000));
  Content into(64 << 10, std::byte{0xee});
  MemorySink sink(into);
  EXPECT_EQ(run(store_->read(kObject, 0_B, 64_KiB, sink)).code(), Code::corrupt);
  EXPECT_TRUE(std::all_of(into.begin(), into.end(), [](std::byte b) { return b == std::byte{0xee}; }));
}

TEST_F(ChecksumStoreTest, ExtentsInAnyOrderAreChecked) {
  const Content bytes = pattern(200'000, 1);
  ASSERT_TRUE(write(0_B, bytes).ok());
  const std::vector<Extent> extents = {{Bytes(150'000), Bytes(1000)}, {Bytes(10), Bytes(20)}};
  Content into(1020);
  MemorySink sink(into);
  ASSERT_TRUE(run(store_->read(kObject, extents, sink)).ok());
  EXPECT_TRUE(std::equal(into.begin(), into.begin() + 1000, bytes.begin() + 150'000));
  flip(Bytes(140'000));
  EXPECT_EQ(run(store_->read(kObject, extents, sink)).code(), Code::corrupt);
}

TEST_F(ChecksumStoreTest, PartialOverwritesKeepTheSumRight) {
  Content bytes = pattern(400'000, 1);
  ASSERT_TRUE(write(0_B, bytes).ok());
  Random random(5);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::size_t offset = random.below(bytes.size());
    const Content part = pattern(1 + random.below(std::min<std::size_t>(90'000, bytes.size() - offset)), i);
    ASSERT_TRUE(write(Bytes(offset), part).ok());
    std::copy(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  EXPECT_EQ(*read(0_B, 1_MiB), bytes);
  EXPECT_EQ(verify().checked, Bytes(400'000));
}

TEST_F(ChecksumStoreTest, APartialOverwriteDoesNotHideRotInTheRestOfTheBlock) {
  ASSERT_TRUE(write(0_B, pattern(64 << 10, 1)).ok());
  flip(Bytes(60'000));
  ASSERT_TRUE(write(0_B, pattern(4096, 2)).ok());
  EXPECT_EQ(read(0_B, 4_KiB).code(), Code::corrupt);
  ASSERT_TRUE(write(0_B, pattern(64 << 10, 3)).ok());  // all of it anew
  EXPECT_EQ(*read(0_B, 64_KiB), pattern(64 << 10, 3));
}

TEST_F(ChecksumStoreTest, AppendsAndHolesAreCoveredWithoutReading) {
  Content bytes;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Content part = pattern(3000, i);
    ASSERT_TRUE(write(Bytes(bytes.size()), part).ok());
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  ASSERT_TRUE(write(1_MiB, pattern(10, 1)).ok());
  EXPECT_EQ(read(0_B, 2_MiB)->size(), (1U << 20U) + 10);
  flip(900_KiB);  // in a hole: it was never written, nor is there a sum to tell
  flip(Bytes(299'999));
  EXPECT_EQ(read(Bytes(299'000), 100_B).code(), Code::corrupt);
}

TEST_F(ChecksumStoreTest, TruncateTakesTheCutPartOffTheSum) {
  Content bytes = pattern(200'000, 1);
  ASSERT_TRUE(write(0_B, bytes).ok());
  ASSERT_TRUE(settle().ok());
  ASSERT_TRUE(run(store_->truncate(kObject, Bytes(70'000))).ok());
  bytes.resize(70'000);
  EXPECT_EQ(*read(0_B, 1_MiB), bytes);
  ASSERT_TRUE(run(store_->truncate(kObject, Bytes(300'000))).ok());
  bytes.resize(300'000);
  EXPECT_EQ(*read(0_B, 1_MiB), bytes);
  ASSERT_TRUE(settle().ok());
  start();
  EXPECT_EQ(*read(0_B, 1_MiB), bytes);
  flip(Bytes(69'999));
  EXPECT_EQ(read(64_KiB, 10_B).code(), Code::corrupt);
}

TEST_F(ChecksumStoreTest, SumsThatSettledAreThereAfterAStop) {
  ASSERT_TRUE(write(0_B, pattern(1 << 20, 1)).ok());
  ASSERT_TRUE(run(sleep(clock_, 60_s)).ok());  // by itself
  start();
  EXPECT_EQ(verify().checked, 1_MiB);
  flip(Bytes(777'777));
  const Scrubbed found = verify();
  ASSERT_EQ(found.rotten.size(), 1U);
  EXPECT_EQ(found.rotten[0], Bytes(11 * 65536));
  EXPECT_EQ(found.checked, 1_MiB - 64_KiB);
  EXPECT_EQ(read(704_KiB, 64_KiB).code(), Code::corrupt);
}

TEST_F(ChecksumStoreTest, WhatDidNotSettleIsUnknownAfterAKillAndSummedByVerify) {
  ASSERT_TRUE(write(0_B, pattern(100'000, 1)).ok());
  start();
  const Scrubbed first = verify();
  EXPECT_EQ(first.summed, Bytes(100'000));
  EXPECT_EQ(first.checked, 0_B);
  EXPECT_EQ(verify().checked, Bytes(100'000));
  flip(Bytes(5));
  EXPECT_EQ(read(0_B, 10_B).code(), Code::corrupt);
}

// Gives the first MiB, then waits for ever.
class HalfSource : public Source {
 public:
  HalfSource(Executor& executor, Content bytes) : never_(executor), bytes_(std::move(bytes)) {}
  Task<Status> fill(Bytes at, Places places) override {
    if (at >= 1_MiB) co_await never_.wait();
    MemorySource source(bytes_);
    co_return co_await source.fill(at, places);
  }

 private:
  Event never_;
  Content bytes_;
};

Task<void> write_half(Store& store, Source& source) {
  (co_await store.write(kObject, 0_B, 2_MiB, source)).ignore();
}

TEST_F(ChecksumStoreTest, AStopBetweenDataAndSumIsNotTakenForRot) {
  ASSERT_TRUE(write(0_B, pattern(2 << 20, 1)).ok());
  ASSERT_TRUE(settle().ok());
  {
    HalfSource source(simulation_.executor(), pattern(2 << 20, 2));
    Scope scope(simulation_.executor());
    scope.spawn(write_half(*store_, source));
    ASSERT_TRUE(run(sleep(clock_, 1_s)).ok());
    scope.cancel();
  }
  start();  // the process dies here: new bytes, old sums
  const auto bytes = read(0_B, 2_MiB);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  EXPECT_TRUE(std::equal(bytes->begin(), bytes->begin() + (1 << 20), pattern(2 << 20, 2).begin()));
  EXPECT_EQ(verify().rotten.size(), 0U);
  ASSERT_TRUE(settle().ok());
  start();
  EXPECT_EQ(verify().checked, 2_MiB);  // summed anew
}

TEST_F(ChecksumStoreTest, BlocksOfAnUncleanStopAreSummedAnewInTheBackground) {
  ASSERT_TRUE(write(0_B, pattern(200'000, 1)).ok());
  ASSERT_TRUE(settle().ok());
  ASSERT_TRUE(write(10_B, pattern(100'000, 2)).ok());
  start();
  ASSERT_TRUE(run(sleep(clock_, 5_s)).ok());
  EXPECT_EQ(verify().checked, Bytes(200'000));
}

TEST_F(ChecksumStoreTest, AnErrorOfTheSourceLeavesTheBlockUnknownAndReadable) {
  ASSERT_TRUE(write(0_B, pattern(64 << 10, 1)).ok());
  conformance::FailingSource source(0_B);
  EXPECT_EQ(run(store_->write(kObject, 100_B, 1000_B, source)).code(), Code::cancelled);
  EXPECT_TRUE(read(0_B, 64_KiB).ok());
  flip(5_B);  // found again from here on: reading it has summed it
  EXPECT_EQ(read(0_B, 64_KiB).code(), Code::corrupt);
}

TEST_F(ChecksumStoreTest, ADamagedSumIsNotTakenForRot) {
  ASSERT_TRUE(write(0_B, pattern(64 << 10, 1)).ok());
  ASSERT_TRUE(settle().ok());
  Content byte = *run(read_bytes(sums_, kObject, 1_B, 1_B));
  byte[0] ^= std::byte{1};
  ASSERT_TRUE(run(write_bytes(sums_, kObject, 1_B, byte)).ok());
  start();
  EXPECT_TRUE(read(0_B, 64_KiB).ok());
}

TEST_F(ChecksumStoreTest, RemovalTakesTheSumsWithIt) {
  ASSERT_TRUE(write(0_B, pattern(1000, 1)).ok());
  ASSERT_TRUE(settle().ok());
  ASSERT_TRUE(run(store_->remove(kObject)).ok());
  EXPECT_FALSE(run(sums_.length(kObject))->has_value());
  ASSERT_TRUE(write(0_B, pattern(1000, 2)).ok());
  EXPECT_EQ(*read(0_B, 1_MiB), pattern(1000, 2));
}

TEST_F(ChecksumStoreTest, ABlockThatWasJustCheckedIsNotReadAgainForAPartOfIt) {
  FaultyStore faulty(data_);
  ChecksumStore store(clock_, faulty, sums_);
  ASSERT_TRUE(run(write_bytes(store, kObject, 0_B, pattern(64 << 10, 1))).ok());
  ASSERT_TRUE(run(read_bytes(store, kObject, 0_B, 4_KiB)).ok());
  faulty.fail(StoreOperation::read, Code::io_error, 1, 1);  // the second one from here on
  ASSERT_TRUE(run(read_bytes(store, kObject, 4_KiB, 4_KiB)).ok());
  ASSERT_TRUE(run(sleep(clock_, 11_s)).ok());
  EXPECT_EQ(run(read_bytes(store, kObject, 4_KiB, 4_KiB)).code(), Code::io_error);
  flip(Bytes(60'000));
  EXPECT_EQ(run(read_bytes(store, kObject, 4_KiB, 4_KiB)).code(), Code::corrupt);
}

TEST_F(ChecksumStoreTest, FewRegionsInMemorySuffice) {
  ChecksumOptions options;
  options.regions = 4;
  ChecksumStore small(clock_, data_, sums_, options);
  for (std::uint64_t object = 100; object < 140; ++object) {
    ASSERT_TRUE(run(write_bytes(small, ObjectId{object}, 0_B, pattern(70'000, object))).ok());
    ASSERT_TRUE(run(small.settle()).ok());
  }
  flip(Bytes(69'000), ObjectId{105});
  for (std::uint64_t object = 100; object < 140; ++object) {
    const auto got = run(read_bytes(small, ObjectId{object}, 0_B, 1_MiB));
    EXPECT_EQ(got.code(), object == 105 ? Code::corrupt : Code::ok);
  }
}

Task<Status> write_slices(Store& store, std::uint64_t slice, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    const Bytes offset = 8_KiB * slice + Bytes(random.below(4096));
    TUTTI_CO_TRY(
        co_await write_bytes(store, kObject, offset, pattern(1 + random.below(4096), random.next())));
  }
  co_return Status();
}

Task<Status> read_around(Store& store, std::uint64_t seed) {
  Random random(seed);
  for (int i = 0; i < 80; ++i) {
    const auto got =
        co_await read_bytes(store, kObject, Bytes(random.below(200'000)), Bytes(random.below(200'000)));
    if (!got.ok()) co_return got.status();
  }
  co_return Status();
}

// Operations wait for a device, so that they are under way at the same time.
TEST_F(ChecksumStoreTest, WritersAndReadersOfTheSameBlocksAtTheSameTimeAreNotRot) {
  DeviceStoreOptions without_cache;
  without_cache.cache.size = 0_B;
  DeviceStore device(clock_, data_, std::make_unique<SsdModel>(), *make_io_scheduler("deadline"),
                     without_cache);
  ChecksumOptions options;
  options.trusted = Nanos(-1);
  options.quiet = 1_ms;  // it settles all the time
  ChecksumStore store(clock_, device, sums_, options);
  ASSERT_TRUE(run(store.open()).ok());
  for (std::uint64_t round = 0; round < 5; ++round) {
    std::vector<Task<Status>> tasks;
    for (std::uint64_t i = 0; i < 24; ++i) tasks.push_back(write_slices(store, i, round + 10 * i));
    for (std::uint64_t i = 0; i < 6; ++i) tasks.push_back(read_around(store, round + 1000 * i));
    for (const Status& status : run(when_all(std::move(tasks)))) EXPECT_TRUE(status.ok()) << status.message();
  }
  ASSERT_TRUE(run(store.settle()).ok());
  start();
  const Bytes length = **run(data_.length(kObject));
  EXPECT_EQ(verify().checked, length);
  flip(length - 1_B);
  EXPECT_EQ(verify().rotten.size(), 1U);
}

Task<Status> fetch(Store& store, std::vector<Extent> extents) {
  co_await store.prefetch(kObject, extents);
  co_return Status();
}

// Otherwise the rest of each is read one by one when it is checked.
TEST_F(ChecksumStoreTest, WholeBlocksAreFetchedAhead) {
  DeviceStore device(clock_, data_, std::make_unique<SsdModel>(), *make_io_scheduler("deadline"), {});
  ChecksumStore store(clock_, device, sums_, {});
  ASSERT_TRUE(run(store.open()).ok());
  ASSERT_TRUE(run(write_bytes(store, kObject, 0_B, pattern(256 << 10, 1))).ok());
  ASSERT_TRUE(run(store.sync(kObject)).ok());
  device.drop_caches();
  ASSERT_TRUE(run(fetch(store, {{70_KiB, 4_KiB}, {100_KiB, 4_KiB}, {150_KiB, 1_B}})).ok());
  const Bytes hit = device.statistics().hit;
  ASSERT_TRUE(run(read_bytes(device, kObject, 64_KiB, 128_KiB)).ok());
  EXPECT_EQ(device.statistics().hit - hit, 128_KiB);
}

// Random work with stops of every kind. Without a flipped bit nothing is ever called rotten; and with one, no read
// gives it out.
class ChecksumStoreSeeds : public ChecksumStoreTest, public testing::WithParamInterface<std::uint64_t> {
 protected:
  ChecksumStoreSeeds() : ChecksumStoreTest(GetParam()) {}
};

TEST_P(ChecksumStoreSeeds, StopsAreNotRotAndRotIsNotData) {
  Random random(GetParam());
  constexpr std::uint64_t kLongest = 600'000;
  Content expected;
  const auto learn = [&] {  // after a loss of power
    const auto bytes = read(0_B, Bytes(kLongest));
    ASSERT_TRUE(bytes.ok()) << bytes.status().message();
    expected = *bytes;
  };
  for (int step = 0; step < 120; ++step) {
    switch (random.below(12)) {
      case 0:
        power_loss();
        learn();
        break;
      case 1:
        start();
        break;
      case 2:
      case 3:
        ASSERT_TRUE(settle().ok());
        break;
      case 4: {
        const Bytes length(random.below(kLongest));
        ASSERT_TRUE(run(store_->truncate(kObject, length)).ok());
        expected.resize(length.count());
        break;
      }
      case 5: {
        const std::uint64_t offset = random.below(kLongest);
        const auto bytes = read(Bytes(offset), Bytes(random.below(kLongest)));
        ASSERT_TRUE(bytes.ok()) << bytes.status().message();
        ASSERT_LE(bytes->size(), expected.size());
        EXPECT_TRUE(std::equal(bytes->begin(), bytes->end(),
                               expected.begin() + static_cast<std::ptrdiff_t>(
                                                      std::min<std::uint64_t>(offset, expected.size()))));
        break;
      }
      case 6:
        ASSERT_TRUE(run(store_->sync(kObject)).ok());
        break;
      case 7:
        ASSERT_TRUE(run(sleep(clock_, 40_s)).ok());
        break;
      default: {
        std::uint64_t offset = random.below(kLongest - 70'000);
        if (random.chance(0.4)) offset = offset / 65536 * 65536;
        const Content part = pattern(random.chance(0.3) ? 65536 : 1 + random.below(70'000), random.next());
        ASSERT_TRUE(write(Bytes(offset), part).ok());
        if (expected.size() < offset + part.size()) expected.resize(offset + part.size());
        std::copy(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
      }
    }
    EXPECT_TRUE(verify().rotten.empty());
    if (HasFatalFailure()) return;
  }
  if (expected.empty()) return;
  const std::uint64_t where = random.below(expected.size());
  verify();  // all blocks have sums now
  if (random.chance(0.5)) {
    ASSERT_TRUE(settle().ok());
    start();
  }
  const bool hole = !run(store_->next_data(kObject, Bytes(where)))->has_value();
  flip(Bytes(where));
  EXPECT_EQ(read(Bytes(where), 1_B).code(), hole ? Code::ok : Code::corrupt);
}
INSTANTIATE_TEST_SUITE_P(Seeds, ChecksumStoreSeeds, testing::Range<std::uint64_t>(0, 200));

}  // namespace

namespace conformance {

struct ChecksumStoreWorld {
  ChecksumStoreWorld() { EXPECT_TRUE(run(checked.open()).ok()); }
  Executor& executor() { return simulation.executor(); }
  template <typename T>
  T run(Task<T> task) {
    return run_or_die(simulation, std::move(task));
  }
  Store& store() { return checked; }
  Simulation simulation{7};
  SimClock clock{simulation};
  MemoryStore data;
  MemoryStore sums;
  ChecksumStore checked{clock, data, sums};
};
INSTANTIATE_TYPED_TEST_SUITE_P(Checksum, StoreSuite, testing::Types<ChecksumStoreWorld>);

}  // namespace conformance
}  // namespace tutti
