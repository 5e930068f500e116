#include <algorithm>
#include <cstring>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

using OpenFileTest = ClusterTest;

TEST_F(OpenFileTest, ReadsBackWritesOfAllSizesAtAllOffsets) {
  start();
  auto file = open("/a");
  Random random(4);
  std::vector<std::byte> model;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t offset = random.below(3 << 20);
    const auto bytes = random_bytes(random.between(1, 600'000), random.next());
    if (model.size() < offset + bytes.size()) model.resize(offset + bytes.size());
    std::copy(bytes.begin(), bytes.end(), model.begin() + static_cast<std::ptrdiff_t>(offset));
    ASSERT_TRUE(run(file->write(Bytes(offset), bytes)).ok());
  }
  EXPECT_EQ(*run(file->size()), Bytes(model.size()));
  std::vector<std::byte> back(model.size() + 1000);
  const auto got = run(file->read(0_B, back));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, Bytes(model.size()));
  back.resize(model.size());
  EXPECT_EQ(back, model);
}

TEST_F(OpenFileTest, StripesLieWhereTheLayoutSays) {
  start();
  LayoutWish wish;
  wish.stripe_size = 4_KiB;
  wish.stripe_count = 3;
  wish.first_server = 2;
  auto file = open("/a", wish);
  ASSERT_TRUE(run(file->write(0_B, random_bytes(10'000, 1))).ok());
  EXPECT_EQ(file->layout(), (Layout{4_KiB, 3, 2, 4}));
  const ObjectId object{file->attributes().inode};
  const auto length = [&](std::uint32_t server) {
    return run(cluster_->storage(server).store().length(object))->value_or(0_B);
  };
  EXPECT_EQ(length(2), 4096_B);
  EXPECT_EQ(length(3), 4096_B);
  EXPECT_EQ(length(0), Bytes(10'000 - 8192));
  EXPECT_EQ(length(1), 0_B);
}

TEST_F(OpenFileTest, ReadIsShortOnlyAtTheEndAndHolesAreZeros) {
  start();
  auto file = open("/a");
  const auto bytes = random_bytes(100, 2);
  ASSERT_TRUE(run(file->write(1_MiB, bytes)).ok());
  std::vector<std::byte> back(200'000, std::byte{0xee});
  EXPECT_EQ(*run(file->read(0_B, back)), Bytes(back.size())) << "a hole is not the end";
  EXPECT_TRUE(std::all_of(back.begin(), back.end(), [](std::byte b) { return b == std::byte{0}; }));
  EXPECT_EQ(*run(file->read(1_MiB - 50_B, back)), 150_B);
  EXPECT_EQ(std::memcmp(back.data() + 50, bytes.data(), 100), 0);
  EXPECT_EQ(*run(file->read(1_MiB + 100_B, back)), 0_B);
  EXPECT_EQ(*run(file->read(1_GiB, back)), 0_B);
}

TEST_F(OpenFileTest, ACutBetweenTheMessagesOfAWriteLeavesAllOfItOrNothing) {
  ClientOptions client;
  client.piece = 4_KiB;
  client.pieces_in_flight = 1;
  SimClusterOptions options;
  options.servers = 1;
  start(options, client);
  const auto other = make_client();
  const std::vector<std::byte> content = random_bytes(64 * 1024, 3);
  for (int delay = 0; delay < 60; ++delay) {
    auto file = open("/f");
    const Status written = run_with(file->write(0_B, content), Nanos(delay * 100'000),
                                    [&] { EXPECT_TRUE(run(other->files().truncate("/f", 0_B)).ok()); });
    ASSERT_TRUE(written.ok()) << written.to_string();
    std::vector<std::byte> seen(content.size());
    const auto got = run(file->read(0_B, seen));
    ASSERT_TRUE(got.ok());
    EXPECT_TRUE(*got == 0_B || (*got == Bytes(content.size()) && seen == content))
        << "after " << delay << ": " << got->count();
    ASSERT_TRUE(run(file->close()).ok());
  }
}

TEST_F(OpenFileTest, EmptyTransfersDoNothing) {
  start();
  auto file = open("/a");
  EXPECT_TRUE(run(file->write(5_B, {})).ok());
  EXPECT_EQ(*run(file->size()), 0_B);
  EXPECT_EQ(*run(file->read(0_B, {})), 0_B);
}

// Lists of any shape against a flat model: extents overlap nothing, memory is cut elsewhere than the file.
TEST_F(OpenFileTest, ListTransfersAgreeWithAFlatFile) {
  start();
  LayoutWish wish;
  wish.stripe_size = 512_B;
  ClientOptions small;
  small.piece = 3000_B;
  client_ = make_client(small);
  auto file = open("/a", wish);
  Random random(11);
  std::vector<std::byte> model(100'000);
  ASSERT_TRUE(run(file->write(0_B, model)).ok());
  for (int round = 0; round < 30; ++round) {
    std::vector<Extent> extents;
    std::uint64_t at = random.below(500);
    std::uint64_t sum = 0;
    while (at < 90'000 && extents.size() < 200) {
      const std::uint64_t length = random.below(900);
      extents.push_back(Extent{Bytes(at), Bytes(length)});
      sum += length;
      at += length + random.below(700);
    }
    auto bytes = random_bytes(sum, random.next());
    std::vector<std::span<const std::byte>> memory;
    for (std::size_t from = 0; from < bytes.size();) {
      const std::size_t length = std::min<std::size_t>(random.between(1, 1200), bytes.size() - from);
      memory.emplace_back(bytes.data() + from, length);
      from += length;
    }
    ASSERT_TRUE(run(file->write_list(extents, memory)).ok());
    std::size_t from = 0;
    for (const Extent& extent : extents) {
      std::memcpy(model.data() + extent.offset.count(), bytes.data() + from, extent.length.count());
      from += extent.length.count();
    }
    std::vector<std::byte> back(sum);
    std::vector<std::span<std::byte>> into;
    for (std::size_t start = 0; start < back.size(); start += 777) {
      into.emplace_back(back.data() + start, std::min<std::size_t>(777, back.size() - start));
    }
    EXPECT_EQ(*run(file->read_list(extents, into)), Bytes(sum));
    EXPECT_EQ(back, bytes);
  }
  std::vector<std::byte> whole(model.size());
  EXPECT_EQ(*run(file->read(0_B, whole)), Bytes(model.size()));
  EXPECT_EQ(whole, model);
}

TEST_F(OpenFileTest, ListsOfDifferentLengthAreRefused) {
  start();
  auto file = open("/a");
  const auto bytes = random_bytes(10, 1);
  const Extent extent{0_B, 11_B};
  const std::span<const std::byte> memory(bytes);
  EXPECT_EQ(run(file->write_list({&extent, 1}, {&memory, 1})).code(), Code::invalid);
  const Extent far{Bytes(~0ULL - 5), 10_B};
  EXPECT_EQ(run(file->write_list({&far, 1}, {&memory, 1})).code(), Code::too_large);
}

TEST_F(OpenFileTest, TruncateCutsGrowsAndLeavesZeros) {
  start();
  auto file = open("/a");
  auto bytes = random_bytes(300'000, 3);
  ASSERT_TRUE(run(file->write(0_B, bytes)).ok());
  for (const std::uint64_t length : {200'001U, 65'536U, 65'535U, 1U, 0U, 70'000U, 400'000U}) {
    ASSERT_TRUE(run(file->truncate(Bytes(length))).ok());
    const std::size_t kept = std::min<std::size_t>(bytes.size(), length);
    bytes.resize(kept);
    bytes.resize(length);
    EXPECT_EQ(*run(file->size()), Bytes(length));
    std::vector<std::byte> back(length + 10, std::byte{0xee});
    EXPECT_EQ(*run(file->read(0_B, back)), Bytes(length));
    back.resize(length);
    EXPECT_EQ(back, bytes);
  }
}

TEST_F(OpenFileTest, WriteGoesOnAfterEveryDataServerRestarted) {
  start();
  auto file = open("/a");
  const auto bytes = random_bytes(8 << 20, 5);
  const Status status = run_with(file->write(0_B, bytes), 5_ms, [&] {
    for (std::uint32_t server = 0; server < cluster_->servers(); ++server) cluster_->stop_data(server);
    cluster_->simulation().run_until(cluster_->simulation().now() + 3_s);
    for (std::uint32_t server = 0; server < cluster_->servers(); ++server) cluster_->start_data(server);
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  std::vector<std::byte> back(bytes.size());
  EXPECT_EQ(*run(file->read(0_B, back)), Bytes(bytes.size()));
  EXPECT_EQ(back, bytes);
}

TEST_F(OpenFileTest, ServerThatStaysAwayIsAnErrorThatNamesItAfterThePatience) {
  ClientOptions impatient;
  impatient.patience = 10_s;
  start({}, impatient);
  auto file = open("/a");
  ASSERT_TRUE(run(file->write(0_B, random_bytes(1 << 20, 5))).ok());
  cluster_->stop_data(1);
  const Nanos before = cluster_->simulation().now();
  const Status status = run(file->write(0_B, random_bytes(1 << 20, 6)));
  EXPECT_EQ(status.code(), Code::timed_out);
  EXPECT_NE(status.message().find("data server 1"), std::string::npos) << status.message();
  const Nanos took = cluster_->simulation().now() - before;
  EXPECT_GE(took, 10_s);
  EXPECT_LE(took, 20_s);
}

TEST_F(OpenFileTest, CutLinkIsNoticedAndRepairedWithinThePatience) {
  start();
  auto file = open("/a");
  const auto bytes = random_bytes(4 << 20, 7);
  ASSERT_TRUE(run(file->write(0_B, bytes)).ok());
  std::vector<std::byte> back(bytes.size());
  const auto got = run_with(file->read(0_B, back), 2_ms, [&] {
    cluster_->fabric().cut(SimCluster::data_node(2), cluster_->client_node(0));
    cluster_->simulation().run_until(cluster_->simulation().now() + 5_s);
    cluster_->fabric().heal(SimCluster::data_node(2), cluster_->client_node(0));
  });
  ASSERT_TRUE(got.ok()) << got.status().to_string();
  EXPECT_EQ(back, bytes);
}

TEST_F(OpenFileTest, CapabilityIsRenewedInALongJob) {
  SimClusterOptions options;
  options.meta.capability_lifetime = 10_s;
  start(options);
  auto file = open("/a");
  const auto bytes = random_bytes(1000, 7);
  for (int i = 0; i < 5; ++i) {
    cluster_->simulation().run_until(cluster_->simulation().now() + 11_s);
    ASSERT_TRUE(run(file->write(Bytes(static_cast<std::uint64_t>(i) * 1000), bytes)).ok());
  }
  cluster_->simulation().run_until(cluster_->simulation().now() + 500_s);
  EXPECT_EQ(*run(file->size()), 5000_B) << "after a long pause the file is opened anew";
  EXPECT_TRUE(run(file->sync()).ok());
  EXPECT_TRUE(run(file->close()).ok());
}

TEST_F(OpenFileTest, FullServersMakeTheClientWaitNotFail) {
  SimClusterOptions options;
  options.data.max_queued_per_session = 1;
  options.policy = "fcfs;dispatch_depth=1";
  ClientOptions small;
  small.piece = 64_KiB;
  start(options, small);
  auto file = open("/a");
  const auto bytes = random_bytes(8 << 20, 9);
  ASSERT_TRUE(run(file->write(0_B, bytes)).ok());
  std::vector<std::byte> back(bytes.size());
  EXPECT_EQ(*run(file->read(0_B, back)), Bytes(bytes.size()));
  EXPECT_EQ(back, bytes);
}

TEST_F(OpenFileTest, OneFullServerIsNoSpaceAndTheOthersKeepTheirBytes) {
  SimClusterOptions options;
  options.storage.capacity = 1_MiB;
  start(options);
  auto file = open("/a");
  const auto first = random_bytes(2 << 20, 1);
  ASSERT_TRUE(run(file->write(0_B, first)).ok());
  const Status status = run(file->write(2_MiB, random_bytes(8 << 20, 2)));
  EXPECT_EQ(status.code(), Code::no_space) << status.to_string();
  std::vector<std::byte> back(first.size());
  EXPECT_EQ(*run(file->read(0_B, back)), Bytes(first.size()));
  EXPECT_EQ(back, first);
}

TEST_F(OpenFileTest, SyncFailsWhenAServerLostPowerAfterTheWrite) {
  start();
  auto file = open("/a");
  ASSERT_TRUE(run(file->write(0_B, random_bytes(1 << 20, 1))).ok());
  ASSERT_TRUE(run(file->sync()).ok());
  ASSERT_TRUE(run(file->write(0_B, random_bytes(1 << 20, 2))).ok());
  cluster_->lose_power_data(1);
  cluster_->start_data(1);
  const Status status = run(file->sync());
  EXPECT_EQ(status.code(), Code::io_error);
  EXPECT_NE(status.message().find("data server 1"), std::string::npos) << status.message();
  ASSERT_TRUE(run(file->write(0_B, random_bytes(1 << 20, 2))).ok());
  EXPECT_TRUE(run(file->sync()).ok()) << "what was written again is safe";
}

TEST_F(OpenFileTest, SyncSucceedsAfterAMereRestart) {
  start();
  auto file = open("/a");
  ASSERT_TRUE(run(file->write(0_B, random_bytes(1 << 20, 1))).ok());
  cluster_->stop_data(1);
  cluster_->start_data(1);
  EXPECT_TRUE(run(file->sync()).ok());
}

}  // namespace
}  // namespace tutti
