// The contract of Store as tests, run over every implementation.
//
// To run it over one, write a World and register it:
//
//   struct MyWorld {
//     Store& store();                          // empty at first
//     Executor& executor();                    // what its tasks run on
//     template <typename T> T run(Task<T> t);  // drives the task to its end
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(My, StoreSuite, testing::Types<MyWorld>);
//
// A World is made for each test and destroyed after it, with everything it put on disk.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "env/combine.h"
#include "env/scope.h"
#include "env/store.h"
#include "env/sync.h"
#include "tests/env/conformance/store_helpers.h"

namespace tutti::conformance {

// Fails when asked for bytes at or past `good`.
class FailingSource : public Source {
 public:
  explicit FailingSource(Bytes good) : good_(good) {}
  Task<Status> fill(Bytes at, Places places) override {
    if (at + Bytes(length_of(places)) > good_) co_return Status(Code::cancelled, "source: enough");
    for (const auto place : places) std::fill(place.begin(), place.end(), std::byte{7});
    co_return Status();
  }

 private:
  Bytes good_;
};

class FailingSink : public Sink {
 public:
  Task<Status> take(Bytes /*at*/, ConstPlaces /*pieces*/) override {
    co_return Status(Code::cancelled, "sink: enough");
  }
};

// Says that it was asked, then waits for ever.
class StuckSource : public Source {
 public:
  explicit StuckSource(Executor& executor) : asked(executor), never(executor) {}
  Task<Status> fill(Bytes /*at*/, Places /*places*/) override {
    asked.set();
    co_await never.wait();
    co_return Status();
  }
  Event asked;
  Event never;
};

class StuckSink : public Sink {
 public:
  explicit StuckSink(Executor& executor) : asked(executor), never(executor) {}
  Task<Status> take(Bytes /*at*/, ConstPlaces /*pieces*/) override {
    asked.set();
    co_await never.wait();
    co_return Status();
  }
  Event asked;
  Event never;
};

inline Task<void> write_and_note(Store& store, ObjectId object, Bytes length, Source& source, bool& ended) {
  (void)co_await store.write(object, Bytes(), length, source);
  ended = true;
}

inline Task<void> read_and_note(Store& store, ObjectId object, Bytes length, Sink& sink, bool& ended) {
  (void)co_await store.read(object, Bytes(), length, sink);
  ended = true;
}

inline Task<Status> wait_for(Event& event) {
  co_await event.wait();
  co_return Status();
}

template <typename World>
class StoreSuite : public testing::Test {
 protected:
  Status write(std::uint64_t object, Bytes offset, const std::vector<std::byte>& bytes) {
    return world_.run(write_bytes(world_.store(), ObjectId{object}, offset, bytes));
  }
  std::vector<std::byte> read(std::uint64_t object, Bytes offset, Bytes length) {
    auto result = world_.run(read_bytes(world_.store(), ObjectId{object}, offset, length));
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? std::move(*result) : std::vector<std::byte>();
  }
  Status write_list(std::uint64_t object, std::span<const Extent> extents, std::span<const std::byte> bytes) {
    MemorySource source(bytes);
    return world_.run(world_.store().write(ObjectId{object}, extents, source));
  }
  ReadResult read_list(std::uint64_t object, std::span<const Extent> extents, std::span<std::byte> into) {
    MemorySink sink(into);
    auto result = world_.run(world_.store().read(ObjectId{object}, extents, sink));
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? *result : ReadResult();
  }
  std::optional<Bytes> length(std::uint64_t object) {
    auto result = world_.run(world_.store().length(ObjectId{object}));
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? *result : std::nullopt;
  }
  Status truncate(std::uint64_t object, Bytes length) {
    return world_.run(world_.store().truncate(ObjectId{object}, length));
  }
  Status remove(std::uint64_t object) { return world_.run(world_.store().remove(ObjectId{object})); }
  Status sync(std::uint64_t object) { return world_.run(world_.store().sync(ObjectId{object})); }

  World world_;
};

TYPED_TEST_SUITE_P(StoreSuite);

TYPED_TEST_P(StoreSuite, ReadsBackWhatWasWritten) {
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{511}, std::size_t{4096}, std::size_t{65536}, std::size_t{3'000'001}}) {
    const auto bytes = pattern(size, size);
    ASSERT_TRUE(this->write(size, Bytes(), bytes).ok());
    EXPECT_EQ(this->read(size, Bytes(), Bytes(size)), bytes);
    EXPECT_EQ(this->length(size), Bytes(size));
  }
}

