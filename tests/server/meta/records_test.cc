#include "server/meta/records.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace tutti::meta {
namespace {

Inode sample(wire::NodeType type) {
  Inode inode;
  inode.id = 42;
  inode.type = type;
  inode.mode = 04755;
  inode.uid = 1000;
  inode.gid = 0xfffffffe;
  inode.links = 3;
  inode.accessed = Nanos(-5);
  inode.modified = Nanos(1);
  inode.changed = Nanos(INT64_MAX);
  inode.modified_set = Nanos(7);
  inode.layout = Layout{1_MiB, 3, 2, 5};
  inode.parent = 17;
  inode.wish = {4096, wire::kAllServers, 3};
  inode.target = "../x";
  return inode;
}

TEST(MetaRecords, InodesComeBackAsTheyWere) {
  for (const auto type : {wire::kFile, wire::kDirectory, wire::kSymlink}) {
    const Inode inode = sample(type);
    const Result<Inode> back = decode_inode(42, encode(inode));
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(encode(*back), encode(inode));
    EXPECT_EQ(back->gid, 0xfffffffeU);
    EXPECT_EQ(back->accessed, Nanos(-5));
    if (type == wire::kFile) {
      EXPECT_EQ(back->layout, inode.layout);
    }
    if (type == wire::kDirectory) {
      EXPECT_EQ(back->wish, inode.wish);
    }
    if (type == wire::kSymlink) {
      EXPECT_EQ(back->target, inode.target);
    }
  }
}

TEST(MetaRecords, SuperblockComesBackAsItWas) {
  const Superblock superblock{kFormat, 0x1234567890abcdefU, 99, 12, {1, 2, 3}, {4, 5}};
  ASSERT_TRUE(decode_superblock(encode(superblock)).ok());
  EXPECT_EQ(*decode_superblock(encode(superblock)), superblock);
}

TEST(MetaRecords, NewerFormatIsRefusedWhateverFollows) {
  Superblock superblock;
  superblock.format = kFormat + 1;
  EXPECT_EQ(decode_superblock(encode(superblock)).code(), Code::version);
  EXPECT_EQ(decode_superblock(encode(superblock) + "more").code(), Code::version);
  EXPECT_EQ(decode_superblock(encode(superblock).substr(0, 4)).code(), Code::version);
}

TEST(MetaRecords, FormatWithoutAnIdentityIsRefusedUntilItIsUpgraded) {
  const Superblock superblock{kFormat, 0x1234567890abcdefU, 99, 12, {1, 2, 3}, {4, 5}};
  std::string old = encode(superblock);
  old.resize(old.size() - 16);
  old[0] = 1;
  EXPECT_EQ(decode_superblock(old).code(), Code::version);
  EXPECT_NE(decode_superblock(old).status().message().find("tutti server upgrade"), std::string::npos);
  const auto upgraded = upgrade_superblock(old, Uuid{4, 5});
  ASSERT_TRUE(upgraded.ok());
  EXPECT_EQ(*upgraded, superblock);
  EXPECT_EQ(upgrade_superblock(encode(superblock), Uuid{6, 7}).code(), Code::exists);
  EXPECT_EQ(upgrade_superblock(old.substr(1), Uuid{6, 7}).code(), Code::malformed);
}

TEST(MetaRecords, StoresAndRestoresComeBackAsTheyWere) {
  const Uuid uuid{0x0123456789abcdefU, 0xfedcba9876543210U};
  EXPECT_EQ(decode_uuid(encode(uuid)).value(), uuid);
  EXPECT_EQ(decode_uuid(encode(uuid) + "x").code(), Code::malformed);
  const Restore restore{77, 5_s};
  EXPECT_EQ(decode_restore(encode(restore)).value(), restore);
  EXPECT_EQ(decode_restore(encode(restore).substr(1)).code(), Code::malformed);
}

TEST(MetaRecords, EveryCutOrLengthenedRecordIsMalformed) {
  const std::string file = encode(sample(wire::kFile));
  const std::string directory = encode(sample(wire::kDirectory));
  const std::string entry = encode(Entry{9, wire::kFile});
  const std::string superblock = encode(Superblock());
  for (std::size_t i = 0; i < file.size(); ++i)
    EXPECT_EQ(decode_inode(1, file.substr(0, i)).code(), Code::malformed);
  for (std::size_t i = 0; i < directory.size(); ++i) {
    EXPECT_EQ(decode_inode(1, directory.substr(0, i)).code(), Code::malformed);
  }
  for (std::size_t i = 0; i < entry.size(); ++i)
    EXPECT_EQ(decode_entry(entry.substr(0, i)).code(), Code::malformed);
  for (std::size_t i = 0; i < superblock.size(); ++i) {
    EXPECT_EQ(decode_superblock(superblock.substr(0, i)).code(), Code::malformed);
  }
  EXPECT_EQ(decode_inode(1, file + "x").code(), Code::malformed);
  EXPECT_EQ(decode_inode(1, directory + "x").code(), Code::malformed);
  EXPECT_EQ(decode_entry(entry + "x").code(), Code::malformed);
}

TEST(MetaRecords, RandomBytesNeverCrash) {
  Random random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes(random.below(80), '\0');
    for (char& c : bytes) c = static_cast<char>(random.next());
    if (!bytes.empty() && random.chance(0.8)) bytes[0] = 1;
    decode_inode(1, bytes).status().ignore();
    decode_entry(bytes).status().ignore();
    decode_superblock(bytes).status().ignore();
  }
}

TEST(MetaRecords, KeysSortAsTheirNumbersDo) {
  EXPECT_LT(inode_key(255), inode_key(256));
  EXPECT_LT(inode_key(0xffffffffU), inode_key(0x100000000U));
  EXPECT_LT(entry_key(1, "z"), entry_key(2, "a"));
  EXPECT_LT(entry_key(1, "a"), entry_key(1, "aa"));
  EXPECT_LT(entry_key(1, std::string(255, 'z')), entry_key(2, ""));
  EXPECT_LT(removed_key(255), removed_key(256));
  EXPECT_LT(repeat_key({1, 1, 255}), repeat_key({1, 1, 256}));
}

TEST(MetaRecords, KeysAreReadBack) {
  EXPECT_EQ(entry_name(entry_key(7, "name"), 7), "name");
  EXPECT_EQ(entry_name(entry_key(7, "name"), 8), "");
  EXPECT_EQ(entry_name(inode_key(7), 7), "");
  EXPECT_EQ(removed_inode(removed_key(77)), 77U);
  EXPECT_EQ(removed_inode(inode_key(77)), 0U);
  EXPECT_EQ(orphan_inode(orphan_key(3, 77)), 77U);
  EXPECT_EQ(orphan_inode(removed_key(77)), 0U);
  RepeatKey key;
  ASSERT_TRUE(parse_repeat_key(repeat_key({1, 2, 3}), key));
  EXPECT_EQ(key, (RepeatKey{1, 2, 3}));
  EXPECT_FALSE(parse_repeat_key(superblock_key(), key));
}

}  // namespace
}  // namespace tutti::meta
