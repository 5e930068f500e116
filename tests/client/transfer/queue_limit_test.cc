// A data server under a thousand clients.
#include <gtest/gtest.h>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

constexpr std::size_t kClients = 1'000;
constexpr std::size_t kEach = 110;
constexpr std::size_t kMostQueued = 100'000;

Task<void> write(OpenFile& file, Bytes offset, std::span<const std::byte> bytes, std::size_t& done) {
  const Status status = co_await file.write(offset, bytes);
  EXPECT_TRUE(status.ok()) << status.to_string();
  ++done;
}

TEST(QueueLimit, AThousandClientsAreToldToWaitAndAllFinish) {
  SimClusterOptions options;
  options.servers = 1;
  options.client_nodes = 20;
  options.policy = "window;interval=1000";
  options.data.max_queued = kMostQueued;
  options.data.queue_memory = 96_MiB;
  auto made = SimCluster::create(options);
  ASSERT_TRUE(made.ok());
  SimCluster& cluster = **made;
  ASSERT_TRUE(cluster.start().ok());
  Simulation& simulation = cluster.simulation();

  const std::vector<std::byte> page(512);
  std::vector<std::unique_ptr<SimClient>> clients;
  std::vector<std::unique_ptr<OpenFile>> files;
  OpenOptions create;
  create.write = create.create = true;
  for (std::size_t i = 0; i < kClients; ++i) {
    ClientOptions client;
    client.application = 1 + i % 10;
    clients.push_back(cluster.make_client(static_cast<std::uint32_t>(i % 20), {}, client));
    auto file = simulation.run(clients.back()->files().open("/" + std::to_string(i), create));
    ASSERT_TRUE(file && file->ok());
    files.push_back(std::move(**file));
  }
  std::size_t done = 0;
  std::size_t longest = 0;
  Bytes largest;
  Scope scope(simulation.executor());
  for (std::size_t i = 0; i < kClients; ++i) {
    for (std::size_t n = 0; n < kEach; ++n) scope.spawn(write(*files[i], Bytes(n * page.size()), page, done));
  }
  const Dispatcher& dispatcher = cluster.data_server(0)->dispatcher();
  ASSERT_TRUE(simulation.run_until([&] {
    longest = std::max(longest, dispatcher.queued());
    largest = std::max(largest, dispatcher.memory());
    return done == kClients * kEach;
  }));
  EXPECT_LE(longest, kMostQueued * 8 / 9 + 1) << "the limit of one user was reached and held";
  EXPECT_GT(longest, kMostQueued * 8 / 9 - 16);
  EXPECT_LE(largest, options.data.queue_memory);
  EXPECT_EQ(dispatcher.totals().writes, kClients * kEach);
  EXPECT_EQ(dispatcher.memory(), 0_B);
  files.clear();
  clients.clear();
}

}  // namespace
}  // namespace tutti
