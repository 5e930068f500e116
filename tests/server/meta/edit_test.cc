// Creation, removal, hard links, attributes.
#include "base/hash.h"
#include "tests/server/meta/meta_fixture.h"

namespace tutti::meta {
namespace {

using MetaEdit = MetaFixture;
constexpr std::uint32_t kCreate = wire::kOpenWrite | wire::kOpenCreate;

TEST_F(MetaEdit, CreatedFileHasItsCreatorsIdentityAndTheMaskedMode) {
  const Result<Opened> opened = open(alice_, "/f", kCreate, 0170644);
  ASSERT_TRUE(opened.ok());
  EXPECT_TRUE(opened->created);
  const Result<Inode> node = stat("/f");
  EXPECT_EQ(node->type, wire::kFile);
  EXPECT_EQ(node->mode, 0644U);
  EXPECT_EQ(node->uid, 1000U);
  EXPECT_EQ(node->gid, 1000U);
  EXPECT_EQ(node->links, 1U);
  EXPECT_EQ(node->modified, now_);
  EXPECT_EQ(stat("/")->modified, now_);
  EXPECT_EQ(files(), 1U);
}

TEST_F(MetaEdit, OpenOfAnExistingFileCreatesNothing) {
  const std::uint64_t id = create(alice_, "/f")->node.id;
  const Result<Opened> again = open(alice_, "/f", kCreate, 0600, {1024, 1, 0});
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->node.id, id);
  EXPECT_EQ(again->node.mode, 0644U);
  EXPECT_EQ(again->node.layout.stripe_size, 64_KiB);
  EXPECT_EQ(create(alice_, "/f").code(), Code::exists);
  EXPECT_EQ(open(alice_, "/g", wire::kOpenRead).code(), Code::not_found);
}

TEST_F(MetaEdit, OpenRefusesDirectoriesAndNonsense) {
  ASSERT_TRUE(make_directory(alice_, "/d").ok());
  EXPECT_EQ(open(alice_, "/d", wire::kOpenRead).code(), Code::is_directory);
  EXPECT_EQ(open(alice_, "/d", kCreate).code(), Code::is_directory);
  EXPECT_EQ(open(alice_, "/", wire::kOpenRead).code(), Code::is_directory);
  EXPECT_EQ(open(alice_, "/f", wire::kOpenCreate).code(), Code::invalid);
  EXPECT_EQ(open(alice_, "/f", kCreate | 64U).code(), Code::invalid);
}

TEST_F(MetaEdit, WriteOnlyOpenNeedsNoReadPermission) {
  ASSERT_TRUE(create(alice_, "/f", 0602).ok());
  EXPECT_TRUE(open(bob_, "/f", wire::kOpenWrite).ok());
  EXPECT_EQ(open(bob_, "/f", wire::kOpenRead).code(), Code::permission);
  EXPECT_EQ(open(bob_, "/f", wire::kOpenRead | wire::kOpenWrite).code(), Code::permission);
  ASSERT_TRUE(create(alice_, "/g", 0444).ok());
  EXPECT_TRUE(open(alice_, "/g", wire::kOpenRead).ok());
  EXPECT_EQ(open(alice_, "/g", wire::kOpenWrite).code(), Code::permission);
}

TEST_F(MetaEdit, CreatorMayWriteAFileItMakesReadOnly) {
  EXPECT_TRUE(open(alice_, "/f", kCreate, 0400).ok());
  EXPECT_EQ(open(alice_, "/f", kCreate, 0400).code(), Code::permission);
}

TEST_F(MetaEdit, CreationGoesThroughASymbolicLinkUnlessExclusive) {
  ASSERT_TRUE(make_directory(alice_, "/d").ok());
  ASSERT_TRUE(symlink(alice_, "/d/f", "/s").ok());
  EXPECT_EQ(create(alice_, "/s").code(), Code::exists);
  ASSERT_TRUE(open(alice_, "/s", kCreate).ok());
  EXPECT_EQ(stat("/d/f")->type, wire::kFile);
  EXPECT_EQ(stat("/s", false)->type, wire::kSymlink);
}

TEST_F(MetaEdit, NewNamesTakeWritePermissionOnTheDirectory) {
  ASSERT_TRUE(make_directory(alice_, "/d", 0755).ok());
  ASSERT_TRUE(create(bob_, "/f").ok());
  EXPECT_EQ(create(bob_, "/d/f").code(), Code::permission);
  EXPECT_EQ(make_directory(bob_, "/d/e").code(), Code::permission);
  EXPECT_EQ(symlink(bob_, "x", "/d/s").code(), Code::permission);
  EXPECT_EQ(link(bob_, "/f", "/d/l").code(), Code::permission);
  EXPECT_TRUE(create(root_, "/d/f").ok());
  EXPECT_EQ(remove(bob_, "/d/f"), Code::permission);
  EXPECT_EQ(make_directory(bob_, "/d/f").code(), Code::exists);
}

TEST_F(MetaEdit, SetgidDirectoryGivesItsGroup) {
  ASSERT_TRUE(make_directory(alice_, "/d", 02777).ok());
  AttributeChange group;
  group.mask = wire::kSetGid;
  group.gid = 500;
  ASSERT_TRUE(set(alice_, "/d", group).ok());
  const Caller carol = user(3000);
  EXPECT_EQ(create(carol, "/d/f", 02755)->node.gid, 500U);
  EXPECT_EQ(stat("/d/f")->mode, 0755U);
  EXPECT_EQ(make_directory(carol, "/d/e", 0755)->gid, 500U);
  EXPECT_EQ(stat("/d/e")->mode, 02755U);
}

TEST_F(MetaEdit, LayoutIsTheWishThenTheDirectorysThenTheClusters) {
  ASSERT_TRUE(make_directory(alice_, "/d", 0755, {1U << 20U, 2, -1}).ok());
  ASSERT_TRUE(make_directory(alice_, "/d/e", 0755, {0, 3, -1}).ok());
  EXPECT_EQ(stat("/d/e")->wish, (Wish{1U << 20U, 3, -1}));
  EXPECT_EQ(create(alice_, "/f")->node.layout.stripe_count, 4U);
  EXPECT_EQ(create(alice_, "/d/f")->node.layout.stripe_size, 1_MiB);
  EXPECT_EQ(stat("/d/f")->layout.stripe_count, 2U);
  EXPECT_EQ(create(alice_, "/d/e/f")->node.layout.stripe_count, 3U);
  EXPECT_EQ(create(alice_, "/d/g", 0644, {512, wire::kAllServers, 3})->node.layout, (Layout{512_B, 4, 3, 4}));
}

TEST_F(MetaEdit, FirstServerSpreadsByInodeNumber) {
  std::vector<int> used(4);
  for (int i = 0; i < 400; ++i) {
    const Inode node = create(alice_, "/f" + std::to_string(i), 0644, {0, 1, -1})->node;
    EXPECT_EQ(node.layout.first_server, mix64(node.id) % 4);
    ++used[node.layout.first_server];
  }
  for (const int count : used) EXPECT_GT(count, 60);
}

TEST_F(MetaEdit, ImpossibleLayoutsAreRefused) {
  EXPECT_EQ(create(alice_, "/f", 0644, {0, 5, -1}).code(), Code::invalid);
  EXPECT_EQ(create(alice_, "/f", 0644, {1000, 0, -1}).code(), Code::invalid);
  EXPECT_EQ(create(alice_, "/f", 0644, {0, 0, 4}).code(), Code::invalid);
  EXPECT_EQ(create(alice_, "/f", 0644, {0, 0, -2}).code(), Code::invalid);
  EXPECT_EQ(make_directory(alice_, "/d", 0755, {0, 5, -1}).code(), Code::invalid);
  EXPECT_EQ(count('I'), 1U);
}

TEST_F(MetaEdit, DirectoriesCountTheirDirectories) {
  ASSERT_TRUE(make_directory(alice_, "/a").ok());
  ASSERT_TRUE(make_directory(alice_, "/a/b").ok());
  ASSERT_TRUE(create(alice_, "/a/f").ok());
  EXPECT_EQ(stat("/a")->links, 3U);
  EXPECT_EQ(stat("/")->links, 3U);
  EXPECT_EQ(remove(alice_, "/a/b", true), Code::ok);
  EXPECT_EQ(stat("/a")->links, 2U);
  EXPECT_EQ(make_directory(alice_, "/a").code(), Code::exists);
  EXPECT_EQ(make_directory(alice_, "/").code(), Code::exists);
}

TEST_F(MetaEdit, SymbolicLinkNeedsASoundTarget) {
  EXPECT_EQ(symlink(alice_, "", "/s").code(), Code::invalid);
  EXPECT_EQ(symlink(alice_, std::string(wire::kMaxPath + 1, 'x'), "/s").code(), Code::name_too_long);
  EXPECT_TRUE(symlink(alice_, std::string(wire::kMaxPath, 'x'), "/s").ok());
  EXPECT_EQ(symlink(alice_, "x", "/s").code(), Code::exists);
}

TEST_F(MetaEdit, HardLinkIsASecondNameOfTheSameFile) {
  const std::uint64_t f = create(alice_, "/f")->node.id;
  ASSERT_TRUE(make_directory(alice_, "/d").ok());
  ASSERT_TRUE(link(alice_, "/f", "/d/g").ok());
  EXPECT_EQ(stat("/d/g")->id, f);
  EXPECT_EQ(stat("/f")->links, 2U);
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(link(alice_, "/f", "/d/g").code(), Code::exists);
  EXPECT_EQ(link(alice_, "/d", "/e").code(), Code::permission);
  EXPECT_EQ(link(alice_, "/x", "/e").code(), Code::not_found);
  EXPECT_EQ(remove(alice_, "/f"), Code::ok);
  EXPECT_EQ(stat("/d/g")->links, 1U);
  EXPECT_EQ(count('X'), 0U);
  EXPECT_EQ(remove(alice_, "/d/g"), Code::ok);
  EXPECT_EQ(count('X'), 1U);
  EXPECT_EQ(files(), 0U);
}

TEST_F(MetaEdit, HardLinkNamesASymbolicLinkItself) {
  ASSERT_TRUE(symlink(alice_, "/nowhere", "/s").ok());
  ASSERT_TRUE(link(alice_, "/s", "/t").ok());
  EXPECT_EQ(stat("/t", false)->id, stat("/s", false)->id);
}

TEST_F(MetaEdit, NumberOfLinksIsBounded) {
  Inode f = create(alice_, "/f")->node;
  f.links = 0xffffffffU;
  kv_.map[inode_key(f.id)] = encode(f);
  EXPECT_EQ(link(alice_, "/f", "/g").code(), Code::too_many_links);
}

TEST_F(MetaEdit, RemovalOfTheLastNamePutsTheFileAmongTheRemoved) {
  const Inode f = create(alice_, "/f", 0644, {0, 2, 3})->node;
  EXPECT_EQ(remove(alice_, "/f"), Code::ok);
  ASSERT_EQ(removed_.size(), 1U);
  EXPECT_EQ(removed_[0].inode, f.id);
  EXPECT_EQ(removed_[0].layout, f.layout);
  EXPECT_EQ(kv_.map.count(removed_key(f.id)), 1U);
  EXPECT_EQ(count('I'), 1U);
  EXPECT_EQ(count('D'), 0U);
  EXPECT_GT(create(alice_, "/f")->node.id, f.id);
}

TEST_F(MetaEdit, FileWithoutANameGetsOneOrGoes) {
  constexpr std::uint32_t kFlags = wire::kOpenWrite | wire::kOpenCreate | wire::kOpenUnnamed;
  const auto name = [&](const Caller& caller, std::uint64_t file, const std::string& path, bool replace) {
    return change(caller, [&](TreeEditor& editor) { return editor.give_name(file, at(path), replace); })
        .code();
  };
  const Inode old = create(alice_, "/old")->node;
  ASSERT_TRUE(make_directory(alice_, "/d", 0755).ok());
  EXPECT_EQ(open(bob_, "/d", kFlags).code(), Code::permission);
  EXPECT_EQ(open(alice_, "/old", kFlags).code(), Code::not_directory);
  EXPECT_EQ(open(alice_, "/d", wire::kOpenRead | wire::kOpenUnnamed).code(), Code::invalid);
  const auto made = open(alice_, "/d", kFlags, 0640);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->created);
  EXPECT_EQ(files(), 1U);
  ASSERT_EQ(removed_.size(), 1U);
  EXPECT_TRUE(removed_[0].fresh);
  EXPECT_EQ(name(alice_, made->node.id, "/old", false), Code::exists);
  EXPECT_EQ(name(alice_, made->node.id, "/d", true), Code::is_directory);
  EXPECT_EQ(name(bob_, made->node.id, "/d/f", true), Code::permission);
  EXPECT_EQ(name(alice_, made->node.id, "/old", true), Code::ok);
  EXPECT_EQ(stat("/old")->id, made->node.id);
  EXPECT_EQ(stat("/old")->mode, 0640U);
  EXPECT_EQ(files(), 1U);
  ASSERT_EQ(removed_.size(), 1U);
  EXPECT_EQ(removed_[0].inode, old.id);
  EXPECT_EQ(kv_.map.count(removed_key(made->node.id)), 0U);
  EXPECT_EQ(name(alice_, made->node.id, "/second", true), Code::stale);
}

