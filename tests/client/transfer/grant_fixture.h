// A cluster of one data server on real sockets and a store in memory: one loop has servers and client.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include "client/file_system.h"
#include "env/real/kv/lmdb_kv.h"
#include "env/real/network/socket_network.h"
#include "env/real/store/file_store.h"
#include "server/data/data_server.h"
#include "server/data/local_grants.h"
#include "server/meta/meta_server.h"
#include "tests/env/real/store_on_disk.h"

namespace tutti {

inline constexpr std::size_t kBlock = 64 << 10;
inline constexpr std::size_t kBlocks = 64;

inline std::vector<std::byte> block(unsigned seed) {
  std::vector<std::byte> bytes(kBlock);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

class GrantTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::access("/dev/shm", W_OK) != 0) GTEST_SKIP() << "no tmpfs to map objects on";
  }
  void start(Bytes read_grant, Bytes write_grant) {
    auto kv = LmdbKv::open(loop_, directory_ / "meta");
    ASSERT_TRUE(kv.ok()) << kv.status().to_string();
    kv_ = *std::move(kv);
    auto store = open_store(loop_, directory_ / "store");
    ASSERT_TRUE(store.ok());
    store_ = *std::move(store);
    data_options_.cluster = 7;
    data_options_.read_grant = read_grant;
    data_options_.write_grant = write_grant;
    start_data();
    MetaServerOptions meta_options;
    meta_options.cluster = 7;
    meta_options.data_servers = {"unix:" + directory_ / "d"};
    meta_ = std::make_unique<MetaServer>(env_, *kv_, ServerKey::from_seed(1), meta_options);
    ASSERT_TRUE(loop_.run(meta_->open()).ok());
    scope_.spawn(serve(meta_->serve(std::move(*network_.listen("unix:" + directory_ / "m")))));
    files_ = std::make_unique<FileSystem>(
        env_, ClusterMap{7, "unix:" + directory_ / "m", {"unix:" + directory_ / "d"}}, ClientOptions());
    OpenOptions options;
    options.write = true;
    options.create = true;
    auto file = loop_.run(files_->open("/f", options));
    ASSERT_TRUE(file.ok()) << file.status().to_string();
    file_ = *std::move(file);
  }
  void start_data() {
    data_ = std::make_unique<DataServer>(env_, *store_, std::move(*make_request_policy("fcfs")),
                                         ServerKey::from_seed(1), data_options_);
    data_scope_.spawn(serve(data_->serve(std::move(*network_.listen("unix:" + directory_ / "d")))));
  }
  // Another server on the same store.
  void replace_data() {
    data_scope_.cancel();
    data_.reset();
    start_data();
  }
  void TearDown() override {
    file_.reset();
    files_.reset();
    data_scope_.cancel();
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
  // That the server, which has counted so many, was asked for few of all blocks. What is done without asking is told with the
  // next question, when a grant has run out: on a machine that slow the counts say nothing.
  void expect_few(std::uint64_t counted, Nanos began) {
    if (loop_.clock().steady() - began < LocalGrants::kTime) {
      EXPECT_LT(counted, kBlocks / 4);
    }
  }
  std::uint64_t writes() const { return data_->dispatcher().totals().writes; }
  std::uint64_t reads() const { return data_->dispatcher().totals().reads; }

  TemporaryDirectory directory_{"/dev/shm"};
  Loop loop_;
  SocketNetwork network_{loop_, SocketOptions()};
  Random random_{1};
  Env env_{loop_.clock(), network_, random_, {}};
  std::unique_ptr<LmdbKv> kv_;
  std::unique_ptr<FileStore> store_;
  std::unique_ptr<MetaServer> meta_;
  DataServerOptions data_options_;
  std::unique_ptr<DataServer> data_;
  Scope scope_{loop_.executor()};
  Scope data_scope_{loop_.executor()};
  std::unique_ptr<FileSystem> files_;
  std::unique_ptr<OpenFile> file_;
};

}  // namespace tutti
