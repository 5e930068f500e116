#include "server/meta/lock_table.h"

#include <gtest/gtest.h>

namespace tutti::meta {
namespace {

constexpr std::uint64_t kInode = 5;

LockRange exclusive(std::uint64_t begin, std::uint64_t end) { return {begin, end, true}; }
LockRange shared(std::uint64_t begin, std::uint64_t end) { return {begin, end, false}; }

TEST(LockTable, LocksThatDoNotConflictAreGrantedAtOnce) {
  LockTable table;
  EXPECT_TRUE(table.add(kInode, {1, 1}, exclusive(0, 10)));
  EXPECT_TRUE(table.add(kInode, {2, 1}, exclusive(10, 20)));
  EXPECT_TRUE(table.add(kInode, {3, 1}, shared(20, 40)));
  EXPECT_TRUE(table.add(kInode, {4, 1}, shared(30, 50)));
  EXPECT_TRUE(table.add(kInode + 1, {5, 1}, exclusive(0, 50)));
}

TEST(LockTable, ConflictingLocksAreGrantedInTheOrderOfAsking) {
  LockTable table;
  EXPECT_TRUE(table.add(kInode, {1, 1}, exclusive(0, 10)));
  EXPECT_FALSE(table.add(kInode, {2, 1}, exclusive(5, 15)));
  EXPECT_FALSE(table.add(kInode, {3, 1}, exclusive(0, 20)));
  EXPECT_EQ(table.remove({1, 1}), (std::vector<LockName>{{2, 1}}));
  EXPECT_TRUE(table.granted({2, 1}));
  EXPECT_FALSE(table.granted({3, 1}));
  EXPECT_EQ(table.remove({2, 1}), (std::vector<LockName>{{3, 1}}));
}

TEST(LockTable, AWaitingWriterIsNotOvertakenByReaders) {
  LockTable table;
  EXPECT_TRUE(table.add(kInode, {1, 1}, shared(0, 10)));
  EXPECT_FALSE(table.add(kInode, {2, 1}, exclusive(0, 10)));
  EXPECT_FALSE(table.add(kInode, {3, 1}, shared(0, 10)));
  EXPECT_FALSE(table.add(kInode, {4, 1}, shared(0, 10)));
  EXPECT_EQ(table.remove({1, 1}), (std::vector<LockName>{{2, 1}}));
  EXPECT_EQ(table.remove({2, 1}), (std::vector<LockName>{{3, 1}, {4, 1}}));
}

TEST(LockTable, OneThatGivesUpFreesThoseBehindIt) {
  LockTable table;
  EXPECT_TRUE(table.add(kInode, {1, 1}, shared(0, 10)));
  EXPECT_FALSE(table.add(kInode, {2, 1}, exclusive(0, 10)));
  EXPECT_FALSE(table.add(kInode, {3, 1}, shared(0, 10)));
  EXPECT_EQ(table.blockers({3, 1}), (std::vector<std::uint64_t>{2}));
  EXPECT_EQ(table.remove({2, 1}), (std::vector<LockName>{{3, 1}}));
}

TEST(LockTable, ASessionLosesAllItsLocksAtOnce) {
  LockTable table;
  EXPECT_TRUE(table.add(kInode, {1, 1}, exclusive(0, 10)));
  EXPECT_TRUE(table.add(kInode, {1, 2}, exclusive(10, 20)));
  EXPECT_FALSE(table.add(kInode, {1, 3}, exclusive(0, 20)));
  EXPECT_FALSE(table.add(kInode, {2, 1}, exclusive(0, 20)));
  EXPECT_EQ(table.size_of(1), 3U);
  EXPECT_EQ(table.remove_session(1), (std::vector<LockName>{{2, 1}}));
  EXPECT_EQ(table.size(), 1U);
  EXPECT_TRUE(table.remove({2, 1}).empty());
  EXPECT_TRUE(table.free(kInode, exclusive(0, 20)));
}

TEST(LockTable, RemovingWhatIsNotThereChangesNothing) {
  LockTable table;
  EXPECT_TRUE(table.add(kInode, {1, 1}, exclusive(0, 10)));
  EXPECT_TRUE(table.remove({1, 2}).empty());
  EXPECT_TRUE(table.granted({1, 1}));
  EXPECT_FALSE(table.granted({1, 2}));
}

}  // namespace
}  // namespace tutti::meta
