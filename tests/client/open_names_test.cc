// Files that are open while they lose or get their names, and lengths that need not be asked for.
#include "client/file_system.h"
#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

class OpenNames : public ClusterTest {
 protected:
  std::size_t objects() {
    std::size_t found = 0;
    for (std::uint32_t server = 0; server < cluster_->servers(); ++server)
      found += run(cluster_->storage(server).store().list())->size();
    return found;
  }
  void pass(Nanos time) { cluster_->simulation().run_until(cluster_->simulation().now() + time); }
  std::vector<std::byte> read_all(OpenFile& file, std::size_t size) {
    std::vector<std::byte> buffer(size);
    const auto got = run(file.read(0_B, buffer));
    EXPECT_TRUE(got.ok()) << got.status().to_string();
    buffer.resize(got.ok() ? got->count() : 0);
    return buffer;
  }
  Bytes size_of(const std::string& path) {
    const auto found = run(files().stat(path));
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_TRUE(found.ok() && found->size_unknown.ok());
    return found.ok() ? found->size : Bytes::max();
  }
  std::unique_ptr<OpenFile> open_unnamed(const std::string& directory) {
    OpenOptions options;
    options.write = true;
    options.create = true;
    options.unnamed = true;
    auto file = run(files().open(directory, options));
    EXPECT_TRUE(file.ok()) << file.status().to_string();
    return *std::move(file);
  }