TEST_F(MetaEdit, RemoveWantsTheRightTypeAndAnEmptyDirectory) {
  ASSERT_TRUE(make_directory(alice_, "/d").ok());
  ASSERT_TRUE(create(alice_, "/d/f").ok());
  ASSERT_TRUE(symlink(alice_, "/d", "/s").ok());
  EXPECT_EQ(remove(alice_, "/d", false), Code::is_directory);
  EXPECT_EQ(remove(alice_, "/d", true), Code::not_empty);
  EXPECT_EQ(remove(alice_, "/d/f", true), Code::not_directory);
  EXPECT_EQ(remove(alice_, "/s", true), Code::not_directory);
  EXPECT_EQ(remove(alice_, "/none"), Code::not_found);
  EXPECT_EQ(remove(alice_, "/", true), Code::invalid);
  EXPECT_EQ(remove(alice_, "/s"), Code::ok);
  EXPECT_EQ(remove(alice_, "/d/f"), Code::ok);
  EXPECT_EQ(remove(alice_, "/d", true), Code::ok);
  EXPECT_EQ(count('I'), 1U);
}

TEST_F(MetaEdit, StickyDirectoryProtectsWhatOthersOwn) {
  ASSERT_TRUE(make_directory(alice_, "/tmp", 01777).ok());
  ASSERT_TRUE(create(bob_, "/tmp/bobs").ok());
  ASSERT_TRUE(create(bob_, "/tmp/more").ok());
  const Caller carol = user(3000);
  EXPECT_EQ(remove(carol, "/tmp/bobs"), Code::permission);
  EXPECT_EQ(rename(carol, "/tmp/bobs", "/tmp/x"), Code::permission);
  ASSERT_TRUE(create(carol, "/tmp/carols").ok());
  EXPECT_EQ(rename(carol, "/tmp/carols", "/tmp/bobs"), Code::permission);
  EXPECT_EQ(remove(bob_, "/tmp/bobs"), Code::ok);
  EXPECT_EQ(remove(alice_, "/tmp/more"), Code::ok);
  EXPECT_EQ(remove(root_, "/tmp/carols"), Code::ok);
}

