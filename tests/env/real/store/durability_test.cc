// What a FileStore syncs, and what it remembers when that fails. Calls of fsync and fdatasync are seen, and made to
// fail, in this program's own functions of those names.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "env/real/store/file_store.h"
#include "env/real/store/loss_record.h"
#include "tests/env/conformance/store_helpers.h"
#include "tests/env/real/store_on_disk.h"

namespace tutti {
namespace {

std::vector<std::string> synced;  // paths, in order
std::string failing;              // the end of the path whose syncs fail
int failures = 0;                 // how many of them

std::string path_of(int fd) {
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

int seen(int fd, long number) {
  synced.push_back(path_of(fd));
  if (failures > 0 && !failing.empty() && synced.back().ends_with(failing)) {
    --failures;
    errno = ENOSPC;
    return -1;
  }
  return static_cast<int>(::syscall(number, fd));
}

}  // namespace
}  // namespace tutti

extern "C" int fsync(int fd) { return tutti::seen(fd, SYS_fsync); }
extern "C" int fdatasync(int fd) { return tutti::seen(fd, SYS_fdatasync); }

namespace tutti {
namespace {

using namespace conformance;

class Durability : public testing::Test {
 protected:
  void SetUp() override {
    if (on_tmpfs(directory_.path())) GTEST_SKIP() << "needs a temporary directory on a disk";
    failing.clear();
    failures = 0;
    reopen();
  }
  // As after the death of the process.
  void reopen() {
    store_.reset();
    FileStoreOptions options;
    options.io_uring = false;  // so that syncs are calls
    options.open_files = 2;
    auto opened = open_store(loop_, directory_ / "store", options);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    store_ = *std::move(opened);
    synced.clear();
  }
  void write(std::uint64_t object) {
    ASSERT_TRUE(loop_.run(write_bytes(*store_, ObjectId{object}, 0_B, pattern(10, 1))).ok());
  }
  Status sync(std::uint64_t object) { return loop_.run(store_->sync(ObjectId{object})); }
  [[nodiscard]] static int count(const std::string& end) {
    int found = 0;
    for (const std::string& path : synced) found += path.ends_with(end) ? 1 : 0;
    return found;
  }
  void fail(const std::string& path, int times = 1) {
    failing = path;
    failures = times;
  }

  TemporaryDirectory directory_{std::filesystem::temp_directory_path().string()};
  Loop loop_;
  std::unique_ptr<FileStore> store_;
};

TEST_F(Durability, ANameThatAnEarlierProcessMadeIsSynced) {
  write(0x1c4);
  reopen();
  ASSERT_TRUE(sync(0x1c4).ok());
  EXPECT_EQ(count("/objects/c4/00000000000001c4"), 1);
  EXPECT_EQ(count("/objects/c4"), 1) << "the name of the object";
  EXPECT_EQ(count("/objects"), 1) << "the name of its directory";
  ASSERT_TRUE(sync(0x1c4).ok());
  EXPECT_EQ(count("/objects/c4"), 1) << "it is known to be on disk now";
}

TEST_F(Durability, ARemovalIsOnDiskWhenItIsAcknowledged) {
  write(0x1c4);
  ASSERT_TRUE(sync(0x1c4).ok());
  synced.clear();
  ASSERT_TRUE(loop_.run(store_->remove(ObjectId{0x1c4})).ok());
  EXPECT_EQ(count("/objects/c4"), 1);
  fail("/objects/05");
  write(0x5);
  EXPECT_FALSE(loop_.run(store_->remove(ObjectId{0x5})).ok());
  EXPECT_TRUE(loop_.run(store_->remove(ObjectId{0x5})).ok()) << "it is tried again";
  EXPECT_EQ(count("/objects/05"), 2);
}

TEST_F(Durability, ARemovalThatAnEarlierProcessDidNotSyncIsSynced) {
  write(0x1c4);
  fail("/objects/c4", 100);
  EXPECT_FALSE(loop_.run(store_->remove(ObjectId{0x1c4})).ok());
  failures = 0;
  reopen();
  EXPECT_TRUE(loop_.run(store_->remove(ObjectId{0x1c4})).ok());
  EXPECT_EQ(count("/objects/c4"), 1);
  EXPECT_TRUE(loop_.run(store_->remove(ObjectId{0x77})).ok()) << "nothing was ever there";
}

TEST_F(Durability, AFailedSyncIsRemembered) {
  write(1);
  write(2);
  EXPECT_EQ(store_->losses(ObjectId{1}), 0U);
  fail("/0000000000000001");
  EXPECT_EQ(sync(1).code(), Code::no_space);
  EXPECT_EQ(store_->losses(ObjectId{1}), 1U);
  EXPECT_TRUE(sync(1).ok()) << "the kernel tells it once";
  EXPECT_EQ(store_->losses(ObjectId{1}), 1U);
  EXPECT_EQ(store_->losses(ObjectId{2}), 0U);
  for (std::uint64_t object = 10; object < 20; ++object) write(object);  // its descriptor is closed
  EXPECT_EQ(store_->losses(ObjectId{1}), 1U);
  reopen();
  EXPECT_EQ(store_->losses(ObjectId{1}), 1U);
  fail("/0000000000000001");
  EXPECT_FALSE(sync(1).ok());
  EXPECT_EQ(store_->losses(ObjectId{1}), 2U);
}

TEST_F(Durability, ManyFailedSyncsAreRememberedInAFileOfTheSameSize) {
  const int directory = ::open(directory_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(directory, 0);
  const auto size = [&] { return std::filesystem::file_size(directory_ / "losses"); };
  auto record = LossRecord::open(directory, directory_.path());
  ASSERT_TRUE(record.ok());
  const auto before = size();
  for (std::uint64_t object = 1; object <= LossRecord::kMostObjects + 10; ++object)
    ASSERT_TRUE(record->note(ObjectId{object}).ok());
  EXPECT_EQ(size(), before);
  const auto again = LossRecord::open(directory, directory_.path());
  ASSERT_TRUE(again.ok());
  for (const std::uint64_t object : {std::uint64_t{1}, std::uint64_t{500}, std::uint64_t{1030}}) {
    EXPECT_GT(again->count(ObjectId{object}), 0U) << object;
    EXPECT_EQ(again->count(ObjectId{object}), record->count(ObjectId{object})) << object;
  }
  ::close(directory);
}

}  // namespace
}  // namespace tutti
