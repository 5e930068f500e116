#include "env/real/store/file_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "tests/env/conformance/store_suite.h"
#include "tests/env/real/store_on_disk.h"

namespace tutti {
namespace {

using namespace conformance;

std::string memory_directory() {
  return ::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm")
                                         : std::filesystem::temp_directory_path().string();
}

// A store on its own, that can be closed and opened again.
class StoreWorld {
 public:
  StoreWorld(const std::string& parent, FileStoreOptions options)
      : directory_(parent), options_(std::move(options)) {
    reopen();
  }
  void reopen() {
    store_.reset();
    Result<std::unique_ptr<FileStore>> opened = open_store(loop_, path(), options_);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    if (opened.ok()) store_ = *std::move(opened);
  }
  void close() { store_.reset(); }
  Store& store() { return *store_; }
  FileStore& file_store() { return *store_; }
  Loop& loop() { return loop_; }
  Executor& executor() { return loop_.executor(); }
  template <typename T>
  T run(Task<T> task) {
    return loop_.run(std::move(task));
  }
  [[nodiscard]] std::string path() const { return directory_ / "store"; }

 private:
  TemporaryDirectory directory_;
  FileStoreOptions options_;
  Loop loop_;
  std::unique_ptr<FileStore> store_;
};

FileStoreOptions with(bool map, bool io_uring, std::size_t open_files, std::size_t buffers) {
  FileStoreOptions options;
  options.map = map;
  options.io_uring = io_uring;
  options.open_files = open_files;
  options.buffers = buffers;
  return options;
}

struct MappedWorld : StoreWorld {
  MappedWorld() : StoreWorld(memory_directory(), with(true, true, 512, 64)) {}
};
struct MemoryUnmappedWorld : StoreWorld {
  MemoryUnmappedWorld() : StoreWorld(memory_directory(), with(false, true, 512, 64)) {}
};
struct DiskWorld : StoreWorld {
  DiskWorld() : StoreWorld(std::filesystem::temp_directory_path(), with(true, true, 512, 64)) {}
};
// Few descriptors, one buffer, no io_uring: everybody waits for everybody.
struct ScarceWorld : StoreWorld {
  ScarceWorld() : StoreWorld(std::filesystem::temp_directory_path(), with(true, false, 4, 1)) {}
};

using Worlds = testing::Types<MappedWorld, MemoryUnmappedWorld, DiskWorld, ScarceWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(Files, StoreSuite, Worlds);

template <typename World>
class FileStoreTest : public testing::Test {
 protected:
  Status write(std::uint64_t object, Bytes offset, const std::vector<std::byte>& bytes) {
    return world_.run(write_bytes(world_.store(), ObjectId{object}, offset, bytes));
  }
  std::vector<std::byte> read(std::uint64_t object, Bytes offset, Bytes length) {
    auto result = world_.run(read_bytes(world_.store(), ObjectId{object}, offset, length));
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return result.ok() ? std::move(*result) : std::vector<std::byte>();
  }
  std::optional<Bytes> length(std::uint64_t object) {
    return *world_.run(world_.store().length(ObjectId{object}));
  }
  World world_;
};
TYPED_TEST_SUITE(FileStoreTest, Worlds);

TYPED_TEST(FileStoreTest, ObjectsSurviveARestart) {
  const auto bytes = pattern(700'000, 1);
  ASSERT_TRUE(this->write(0xabcd, Bytes(12'345), bytes).ok());
  this->world_.reopen();
  EXPECT_EQ(this->length(0xabcd), Bytes(712'345));
  EXPECT_EQ(this->read(0xabcd, Bytes(12'345), 1_MiB), bytes);
  EXPECT_EQ(this->read(0xabcd, Bytes(), Bytes(12'345)), std::vector<std::byte>(12'345));
  const auto patch = pattern(100'000, 2);
  ASSERT_TRUE(this->write(0xabcd, Bytes(100'000), patch).ok());
  EXPECT_EQ(this->read(0xabcd, Bytes(100'000), Bytes(100'000)), patch);
}

TYPED_TEST(FileStoreTest, FailedWriteDoesNotGrowTheObject) {
  ASSERT_TRUE(this->write(1, Bytes(), pattern(1000, 1)).ok());
  FailingSource source(300_KiB);  // the first piece is good
  const Status status = this->world_.run(this->world_.store().write(ObjectId{1}, Bytes(500), 1_MiB, source));
  EXPECT_EQ(status.code(), Code::cancelled);
  EXPECT_EQ(this->length(1), Bytes(1000));
  this->world_.reopen();
  EXPECT_EQ(this->length(1), Bytes(1000));
}

TYPED_TEST(FileStoreTest, FailedFirstWriteLeavesNoObject) {
  FailingSource source(300_KiB);
  const Status status = this->world_.run(this->world_.store().write(ObjectId{1}, Bytes(), 1_MiB, source));
  EXPECT_EQ(status.code(), Code::cancelled);
  EXPECT_EQ(this->length(1), std::nullopt);
  EXPECT_TRUE(this->world_.run(this->world_.store().list())->empty());
}

TYPED_TEST(FileStoreTest, FailedWriteSparesWhatAnotherAppendedMeanwhile) {
  StuckSource stuck(this->world_.executor());
  bool ended = false;
  if (std::is_same_v<TypeParam, ScarceWorld>) GTEST_SKIP() << "there is only one buffer";
  {
    Scope scope(this->world_.executor());
    scope.spawn(write_and_note(this->world_.store(), ObjectId{1}, 1_MiB, stuck, ended));
    ASSERT_TRUE(this->world_.run(wait_for(stuck.asked)).ok());
    ASSERT_TRUE(this->write(1, 2_MiB, pattern(1000, 1)).ok());
    FailingSource failing(300_KiB);
    const Status status = this->world_.run(this->world_.store().write(ObjectId{1}, 4_MiB, 1_MiB, failing));
    EXPECT_EQ(status.code(), Code::cancelled);
  }
  EXPECT_EQ(this->length(1), 2_MiB + Bytes(1000));
  this->world_.reopen();
  EXPECT_EQ(this->length(1), 2_MiB + Bytes(1000));
  EXPECT_EQ(this->read(1, 2_MiB, 1_MiB), pattern(1000, 1));
}

TYPED_TEST(FileStoreTest, WritesDestroyedAtAnyMomentLeaveTheLengthRight) {
  ASSERT_TRUE(this->write(1, Bytes(), pattern(1000, 1)).ok());
  const std::vector<std::byte> bytes = pattern(3'000'000, 2);
  for (int turns = 0; turns < 12; ++turns) {
    Scope scope(this->world_.executor());
    MemorySource source(bytes);
    bool ended = false;
    scope.spawn(write_and_note(this->world_.store(), ObjectId{1}, Bytes(bytes.size()), source, ended));
    for (int i = 0; i < turns && !ended; ++i) this->world_.loop().run_once(1_ms);
    if (ended) break;
  }
  // What the kernel still had in hand is waited for here.
  const std::optional<Bytes> length = this->length(1);
  this->world_.reopen();
  EXPECT_EQ(this->length(1), length);
}

TYPED_TEST(FileStoreTest, TruncateDuringAReadIsSafe) {
  ASSERT_TRUE(this->write(1, Bytes(), pattern(500'000, 1)).ok());
  StuckSink sink(this->world_.executor());
  bool read_ended = false;
  Scope reading(this->world_.executor());
  reading.spawn(read_and_note(this->world_.store(), ObjectId{1}, Bytes(500'000), sink, read_ended));
  ASSERT_TRUE(this->world_.run(wait_for(sink.asked)).ok());
  struct Truncate {
    static Task<void> run(Store& store, bool& ended) {
      (void)co_await store.truncate(ObjectId{1}, Bytes(10));
      ended = true;
    }
  };
  bool ended = false;
  Scope truncating(this->world_.executor());
  truncating.spawn(Truncate::run(this->world_.store(), ended));
  this->world_.loop().run_once(Nanos(0));
  EXPECT_EQ(ended, !this->world_.file_store().mapped()) << "the file must not shrink under a mapping in use";
  if (!ended) {
    // Meanwhile others are served without the mapping.
    EXPECT_EQ(this->read(1, Bytes(), Bytes(100)).size(), 100U);
  }
  reading.cancel();
  while (!ended) this->world_.loop().run_once(1_ms);
  EXPECT_EQ(this->length(1), Bytes(10));
}

TYPED_TEST(FileStoreTest, ColdReadsComeFromTheDevice) {
  const auto bytes = pattern(2'000'000, 3);
  ASSERT_TRUE(this->write(0x11, Bytes(), bytes).ok());
  ASSERT_TRUE(this->world_.run(this->world_.store().sync(ObjectId{0x11})).ok());
  const int fd = ::open((this->world_.path() + "/objects/11/0000000000000011").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
  ::close(fd);
  EXPECT_EQ(this->read(0x11, Bytes(), Bytes(2'000'000)), bytes);
}

TYPED_TEST(FileStoreTest, OpenDirectoryIsLocked) {
  EXPECT_EQ(FileStore::open(this->world_.loop(), this->world_.path()).code(), Code::busy);
}

TYPED_TEST(FileStoreTest, NewerFormatIsRefused) {
  this->world_.close();
  std::ofstream(this->world_.path() + "/format") << "tutti object store, version 3\n";
  const auto newer = FileStore::open(this->world_.loop(), this->world_.path());
  EXPECT_EQ(newer.code(), Code::version);
  EXPECT_NE(newer.status().message().find("version 3"), std::string::npos);
  std::ofstream(this->world_.path() + "/format") << "something else";
  EXPECT_EQ(FileStore::open(this->world_.loop(), this->world_.path()).code(), Code::malformed);
}

TYPED_TEST(FileStoreTest, FormatWithoutAnIdentityIsRefusedUntilItIsUpgraded) {
  const auto bytes = pattern(10, 1);
  ASSERT_TRUE(this->write(0x7f, Bytes(), bytes).ok());
  this->world_.close();
  std::ofstream(this->world_.path() + "/format") << "tutti object store, version 1\n";
  std::filesystem::remove(this->world_.path() + "/newest");
  const auto older = FileStore::open(this->world_.loop(), this->world_.path());
  EXPECT_EQ(older.code(), Code::version);
  EXPECT_NE(older.status().message().find("tutti server upgrade"), std::string::npos);
  const StoreIdentity identity{9, 3, Uuid{5, 6}, Uuid(), false};
  ASSERT_TRUE(FileStore::upgrade(this->world_.path(), identity).ok());
  EXPECT_EQ(FileStore::upgrade(this->world_.path(), identity).code(), Code::exists);
  this->world_.reopen();
  EXPECT_EQ(this->world_.store().identity(), identity);
  EXPECT_EQ(this->world_.store().newest(), ObjectId{0x7f});
  EXPECT_EQ(this->read(0x7f, Bytes(), Bytes(10)), bytes);
}

TYPED_TEST(FileStoreTest, MissingStoreIsNotMade) {
  const auto missing = FileStore::open(this->world_.loop(), this->world_.path() + "-missing");
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_NE(missing.status().message().find("tutti server init"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(this->world_.path() + "-missing"));
}

TYPED_TEST(FileStoreTest, IdentityAndTheNewestObjectAreKnownWhenItIsOpenedAgain) {
  EXPECT_EQ(this->world_.store().identity(), test_identity());
  EXPECT_EQ(this->world_.store().newest(), ObjectId{0});
  ASSERT_TRUE(this->write(0x205, Bytes(), pattern(10, 1)).ok());
  ASSERT_TRUE(this->write(0x7, Bytes(), pattern(10, 1)).ok());
  ASSERT_TRUE(this->world_.run(this->world_.store().remove(ObjectId{0x205})).ok());
  ASSERT_TRUE(this->world_.store().bind(Uuid{3, 4}).ok());
  this->world_.reopen();
  StoreIdentity bound = test_identity();
  bound.metadata = Uuid{3, 4};
  EXPECT_EQ(this->world_.store().identity(), bound);
  EXPECT_EQ(this->world_.store().newest(), ObjectId{0x205});
}

TYPED_TEST(FileStoreTest, FormatHalfMadeIsMadeAnew) {
  this->world_.close();
  std::filesystem::remove(this->world_.path() + "/format");
  std::filesystem::remove(this->world_.path() + "/objects");
  std::ofstream(this->world_.path() + "/format.new") << "tut";
  this->world_.reopen();
  EXPECT_TRUE(this->write(0x7f, Bytes(), pattern(10, 1)).ok());
}

TEST(FileStoreOnDisk, AnObjectIsColdUntilItIsOpen) {
  const std::string directory = std::filesystem::temp_directory_path().string();
  StoreWorld world(directory, {});
  const ObjectId object{5};
  ASSERT_TRUE(world.run(world.store().truncate(object, 4_KiB)).ok());
  EXPECT_FALSE(world.store().cold(object));
  world.reopen();
  if (!world.store().cold(object)) GTEST_SKIP() << "a file system in memory, or no io_uring";
  EXPECT_TRUE(world.store().cold(ObjectId{6})) << "nobody has looked";
  struct Warm {
    static Task<bool> both(Store& store) {
      co_await store.warm(ObjectId{5});
      co_await store.warm(ObjectId{6});  // does not exist
      co_return true;
    }
  };
  EXPECT_TRUE(world.run(Warm::both(world.store())));
  const auto length = world.run(world.store().length(object));
  ASSERT_TRUE(length.ok());
  EXPECT_EQ(*length, 4_KiB);
  std::vector<std::byte> bytes(100);
  MemorySink sink(bytes);
  ASSERT_TRUE(world.run(world.store().read(object, 0_B, Bytes(bytes.size()), sink)).ok());
  EXPECT_FALSE(world.store().cold(object));
}

TEST(FileStoreOnDisk, LocatesSyncedBytes) {
  DiskWorld world;
  ASSERT_TRUE(world.run(write_bytes(world.store(), ObjectId{1}, Bytes(), pattern(100'000, 1))).ok());
  ASSERT_TRUE(world.run(world.store().sync(ObjectId{1})).ok());
  const auto first = world.run(world.store().locate(ObjectId{1}, Bytes(0)));
  const auto second = world.run(world.store().locate(ObjectId{1}, Bytes(4096)));
  ASSERT_TRUE(first.ok() && second.ok());
  if (!*first || !*second) GTEST_SKIP() << "this file system does not tell where bytes lie";
  EXPECT_NE(**first, **second);
  EXPECT_EQ(*world.run(world.store().locate(ObjectId{2}, Bytes(0))), std::nullopt);
}

// --- lists of extents ---

class CountingSource : public Source {
 public:
  Task<Status> fill(Bytes at, Places places) override {
    ++calls;
    EXPECT_EQ(at, filled);
    filled += Bytes(length_of(places));
    for (const auto place : places) std::fill(place.begin(), place.end(), std::byte{3});
    co_return Status();
  }
  int calls = 0;
  Bytes filled;
};

class CountingSink : public Sink {
 public:
  Task<Status> take(Bytes at, ConstPlaces pieces) override {
    ++calls;
    EXPECT_EQ(at, taken);
    taken += Bytes(length_of(pieces));
    for (const auto piece : pieces)
      right = right && std::count(piece.begin(), piece.end(), std::byte{3}) == std::ssize(piece);
    co_return Status();
  }
  int calls = 0;
  Bytes taken;
  bool right = true;
};

// As a strided MPI program writes: one message of many small extents is one move of bytes where the object is mapped,
// and one for each buffer elsewhere.
TYPED_TEST(FileStoreTest, ManySmallExtentsAreFewMoves) {
  std::vector<Extent> extents;
  for (std::uint64_t i = 0; i < 320; ++i) extents.push_back({Bytes(i * 4 * 3240), Bytes(3240)});
  const Bytes total = 3240_B * extents.size();
  const auto object = ObjectId{1};
  Store& store = this->world_.store();
  ASSERT_TRUE(this->write(1, Bytes(), pattern((extents.back().end()).count(), 1)).ok());
  CountingSource source;
  ASSERT_TRUE(this->world_.run(store.write(object, extents, source)).ok());
  EXPECT_EQ(source.filled, total);
  CountingSink sink;
  ASSERT_TRUE(this->world_.run(store.read(object, extents, sink)).ok());
  EXPECT_EQ(sink.taken, total);
  EXPECT_TRUE(sink.right);
  const int most = store.traits().in_memory ? 1 : 4;
  EXPECT_EQ(source.calls, most);
  EXPECT_EQ(sink.calls, most);
}

// --- a file system that is full ---

class FullMemory : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (::mount("tutti-test", directory_.path().c_str(), "tmpfs", 0, "size=4m") != 0) {
      GTEST_SKIP() << "only root can mount a small tmpfs";
    }
    mounted_ = true;
    FileStoreOptions options;
    options.map = GetParam();
    Result<std::unique_ptr<FileStore>> opened = open_store(loop_, directory_ / "store", options);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    store_ = *std::move(opened);
  }
  void TearDown() override {
    store_.reset();
    if (mounted_) ::umount(directory_.path().c_str());
  }
  Status write(std::uint64_t object, Bytes offset, const std::vector<std::byte>& bytes) {
    return loop_.run(write_bytes(*store_, ObjectId{object}, offset, bytes));
  }
  std::vector<std::byte> read(std::uint64_t object, Bytes offset, Bytes length) {
    return *loop_.run(read_bytes(*store_, ObjectId{object}, offset, length));
  }
  std::optional<Bytes> length(std::uint64_t object) { return *loop_.run(store_->length(ObjectId{object})); }
  // Until nothing is left.
  void fill_up(std::uint64_t object) {
    for (std::uint64_t at = 0; write(object, Bytes(at), std::vector<std::byte>(4096)).ok(); at += 4096)
      continue;
  }

  TemporaryDirectory directory_;
  bool mounted_ = false;
  Loop loop_;
  std::unique_ptr<FileStore> store_;
};

TEST_P(FullMemory, WriteThatDoesNotFitFailsCleanly) {
  const auto bytes = pattern(1'000'000, 1);
  ASSERT_TRUE(write(1, Bytes(), bytes).ok());
  const Status status = write(1, Bytes(1'000'000), pattern(8'000'000, 2));
  EXPECT_EQ(status.code(), Code::no_space) << status.to_string();
  EXPECT_NE(status.message().find("0000000000000001"), std::string::npos);
  EXPECT_EQ(length(1), Bytes(1'000'000));
  EXPECT_EQ(read(1, Bytes(), 9_MiB), bytes);
  // What the failed write took is free again.
  EXPECT_TRUE(write(2, Bytes(), pattern(1'500'000, 3)).ok());
  const auto patch = pattern(500'000, 4);
  EXPECT_TRUE(write(1, Bytes(100'000), patch).ok()) << "rewriting needs no new space";
  EXPECT_EQ(read(1, Bytes(100'000), Bytes(500'000)), patch);
}

TEST_P(FullMemory, HolesAreReadableAndNotWritableWhenFull) {
  ASSERT_TRUE(loop_.run(store_->truncate(ObjectId{1}, 64_MiB)).ok());
  ASSERT_TRUE(write(1, 1_MiB, pattern(4096, 1)).ok());
  fill_up(2);
  EXPECT_EQ(read(1, Bytes(), Bytes(300'000)), std::vector<std::byte>(300'000));
  EXPECT_EQ(read(1, 1_MiB, Bytes(4096)), pattern(4096, 1));
  EXPECT_EQ(write(1, 8_MiB, pattern(10'000, 2)).code(), Code::no_space);
  EXPECT_EQ(write(1, 1_MiB - Bytes(4096), pattern(8192, 2)).code(), Code::no_space);
  EXPECT_EQ(length(1), 64_MiB);
  ASSERT_TRUE(loop_.run(store_->remove(ObjectId{2})).ok());
  EXPECT_TRUE(write(1, 8_MiB, pattern(10'000, 2)).ok());
}

TEST_P(FullMemory, TruncatedRangeIsNotTakenForAllocated) {
  ASSERT_TRUE(write(1, Bytes(), pattern(1'000'000, 1)).ok());
  EXPECT_EQ(read(1, Bytes(), 1_MiB), pattern(1'000'000, 1));
  ASSERT_TRUE(loop_.run(store_->truncate(ObjectId{1}, Bytes(100))).ok());
  ASSERT_TRUE(loop_.run(store_->truncate(ObjectId{1}, Bytes(1'000'000))).ok());
  fill_up(2);
  EXPECT_EQ(write(1, Bytes(500'000), pattern(10'000, 2)).code(), Code::no_space);
  EXPECT_EQ(read(1, Bytes(4096), Bytes(900'000)), std::vector<std::byte>(900'000));
}

INSTANTIATE_TEST_SUITE_P(Files, FullMemory, testing::Bool(),
                         [](const auto& each) { return each.param ? "Mapped" : "Unmapped"; });

}  // namespace
}  // namespace tutti