AttributeChange changing(std::uint32_t mask) {
  AttributeChange wanted;
  wanted.mask = mask;
  return wanted;
}

TEST_F(MetaEdit, OnlyOwnerAndRootChangeTheMode) {
  ASSERT_TRUE(create(alice_, "/f", 0666).ok());
  EXPECT_EQ(chmod(bob_, "/f", 0600).code(), Code::permission);
  EXPECT_EQ(chmod(alice_, "/f", 0104755)->mode, 04755U);
  EXPECT_EQ(stat("/f")->changed, now_);
  EXPECT_EQ(chmod(root_, "/f", 0600)->mode, 0600U);
  ASSERT_TRUE(symlink(alice_, "/f", "/s").ok());
  AttributeChange mode = changing(wire::kSetMode);
  EXPECT_EQ(set(alice_, "/s", mode, false).code(), Code::unsupported);
}

TEST_F(MetaEdit, StrangerToTheGroupCannotMakeAFileSetgid) {
  Inode f = create(alice_, "/f")->node;
  f.gid = 77;
  kv_.map[inode_key(f.id)] = encode(f);
  EXPECT_EQ(chmod(alice_, "/f", 06755)->mode, 04755U);
  EXPECT_EQ(chmod(root_, "/f", 06755)->mode, 06755U);
}

