#include "fuse/name_tree.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <vector>

namespace tutti {
namespace {

class NameTreeTest : public ::testing::Test {
 protected:
  std::uint64_t make(std::uint64_t parent, const std::string& name, mode_t mode = S_IFREG | 0644) {
    Inode* made = nullptr;
    EXPECT_EQ(tree.make(parent, name, mode, maker, made), 0);
    return made == nullptr ? 0 : made->number;
  }

  Maker maker{7, 8, Nanos(100)};
  std::vector<std::uint64_t> gone;
  NameTree tree{maker, [this](std::uint64_t number) { gone.push_back(number); }};
  static constexpr std::uint64_t kRoot = NameTree::kRoot;
};

TEST_F(NameTreeTest, AFileIsFoundByItsNameAndHasItsMakersIds) {
  const std::uint64_t file = make(kRoot, "a");
  const Inode* found = tree.child(kRoot, "a");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->number, file);
  EXPECT_EQ(found->uid, 7U);
  EXPECT_EQ(found->gid, 8U);
  EXPECT_EQ(tree.child(kRoot, "b"), nullptr);
}

TEST_F(NameTreeTest, ANameIsGivenOnce) {
  make(kRoot, "a");
  Inode* made = nullptr;
  EXPECT_EQ(tree.make(kRoot, "a", S_IFREG, maker, made), EEXIST);
  EXPECT_EQ(tree.make(kRoot, std::string(256, 'x'), S_IFREG, maker, made), ENAMETOOLONG);
  EXPECT_EQ(tree.make(99, "a", S_IFREG, maker, made), ENOENT);
  const std::uint64_t file = make(kRoot, "b");
  EXPECT_EQ(tree.make(file, "c", S_IFREG, maker, made), ENOTDIR);
}

TEST_F(NameTreeTest, AnOpenFileOutlivesItsName) {
  const std::uint64_t file = make(kRoot, "a");
  NameTree::opened(*tree.find(file));
  EXPECT_EQ(tree.unlink(kRoot, "a", Nanos(200)), 0);
  EXPECT_EQ(tree.child(kRoot, "a"), nullptr);
  EXPECT_NE(tree.find(file), nullptr);
  EXPECT_TRUE(gone.empty());
  tree.closed(file);
  EXPECT_EQ(tree.find(file), nullptr);
  EXPECT_EQ(gone, std::vector<std::uint64_t>{file});
}

TEST_F(NameTreeTest, AFileThatTheKernelKnowsOutlivesItsName) {
  const std::uint64_t file = make(kRoot, "a");
  NameTree::looked_up(*tree.find(file));
  NameTree::looked_up(*tree.find(file));
  EXPECT_EQ(tree.unlink(kRoot, "a", Nanos(200)), 0);
  tree.forget(file, 1);
  EXPECT_TRUE(gone.empty());
  tree.forget(file, 1);
  EXPECT_EQ(gone.size(), 1U);
}

TEST_F(NameTreeTest, AFileWithTwoNamesGoesWithTheLast) {
  const std::uint64_t file = make(kRoot, "a");
  EXPECT_EQ(tree.link(file, kRoot, "b", Nanos(200)), 0);
  EXPECT_EQ(tree.find(file)->links, 2U);
  EXPECT_EQ(tree.unlink(kRoot, "a", Nanos(200)), 0);
  EXPECT_TRUE(gone.empty());
  EXPECT_EQ(tree.unlink(kRoot, "b", Nanos(200)), 0);
  EXPECT_EQ(gone.size(), 1U);
}

TEST_F(NameTreeTest, RenameReplacesAFileAndKeepsItIfAsked) {
  const std::uint64_t a = make(kRoot, "a");
  const std::uint64_t b = make(kRoot, "b");
  EXPECT_EQ(tree.rename(kRoot, "a", kRoot, "b", true, Nanos(200)), EEXIST);
  EXPECT_EQ(tree.rename(kRoot, "a", kRoot, "b", false, Nanos(200)), 0);
  EXPECT_EQ(tree.child(kRoot, "b")->number, a);
  EXPECT_EQ(gone, std::vector<std::uint64_t>{b});
  EXPECT_EQ(tree.rename(kRoot, "none", kRoot, "b", false, Nanos(200)), ENOENT);
}

TEST_F(NameTreeTest, ADirectoryDoesNotMoveIntoItself) {
  const std::uint64_t outer = make(kRoot, "outer", S_IFDIR | 0755);
  const std::uint64_t inner = make(outer, "inner", S_IFDIR | 0755);
  EXPECT_EQ(tree.rename(kRoot, "outer", inner, "x", false, Nanos(200)), EINVAL);
  EXPECT_EQ(tree.remove_directory(kRoot, "outer", Nanos(200)), ENOTEMPTY);
  EXPECT_EQ(tree.unlink(outer, "inner", Nanos(200)), EISDIR);
  EXPECT_EQ(tree.rename(outer, "inner", kRoot, "moved", false, Nanos(200)), 0);
  EXPECT_EQ(tree.remove_directory(kRoot, "outer", Nanos(200)), 0);
  EXPECT_EQ(tree.find(inner)->parent, kRoot);
}

TEST_F(NameTreeTest, NothingIsMadeInADirectoryThatWasRemoved) {
  const std::uint64_t directory = make(kRoot, "d", S_IFDIR | 0755);
  NameTree::looked_up(*tree.find(directory));
  EXPECT_EQ(tree.remove_directory(kRoot, "d", Nanos(200)), 0);
  Inode* made = nullptr;
  EXPECT_EQ(tree.make(directory, "a", S_IFREG, maker, made), ENOENT);
}

}  // namespace
}  // namespace tutti
