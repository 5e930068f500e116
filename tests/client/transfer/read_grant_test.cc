// Reading on without asking, on real sockets and a store in memory: one loop has servers and client.
#include <gtest/gtest.h>
#include <unistd.h>

#include "client/file_system.h"
#include "env/real/kv/lmdb_kv.h"
#include "env/real/network/socket_network.h"
#include "env/real/store/file_store.h"
#include "server/data/data_server.h"
#include "server/meta/meta_server.h"
#include "tests/env/real/store_on_disk.h"

namespace tutti {
namespace {

constexpr std::size_t kBlock = 64 << 10;
constexpr std::size_t kBlocks = 64;

std::vector<std::byte> block(unsigned seed) {
  std::vector<std::byte> bytes(kBlock);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

class ReadGrantTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no tmpfs to map objects on";
  }
  void start(Bytes read_grant) {
    auto kv = LmdbKv::open(loop_, directory_ / "meta");
    ASSERT_TRUE(kv.ok()) << kv.status().to_string();
    kv_ = *std::move(kv);
    auto store = open_store(loop_, directory_ / "store");
    ASSERT_TRUE(store.ok());
    store_ = *std::move(store);
    const ServerKey key = ServerKey::from_seed(1);
    MetaServerOptions meta_options;
    meta_options.cluster = 7;
    meta_options.data_servers = {"unix:" + directory_ / "d"};
    meta_ = std::make_unique<MetaServer>(env_, *kv_, key, meta_options);
    DataServerOptions data_options;
    data_options.cluster = 7;
    data_options.read_grant = read_grant;
    data_ = std::make_unique<DataServer>(env_, *store_, std::move(*make_request_policy("fcfs")), key,
                                         data_options);
    ASSERT_TRUE(loop_.run(meta_->open()).ok());
    scope_.spawn(serve(meta_->serve(std::move(*network_.listen("unix:" + directory_ / "m")))));
    scope_.spawn(serve(data_->serve(std::move(*network_.listen("unix:" + directory_ / "d")))));
    files_ = std::make_unique<FileSystem>(
        env_, ClusterMap{7, "unix:" + directory_ / "m", {"unix:" + directory_ / "d"}}, ClientOptions());
    OpenOptions options;
    options.write = true;
    options.create = true;
    auto file = loop_.run(files_->open("/f", options));
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    file_ = *std::move(file);
    for (unsigned i = 0; i < kBlocks; ++i) write(i, i);
  }
  void TearDown() override {
    file_.reset();
    files_.reset();
    scope_.cancel();
  }
  static Task<void> serve(Task<Status> serving) { (co_await std::move(serving)).ignore(); }

  void write(unsigned number, unsigned seed) {
    const auto bytes = block(seed);
    ASSERT_TRUE(loop_.run(file_->write(Bytes(number * kBlock), bytes)).ok());
  }
  // The block as it is read; shorter at the end of the file.
  std::vector<std::byte> read(std::size_t number) {
    std::vector<std::byte> bytes(kBlock);
    const auto got = loop_.run(file_->read(Bytes(number * kBlock), bytes));
    EXPECT_TRUE(got.ok()) << got.status().to_string();
    bytes.resize(got.ok() ? got->count() : 0);
    return bytes;
  }
  std::uint64_t reads() const { return data_->dispatcher().totals().reads; }

  TemporaryDirectory directory_{"/dev/shm"};
  Loop loop_;
  SocketNetwork network_{loop_, SocketOptions()};
  Random random_{1};
  Env env_{loop_.clock(), network_, random_, {}};
  std::unique_ptr<LmdbKv> kv_;
  std::unique_ptr<FileStore> store_;
  std::unique_ptr<MetaServer> meta_;
  std::unique_ptr<DataServer> data_;
  Scope scope_{loop_.executor()};
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<OpenFile> file_;
};

TEST_F(ReadGrantTest, AReaderOfTheWholeFileAsksSeldomAndIsCountedInFull) {
  start(4_MiB);
  for (unsigned i = 0; i < kBlocks; ++i) ASSERT_EQ(read(i), block(i)) << i;
  EXPECT_LT(reads(), kBlocks / 4);
  file_.reset();
  const Nanos limit = loop_.clock().now() + 10_s;
  while (reads() < kBlocks && loop_.clock().now() < limit) loop_.run_once(100_ms);
  EXPECT_EQ(reads(), kBlocks);
  EXPECT_EQ(data_->dispatcher().totals().bytes_read, Bytes(kBlocks * kBlock));
}

TEST_F(ReadGrantTest, WithoutGrantsEachReadAsks) {
  start(0_B);
  for (unsigned i = 0; i < kBlocks; ++i) ASSERT_EQ(read(i), block(i)) << i;
  EXPECT_EQ(reads(), kBlocks);
}

TEST_F(ReadGrantTest, ReadsHereAndThereAskSeldomToo) {
  start(4_MiB);
  for (unsigned i = 0; i < kBlocks; ++i) {
    const unsigned number = (i * 37 + 5) % kBlocks;
    ASSERT_EQ(read(number), block(number)) << number;
  }
  EXPECT_LT(reads(), kBlocks / 4);
}

TEST_F(ReadGrantTest, WhatIsWrittenMeanwhileIsSeen) {
  start(4_MiB);
  EXPECT_EQ(read(0), block(0));
  EXPECT_EQ(read(1), block(1));
  EXPECT_EQ(reads(), 1U) << "the second was granted with the first";
  write(5, 99);
  EXPECT_EQ(read(2), block(2));
  EXPECT_EQ(read(5), block(99));
  ASSERT_TRUE(loop_.run(file_->truncate(Bytes(20 * kBlock + 100))).ok());
  EXPECT_EQ(read(10), block(10));
  EXPECT_EQ(read(20).size(), 100U);
  EXPECT_EQ(read(30).size(), 0U);
  write(30, 7);
  EXPECT_EQ(read(30), block(7));
  EXPECT_EQ(read(25), std::vector<std::byte>(kBlock)) << "a hole";
}

}  // namespace
}  // namespace tutti