TEST_F(MetaEdit, OnlyRootGivesFilesAwayAndOwnersChangeToTheirGroups) {
  ASSERT_TRUE(create(alice_, "/f", 06755).ok());
  AttributeChange uid = changing(wire::kSetUid);
  uid.uid = 2000;
  EXPECT_EQ(set(alice_, "/f", uid).code(), Code::permission);
  AttributeChange gid = changing(wire::kSetGid);
  gid.gid = 501;
  EXPECT_EQ(set(alice_, "/f", gid).code(), Code::permission);
  gid.gid = 500;
  EXPECT_EQ(set(bob_, "/f", gid).code(), Code::permission);
  EXPECT_EQ(stat("/f")->mode, 06755U);
  const Result<Inode> regrouped = set(alice_, "/f", gid);
  EXPECT_EQ(regrouped->gid, 500U);
  EXPECT_EQ(regrouped->mode, 0755U);
  uid.uid = 1000;
  EXPECT_TRUE(set(alice_, "/f", uid).ok());
  uid.uid = 2000;
  EXPECT_EQ(set(root_, "/f", uid)->uid, 2000U);
}

TEST_F(MetaEdit, TimesAreTheOwnersAndThePresentIsTheWriters) {
  ASSERT_TRUE(create(alice_, "/f", 0622).ok());
  AttributeChange times = changing(wire::kSetAccessed | wire::kSetModified);
  times.accessed = 5;
  times.modified = -6;
  EXPECT_EQ(set(bob_, "/f", times).code(), Code::permission);
  const Result<Inode> node = set(alice_, "/f", times);
  EXPECT_EQ(node->accessed, Nanos(5));
  EXPECT_EQ(node->modified, Nanos(-6));
  EXPECT_EQ(node->changed, now_);
  times.accessed = times.modified = wire::kTimeNow;
  EXPECT_EQ(set(bob_, "/f", times)->modified, now_);
  ASSERT_TRUE(chmod(alice_, "/f", 0644).ok());
  EXPECT_EQ(set(bob_, "/f", times).code(), Code::permission);
}

