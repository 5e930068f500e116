// What every real client is made from; the requests themselves are tested over the simulated world and end to end.
#include "client/real/real_client.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>

#include "tests/client/environment.h"

namespace tutti {
namespace {

ClusterConfig some_cluster() {
  ClusterConfig config;
  config.id = 1;
  config.meta = "unix:/no/such/socket";
  config.data = {"unix:/no/such/other"};
  return config;
}

RealClientOptions options_with(std::map<std::string, std::string> variables) {
  RealClientOptions options;
  options.environment = environment_of(std::move(variables));
  return options;
}

TEST(RealClient, AMillisecondPatienceNeverOverflows) {
  EXPECT_EQ(patience_of_milliseconds(1), 1_ms);
  EXPECT_EQ(patience_of_milliseconds(60'000), 60_s);
  EXPECT_EQ(patience_of_milliseconds(std::uint64_t{1} << 45U), kMostPatience);
  EXPECT_EQ(patience_of_milliseconds(UINT64_MAX), kMostPatience);
  EXPECT_GT(kMostPatience, Nanos(0));
}

TEST(RealClient, TakesItsApplicationFromOptionsThenFromTheEnvironment) {
  RealClientOptions options = options_with({{"TUTTI_APPLICATION", "0x20"}});
  RealClient by_variable(options);
  ASSERT_TRUE(by_variable.connect(some_cluster()).ok());
  EXPECT_EQ(by_variable.files().application(), 32U);
  options.application = "0x10";
  RealClient by_option(options);
  ASSERT_TRUE(by_option.connect(some_cluster()).ok());
  EXPECT_EQ(by_option.files().application(), 16U);
}

TEST(RealClient, HasAFileSystemForEachApplication) {
  RealClient client(options_with({}));
  client.set_application(7);
  ASSERT_TRUE(client.connect(some_cluster()).ok());
  const auto other = client.files_of(8);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ((*other)->application(), 8U);
  EXPECT_EQ(client.files().application(), 7U);
  EXPECT_EQ(*client.files_of(7), &client.files());
  EXPECT_EQ(*client.files_of(8), *other);
}

TEST(RealClient, RefusesWhatItCannotRead) {
  RealClient patience(options_with({{"TUTTI_PATIENCE", "soon"}}));
  const Status refused = patience.connect(some_cluster());
  EXPECT_EQ(refused.code(), Code::invalid);
  EXPECT_NE(refused.message().find("TUTTI_PATIENCE"), std::string::npos);
  RealClient nowhere(options_with({{"TUTTI_DIR", "/no/such"}}));
  EXPECT_EQ(nowhere.connect().code(), Code::not_found);
}

TEST(RealClient, TheMaskOfNewFilesIsReadWithoutChangingIt) {
  EXPECT_EQ(find_umask("Name:\tx\nUmask:\t0027\nState:\tR\n"), 027U);
  EXPECT_EQ(find_umask("Name:\tx\nState:\tR\n"), std::nullopt);
  EXPECT_EQ(find_umask("Name:\tx\nUmask:\tnone\n"), std::nullopt);
  const mode_t before = ::umask(031);
  EXPECT_EQ(process_umask(), 031U);
  EXPECT_EQ(::umask(before), 031U);
}

}  // namespace
}  // namespace tutti
