#include "server/check/check.h"

#include <gtest/gtest.h>

#include "env/sim/clock.h"
#include "env/sim/kv/memory_kv.h"
#include "env/sim/simulation.h"
#include "server/check/repair.h"
#include "server/meta/epoch.h"

namespace tutti::check {
namespace {

using meta::Inode;

constexpr std::uint32_t kServers = 2;

// A tree by hand: / with the directory d (2), in it the file f (3) with two names, and the symbolic link s (4).
class Check : public testing::Test {
 protected:
  Check() {
    superblock_.cluster = 7;
    superblock_.uuid = Uuid{1, 1};
    superblock_.next_inode = 10;
    superblock_.files = 1;
    put(directory(1, 1, 3));
    put(directory(2, 1, 2));
    put(file(3, 2));
    Inode link = file(4, 1);
    link.type = wire::kSymlink;
    link.target = "f";
    put(link);
    name(1, "d", 2, wire::kDirectory);
    name(2, "f", 3);
    name(2, "g", 3);
    name(2, "s", 4, wire::kSymlink);
    for (std::uint32_t server = 0; server < kServers; ++server) {
      const Uuid uuid{9, server + 1};
      change([&](KvWriter& kv) { return kv.put(meta::store_key(server), meta::encode(uuid)); });
      servers_.push_back({Status(), {7, server, uuid, Uuid{1, 1}, false}, {{ObjectId{3}, 64_KiB}}});
    }
    keep_superblock();
  }

  static Inode directory(std::uint64_t id, std::uint64_t parent, std::uint32_t links) {
    Inode node;
    node.id = id;
    node.type = wire::kDirectory;
    node.links = links;
    node.parent = parent;
    return node;
  }
  static Inode file(std::uint64_t id, std::uint32_t links) {
    Inode node;
    node.id = id;
    node.links = links;
    node.layout = Layout{64_KiB, kServers, 0, kServers};
    return node;
  }
  template <typename Body>
  void change(Body body) {
    const auto done = simulation_.run(kv_.update(std::function<Status(KvWriter&)>(body)));
    ASSERT_TRUE(done && done->ok());
  }
  void put(const Inode& node) {
    change([&](KvWriter& kv) { return kv.put(meta::inode_key(node.id), meta::encode(node)); });
  }
  void name(std::uint64_t directory, const std::string& name, std::uint64_t inode,
            wire::NodeType type = wire::kFile) {
    change([&](KvWriter& kv) {
      return kv.put(meta::entry_key(directory, name), meta::encode(meta::Entry{inode, type}));
    });
  }
  void erase(const std::string& key) {
    change([&](KvWriter& kv) { return kv.erase(key); });
  }
  void keep_superblock() {
    change([&](KvWriter& kv) { return kv.put(meta::superblock_key(), meta::encode(superblock_)); });
  }
  Snapshot snapshot() {
    Result<Snapshot> taken = Status(Code::internal, "");
    EXPECT_TRUE(kv_.view([&](const KvReader& kv) {
                     taken = take_snapshot(kv);
                     return taken.status();
                   })
                    .ok());
    return *std::move(taken);
  }
  Report look() { return check(snapshot(), servers_); }
  // The only problem that there is.
  Problem only() {
    const Report report = look();
    EXPECT_EQ(report.problems.size(), 1U);
    for (const Finding& each : report.problems) text_ += each.text + "\n";
    return report.problems.empty() ? Problem::missing_object : report.problems[0].problem;
  }
  void expect_repaired() {
    change([&](KvWriter& kv) {
      const Result<Snapshot> now = take_snapshot(kv);
      return now.ok() ? repair(kv, *now, 5_s) : now.status();
    });
    for (const Finding& each : look().problems) ADD_FAILURE() << each.text;
  }