TEST_F(MetaEdit, DefaultLayoutIsForDirectoriesAndTheirOwners) {
  ASSERT_TRUE(make_directory(alice_, "/d").ok());
  ASSERT_TRUE(create(alice_, "/f").ok());
  AttributeChange layout = changing(wire::kSetLayout);
  layout.wish = {4096, 1, 2};
  EXPECT_EQ(set(bob_, "/d", layout).code(), Code::permission);
  EXPECT_EQ(set(alice_, "/f", layout).code(), Code::not_directory);
  ASSERT_TRUE(set(alice_, "/d", layout).ok());
  EXPECT_EQ(create(alice_, "/d/f")->node.layout, (Layout{4096_B, 1, 2, 4}));
  layout.wish = {};
  ASSERT_TRUE(set(alice_, "/d", layout).ok());
  EXPECT_EQ(create(alice_, "/d/g")->node.layout.stripe_count, 4U);
  layout.wish = {100, 0, -1};
  EXPECT_EQ(set(alice_, "/d", layout).code(), Code::invalid);
  EXPECT_EQ(set(alice_, "/d", changing(64)).code(), Code::invalid);
}

TEST_F(MetaEdit, NothingToSetIsNoChange) {
  const Nanos changed = create(alice_, "/f")->node.changed;
  EXPECT_EQ(set(bob_, "/f", changing(0))->changed, changed);
}

TEST_F(MetaEdit, CommitMovesTheTimeForwardButNotIntoTheFuture) {
  const Inode f = create(alice_, "/f")->node;
  const auto commit = [&](Nanos modified) {
    return change(alice_, [&](TreeEditor& editor) { return editor.commit(f.id, modified); }).code();
  };
  EXPECT_EQ(commit(now_ + 500_ms), Code::ok);
  EXPECT_EQ(stat("/f")->modified, now_ - 500_ms);
  EXPECT_EQ(stat("/f")->changed, now_);
  EXPECT_EQ(commit(f.modified), Code::ok);
  EXPECT_EQ(stat("/f")->modified, now_ - 1_s - 500_ms)
      << "an earlier writer that commits late changes nothing";
  EXPECT_EQ(commit(now_ + 1000_s), Code::ok);
  EXPECT_EQ(stat("/f")->modified, now_);
  EXPECT_EQ(remove(alice_, "/f"), Code::ok);
  EXPECT_EQ(commit(now_), Code::ok) << "it may be open still";
  kv_.map.erase(removed_key(f.id));
  EXPECT_EQ(commit(now_), Code::stale);
}

TEST_F(MetaEdit, CommitDoesNotUndoATimeSetAfterTheWrite) {
  const Inode f = create(alice_, "/f")->node;
  const auto commit = [&](Nanos modified) {
    return change(alice_, [&](TreeEditor& editor) { return editor.commit(f.id, modified); }).code();
  };
  const Nanos written = now_;
  AttributeChange times = changing(wire::kSetModified);
  times.modified = 5;
  ASSERT_TRUE(set(alice_, "/f", times).ok());
  EXPECT_EQ(commit(written), Code::ok);
  EXPECT_EQ(stat("/f")->modified, Nanos(5));
  EXPECT_EQ(commit(now_ + 1_s), Code::ok);
  EXPECT_EQ(stat("/f")->modified, now_);
  times.modified = (now_ + 1'000'000_s).count();
  ASSERT_TRUE(set(alice_, "/f", times).ok());
  EXPECT_EQ(commit(now_ + 1_s), Code::ok);
  EXPECT_EQ(stat("/f")->modified, now_);
}

}  // namespace
}  // namespace tutti::meta
