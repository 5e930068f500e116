// The accounts of all servers, as a client sees them.
#include "client/applications.h"

#include <gtest/gtest.h>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

class ApplicationsTest : public ClusterTest {
 protected:
  static Task<void> write(OpenFile& file, std::span<const std::byte> bytes, int& left) {
    EXPECT_TRUE((co_await file.write(0_B, bytes)).ok());
    --left;
  }
  std::unique_ptr<OpenFile> open_as(SimClient& client, const std::string& path) {
    OpenOptions options;
    options.write = options.create = true;
    auto file = run(client.files().open(path, options));
    EXPECT_TRUE(file.ok());
    return std::move(*file);
  }
};

TEST_F(ApplicationsTest, TellsWhoWaitedForWhomOverAllServers) {
  SimClusterOptions options;
  options.servers = 2;
  options.policy = "window;interval=1000;quantum=max";
  ClientOptions first;
  first.application = 7;
  first.program = "ior";
  first.job = "j1";
  start(options, first);
  ClientOptions second;
  second.application = 9;
  const auto late = make_client(second);
  const auto a = open_as(*client_, "/a");
  const auto b = open_as(*late, "/b");
  const auto bytes = random_bytes(8U << 20U, 1);
  int left = 2;
  Scope scope(cluster_->simulation().executor());
  scope.spawn(write(*a, bytes, left));
  cluster_->simulation().run_until(cluster_->simulation().now() + 10_ms);
  scope.spawn(write(*b, std::span(bytes).first(1U << 20U), left));
  ASSERT_TRUE(cluster_->simulation().run_until([&] { return left == 0; }));

  const ApplicationReport report = run(files().applications(1_s));
  EXPECT_TRUE(report.silent.empty());
  ASSERT_EQ(report.applications.size(), 2U);
  const ApplicationStatus& seven = report.applications[0];
  const ApplicationStatus& nine = report.applications[1];
  EXPECT_EQ(seven.application, 7U);
  EXPECT_EQ(seven.program, "ior");
  EXPECT_EQ(seven.job, "j1");
  EXPECT_EQ(seven.bytes_written, 8_MiB);
  EXPECT_EQ(nine.bytes_written, 1_MiB);
  EXPECT_EQ(nine.writes, 2U) << "one on each server";
  EXPECT_GT(seven.served, nine.served);
  ASSERT_FALSE(nine.waited_for.empty());
  EXPECT_EQ(nine.waited_for.front().application, 7U);
  EXPECT_GT(nine.waited_for.front().time, 10_ms);
  EXPECT_LE(nine.waited_for.front().time, nine.time_in_queue);
  for (const auto& waited : seven.waited_for) EXPECT_NE(waited.application, 9U) << "it came later";
}

TEST_F(ApplicationsTest, NamesTheServersThatDoNotAnswer) {
  start();
  cluster_->stop_data(2);
  const ApplicationReport report = run(files().applications(1_s));
  ASSERT_EQ(report.silent.size(), 1U);
  EXPECT_NE(report.silent[0].find("data server 2"), std::string::npos);
}

TEST(ApplicationMerger, RefusesWhatIsNotSound) {
  ApplicationMerger merger;
  EXPECT_EQ(merger.add(std::vector<std::byte>(40)).code(), Code::malformed);
}

}  // namespace
}  // namespace tutti
