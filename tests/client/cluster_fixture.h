// A simulated cluster with one client, for tests of the client.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "lab/sim/sim_cluster.h"

namespace tutti {

class ClusterTest : public testing::Test {
 protected:
  void start(SimClusterOptions options = {}, ClientOptions client = {}) {
    client_.reset();
    auto made = SimCluster::create(options);
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    cluster_ = std::move(*made);
    ASSERT_TRUE(cluster_->start().ok());
    client_ = make_client(client);
  }
  std::unique_ptr<SimClient> make_client(ClientOptions options = {}, std::uint32_t uid = 0) {
    Peer peer;
    peer.uid = uid;
    peer.gid = uid;
    peer.name = "client";
    return cluster_->make_client(0, peer, options);
  }
  FileSystem& files() { return client_->files(); }

  template <typename T>
  T run(Task<T> task) {
    auto result = cluster_->simulation().run(std::move(task));
    EXPECT_TRUE(result.has_value()) << "the simulation ran dry";
    return std::move(*result);
  }

  std::unique_ptr<OpenFile> open(const std::string& path, LayoutWish layout = {}) {
    OpenOptions options;
    options.write = true;
    options.create = true;
    options.layout = layout;
    auto file = run(files().open(path, options));
    EXPECT_TRUE(file.ok()) << file.status().to_string();
    return std::move(*file);
  }

  // Runs the task while time passes and `at` does something in the middle of it.
  template <typename T, typename Action>
  T run_with(Task<T> task, Nanos after, Action action) {
    std::optional<T> result;
    Scope scope(cluster_->simulation().executor());
    scope.spawn(keep(std::move(task), result));
    cluster_->simulation().run_until(cluster_->simulation().now() + after);
    action();
    EXPECT_TRUE(cluster_->simulation().run_until([&] { return result.has_value(); }));
    return std::move(*result);
  }

  std::unique_ptr<SimCluster> cluster_;
  std::unique_ptr<SimClient> client_;

 private:
  template <typename T>
  static Task<void> keep(Task<T> task, std::optional<T>& result) {
    result.emplace(co_await std::move(task));
  }
};

inline std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::byte> bytes(size);
  for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
  return bytes;
}

}  // namespace tutti
