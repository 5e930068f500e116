#include "base/random.h"
#include "tests/server/meta/meta_fixture.h"

namespace tutti::meta {
namespace {

class MetaRename : public MetaFixture {
 protected:
  MetaRename() {
    EXPECT_TRUE(make_directory(alice_, "/empty").ok());
    EXPECT_TRUE(make_directory(alice_, "/full").ok());
    EXPECT_TRUE(create(alice_, "/full/inside").ok());
    EXPECT_TRUE(make_directory(alice_, "/full/sub").ok());
    EXPECT_TRUE(create(alice_, "/file").ok());
    EXPECT_TRUE(create(alice_, "/other").ok());
    EXPECT_TRUE(symlink(alice_, "/full", "/link").ok());
    EXPECT_TRUE(link(alice_, "/file", "/twin").ok());
  }

  // Every directory's link count and parent agree with the entries, and every inode is named as often as it
  // says.
  void check_tree() {
    std::map<std::uint64_t, std::uint32_t> names;
    std::map<std::uint64_t, std::uint32_t> directories;
    for (const auto& [key, value] : kv_.map) {
      if (key[0] != 'D') continue;
      const Entry entry = *decode_entry(value);
      ++names[entry.inode];
      std::uint64_t parent = 0;
      for (std::size_t i = 1; i <= 8; ++i) parent = parent << 8U | static_cast<unsigned char>(key[i]);
      const Inode node = *decode_inode(entry.inode, kv_.map.at(inode_key(entry.inode)));
      EXPECT_EQ(node.type, entry.type);
      if (node.type != wire::kDirectory) continue;
      ++directories[parent];
      EXPECT_EQ(node.parent, parent);
    }
    std::uint64_t regular = 0;
    for (const auto& [key, value] : kv_.map) {
      if (key[0] != 'I') continue;
      std::uint64_t id = 0;
      for (std::size_t i = 1; i <= 8; ++i) id = id << 8U | static_cast<unsigned char>(key[i]);
      const Inode node = *decode_inode(id, value);
      regular += node.type == wire::kFile ? 1U : 0U;
      const bool directory = node.type == wire::kDirectory;
      EXPECT_EQ(node.links, directory ? 2 + directories[id] : names[id]);
      if (directory && id != wire::kRootInode) {
        EXPECT_EQ(names[id], 1U);
      }
    }
    EXPECT_EQ(files(), regular);
  }
};

TEST_F(MetaRename, Matrix) {
  struct Case {
    const char* from;
    const char* to;
    Code expected;
    Code exclusive;
  };
  const std::vector<Case> cases = {
      {"/file", "/new", Code::ok, Code::ok},
      {"/file", "/other", Code::ok, Code::exists},
      {"/file", "/file", Code::ok, Code::exists},
      {"/file", "/twin", Code::ok, Code::exists},
      {"/file", "/link", Code::ok, Code::exists},
      {"/file", "/empty", Code::is_directory, Code::exists},
      {"/file", "/full/inside", Code::ok, Code::exists},
      {"/file", "/full/new", Code::ok, Code::ok},
      {"/file", "/link/new", Code::ok, Code::ok},
      {"/file", "/none/new", Code::not_found, Code::not_found},
      {"/file", "/other/new", Code::not_directory, Code::not_directory},
      {"/file", "/", Code::invalid, Code::invalid},
      {"/link", "/new", Code::ok, Code::ok},
      {"/link", "/file", Code::ok, Code::exists},
      {"/link", "/empty", Code::is_directory, Code::exists},
      {"/empty", "/new", Code::ok, Code::ok},
      {"/empty", "/file", Code::not_directory, Code::exists},
      {"/empty", "/link", Code::not_directory, Code::exists},
      {"/empty", "/full", Code::not_empty, Code::exists},
      {"/empty", "/full/sub", Code::ok, Code::exists},
      {"/full", "/empty", Code::ok, Code::exists},
      {"/full", "/full", Code::ok, Code::exists},
      {"/full", "/full/x", Code::invalid, Code::invalid},
      {"/full", "/full/sub/x", Code::invalid, Code::invalid},
      {"/full", "/full/sub", Code::invalid, Code::exists},
      {"/full", "/link/x", Code::invalid, Code::invalid},
      {"/full/sub", "/full", Code::not_empty, Code::exists},
      {"/full/sub", "/full/new", Code::ok, Code::ok},
      {"/full/sub", "/empty/new", Code::ok, Code::ok},
      {"/none", "/new", Code::not_found, Code::not_found},
      {"/none", "/file", Code::not_found, Code::not_found},
      {"/", "/new", Code::invalid, Code::invalid},
  };
  const auto before = kv_.map;
  for (const Case& each : cases) {
    for (const bool exclusive : {false, true}) {
      SCOPED_TRACE(std::string(each.from) + " to " + each.to + (exclusive ? " exclusively" : ""));
      kv_.map = before;
      const std::uint64_t moved = stat(each.from, false).ok() ? stat(each.from, false)->id : 0;
      const Code expected = exclusive ? each.exclusive : each.expected;
      EXPECT_EQ(rename(alice_, each.from, each.to, exclusive), expected);
      check_tree();
      if (expected == Code::ok) {
        EXPECT_EQ(stat(each.to, false)->id, moved);
      } else {
        EXPECT_EQ(kv_.map, before);
      }
    }
  }
}

TEST_F(MetaRename, TheOldNameGoesAndTheReplacedFileIsAmongTheRemoved) {
  const std::uint64_t file = stat("/file")->id;
  const std::uint64_t other = stat("/other")->id;
  EXPECT_EQ(rename(alice_, "/file", "/other"), Code::ok);
  EXPECT_EQ(stat("/file").code(), Code::not_found);
  EXPECT_EQ(stat("/other")->id, file);
  EXPECT_EQ(stat("/other")->changed, now_);
  EXPECT_EQ(kv_.map.count(inode_key(other)), 0U);
  EXPECT_EQ(kv_.map.count(removed_key(other)), 1U);
  ASSERT_EQ(removed_.size(), 1U);
  EXPECT_EQ(removed_[0].inode, other);
}

TEST_F(MetaRename, TwoNamesOfOneFileAreLeftAlone) {
  const auto before = kv_.map;
  EXPECT_EQ(rename(alice_, "/file", "/twin"), Code::ok);
  EXPECT_EQ(kv_.map, before);
}

TEST_F(MetaRename, BothDirectoriesMustBeWritable) {
  ASSERT_TRUE(make_directory(bob_, "/bobs", 0755).ok());
  ASSERT_TRUE(create(bob_, "/bobs/f").ok());
  ASSERT_TRUE(make_directory(bob_, "/bobs/d", 0555).ok());
  ASSERT_TRUE(make_directory(bob_, "/shared", 0777).ok());
  EXPECT_EQ(rename(alice_, "/bobs/f", "/f"), Code::permission);
  EXPECT_EQ(rename(alice_, "/file", "/bobs/g"), Code::permission);
  EXPECT_EQ(rename(alice_, "/file", "/shared/g"), Code::ok);
  EXPECT_EQ(rename(bob_, "/bobs/d", "/bobs/e"), Code::ok);
  EXPECT_EQ(rename(bob_, "/bobs/e", "/shared/e"), Code::permission) << "its parent is stored in it";
  EXPECT_EQ(rename(root_, "/bobs/e", "/shared/e"), Code::ok);
}

TEST_F(MetaRename, MovedDirectoryKeepsWhatIsInIt) {
  EXPECT_EQ(rename(alice_, "/full", "/empty/moved"), Code::ok);
  EXPECT_TRUE(stat("/empty/moved/inside").ok());
  EXPECT_EQ(rename(alice_, "/empty", "/empty/moved/sub/x"), Code::invalid);
  check_tree();
}

TEST_F(MetaRename, RandomMovesLeaveASoundTree) {
  Random random(11);
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto path = [&] {
    std::string made;
    for (std::uint64_t depth = 1 + random.below(4); depth > 0; --depth) made += "/" + names[random.below(3)];
    return made;
  };
  int done = 0;
  for (int i = 0; i < 5000; ++i) {
    switch (random.below(6)) {
      case 0:
        done += create(alice_, path()).ok() ? 1 : 0;
        break;
      case 1:
        done += make_directory(alice_, path()).ok() ? 1 : 0;
        break;
      case 2:
        done += remove(alice_, path(), random.chance(0.5)) == Code::ok ? 1 : 0;
        break;
      case 3:
        done += link(alice_, path(), path()).ok() ? 1 : 0;
        break;
      default:
        done += rename(alice_, path(), path(), random.chance(0.2)) == Code::ok ? 1 : 0;
        break;
    }
    if (i % 50 == 0) check_tree();
  }
  check_tree();
  EXPECT_GT(done, 300);
}

}  // namespace
}  // namespace tutti::meta
