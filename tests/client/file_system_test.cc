#include "client/file_system.h"

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

using FileSystemTest = ClusterTest;

TEST_F(FileSystemTest, NamespaceRoundTrip) {
  start();
  ASSERT_TRUE(run(files().make_directory("/d", 0755, {})).ok());
  auto file = open("/d/a");
  ASSERT_TRUE(run(file->write(0_B, random_bytes(100'000, 1))).ok());
  ASSERT_TRUE(run(file->close()).ok());
  ASSERT_TRUE(run(files().link("/d/a", "/d/b")).ok());
  ASSERT_TRUE(run(files().symlink("/d/b", "/s")).ok());
  ASSERT_TRUE(run(files().rename("/d/a", "/d/c")).ok());
  const auto found = run(files().stat("/s"));
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->size, Bytes(100'000));
  EXPECT_EQ(found->links, 2U);
  EXPECT_EQ(run(files().stat("/s", false))->type, FileType::symlink);
  EXPECT_EQ(run(files().stat("/s", false))->target, "/d/b");
  EXPECT_EQ(run(files().stat("/d/a")).code(), Code::not_found);
  const auto entries = run(files().list("/d", true));
  ASSERT_TRUE(entries.ok());
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ((*entries)[0].name, "b");
  EXPECT_EQ((*entries)[1].name, "c");
  EXPECT_EQ((*entries)[1].attributes->size, Bytes(100'000));
  EXPECT_EQ(run(files().remove_directory("/d")).code(), Code::not_empty);
  ASSERT_TRUE(run(files().unlink("/d/b")).ok());
  ASSERT_TRUE(run(files().unlink("/d/c")).ok());
  EXPECT_TRUE(run(files().remove_directory("/d")).ok());
}

TEST_F(FileSystemTest, ErrorsNameTheOperationAndThePath) {
  start();
  const auto missing = run(files().stat("/no/such"));
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_NE(missing.status().message().find("stat /no/such"), std::string::npos)
      << missing.status().message();
  EXPECT_EQ(run(files().make_directory("/a/../b", 0755, {})).code(), Code::invalid);
  EXPECT_EQ(run(files().make_directory("/" + std::string(256, 'x'), 0755, {})).code(), Code::name_too_long);
  LayoutWish wish;
  wish.stripe_size = 1000_B;
  EXPECT_EQ(run(files().make_directory("/d", 0755, wish)).code(), Code::invalid);
}

TEST_F(FileSystemTest, ALongDirectoryIsListedWhole) {
  start();
  for (int i = 0; i < 2500; ++i)
    ASSERT_TRUE(run(files().make_directory("/d" + std::to_string(i), 0755, {})).ok());
  const auto entries = run(files().list("/", false));
  ASSERT_TRUE(entries.ok());
  EXPECT_EQ(entries->size(), 2500U);
}

TEST_F(FileSystemTest, ObjectsOfARemovedFileVanishFromTheServers) {
  start();
  auto file = open("/a");
  ASSERT_TRUE(run(file->write(0_B, random_bytes(1 << 20, 1))).ok());
  ASSERT_TRUE(run(file->close()).ok());
  ASSERT_TRUE(run(files().unlink("/a")).ok());
  const auto all_empty = [&] {
    for (std::uint32_t server = 0; server < cluster_->servers(); ++server) {
      if (!run(cluster_->storage(server).store().list())->empty()) return false;
    }
    return true;
  };
  for (int i = 0; i < 100 && !all_empty(); ++i) {
    cluster_->simulation().run_until(cluster_->simulation().now() + 100_ms);
  }
  EXPECT_TRUE(all_empty());
}

TEST_F(FileSystemTest, MetadataServerMayRestartBetweenAnyTwoRequests) {
  start();
  for (int i = 0; i < 20; ++i) {
    const Status status =
        run_with(files().make_directory("/d" + std::to_string(i), 0755, {}), Nanos(i * 20'000), [&] {
          cluster_->stop_meta();
          cluster_->simulation().run_until(cluster_->simulation().now() + 200_ms);
          cluster_->start_meta();
        });
    EXPECT_TRUE(status.ok()) << i << ": " << status.to_string();
  }
  EXPECT_EQ(run(files().list("/", false))->size(), 20U);
}

TEST_F(FileSystemTest, NobodyThereIsAnErrorAfterTheFirstPatience) {
  start();
  cluster_->stop_meta();
  client_ = make_client();
  const Nanos before = cluster_->simulation().now();
  EXPECT_EQ(run(files().stat("/")).code(), Code::timed_out);
  EXPECT_LE(cluster_->simulation().now() - before, 10_s);
}

TEST_F(FileSystemTest, StatusHasARowForEveryServerAlsoForTheDeadOnes) {
  start();
  cluster_->stop_data(2);
  const auto rows = run([](FileSystem& system) -> Task<Result<std::vector<ServerStatus>>> {
    co_return co_await system.status(2_s);
  }(files()));
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->size(), 5U);
  EXPECT_EQ((*rows)[0].kind, "meta");
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ((*rows)[i].reachable.ok(), i != 3) << i;
  EXPECT_EQ((*rows)[1].policy, "fcfs;dispatch_depth=16");
}

TEST_F(FileSystemTest, OtherUsersMeetTheModeBits) {
  start();
  auto file = open("/secret");
  AttributeChange change;
  change.mode = 0600;
  ASSERT_TRUE(run(files().set_attributes("/secret", change)).ok());
  auto other = make_client({}, 1000);
  OpenOptions reading;
  EXPECT_EQ(run(other->files().open("/secret", reading)).code(), Code::permission);
  EXPECT_TRUE(run(other->files().stat("/secret")).ok()) << "its attributes are not secret";
  EXPECT_EQ(run(other->files().unlink("/secret")).code(), Code::permission) << "the root is sticky";
}

}  // namespace
}  // namespace tutti