  Simulation simulation_;
  SimClock clock_{simulation_};
  MemoryKv kv_{clock_};
  meta::Superblock superblock_;
  std::vector<ServerObjects> servers_;
  std::string text_;
};

TEST_F(Check, AWholeClusterHasNoProblems) {
  const Report report = look();
  for (const Finding& each : report.problems) ADD_FAILURE() << each.text;
  EXPECT_TRUE(report.doubts.empty());
  EXPECT_EQ(report.files, 1U);
  EXPECT_EQ(report.directories, 2U);
  EXPECT_EQ(report.symlinks, 1U);
  EXPECT_EQ(report.objects, 2U);
  EXPECT_EQ(report.bytes, 128_KiB);
  expect_repaired();
}

TEST_F(Check, NameThatLeadsNowhereGoes) {
  name(2, "lost", 77);
  EXPECT_EQ(only(), Problem::entry_without_inode);
  EXPECT_NE(text_.find("'lost' in /d"), std::string::npos) << text_;
  expect_repaired();
}

TEST_F(Check, FileWithoutANameIsFoundInLostAndFound) {
  erase(meta::entry_key(2, "f"));
  erase(meta::entry_key(2, "g"));
  EXPECT_EQ(only(), Problem::inode_without_name);
  expect_repaired();
  EXPECT_EQ(snapshot().path_of(3), "/lost+found/inode-3");
}

TEST_F(Check, DirectoryWithoutANameIsFoundWithAllThatIsInIt) {
  erase(meta::entry_key(1, "d"));
  Inode root = directory(1, 1, 2);
  put(root);
  EXPECT_EQ(only(), Problem::inode_without_name);
  expect_repaired();
  EXPECT_EQ(snapshot().path_of(4), "/lost+found/inode-2/s");
}

TEST_F(Check, CountsAndParentsAreSetRight) {
  put(file(3, 5));
  EXPECT_EQ(only(), Problem::wrong_link_count);
  expect_repaired();
  put(directory(2, 9, 2));
  EXPECT_EQ(only(), Problem::wrong_parent);
  expect_repaired();
  superblock_.files = 12;
  keep_superblock();
  EXPECT_EQ(only(), Problem::wrong_file_count);
  expect_repaired();
}

TEST_F(Check, LivingFileIsTakenOffTheListOfRemovals) {
  change([&](KvWriter& kv) { return kv.put(meta::orphan_key(1, 3), "\1"); });
  EXPECT_EQ(only(), Problem::orphan_of_living_file);
  expect_repaired();
}

TEST_F(Check, ObjectOfARemovedFileIsNoProblemWhileItIsToBeRemoved) {
  servers_[1].objects.push_back({ObjectId{6}, 5_B});
  EXPECT_EQ(only(), Problem::object_without_file);
  change([&](KvWriter& kv) { return kv.put(meta::orphan_key(1, 6), "\1"); });
  EXPECT_TRUE(look().problems.empty());
}

TEST_F(Check, ObjectMadeAfterTheBackupIsToldApart) {
  change([&](KvWriter& kv) { return kv.put(meta::restore_key(1), meta::encode(meta::Restore{10, 5_s})); });
  superblock_.next_inode = meta::first_inode(1);
  keep_superblock();
  servers_[0].objects.push_back({ObjectId{6}, 5_B});
  EXPECT_EQ(only(), Problem::object_without_file) << "older than the backup";
  servers_[0].objects.back().object = ObjectId{10};
  EXPECT_EQ(only(), Problem::object_newer_than_backup);
  servers_[0].objects.back().object = ObjectId{meta::first_inode(1)};
  EXPECT_EQ(only(), Problem::object_without_file) << "made since the restore";
}

TEST_F(Check, ObjectsMustFitTheLayout) {
  Inode single = file(5, 1);
  single.layout.stripe_count = 1;
  put(single);
  name(1, "single", 5);
  superblock_.files = 2;
  keep_superblock();
  servers_[1].objects.push_back({ObjectId{5}, 5_B});
  EXPECT_EQ(only(), Problem::object_outside_layout);
  servers_[1].objects.pop_back();
  servers_[0].objects.push_back({ObjectId{5}, Bytes(wire::kMaxOffset) + 1_B});
  EXPECT_EQ(only(), Problem::object_too_long);
}

TEST_F(Check, MissingObjectIsADoubtAndAStoreWithoutAnyAProblem) {
  put(file(5, 1));
  name(1, "other", 5);
  superblock_.files = 2;
  keep_superblock();
  for (ServerObjects& each : servers_) each.objects.push_back({ObjectId{5}, 64_KiB});
  servers_[0].objects.erase(servers_[0].objects.begin());
  const Report report = look();
  EXPECT_TRUE(report.problems.empty());
  ASSERT_EQ(report.doubts.size(), 1U);
  EXPECT_EQ(report.doubts[0].inode, 3U);
  EXPECT_EQ(report.doubts[0].server, 0U);
  servers_[0].objects.clear();
  EXPECT_EQ(only(), Problem::empty_store);
}

TEST_F(Check, StoresMustBeThoseOfTheRecord) {
  servers_[1].identity.uuid = Uuid{9, 9};
  EXPECT_EQ(only(), Problem::wrong_store);
  servers_[1].identity.uuid = Uuid{9, 2};
  servers_[1].identity.server = 0;
  EXPECT_EQ(only(), Problem::wrong_store);
  servers_[1] = {Status(Code::unavailable, "away"), {}, {}};
  EXPECT_EQ(only(), Problem::server_not_asked);
}

TEST_F(Check, DamagedRecordIsTold) {
  change([&](KvWriter& kv) { return kv.put(meta::inode_key(8), "damaged"); });
  EXPECT_EQ(only(), Problem::damaged_record);
}

}  // namespace
}  // namespace tutti::check
