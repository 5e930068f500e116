#include <set>

#include "env/combine.h"
#include "env/fault/faulty_kv.h"
#include "env/fault/faulty_store.h"
#include "env/sim/kv/memory_kv.h"
#include "env/sim/store/memory_store.h"
#include "tests/env/conformance/store_helpers.h"
#include "tests/env/sim/world.h"

namespace tutti {
namespace {

using conformance::pattern;
using conformance::read_bytes;
using conformance::write_bytes;

class MemoryTest : public testing::Test {
 protected:
  Status write(Store& store, std::uint64_t object, Bytes offset, const std::vector<std::byte>& bytes) {
    return run_or_die(simulation_, write_bytes(store, ObjectId{object}, offset, bytes));
  }
  std::vector<std::byte> read(Store& store, std::uint64_t object, Bytes offset, Bytes length) {
    return *run_or_die(simulation_, read_bytes(store, ObjectId{object}, offset, length));
  }

  Simulation simulation_;
  SimClock clock_{simulation_};
};

TEST_F(MemoryTest, CapacityEndsWithNoSpaceAndRemovalFreesIt) {
  MemoryStoreOptions options;
  options.capacity = 1_MiB;
  MemoryStore store(options);
  EXPECT_TRUE(write(store, 1, Bytes(), pattern(512 << 10, 1)).ok());
  EXPECT_EQ(write(store, 2, Bytes(), pattern(600 << 10, 2)).code(), Code::no_space);
  EXPECT_TRUE(run_or_die(simulation_, store.remove(ObjectId{2})).ok());
  EXPECT_EQ(store.space()->free, 512_KiB);
  EXPECT_TRUE(write(store, 3, Bytes(), pattern(512 << 10, 3)).ok());
}

TEST_F(MemoryTest, SyncedBytesSurviveALossOfPowerAndOthersMayNot) {
  int lost = 0;
  int kept = 0;
  int torn = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryStore store({}, Random(seed));
    const auto old_bytes = pattern(200'000, 1);
    const auto new_bytes = pattern(4096, 2);
    ASSERT_TRUE(write(store, 1, Bytes(), old_bytes).ok());
    ASSERT_TRUE(run_or_die(simulation_, store.sync(ObjectId{1})).ok());
    ASSERT_TRUE(write(store, 1, 64_KiB, new_bytes).ok());
    ASSERT_TRUE(write(store, 1, Bytes(200'000), pattern(1000, 3)).ok());
    store.crash();
    auto after = read(store, 1, Bytes(), Bytes(200'000));
    ASSERT_EQ(after.size(), 200'000U);
    const std::vector<std::byte> sector(after.begin() + 65'536, after.begin() + 65'536 + 4096);
    std::copy(old_bytes.begin() + 65'536, old_bytes.begin() + 65'536 + 4096, after.begin() + 65'536);
    EXPECT_EQ(after, old_bytes);
    const bool is_old = std::equal(sector.begin(), sector.end(), old_bytes.begin() + 65'536);
    (sector == new_bytes ? kept : is_old ? lost : torn) += 1;
  }
  EXPECT_GT(lost, 0);
  EXPECT_GT(kept, 0);
  EXPECT_GT(torn, 0);
}

TEST_F(MemoryTest, ObjectThatWasNeverSyncedMayVanishInALossOfPower) {
  int vanished = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryStore store({}, Random(seed));
    ASSERT_TRUE(write(store, 1, Bytes(), pattern(100, 1)).ok());
    store.crash();
    vanished += run_or_die(simulation_, store.list())->empty() ? 1 : 0;
  }
  EXPECT_GT(vanished, 10);
  EXPECT_LT(vanished, 40);
}

TEST_F(MemoryTest, PhantomStoreKeepsLengthsOnly) {
  MemoryStoreOptions options;
  options.phantom = true;
  options.capacity = 10_GiB;
  MemoryStore store(options);
  EXPECT_TRUE(write(store, 1, 5_GiB, pattern(3 << 20, 1)).ok());
  EXPECT_EQ(*run_or_die(simulation_, store.length(ObjectId{1})), 5_GiB + 3_MiB);
  EXPECT_EQ(read(store, 1, 5_GiB, Bytes(100)), std::vector<std::byte>(100));
  EXPECT_EQ(read(store, 1, 5_GiB, 4_MiB).size(), 3U << 20U);
  EXPECT_EQ(write(store, 2, 9_GiB, pattern(10, 1)).code(), Code::no_space);
}

std::function<Status(KvWriter&)> putting(std::string key) {
  return [key = std::move(key)](KvWriter& writer) { return writer.put(key, "v"); };
}

TEST_F(MemoryTest, UpdatesThatWaitTogetherShareASync) {
  MemoryKvOptions options;
  options.sync_delay = 1_ms;
  MemoryKv kv(clock_, options);
  std::vector<Task<Status>> updates;
  for (int i = 0; i < 100; ++i) updates.push_back(kv.update(putting(std::to_string(i))));
  for (const Status& status : run_or_die(simulation_, when_all(std::move(updates)))) EXPECT_TRUE(status.ok());
  EXPECT_EQ(kv.size(), 100U);
  EXPECT_EQ(kv.syncs(), 2U);
  EXPECT_EQ(simulation_.now(), 2_ms);
}

Task<void> update_and_note(Kv& kv, std::string key, Status& status) {
  status = co_await kv.update(putting(key));
}

TEST_F(MemoryTest, LossOfPowerKeepsAPrefixOfTheUpdatesUnderSync) {
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    MemoryKvOptions options;
    options.sync_delay = 1_ms;
    MemoryKv kv(clock_, options, Random(seed));
    std::array<Status, 4> status;
    Scope scope(simulation_.executor());
    scope.spawn(update_and_note(kv, "a", status[0]));
    simulation_.run_until(simulation_.now() + 500_us);
    scope.spawn(update_and_note(kv, "b", status[1]));
    simulation_.run_until(simulation_.now() + 700_us);  // "a" is durable, "b" under sync
    scope.spawn(update_and_note(kv, "c", status[2]));
    simulation_.run_until(simulation_.now() + 100_us);
    kv.crash();
    simulation_.run_until(simulation_.now() + 10_ms);
    EXPECT_TRUE(status[0].ok());
    EXPECT_EQ(status[1].code(), Code::unavailable);
    EXPECT_EQ(status[2].code(), Code::unavailable);
    sizes.insert(kv.size());
  }
  EXPECT_EQ(sizes, (std::set<std::size_t>{1, 2}));
}

TEST_F(MemoryTest, CancelledUpdateDoesNotTakePlace) {
  MemoryKvOptions options;
  options.sync_delay = 1_ms;
  MemoryKv kv(clock_, options);
  Status status;
  {
    Scope scope(simulation_.executor());
    scope.spawn(update_and_note(kv, "a", status));
    simulation_.run_until(500_us);
  }
  simulation_.run();
  EXPECT_EQ(kv.size(), 0U);
}

TEST_F(MemoryTest, ScriptedFaultsHitTheirOperationsOnly) {
  MemoryStore memory;
  FaultyStore store(memory);
  store.fail(StoreOperation::write, Code::no_space, 2, 1);
  store.fail(StoreOperation::read, Code::io_error);
  EXPECT_TRUE(write(store, 1, Bytes(), pattern(10, 1)).ok());
  EXPECT_EQ(write(store, 1, Bytes(), pattern(10, 2)).code(), Code::no_space);
  EXPECT_EQ(write(store, 1, Bytes(), pattern(10, 2)).code(), Code::no_space);
  EXPECT_TRUE(write(store, 1, Bytes(), pattern(10, 3)).ok());
  EXPECT_EQ(run_or_die(simulation_, read_bytes(store, ObjectId{1}, Bytes(), Bytes(10))).code(),
            Code::io_error);
  EXPECT_EQ(read(store, 1, Bytes(), Bytes(10)), pattern(10, 3));
  EXPECT_EQ(store.injected(), 3U);
}

TEST_F(MemoryTest, TornWriteLeavesItsBeginning) {
  MemoryStore memory;
  FaultyStore store(memory);
  store.tear(Bytes(40));
  EXPECT_EQ(write(store, 1, Bytes(), pattern(100, 1)).code(), Code::io_error);
  auto begun = pattern(100, 1);
  begun.resize(40);
  EXPECT_EQ(read(store, 1, Bytes(), Bytes(100)), begun);
}

TEST_F(MemoryTest, RandomFaultsComeAtTheirRateAndRepeatWithTheSeed) {
  const auto errors = [this](std::uint64_t seed) {
    MemoryStore memory;
    StoreFaults faults;
    faults.write_error = 0.1;
    faults.torn_write = 0.1;
    FaultyStore store(memory, faults, Random(seed));
    std::string outcome;
    for (int i = 0; i < 1000; ++i) outcome += write(store, 1, Bytes(), pattern(10, 1)).ok() ? '.' : 'x';
    EXPECT_NEAR(static_cast<double>(store.injected()), 190, 50);
    return outcome;
  };
  EXPECT_EQ(errors(1), errors(1));
  EXPECT_NE(errors(1), errors(2));
}

TEST_F(MemoryTest, FaultyKvFailsWithoutChangeOrLosesTheAnswer) {
  MemoryKv memory(clock_);
  FaultyKv kv(memory);
  kv.fail(Code::io_error);
  EXPECT_EQ(run_or_die(simulation_, kv.update(putting("a"))).code(), Code::io_error);
  EXPECT_EQ(memory.size(), 0U);
  KvFaults faults;
  faults.lost_answer = 1;
  kv.set_faults(faults);
  EXPECT_EQ(run_or_die(simulation_, kv.update(putting("a"))).code(), Code::unavailable);
  EXPECT_EQ(memory.size(), 1U);
}

}  // namespace
}  // namespace tutti
