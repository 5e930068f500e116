// Paths, permissions on the way, symbolic links, listing.
#include "tests/server/meta/meta_fixture.h"

namespace tutti::meta {
namespace {

using MetaTree = MetaFixture;

TEST_F(MetaTree, DotsAndEmptyPartsAreDropped) {
  ASSERT_TRUE(make_directory(alice_, "/a").ok());
  ASSERT_TRUE(create(alice_, "/a/f").ok());
  const std::uint64_t id = stat("/a/f")->id;
  for (const char* path : {"a/f", "//a///f", "./a/./f", "/a/f/", "/./a/f/."})
    EXPECT_EQ(stat(path)->id, id) << path;
  for (const char* path : {"", "/", ".", "//.//"}) EXPECT_EQ(stat(path)->id, wire::kRootInode) << path;
}

TEST_F(MetaTree, ParentDirectoriesInPathsAreRefused) {
  ASSERT_TRUE(make_directory(alice_, "/a").ok());
  EXPECT_EQ(stat("/a/..").code(), Code::invalid);
  EXPECT_EQ(stat("../a").code(), Code::invalid);
  EXPECT_NE(stat("../a").status().message().find("'..'"), std::string::npos);
  EXPECT_EQ(stat("/a/..b").code(), Code::not_found);
}

TEST_F(MetaTree, LengthsAreBounded) {
  const std::string longest(wire::kMaxName, 'n');
  EXPECT_TRUE(create(alice_, "/" + longest).ok());
  EXPECT_TRUE(stat("/" + longest).ok());
  EXPECT_EQ(create(alice_, "/" + longest + "n").code(), Code::name_too_long);
  EXPECT_EQ(stat("/x/" + longest + "n").code(), Code::name_too_long);
  EXPECT_EQ(stat(std::string(wire::kMaxPath, '/')).code(), Code::ok);
  EXPECT_EQ(stat(std::string(wire::kMaxPath + 1, '/')).code(), Code::name_too_long);
}

TEST_F(MetaTree, ZeroBytesAreRefused) {
  EXPECT_EQ(create(alice_, std::string("/a\0b", 4)).code(), Code::invalid);
  EXPECT_EQ(symlink(alice_, std::string("a\0b", 3), "/s").code(), Code::invalid);
}

TEST_F(MetaTree, MissingAndWrongPartsAreTold) {
  ASSERT_TRUE(create(alice_, "/f").ok());
  EXPECT_EQ(stat("/x").code(), Code::not_found);
  EXPECT_EQ(stat("/x/y").code(), Code::not_found);
  EXPECT_EQ(stat("/f/y").code(), Code::not_directory);
}

TEST_F(MetaTree, SearchPermissionIsNeededOnEveryDirectoryOnTheWay) {
  ASSERT_TRUE(make_directory(alice_, "/a", 0700).ok());
  ASSERT_TRUE(make_directory(alice_, "/a/b", 0755).ok());
  ASSERT_TRUE(create(alice_, "/a/b/f").ok());
  EXPECT_EQ(stat(bob_, "/a/b/f").code(), Code::permission);
  EXPECT_EQ(stat(bob_, "/a/none").code(), Code::permission);
  EXPECT_TRUE(stat(bob_, "/a").ok());
  EXPECT_TRUE(stat(alice_, "/a/b/f").ok());
  EXPECT_TRUE(stat(root_, "/a/b/f").ok());
}

TEST_F(MetaTree, OwnerBitsThenGroupBitsThenOtherBitsCount) {
  const auto open_read = [&](const Caller& caller) { return open(caller, "/f", wire::kOpenRead).code(); };
  ASSERT_TRUE(create(alice_, "/f").ok());
  AttributeChange group;
  group.mask = wire::kSetGid;
  group.gid = 500;
  ASSERT_TRUE(set(alice_, "/f", group).ok());
  const Caller carol = user(3000);
  ASSERT_TRUE(chmod(alice_, "/f", 0400).ok());
  EXPECT_EQ(open_read(alice_), Code::ok);
  EXPECT_EQ(open_read(bob_), Code::permission);
  EXPECT_EQ(open_read(carol), Code::permission);
  ASSERT_TRUE(chmod(alice_, "/f", 0040).ok());
  EXPECT_EQ(open_read(alice_), Code::permission);
  EXPECT_EQ(open_read(bob_), Code::ok);
  EXPECT_EQ(open_read(carol), Code::permission);
  ASSERT_TRUE(chmod(alice_, "/f", 0004).ok());
  EXPECT_EQ(open_read(alice_), Code::permission);
  EXPECT_EQ(open_read(bob_), Code::permission);
  EXPECT_EQ(open_read(carol), Code::ok);
  EXPECT_EQ(open_read(root_), Code::ok);
}

TEST_F(MetaTree, BaseIsWherePathsBegin) {
  const std::uint64_t a = make_directory(alice_, "/a")->id;
  const std::uint64_t f = create(alice_, "/a/f")->node.id;
  const Tree tree(kv_, alice_);
  EXPECT_EQ(tree.lookup({a, "f"}, true)->id, f);
  EXPECT_EQ(tree.lookup({a, "/f"}, true)->id, f);
  EXPECT_EQ(tree.lookup({a, ""}, true)->id, a);
  EXPECT_EQ(tree.lookup({wire::kRootInode, "a/f"}, true)->id, f);
  EXPECT_EQ(tree.lookup({f, ""}, true)->id, f);
  EXPECT_EQ(tree.lookup({f, "x"}, true).code(), Code::not_directory);
  EXPECT_EQ(tree.lookup({999, "x"}, true).code(), Code::stale);
}

TEST_F(MetaTree, BaseDoesNotGoAroundClosedDirectories) {
  ASSERT_TRUE(make_directory(alice_, "/closed", 0700).ok());
  const std::uint64_t inner = make_directory(alice_, "/closed/inner", 0755)->id;
  const std::uint64_t file = create(alice_, "/closed/inner/f", 0666)->node.id;
  EXPECT_EQ(Tree(kv_, bob_).lookup({inner, "f"}, true).code(), Code::permission);
  EXPECT_EQ(Tree(kv_, bob_).lookup({inner, ""}, true).code(), Code::permission);
  EXPECT_EQ(Tree(kv_, bob_).lookup({file, ""}, true).code(), Code::permission);
  EXPECT_TRUE(Tree(kv_, alice_).lookup({inner, "f"}, true).ok());
  EXPECT_TRUE(Tree(kv_, root_).lookup({file, ""}, true).ok());
}

TEST_F(MetaTree, SymbolicLinksLeadOn) {
  ASSERT_TRUE(make_directory(alice_, "/a").ok());
  ASSERT_TRUE(make_directory(alice_, "/a/b").ok());
  const std::uint64_t f = create(alice_, "/a/b/f")->node.id;
  ASSERT_TRUE(symlink(alice_, "b/f", "/a/relative").ok());
  ASSERT_TRUE(symlink(alice_, "/a/b", "/absolute").ok());
  ASSERT_TRUE(symlink(alice_, "/", "/a/top").ok());
  EXPECT_EQ(stat("/a/relative")->id, f);
  EXPECT_EQ(stat("/absolute/f")->id, f);
  EXPECT_EQ(stat("/a/top")->id, wire::kRootInode);
  EXPECT_EQ(stat("/a/top/a/top/absolute/f")->id, f);
  const Result<Inode> itself = stat("/a/relative", false);
  EXPECT_EQ(itself->type, wire::kSymlink);
  EXPECT_EQ(itself->target, "b/f");
  EXPECT_EQ(itself->mode, 0777U);
  EXPECT_EQ(stat("/absolute/f", false)->id, f);
}

TEST_F(MetaTree, FortySymbolicLinksAreFollowedAndNotOneMore) {
  ASSERT_TRUE(create(alice_, "/l0").ok());
  for (int i = 1; i <= 41; ++i) {
    ASSERT_TRUE(symlink(alice_, "l" + std::to_string(i - 1), "/l" + std::to_string(i)).ok());
  }
  EXPECT_TRUE(stat("/l40").ok());
  EXPECT_EQ(stat("/l41").code(), Code::invalid);
  EXPECT_EQ(stat("/l41").status().message(), "too many symbolic links");
  ASSERT_TRUE(symlink(alice_, "ring", "/ring").ok());
  EXPECT_EQ(stat("/ring").code(), Code::invalid);
  EXPECT_TRUE(stat("/ring", false).ok());
}

TEST_F(MetaTree, ParentDirectoriesInTargetsAreRefusedWhenFollowed) {
  ASSERT_TRUE(make_directory(alice_, "/a").ok());
  ASSERT_TRUE(symlink(alice_, "../x", "/a/s").ok());
  EXPECT_EQ(stat("/a/s").code(), Code::invalid);
  EXPECT_EQ(stat("/a/s", false)->target, "../x");
}

TEST_F(MetaTree, DanglingLinkIsMissing) {
  ASSERT_TRUE(symlink(alice_, "/nowhere/f", "/s").ok());
  EXPECT_EQ(stat("/s").code(), Code::not_found);
}

TEST_F(MetaTree, ListsInPagesByName) {
  ASSERT_TRUE(make_directory(alice_, "/d").ok());
  ASSERT_TRUE(make_directory(alice_, "/e").ok());
  for (const char* name : {"c", "a", "bb", "b"}) ASSERT_TRUE(create(alice_, std::string("/d/") + name).ok());
  ASSERT_TRUE(create(alice_, "/e/x").ok());
  const Tree tree(kv_, alice_);
  const Result<Listing> first = tree.list(at("/d"), "", 3, false);
  ASSERT_EQ(first->entries.size(), 3U);
  EXPECT_EQ(first->entries[0].name, "a");
  EXPECT_EQ(first->entries[1].name, "b");
  EXPECT_EQ(first->entries[2].name, "bb");
  EXPECT_FALSE(first->entries[0].node.has_value());
  EXPECT_TRUE(first->more);
  const Result<Listing> second = tree.list(at("/d"), "bb", 3, true);
  ASSERT_EQ(second->entries.size(), 1U);
  EXPECT_EQ(second->entries[0].name, "c");
  EXPECT_EQ(second->entries[0].node->id, stat("/d/c")->id);
  EXPECT_FALSE(second->more);
  EXPECT_EQ(tree.list(at("/d"), "a0", 9, false)->entries.size(), 3U);
  EXPECT_EQ(tree.list(at("/d"), "c", 9, false)->entries.size(), 0U);
  EXPECT_EQ(tree.list(at("/d/a"), "", 9, false).code(), Code::not_directory);
  EXPECT_EQ(tree.list(at("/d"), std::string(256, 'a'), 9, false).code(), Code::name_too_long);
}

TEST_F(MetaTree, OnePageHasAtMostAThousandEntriesAndFitsIntoAFrame) {
  ASSERT_TRUE(make_directory(alice_, "/d").ok());
  for (int i = 0; i < 1001; ++i) ASSERT_TRUE(create(alice_, "/d/" + std::to_string(10'000 + i)).ok());
  EXPECT_EQ(Tree(kv_, alice_).list(at("/d"), "", 0, false)->entries.size(), 1000U);
  EXPECT_TRUE(Tree(kv_, alice_).list(at("/d"), "", 5000, false)->more);

  ASSERT_TRUE(make_directory(alice_, "/links").ok());
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(symlink(alice_, std::string(4096, 't'), "/links/" + std::to_string(1000 + i)).ok());
  }
  std::size_t seen = 0;
  std::string after;
  for (bool more = true; more;) {
    const Result<Listing> page = Tree(kv_, alice_).list(at("/links"), after, 0, true);
    ASSERT_TRUE(page.ok());
    ASSERT_FALSE(page->entries.empty());
    EXPECT_LT(page->entries.size(), 150U);
    seen += page->entries.size();
    after = page->entries.back().name;
    more = page->more;
  }
  EXPECT_EQ(seen, 300U);
}

TEST_F(MetaTree, ListingTakesReadPermissionAndAttributesTakeSearch) {
  ASSERT_TRUE(make_directory(alice_, "/d", 0711).ok());
  ASSERT_TRUE(create(alice_, "/d/f").ok());
  EXPECT_EQ(Tree(kv_, bob_).list(at("/d"), "", 0, true).code(), Code::permission);
  ASSERT_TRUE(chmod(alice_, "/d", 0744).ok());
  const Result<Listing> names = Tree(kv_, bob_).list(at("/d"), "", 0, true);
  ASSERT_EQ(names->entries.size(), 1U);
  EXPECT_FALSE(names->entries[0].node.has_value());
  EXPECT_TRUE(Tree(kv_, alice_).list(at("/d"), "", 0, true)->entries[0].node.has_value());
}

TEST_F(MetaTree, DamagedRecordsAreReportedAndNotFollowed) {
  const std::uint64_t f = create(alice_, "/f")->node.id;
  kv_.map[inode_key(f)] = "garbage";
  EXPECT_EQ(stat("/f").code(), Code::malformed);
  kv_.map.erase(inode_key(f));
  EXPECT_EQ(stat("/f").code(), Code::malformed);
  kv_.map[entry_key(wire::kRootInode, "f")] = "";
  EXPECT_EQ(stat("/f").code(), Code::malformed);
  EXPECT_EQ(Tree(kv_, alice_).list(at("/"), "", 0, false).code(), Code::malformed);
}

}  // namespace
}  // namespace tutti::meta
