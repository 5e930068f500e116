#include "client/transfer/unsynced.h"

#include <gtest/gtest.h>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

TEST(UnsyncedWrites, ASyncInTheBootOfTheWritesIsGood) {
  UnsyncedWrites unsynced(1);
  unsynced.wrote(0, 7);
  EXPECT_TRUE(unsynced.synced(0, 7, 1).ok());
  EXPECT_TRUE(unsynced.synced(0, 8, 0).ok()) << "nothing was written since";
}

TEST(UnsyncedWrites, LostWritesFailEverySyncUntilTheHandleWritesAgain) {
  UnsyncedWrites unsynced(1);
  unsynced.wrote(0, 7);
  EXPECT_EQ(unsynced.synced(0, 8, 1).code(), Code::io_error);
  EXPECT_EQ(unsynced.synced(0, 8, 1).code(), Code::io_error);
  unsynced.wrote(0, 8);
  EXPECT_TRUE(unsynced.synced(0, 8, 1).ok());
}

TEST(UnsyncedWrites, WritingAfterALossThatNobodyWasToldOfDoesNotHideIt) {
  UnsyncedWrites unsynced(1);
  unsynced.wrote(0, 7);
  unsynced.wrote(0, 8);
  EXPECT_EQ(unsynced.synced(0, 8, 2).code(), Code::io_error);
}

TEST(UnsyncedWrites, ASyncThatTheServerFailedIsTold) {
  UnsyncedWrites unsynced(1);
  unsynced.wrote(0, 7);
  unsynced.failed(0);
  EXPECT_EQ(unsynced.synced(0, 7, 1).code(), Code::io_error);
  unsynced.wrote(0, 8);
  EXPECT_TRUE(unsynced.synced(0, 8, 1).ok());
}

// A and B write to one file. The store cannot sync it once, for A; B must hear of it as well, and A again.
class FailedSync : public ClusterTest {
 protected:
  Status sync(OpenFile& file) { return run(file.sync()); }
  Status write(OpenFile& file, Bytes offset) { return run(file.write(offset, bytes_)); }
  void sync_fails(bool fails) {
    StoreFaults faults;
    faults.sync_error = fails ? 1 : 0;
    cluster_->storage(0).spoil(faults);
  }
  std::vector<std::byte> bytes_ = random_bytes(10'000, 1);
};

TEST_F(FailedSync, FailsForEverybodyWhoWroteBeforeItUntilTheyWriteAgain) {
  SimClusterOptions options;
  options.servers = 1;
  start(options);
  const auto a = open("/f");
  const auto other = make_client();
  OpenOptions writing;
  writing.write = true;
  auto b = run(other->files().open("/f", writing));
  ASSERT_TRUE(b.ok());
  ASSERT_TRUE(write(*a, 0_B).ok());
  ASSERT_TRUE(write(**b, 10_MiB).ok());

  sync_fails(true);
  EXPECT_EQ(sync(*a).code(), Code::io_error);
  sync_fails(false);
  EXPECT_EQ(sync(**b).code(), Code::io_error) << "its bytes are lost as well";
  EXPECT_EQ(sync(**b).code(), Code::io_error);
  EXPECT_EQ(sync(*a).code(), Code::io_error) << "a repetition writes nothing";

  cluster_->stop_data(0);
  cluster_->start_data(0);
  EXPECT_EQ(sync(**b).code(), Code::io_error) << "a new process knows it, too";

  ASSERT_TRUE(write(*a, 0_B).ok());
  EXPECT_TRUE(sync(*a).ok());
  EXPECT_EQ(sync(**b).code(), Code::io_error) << "what A wrote is not what B wrote";
  ASSERT_TRUE(write(**b, 10_MiB).ok());
  EXPECT_TRUE(sync(**b).ok());
}

TEST_F(FailedSync, IsNoMatterOfOtherFiles) {
  SimClusterOptions options;
  options.servers = 1;
  start(options);
  const auto spoiled = open("/spoiled");
  const auto whole = open("/whole");
  ASSERT_TRUE(write(*spoiled, 0_B).ok());
  ASSERT_TRUE(write(*whole, 0_B).ok());
  sync_fails(true);
  EXPECT_FALSE(sync(*spoiled).ok());
  sync_fails(false);
  EXPECT_TRUE(sync(*whole).ok());
}

}  // namespace
}  // namespace tutti