TYPED_TEST_P(StoreSuite, OverwriteReplacesOnlyItsRange) {
  auto bytes = pattern(200'000, 1);
  ASSERT_TRUE(this->write(1, Bytes(), bytes).ok());
  const auto patch = pattern(70'001, 2);
  ASSERT_TRUE(this->write(1, Bytes(60'003), patch).ok());
  std::copy(patch.begin(), patch.end(), bytes.begin() + 60'003);
  EXPECT_EQ(this->read(1, Bytes(), Bytes(200'000)), bytes);
  EXPECT_EQ(this->length(1), Bytes(200'000));
}

// As a strided program writes: many small extents in one operation, then all of them again over what is there.
TYPED_TEST_P(StoreSuite, AListOfExtentsIsOneStream) {
  constexpr std::size_t kExtents = 320;
  constexpr std::size_t kLength = 3240;
  constexpr std::size_t kStride = 4 * kLength + 1;
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < kExtents; ++i) extents.push_back({Bytes(100 + i * kStride), Bytes(kLength)});
  std::vector<std::byte> expected(extents.back().end().count());
  for (std::uint64_t round = 0; round < 3; ++round) {
    const auto bytes = pattern(kExtents * kLength, 20 + round);
    ASSERT_TRUE(this->write_list(20, extents, bytes).ok());
    for (std::size_t i = 0; i < kExtents; ++i) {
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(i * kLength), kLength,
                  expected.begin() + static_cast<std::ptrdiff_t>(100 + i * kStride));
    }
    EXPECT_EQ(this->read(20, Bytes(), Bytes(expected.size() + 10)), expected);
    std::vector<std::byte> got(bytes.size());
    const ReadResult result = this->read_list(20, extents, got);
    EXPECT_EQ(result.bytes, Bytes(bytes.size()));
    EXPECT_EQ(result.end, Bytes::max());
    EXPECT_EQ(got, bytes);
  }
}

// Where extents overlap the later one wins; empty ones count for nothing; some lie over old bytes, some past the end,
// and one is longer than any buffer.
TYPED_TEST_P(StoreSuite, AListMayGoBackAndForthAndPastTheEnd) {
  std::vector<std::byte> expected = pattern(600'000, 30);
  ASSERT_TRUE(this->write(21, Bytes(), expected).ok());
  const std::vector<Extent> extents = {{Bytes(500'000), Bytes(50'000)},
                                       {Bytes(10), Bytes()},
                                       {Bytes(100), Bytes(7)},
                                       {Bytes(590'000), Bytes(700'001)},
                                       {Bytes(510'000), Bytes(3000)},
                                       {Bytes(600'500), Bytes(99)},
                                       {Bytes(0), Bytes(1)}};
  const auto bytes = pattern(50'000 + 7 + 700'001 + 3000 + 99 + 1, 31);
  ASSERT_TRUE(this->write_list(21, extents, bytes).ok());
  expected.resize(590'000 + 700'001);
  auto from = bytes.begin();
  for (const Extent& extent : extents) {
    const auto count = static_cast<std::ptrdiff_t>(extent.length.count());
    std::copy_n(from, count, expected.begin() + static_cast<std::ptrdiff_t>(extent.offset.count()));
    from += count;
  }
  EXPECT_EQ(this->length(21), Bytes(expected.size()));
  EXPECT_EQ(this->read(21, Bytes(), 2_MiB), expected);
  std::vector<std::byte> got(bytes.size());
  EXPECT_EQ(this->read_list(21, extents, got).bytes, Bytes(bytes.size()));
  from = got.begin();
  for (const Extent& extent : extents) {
    const auto count = static_cast<std::ptrdiff_t>(extent.length.count());
    EXPECT_TRUE(std::equal(from, from + count,
                           expected.begin() + static_cast<std::ptrdiff_t>(extent.offset.count())));
    from += count;
  }
}

TYPED_TEST_P(StoreSuite, AListThatReachesPastTheEndTellsWhere) {
  const auto bytes = pattern(1000, 32);
  ASSERT_TRUE(this->write(22, Bytes(), bytes).ok());
  const std::vector<Extent> extents = {{Bytes(2000), Bytes(10)},
                                       {Bytes(100), Bytes(50)},
                                       {Bytes(990), Bytes(100)},
                                       {Bytes(1000), Bytes(5)},
                                       {Bytes(0), Bytes(20)}};
  std::vector<std::byte> got(185, std::byte{0xee});
  const ReadResult result = this->read_list(22, extents, got);
  EXPECT_EQ(result.bytes, Bytes(50 + 10 + 20));
  EXPECT_EQ(result.end, Bytes(1000));
  std::vector<std::byte> expected(185, std::byte{0xee});
  std::copy_n(bytes.begin() + 100, 50, expected.begin() + 10);
  std::copy_n(bytes.begin() + 990, 10, expected.begin() + 60);
  std::copy_n(bytes.begin(), 20, expected.begin() + 165);
  EXPECT_EQ(got, expected);
  const ReadResult nothing = this->read_list(78, extents, got);
  EXPECT_EQ(nothing.bytes, Bytes());
  EXPECT_EQ(nothing.end, Bytes());
}

TYPED_TEST_P(StoreSuite, AnErrorInAListEndsItAndIsReturned) {
  ASSERT_TRUE(this->write(23, Bytes(), pattern(2'000'000, 33)).ok());
  const std::vector<Extent> extents = {{Bytes(0), Bytes(600'000)}, {Bytes(1'000'000), Bytes(900'000)}};
  FailingSource source(Bytes(700'000));
  EXPECT_EQ(this->world_.run(this->world_.store().write(ObjectId{23}, extents, source)).code(),
            Code::cancelled);
  EXPECT_EQ(this->length(23), Bytes(2'000'000));
  FailingSink sink;
  EXPECT_EQ(this->world_.run(this->world_.store().read(ObjectId{23}, extents, sink)).code(), Code::cancelled);
}

// What is not said in the traits is not worth asking.
TYPED_TEST_P(StoreSuite, TraitsTellWhatIsWorthAsking) {
  ASSERT_TRUE(this->write(24, Bytes(), pattern(5000, 34)).ok());
  Store& store = this->world_.store();
  const StoreTraits traits = store.traits();
  const auto place = this->world_.run(store.locate(ObjectId{24}, Bytes()));
  EXPECT_TRUE(traits.cold || !store.cold(ObjectId{24}));
  EXPECT_TRUE(traits.cold || !store.cold(ObjectId{79}));
  EXPECT_EQ(traits.shareable, store.share(ObjectId{24}).file != nullptr);
  EXPECT_EQ(traits.writable, store.share_for_writing(ObjectId{24}).file != nullptr);
  EXPECT_EQ(store.share_for_writing(ObjectId{79}).file, nullptr) << "there is no such object";
  EXPECT_TRUE(traits.addresses || *place == std::nullopt);
  EXPECT_FALSE(traits.in_memory && (traits.cold || traits.addresses)) << "memory has no device";
}

TYPED_TEST_P(StoreSuite, HolesReadAsZeros) {
  const auto bytes = pattern(100, 3);
  ASSERT_TRUE(this->write(2, 300_KiB, bytes).ok());
  const auto hole = this->read(2, 1_KiB, 100_KiB);
  EXPECT_EQ(hole, std::vector<std::byte>(100U << 10U));
  EXPECT_EQ(this->read(2, 300_KiB, Bytes(100)), bytes);
  EXPECT_EQ(this->length(2), 300_KiB + Bytes(100));
}

TYPED_TEST_P(StoreSuite, ReadIsShortAtTheEndAndEmptyPastIt) {
  const auto bytes = pattern(1000, 4);
  ASSERT_TRUE(this->write(3, Bytes(), bytes).ok());
  EXPECT_EQ(this->read(3, Bytes(), Bytes(5000)), bytes);
  EXPECT_EQ(this->read(3, Bytes(900), Bytes(5000)).size(), 100U);
  EXPECT_TRUE(this->read(3, Bytes(1000), Bytes(10)).empty());
  EXPECT_TRUE(this->read(3, 1_GiB, Bytes(10)).empty());
}

TYPED_TEST_P(StoreSuite, ObjectThatDoesNotExistIsEmptyAndHasNoLength) {
  EXPECT_TRUE(this->read(77, Bytes(), Bytes(10)).empty());
  EXPECT_EQ(this->length(77), std::nullopt);
  EXPECT_TRUE(this->sync(77).ok());
  EXPECT_TRUE(this->remove(77).ok());
  EXPECT_EQ(this->length(77), std::nullopt);
}

TYPED_TEST_P(StoreSuite, ZeroLengthOperationsChangeNothing) {
  const auto bytes = pattern(100, 5);
  ASSERT_TRUE(this->write(4, Bytes(), bytes).ok());
  EXPECT_TRUE(this->write(4, Bytes(5000), {}).ok());
  EXPECT_EQ(this->length(4), Bytes(100));
  EXPECT_TRUE(this->read(4, Bytes(), Bytes()).empty());
}

TYPED_TEST_P(StoreSuite, TruncateCutsAndGrowsWithZeros) {
  const auto bytes = pattern(150'000, 6);
  ASSERT_TRUE(this->write(5, Bytes(), bytes).ok());
  ASSERT_TRUE(this->truncate(5, Bytes(70'000)).ok());
  EXPECT_EQ(this->length(5), Bytes(70'000));
  EXPECT_EQ(this->read(5, Bytes(), Bytes(150'000)).size(), 70'000U);
  ASSERT_TRUE(this->truncate(5, Bytes(150'000)).ok());
  EXPECT_EQ(this->length(5), Bytes(150'000));
  auto expected = bytes;
  std::fill(expected.begin() + 70'000, expected.end(), std::byte{0});
  EXPECT_EQ(this->read(5, Bytes(), Bytes(150'000)), expected);
}

TYPED_TEST_P(StoreSuite, TruncateCreatesEvenAnEmptyObject) {
  ASSERT_TRUE(this->truncate(6, Bytes()).ok());
  EXPECT_EQ(this->length(6), Bytes());
  ASSERT_TRUE(this->truncate(7, 1_MiB).ok());
  EXPECT_EQ(this->length(7), 1_MiB);
  EXPECT_EQ(this->read(7, Bytes(), Bytes(100)), std::vector<std::byte>(100));
}

TYPED_TEST_P(StoreSuite, RemovedObjectIsGoneAndMayComeAgain) {
  ASSERT_TRUE(this->write(8, Bytes(), pattern(100'000, 7)).ok());
  ASSERT_TRUE(this->remove(8).ok());
  EXPECT_EQ(this->length(8), std::nullopt);
  EXPECT_TRUE(this->read(8, Bytes(), Bytes(100)).empty());
  ASSERT_TRUE(this->write(8, Bytes(50), pattern(10, 8)).ok());
  EXPECT_EQ(this->read(8, Bytes(), Bytes(50)), std::vector<std::byte>(50));
  EXPECT_EQ(this->length(8), Bytes(60));
}

TYPED_TEST_P(StoreSuite, ListIsInAscendingOrder) {
  const std::vector<std::uint64_t> ids = {5, std::uint64_t{1} << 63U, 1, 300, 255, 256, 70'000};
  for (const auto id : ids) ASSERT_TRUE(this->write(id, Bytes(), pattern(10, id)).ok());
  ASSERT_TRUE(this->remove(300).ok());
  const auto list = this->world_.run(this->world_.store().list());
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(*list, (std::vector<ObjectId>{{1}, {5}, {255}, {256}, {70'000}, {std::uint64_t{1} << 63U}}));
}

TYPED_TEST_P(StoreSuite, OffsetsBeyondFourGigabytesAreKeptApart) {
  const Bytes far = 5_GiB + Bytes(123);
  const auto low = pattern(1000, 9);
  const auto high = pattern(1000, 10);
  ASSERT_TRUE(this->write(9, far - 4_GiB, low).ok());
  ASSERT_TRUE(this->write(9, far, high).ok());
  EXPECT_EQ(this->read(9, far - 4_GiB, Bytes(1000)), low);
  EXPECT_EQ(this->read(9, far, Bytes(2000)), high);
  EXPECT_EQ(this->length(9), far + Bytes(1000));
}

TYPED_TEST_P(StoreSuite, ManyObjectsKeepTheirOwnBytes) {
  constexpr std::uint64_t kCount = 500;
  std::vector<Task<Status>> writes;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    writes.push_back(write_bytes(this->world_.store(), ObjectId{i}, Bytes(i), pattern(100 + i, i)));
  }
  for (const Status& status : this->world_.run(when_all(std::move(writes)))) EXPECT_TRUE(status.ok());
  for (std::uint64_t i = 0; i < kCount; ++i) EXPECT_EQ(this->read(i, Bytes(i), 4_KiB), pattern(100 + i, i));
}

TYPED_TEST_P(StoreSuite, DisjointRangesOfOneObjectAreWrittenAtTheSameTime) {
  constexpr std::uint64_t kPieces = 64;
  constexpr std::uint64_t kSize = 10'007;
  std::vector<Task<Status>> writes;
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    writes.push_back(write_bytes(this->world_.store(), ObjectId{1}, Bytes(kSize * i), pattern(kSize, i)));
  }
  for (const Status& status : this->world_.run(when_all(std::move(writes)))) EXPECT_TRUE(status.ok());
  for (std::uint64_t i = 0; i < kPieces; ++i) {
    EXPECT_EQ(this->read(1, Bytes(kSize * i), Bytes(kSize)), pattern(kSize, i));
  }
}

TYPED_TEST_P(StoreSuite, ErrorOfTheSourceEndsTheWrite) {
  FailingSource source((Bytes()));
  const Status status =
      this->world_.run(this->world_.store().write(ObjectId{10}, Bytes(), Bytes(100'000), source));
  EXPECT_EQ(status.code(), Code::cancelled);
  EXPECT_EQ(status.message(), "source: enough");
  const auto bytes = pattern(100, 11);
  EXPECT_TRUE(this->write(10, Bytes(), bytes).ok());
  EXPECT_EQ(this->read(10, Bytes(), Bytes(100)), bytes);
}

TYPED_TEST_P(StoreSuite, ErrorOfTheSinkEndsTheRead) {
  ASSERT_TRUE(this->write(11, Bytes(), pattern(100'000, 12)).ok());
  FailingSink sink;
  const auto result =
      this->world_.run(this->world_.store().read(ObjectId{11}, Bytes(), Bytes(100'000), sink));
  EXPECT_EQ(result.code(), Code::cancelled);
}

TYPED_TEST_P(StoreSuite, DestroyedWriteDoesNotEndAndLeavesTheStoreUsable) {
  ASSERT_TRUE(this->write(12, Bytes(), pattern(1000, 13)).ok());
  StuckSource source(this->world_.executor());
  bool ended = false;
  {
    Scope scope(this->world_.executor());
    scope.spawn(write_and_note(this->world_.store(), ObjectId{12}, 200_KiB, source, ended));
    ASSERT_TRUE(this->world_.run(wait_for(source.asked)).ok());
  }
  EXPECT_FALSE(ended);
  const auto bytes = pattern(1000, 14);
  EXPECT_TRUE(this->write(12, Bytes(), bytes).ok());
  EXPECT_EQ(this->read(12, Bytes(), Bytes(1000)), bytes);
}

TYPED_TEST_P(StoreSuite, DestroyedReadDoesNotEndAndLeavesTheStoreUsable) {
  const auto bytes = pattern(200'000, 15);
  ASSERT_TRUE(this->write(13, Bytes(), bytes).ok());
  StuckSink sink(this->world_.executor());
  bool ended = false;
  {
    Scope scope(this->world_.executor());
    scope.spawn(read_and_note(this->world_.store(), ObjectId{13}, Bytes(200'000), sink, ended));
    ASSERT_TRUE(this->world_.run(wait_for(sink.asked)).ok());
  }
  EXPECT_FALSE(ended);
  EXPECT_EQ(this->read(13, Bytes(), Bytes(200'000)), bytes);
}

TYPED_TEST_P(StoreSuite, SyncKeepsWhatIsThere) {
  const auto bytes = pattern(100'000, 16);
  ASSERT_TRUE(this->write(14, Bytes(), bytes).ok());
  EXPECT_TRUE(this->sync(14).ok());
  EXPECT_TRUE(this->sync(14).ok());
  EXPECT_EQ(this->read(14, Bytes(), Bytes(100'000)), bytes);
}

TYPED_TEST_P(StoreSuite, SpaceIsTold) {
  const Result<StoreSpace> space = this->world_.store().space();
  ASSERT_TRUE(space.ok());
  EXPECT_GT(space->total, Bytes());
  EXPECT_LE(space->free, space->total);
}

REGISTER_TYPED_TEST_SUITE_P(StoreSuite, ReadsBackWhatWasWritten, OverwriteReplacesOnlyItsRange,
                            AListOfExtentsIsOneStream, AListMayGoBackAndForthAndPastTheEnd,
                            AListThatReachesPastTheEndTellsWhere, AnErrorInAListEndsItAndIsReturned,
                            TraitsTellWhatIsWorthAsking, HolesReadAsZeros, ReadIsShortAtTheEndAndEmptyPastIt,
                            ObjectThatDoesNotExistIsEmptyAndHasNoLength, ZeroLengthOperationsChangeNothing,
                            TruncateCutsAndGrowsWithZeros, TruncateCreatesEvenAnEmptyObject,
                            RemovedObjectIsGoneAndMayComeAgain, ListIsInAscendingOrder,
                            OffsetsBeyondFourGigabytesAreKeptApart, ManyObjectsKeepTheirOwnBytes,
                            DisjointRangesOfOneObjectAreWrittenAtTheSameTime, ErrorOfTheSourceEndsTheWrite,
                            ErrorOfTheSinkEndsTheRead, DestroyedWriteDoesNotEndAndLeavesTheStoreUsable,
                            DestroyedReadDoesNotEndAndLeavesTheStoreUsable, SyncKeepsWhatIsThere,
                            SpaceIsTold);

}  // namespace tutti::conformance
