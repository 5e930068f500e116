// The administrator's application ids, on the client and on the server.
#include <gtest/gtest.h>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

class ApplicationIdsTest : public ClusterTest {
 protected:
  void start_with(bool enforce) {
    SimClusterOptions options;
    options.servers = 1;
    options.data.applications.enforce = enforce;
    options.data.applications.users[1001] = {3, 3};
    options.data.applications.programs["ior"] = {10, 19};
    start(options);
  }
  // As which application the server accounts a write of this user.
  std::uint64_t seen_as(std::uint32_t uid, ClientOptions client) {
    const auto writer = make_client(client, uid);
    OpenOptions create;
    create.write = create.create = true;
    auto file = run(writer->files().open("/f" + std::to_string(++files_), create));
    EXPECT_TRUE(file.ok());
    EXPECT_TRUE(run((*file)->write(0_B, random_bytes(100, 1))).ok());
    const ApplicationReport report = run(writer->files().applications(1_s));
    for (const ApplicationStatus& each : report.applications) {
      if (!known_[each.application]) {
        known_[each.application] = true;
        return each.application;
      }
    }
    return 0;
  }
  int files_ = 0;
  std::map<std::uint64_t, bool> known_;
};

TEST_F(ApplicationIdsTest, AClientFollowsTheRuleByItself) {
  start_with(false);
  ClientOptions client;
  client.application_range = {50, 59};
  client.application = 7;
  const auto made = make_client(client);
  EXPECT_EQ(made->files().application(), ApplicationRange({50, 59}).fit(7));
  client.application = 0;
  const auto unclaimed = make_client(client);
  EXPECT_GE(unclaimed->files().application(), 50U);
  EXPECT_LE(unclaimed->files().application(), 59U);
}

TEST_F(ApplicationIdsTest, WithoutEnforcementTheClaimCounts) {
  start_with(false);
  ClientOptions liar;
  liar.application = 1;
  EXPECT_EQ(seen_as(1001, liar), 1U);
}

TEST_F(ApplicationIdsTest, AnEnforcedUserCannotClaimAnotherId) {
  start_with(true);
  ClientOptions liar;
  liar.application = 1;
  liar.program = "ior";  // a program's rule does not help either
  EXPECT_EQ(seen_as(1001, liar), 3U);
  EXPECT_EQ(seen_as(1002, liar), ApplicationRange({10, 19}).fit(1));
  liar.program = "other";
  EXPECT_EQ(seen_as(1002, liar), 1U) << "no rule for this one";
}

}  // namespace
}  // namespace tutti
