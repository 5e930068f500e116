#include "server/meta/stores.h"

#include <gtest/gtest.h>

#include "server/meta/epoch.h"

namespace tutti::meta {
namespace {

const Uuid kMetadata{1, 1};
const Uuid kOther{2, 2};
const Uuid kStore{3, 3};
const Uuid kAnother{4, 4};

Superblock superblock() {
  Superblock superblock;
  superblock.uuid = kMetadata;
  superblock.next_inode = 100;
  return superblock;
}

EnrolMessage shown() { return {2, kStore, kMetadata, 99, false}; }

TEST(Stores, TheRecordedStoreServes) { EXPECT_TRUE(judge(superblock(), kStore, shown()).ok()); }

TEST(Stores, ANewStoreOfANewServerServes) {
  EnrolMessage fresh = shown();
  fresh.metadata = Uuid();
  fresh.newest = 0;
  EXPECT_TRUE(judge(superblock(), std::nullopt, fresh).ok());
}

TEST(Stores, AnotherStoreThanTheRecordedOneIsRefusedUnlessItTakesItsPlace) {
  EnrolMessage fresh = shown();
  fresh.metadata = Uuid();
  fresh.newest = 0;
  const Status refused = judge(superblock(), kAnother, fresh);
  EXPECT_EQ(refused.code(), Code::invalid);
  EXPECT_NE(refused.message().find("tutti server init data.2 --replace"), std::string::npos);
  fresh.replaces = true;
  EXPECT_TRUE(judge(superblock(), kAnother, fresh).ok());
}

TEST(Stores, AnOldStoreThatWasReplacedIsRefused) {
  EXPECT_EQ(judge(superblock(), kAnother, shown()).code(), Code::invalid);
}

TEST(Stores, AStoreOfOtherMetadataIsRefused) {
  EnrolMessage foreign = shown();
  foreign.metadata = kOther;
  EXPECT_EQ(judge(superblock(), kStore, foreign).code(), Code::invalid);
  foreign.replaces = true;
  EXPECT_EQ(judge(superblock(), kAnother, foreign).code(), Code::invalid);
}

TEST(Stores, MetadataThatKnowNoStoreAreWrongWhereAStoreKnowsItsMetadata) {
  EnrolMessage used = shown();
  used.metadata = kOther;
  const Status refused = judge(superblock(), std::nullopt, used);
  EXPECT_EQ(refused.code(), Code::stale);
  EXPECT_NE(refused.message().find("tutti meta restore"), std::string::npos);
}

TEST(Stores, MetadataOlderThanTheObjectsAreWrong) {
  EnrolMessage newer = shown();
  newer.newest = 100;
  const Status refused = judge(superblock(), kStore, newer);
  EXPECT_EQ(refused.code(), Code::stale);
  EXPECT_NE(refused.message().find("--epoch 1"), std::string::npos);
  newer.newest = first_inode(4);
  EXPECT_NE(judge(superblock(), kStore, newer).message().find("--epoch 5"), std::string::npos);
  Superblock restored = superblock();
  restored.next_inode = first_inode(5);
  EXPECT_TRUE(judge(restored, kStore, newer).ok());
}

}  // namespace
}  // namespace tutti::meta
