// Files that a store shares, and that travel to a client on the same host.
#include "env/shared_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "env/real/network/shared_descriptor.h"
#include "env/real/network/socket_network.h"
#include "env/real/store/file_store.h"
#include "env/shared_runs.h"
#include "tests/env/conformance/network_suite.h"
#include "tests/env/real/store_on_disk.h"

namespace tutti::conformance {
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(NetworkSuite);  // of the header, not of this test
}

namespace tutti {
namespace {

using conformance::network_suite::pattern;
using conformance::network_suite::receive_copy;
using conformance::network_suite::segment_of;

constexpr ObjectId kObject{7};

class SharedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no tmpfs to map objects on";
    directory_ = std::make_unique<TemporaryDirectory>("/dev/shm");
    auto opened = open_store(loop_, *directory_ / "store");
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    store_ = *std::move(opened);
  }

  void write(std::span<const std::byte> bytes) {
    MemorySource source(bytes);
    ASSERT_TRUE(loop_.run(store_->write(kObject, 0_B, Bytes(bytes.size()), source)).ok());
  }

  Loop loop_;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<FileStore> store_;
};

TEST_F(SharedFileTest, AReaderGetsTheBytesButCannotWriteThem) {
  const auto bytes = pattern(100'000, 1);
  write(bytes);
  const SharedObject shared = store_->share(kObject);
  ASSERT_NE(shared.file, nullptr);
  EXPECT_EQ(shared.length, Bytes(bytes.size()));
  std::vector<std::byte> first(70'000);
  std::vector<std::byte> second(60'000);  // past the end
  const std::array<Segment, 2> into = {segment_of(first), segment_of(second)};
  const auto got = shared.file->read(10_B, into);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, Bytes(bytes.size() - 10));
  EXPECT_TRUE(std::equal(first.begin(), first.end(), bytes.begin() + 10));
  EXPECT_TRUE(std::equal(bytes.begin() + 70'010, bytes.end(), second.begin()));
  EXPECT_EQ(::fcntl(shared.file->descriptor(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

// malloc() gives such memory, and some processors copy slowly to it: it is filled by a detour (env/real/slow_copies.h).
TEST_F(SharedFileTest, MemoryJustBehindTheBeginOfAPageGetsTheBytes) {
  constexpr std::size_t kLength = 200'000;
  constexpr std::size_t kPage = 4096;
  const auto bytes = pattern(kLength, 3);
  write(bytes);
  const SharedObject shared = store_->share(kObject);
  ASSERT_NE(shared.file, nullptr);
  std::vector<std::byte> memory(kLength + 4 * kPage);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  std::byte* const page = memory.data() + (kPage - address % kPage) % kPage;
  for (const std::size_t behind : {0U, 1U, 16U, 31U, 32U}) {
    for (const std::size_t offset : {0U, 5000U}) {
      for (const bool forced : {false, true}) {  // whatever the processor
        std::fill(memory.begin(), memory.end(), std::byte{});
        const std::span<std::byte> place(page + offset % kPage + behind, kLength);
        const std::array<Segment, 3> into = {segment_of(place.first(70'000)),
                                             segment_of(place.subspan(70'000, 10)),
                                             segment_of(place.subspan(70'010))};
        if (forced) {
          const auto got = read_by_detour(shared.file->descriptor(), Bytes(offset), into, kLength);
          ASSERT_TRUE(got.ok());
          EXPECT_EQ(*got, kLength - offset) << "up to the end of the file";
        } else {
          const auto got = shared.file->read(Bytes(offset), into);
          ASSERT_TRUE(got.ok());
          EXPECT_EQ(*got, Bytes(kLength - offset)) << "up to the end of the file";
        }
        EXPECT_TRUE(
            std::equal(bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.end(), place.begin()))
            << behind << " " << offset;
        EXPECT_EQ(place.data()[kLength - offset], std::byte{}) << "and nothing behind it";
      }
    }
  }
  const Segment nowhere{kPage + 16, kLength};
  EXPECT_FALSE(shared.file->read(0_B, only(nowhere)).ok()) << "memory that is not there";
  EXPECT_FALSE(read_by_detour(shared.file->descriptor(), 0_B, only(nowhere), kLength).ok());
}

TEST_F(SharedFileTest, WhatIsMadeAnewHasAnotherKey) {
  EXPECT_EQ(store_->share(kObject).file, nullptr) << "there is no such object";
  write(pattern(10, 1));
  const SharedObject before = store_->share(kObject);
  EXPECT_EQ(store_->share(kObject).key, before.key);
  ASSERT_TRUE(loop_.run(store_->remove(kObject)).ok());
  EXPECT_EQ(store_->share(kObject).file, nullptr);
  write(pattern(10, 2));
  EXPECT_NE(store_->share(kObject).key, before.key);
}

Task<Result<std::unique_ptr<Connection>>> accept(Listener& listener) { co_return co_await listener.accept(); }

Task<void> keep(Task<Result<std::unique_ptr<Connection>>> task, std::unique_ptr<Connection>& place) {
  auto made = co_await std::move(task);
  if (made.ok()) place = *std::move(made);
}

TEST_F(SharedFileTest, ArrivesBeforeTheFramesBehindIt) {
  write(pattern(5000, 3));
  SocketNetwork network(loop_, SocketOptions());
  const std::string address = "unix:" + *directory_ / "s";
  auto listener = network.listen(address);
  ASSERT_TRUE(listener.ok());
  std::unique_ptr<Connection> server;
  Scope scope(loop_.executor());
  scope.spawn(keep(accept(**listener), server));
  auto client = loop_.run(network.connect(address));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  while (!server) loop_.run_once(1_s);
  ASSERT_TRUE((*client)->takes_files());
  EXPECT_FALSE(server->takes_files()) << "a server takes no files from clients";

  const SharedObject shared = store_->share(kObject);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(server->give(shared.key + id, *shared.file));
    ASSERT_TRUE(server->send(100, id, {}).ok());
    EXPECT_EQ(loop_.run(receive_copy(**client)).id, id) << "what follows a descriptor is read as well";
    const auto file = (*client)->given(shared.key + id);
    ASSERT_NE(file, nullptr);
    EXPECT_EQ((*client)->given(shared.key + id), nullptr) << "handed out once";
    std::vector<std::byte> bytes(5000);
    const std::array<Segment, 1> into = {segment_of(bytes)};
    ASSERT_TRUE(file->read(0_B, into).ok());
    EXPECT_TRUE(bytes == pattern(5000, 3));
  }
  EXPECT_FALSE((*client)->give(9, *shared.file)) << "only servers give";
}

class WritableFileTest : public SharedFileTest {
 protected:
  // The bytes of the object as the store gives them.
  std::vector<std::byte> stored() {
    std::vector<std::byte> bytes(200'000);
    MemorySink sink(bytes);
    const auto got = loop_.run(store_->read(kObject, 0_B, Bytes(bytes.size()), sink));
    EXPECT_TRUE(got.ok());
    bytes.resize(got.ok() ? got->count() : 0);
    return bytes;
  }
  [[nodiscard]] std::uint64_t word(const WritableObject& object) const {
    return object.marks->words()[object.mark];
  }
};

TEST_F(WritableFileTest, WhatOthersWriteIsTheObjectsWithItsLength) {
  write(pattern(1000, 1));
  const WritableObject writable = store_->share_for_writing(kObject);
  ASSERT_NE(writable.file, nullptr);
  auto bytes = pattern(100'000, 2);
  const std::array<Segment, 2> from = {segment_of(std::span(bytes).first(30'000)),
                                       segment_of(std::span(bytes).subspan(30'000))};
  ASSERT_TRUE(writable.file->write(0_B, from).ok());
  EXPECT_EQ(stored(), bytes);
  EXPECT_EQ(*loop_.run(store_->length(kObject)), Bytes(100'000));
  EXPECT_EQ(store_->share(kObject).length, Bytes(100'000));
  EXPECT_EQ(store_->share_for_writing(kObject).key, writable.key) << "one file for all";
  EXPECT_EQ(word(writable), writable.value) << "nothing was cut";
}

// Runs of 1,000 bytes, every second one of each file, more than go into one call.
TEST_F(WritableFileTest, ManyShortRunsOfSeveralFilesAllArrive) {
  constexpr std::size_t kRun = 1000;
  constexpr std::size_t kRuns = 3000;
  constexpr ObjectId kOther{78};
  std::vector<std::unique_ptr<SharedMap>> maps;
  for (const ObjectId object : {kObject, kOther}) {
    auto zeros = std::vector<std::byte>(kRun * kRuns);
    MemorySource source(zeros);
    ASSERT_TRUE(loop_.run(store_->write(object, 0_B, Bytes(zeros.size()), source)).ok());
    maps.push_back(std::make_unique<SharedMap>(store_->share_for_writing(object).file));
  }
  auto bytes = pattern(kRun * kRuns, 5);
  std::vector<SharedRun> runs;
  for (std::size_t i = 0; i < kRuns; ++i)
    runs.push_back(
        {maps.at(i % 2).get(), Bytes(i * kRun), segment_of(std::span(bytes).subspan(i * kRun, kRun))});
  ASSERT_TRUE(write_runs(runs).ok());
  for (std::size_t i = 0; i < kRuns; ++i) {
    std::vector<std::byte> found(kRun);
    const Segment into = segment_of(found);
    ASSERT_TRUE(maps.at(i % 2)->file().read(Bytes(i * kRun), only(into)).ok());
    ASSERT_TRUE(std::equal(found.begin(), found.end(), bytes.begin() + static_cast<std::ptrdiff_t>(i * kRun)))
        << i;
  }
}

// The last page of a file is longer than the file: what is written there through a map would be lost.
TEST_F(WritableFileTest, ShortRunsBehindTheEndMakeTheFileLonger) {
  write(pattern(5000, 1));
  SharedMap map(store_->share_for_writing(kObject).file);
  ASSERT_EQ(map.bytes().size(), 5000U);
  ASSERT_TRUE(loop_.run(store_->truncate(kObject, 100_B)).ok());
  auto bytes = pattern(200, 2);
  const std::array<SharedRun, 2> runs = {SharedRun{&map, 3000_B, segment_of(std::span(bytes).first(100))},
                                         SharedRun{&map, 4000_B, segment_of(std::span(bytes).subspan(100))}};
  ASSERT_TRUE(write_runs(runs).ok());
  const auto found = stored();
  ASSERT_EQ(found.size(), 4100U);
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.begin() + 100, found.begin() + 3000));
  EXPECT_TRUE(std::equal(bytes.begin() + 100, bytes.end(), found.begin() + 4000));
}

// A store by the process itself would end it.
TEST_F(WritableFileTest, ShortRunsIntoAFileThatIsCutAllTheTimeEndNobody) {
  constexpr std::size_t kRun = 1000;
  constexpr std::size_t kRuns = 2000;
  write(pattern(5000, 1));
  const auto file = store_->share_for_writing(kObject).file;
  SharedMap map(file);
  auto bytes = pattern(kRun, 4);
  std::vector<SharedRun> runs;
  for (std::size_t i = 0; i < kRuns; ++i) runs.push_back({&map, Bytes(2 * i * kRun), segment_of(bytes)});
  std::atomic<bool> stop = false;
  std::thread cutter([&] {
    while (!stop) {
      EXPECT_EQ(::ftruncate(file->descriptor(), 100), 0);
      EXPECT_EQ(::ftruncate(file->descriptor(), 2 * kRun * kRuns), 0);
    }
  });
  for (int i = 0; i < 30; ++i) EXPECT_TRUE(write_runs(runs).ok());
  stop = true;
  cutter.join();
}

TEST_F(WritableFileTest, MemoryThatIsNotThereIsAnErrorAndNothingWorse) {
  write(pattern(5000, 1));
  SharedMap map(store_->share_for_writing(kObject).file);
  const SharedRun bad{&map, 0_B, Segment{8, 100}};
  const std::array<SharedRun, 2> runs = {bad, bad};
  EXPECT_FALSE(write_runs(runs).ok());
}

// A write of the store that fails must not cut off what others wrote meanwhile.
TEST_F(WritableFileTest, AFailedWriteOfTheStoreTakesNothingAway) {
  struct Failing : Source {
    const WritableObject& writable;
    std::vector<std::byte>& bytes;
    Failing(const WritableObject& writable, std::vector<std::byte>& bytes)
        : writable(writable), bytes(bytes) {}
    Task<Status> fill(Bytes at, Places /*places*/) override {
      if (at == 0_B) co_return Status();
      const Segment all = segment_of(bytes);
      EXPECT_TRUE(writable.file->write(0_B, only(all)).ok());
      co_return Status(Code::unavailable, "the client is gone");
    }
  };
  write(pattern(1000, 1));
  const WritableObject writable = store_->share_for_writing(kObject);
  auto bytes = pattern(150'000, 3);
  Failing source(writable, bytes);
  EXPECT_FALSE(loop_.run(store_->write(kObject, 0_B, 2_MiB, source)).ok());
  const auto found = stored();
  ASSERT_GE(found.size(), bytes.size());
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), found.begin()));
}

TEST_F(WritableFileTest, TheWordChangesBeforeACutAndARemoval) {
  write(pattern(1000, 1));
  const WritableObject first = store_->share_for_writing(kObject);
  ASSERT_TRUE(loop_.run(store_->truncate(kObject, 10_B)).ok());
  EXPECT_NE(word(first), first.value);
  const WritableObject second = store_->share_for_writing(kObject);
  EXPECT_EQ(word(second), second.value);
  ASSERT_TRUE(loop_.run(store_->remove(kObject)).ok());
  EXPECT_NE(word(second), second.value);
  EXPECT_EQ(store_->share_for_writing(kObject).file, nullptr);
}

TEST_F(WritableFileTest, OthersCannotChangeTheWords) {
  write(pattern(10, 1));
  const WritableObject writable = store_->share_for_writing(kObject);
  const std::uint64_t one = 1;
  EXPECT_LT(::pwrite(writable.marks->descriptor(), &one, sizeof(one), 0), 0);
}

}  // namespace
}  // namespace tutti