  const std::vector<std::byte> content_ = random_bytes(300'000, 7);
};

TEST_F(OpenNames, RemovedFileIsReadAndWrittenUntilItIsClosed) {
  start();
  auto file = open("/f");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  const auto other = make_client();
  ASSERT_TRUE(run(other->files().unlink("/f")).ok());
  pass(1000_s);
  EXPECT_EQ(read_all(*file, content_.size()), content_);
  ASSERT_TRUE(run(file->write(Bytes(content_.size()), content_)).ok());
  ASSERT_TRUE(run(file->sync()).ok());
  EXPECT_EQ(*run(file->size()), Bytes(2 * content_.size()));
  ASSERT_TRUE(run(file->close()).ok());
  pass(10_s);
  EXPECT_EQ(objects(), 0U);
}

TEST_F(OpenNames, HandleThatIsDroppedIsClosed) {
  start();
  auto file = open("/f");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  ASSERT_TRUE(run(files().unlink("/f")).ok());
  file.reset();
  pass(10_s);
  EXPECT_EQ(objects(), 0U);
}

TEST_F(OpenNames, RemovedFileOutlivesRestartsOfTheMetadataServer) {
  start();
  auto file = open("/f");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  ASSERT_TRUE(run(files().unlink("/f")).ok());
  for (int restart = 0; restart < 3; ++restart) {
    cluster_->stop_meta();
    pass(5_s);
    cluster_->start_meta();
    pass(200_s);
    EXPECT_EQ(read_all(*file, content_.size()), content_);
  }
  ASSERT_TRUE(run(file->close()).ok());
  pass(100_s);
  EXPECT_EQ(objects(), 0U);
}

TEST_F(OpenNames, RemovedFileIsUsedForLongerThanCapabilitiesLive) {
  SimClusterOptions options;
  options.meta.capability_lifetime = 10_s;
  start(options);
  auto file = open("/f");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  ASSERT_TRUE(run(files().unlink("/f")).ok());
  for (const Nanos idle : {8_s, 8_s, 15_s, 500_s}) {
    pass(idle);
    EXPECT_EQ(read_all(*file, content_.size()), content_);
  }
}

TEST_F(OpenNames, CapabilityIsRenewedInTheMomentInWhichTheMetadataServerIsBack) {
  SimClusterOptions options;
  options.meta.capability_lifetime = 10_s;
  start(options);
  auto file = open("/f");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  ASSERT_TRUE(run(files().unlink("/f")).ok());
  for (int restart = 0; restart < 20; ++restart) {
    cluster_->stop_meta();
    pass(11_s + Nanos(restart * 37'000'000));
    std::vector<std::byte> buffer(content_.size());
    const auto got = run_with(file->read(0_B, buffer), 100_ms, [this] { cluster_->start_meta(); });
    EXPECT_TRUE(got.ok()) << "restart " << restart << ": " << got.status().to_string();
    EXPECT_EQ(buffer, content_);
  }
}

TEST_F(OpenNames, FileThatLayForLongIsClaimedAfterARestart) {
  SimClusterOptions options;
  options.meta.capability_lifetime = 10_s;
  start(options);
  auto file = open("/f");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  ASSERT_TRUE(run(files().unlink("/f")).ok());
  pass(1000_s);
  cluster_->stop_meta();
  pass(5_s);
  cluster_->start_meta();
  pass(1000_s);
  EXPECT_EQ(read_all(*file, content_.size()), content_);
}

TEST_F(OpenNames, CloseWhileTheMetadataServerIsOutOfReachIsToldLater) {
  start();
  auto file = open("/f");
  auto other = open("/g");  // so that the client comes back
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  ASSERT_TRUE(run(files().unlink("/f")).ok());
  cluster_->fabric().cut(SimCluster::meta_node(), cluster_->client_node(0));
  pass(10_s);
  file.reset();
  cluster_->fabric().heal(SimCluster::meta_node(), cluster_->client_node(0));
  pass(30_s);
  EXPECT_EQ(objects(), 0U);
}

TEST_F(OpenNames, UnnamedFileGetsItsNameAtTheEnd) {
  start();
  auto old = open("/f");
  ASSERT_TRUE(run(old->write(0_B, random_bytes(1000, 1))).ok());
  ASSERT_TRUE(run(old->close()).ok());
  auto file = open_unnamed("/");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  EXPECT_EQ(run(files().list("/", false))->size(), 1U);
  EXPECT_EQ(run(file->give_name("/f", false)).code(), Code::exists);
  ASSERT_TRUE(run(file->give_name("/f", true)).ok());
  ASSERT_TRUE(run(file->close()).ok());
  EXPECT_EQ(size_of("/f"), Bytes(content_.size()));
  auto again = open("/f");
  EXPECT_EQ(read_all(*again, content_.size()), content_);
  pass(4000_s);
  EXPECT_EQ(objects(), 4U) << "the old file's are gone, the new one's are not";
}

TEST_F(OpenNames, UnnamedFileThatIsClosedIsGone) {
  start();
  auto file = open_unnamed("/");
  ASSERT_TRUE(run(file->write(0_B, content_)).ok());
  ASSERT_TRUE(run(file->close()).ok());
  pass(10_s);
  EXPECT_EQ(objects(), 0U);
}

TEST_F(OpenNames, LengthOfAClosedFileTakesAtMostOneDataServer) {
  SimClusterOptions options;
  options.servers = 4;
  start(options);
  LayoutWish layout;
  layout.first_server = 0;
  ASSERT_TRUE(run(open("/empty", layout)->close()).ok());
  auto file = open("/f", layout);
  ASSERT_TRUE(run(file->write(0_B, random_bytes(3 * 65536, 1))).ok());
  ASSERT_TRUE(run(file->close()).ok());
  for (const std::uint32_t server : {0U, 1U, 3U}) cluster_->stop_data(server);
  const Nanos began = cluster_->simulation().now();
  EXPECT_EQ(size_of("/f"), Bytes(3 * 65536));
  cluster_->stop_data(2);
  EXPECT_EQ(size_of("/empty"), 0_B);
  EXPECT_LT(cluster_->simulation().now() - began, 1_s);
}

TEST_F(OpenNames, LengthIsThatOfTheObjectsWhateverHappens) {
  SimClusterOptions options;
  options.servers = 3;
  start(options);
  auto writer = open("/f");
  ASSERT_TRUE(run(writer->write(0_B, content_)).ok());
  EXPECT_EQ(size_of("/f"), Bytes(content_.size())) << "while it is open";
  auto second = open("/f");
  ASSERT_TRUE(run(second->write(Bytes(content_.size()), content_)).ok());
  ASSERT_TRUE(run(writer->close()).ok());
  EXPECT_EQ(size_of("/f"), Bytes(2 * content_.size())) << "while another has it open";
  ASSERT_TRUE(run(second->close()).ok());
  EXPECT_EQ(size_of("/f"), Bytes(2 * content_.size()));
  ASSERT_TRUE(run(files().truncate("/f", Bytes(777))).ok());
  EXPECT_EQ(size_of("/f"), Bytes(777));
  auto shared = open("/g");
  auto adopted = files().adopt("/g", shared->share());
  ASSERT_TRUE(adopted.ok());
  ASSERT_TRUE(run(shared->close()).ok());
  ASSERT_TRUE(run((*adopted)->write(0_B, content_)).ok());
  EXPECT_EQ(size_of("/g"), Bytes(content_.size()));
  ASSERT_TRUE(run((*adopted)->close()).ok());
  auto lost = open("/h");
  ASSERT_TRUE(run(lost->write(0_B, content_)).ok());
  ASSERT_TRUE(run(lost->close()).ok());
  for (std::uint32_t server = 0; server < 3; ++server) {
    cluster_->lose_power_data(server);
    cluster_->start_data(server);
  }
  auto by_objects = open("/h");
  EXPECT_EQ(size_of("/h"), *run(by_objects->size()));
  ASSERT_TRUE(run(by_objects->close()).ok());
  EXPECT_EQ(size_of("/h"), *run(open("/h")->size()));
}

TEST_F(OpenNames, LengthOfAFileWhoseServerIsAwayIsUnknown) {
  SimClusterOptions options;
  options.servers = 2;
  ClientOptions client;
  client.patience = 2_s;
  client.first_patience = 1_s;
  start(options, client);
  for (const char* path : {"/a", "/b", "/c"}) {
    auto file = open(path);
    ASSERT_TRUE(run(file->write(0_B, content_)).ok());
    ASSERT_TRUE(run(file->truncate(Bytes(content_.size()))).ok());
    ASSERT_TRUE(run(file->close()).ok());
  }
  cluster_->stop_data(1);
  const auto found = run(files().stat("/a"));
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_FALSE(found->size_unknown.ok());
  const Nanos began = cluster_->simulation().now();
  const auto entries = run(files().list("/", true));
  ASSERT_TRUE(entries.ok()) << entries.status().to_string();
  ASSERT_EQ(entries->size(), 3U);
  for (const DirectoryEntry& entry : *entries) EXPECT_FALSE(entry.attributes->size_unknown.ok());
  EXPECT_LT(cluster_->simulation().now() - began, 5_s) << "the server is waited for once";
}

TEST(Space, DisksAreCountedOnceAndTheFullestDecides) {
  const auto server = [](std::uint64_t disk, Bytes total, Bytes free) {
    ServerStatus status;
    status.kind = "data";
    status.disk = disk;
    status.total = total;
    status.free = free;
    return status;
  };
  const SpaceInfo shared =
      space_of({server(7, 100_GiB, 40_GiB), server(7, 100_GiB, 40_GiB), server(7, 100_GiB, 40_GiB)});
  EXPECT_EQ(shared.total, 100_GiB);
  EXPECT_EQ(shared.used, 60_GiB);
  EXPECT_EQ(shared.free, 40_GiB);
  const SpaceInfo uneven = space_of({server(1, 100_GiB, 90_GiB), server(2, 100_GiB, 10_GiB)});
  EXPECT_EQ(uneven.total, 200_GiB);
  EXPECT_EQ(uneven.used, 100_GiB);
  EXPECT_EQ(uneven.free, 20_GiB);
  EXPECT_EQ(space_of({server(1, 100_GiB, 90_GiB), server(2, 100_GiB, 0_B)}).free, 0_B);
  EXPECT_EQ(space_of({server(0, 100_GiB, 50_GiB), server(0, 100_GiB, 50_GiB)}).total, 200_GiB) << "unknown";
}

}  // namespace
}  // namespace tutti
