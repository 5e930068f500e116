#include "client/cluster_config.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

class ClusterFile : public testing::Test {
 protected:
  Result<ClusterConfig> load(const std::string& text) {
    std::ofstream(path_) << "format = 1\nid = \"0x1\"\n" << text;
    return ClusterConfig::load(path_);
  }
  std::string failure(const std::string& text) {
    const auto config = load(text);
    return config.ok() ? "accepted" : config.status().message();
  }

  TemporaryDirectory directory_;
  std::string path_ = directory_ / "cluster.toml";
};

constexpr const char* kServers = "meta = \"tcp:m:7300\"\ndata = [\"tcp:[::1]:7301\", \"unix:run/d\"]\n";

TEST_F(ClusterFile, NamesServersOnOtherHosts) {
  const auto config = load(std::string(kServers) +
                           "auth = \"key\"\nauth_keys = [\"a.key\", \"/b.key\"]\nowner = \"1000:100\"\n");
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->meta, "tcp:m:7300");
  EXPECT_EQ(config->data[0], "tcp:[::1]:7301");
  EXPECT_EQ(config->data[1], "unix:" + directory_ / "run/d");
  EXPECT_EQ(config->run_directory, directory_ / "run");
  const SocketOptions options = config->socket_options({});
  EXPECT_EQ(options.auth.kind, AuthKind::key);
  EXPECT_EQ(options.auth.keys, (std::vector<std::string>{directory_ / "a.key", "/b.key"}));
  EXPECT_EQ(options.auth.owner->uid, 1000U);
  EXPECT_EQ(options.auth.owner->gid, 100U);
  EXPECT_TRUE(options.auth.root_squash);
  EXPECT_TRUE(options.take_local_path);
}

TEST_F(ClusterFile, StaysOnOneHostUnlessToldOtherwise) {
  const auto config = load(kServers);
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  EXPECT_EQ(config->socket_options({}).auth.kind, AuthKind::local);
}

TEST_F(ClusterFile, NamesACoordinatorOfItsOwnOrNone) {
  auto config = load(kServers);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->coordinator_address(), "tcp:m:7300");
  config = load(std::string("coordinator = \"tcp:m:7300\"\n") + kServers);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->coordinator, "") << "the metadata server's own address";
  config = load(std::string("coordinator = \"tcp:c:7299\"\n") + kServers);
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->coordinator_address(), "tcp:c:7299");
  EXPECT_EQ(config->map().coordinator, "tcp:c:7299");
  ASSERT_TRUE(config->save(path_, 0600).ok());
  EXPECT_EQ(ClusterConfig::load(path_)->coordinator, "tcp:c:7299");
  EXPECT_NE(failure(std::string("coordinator = \"c\"\n") + kServers).find("tcp:HOST:PORT"),
            std::string::npos);
}

TEST_F(ClusterFile, ExplainsWhatIsWrong) {
  const std::string servers = kServers;
  EXPECT_NE(failure("meta = \"tcp:m\"\ndata = [\"unix:d\"]\n").find("tcp:HOST:PORT"), std::string::npos);
  EXPECT_NE(failure("meta = \"tcp:m:0\"\ndata = [\"unix:d\"]\n").find("port"), std::string::npos);
  EXPECT_NE(failure(servers + "auth = \"kerberos\"\n").find("munge"), std::string::npos);
  EXPECT_NE(failure(servers + "auth = \"key\"\n").find("key file"), std::string::npos);
  EXPECT_NE(failure(servers + "auth_keys = [\"a\", \"b\", \"c\"]\n").find("at most 2"), std::string::npos);
  for (const char* owner : {"root", "1", "1:", ":1", "1:2:3", "-1:1", "1:x"}) {
    EXPECT_NE(failure(servers + "owner = \"" + owner + "\"\n").find("UID:GID"), std::string::npos) << owner;
  }
}

TEST_F(ClusterFile, KeepsEverythingWhenSaved) {
  auto config = load(std::string(kServers) +
                     "auth = \"munge\"\nowner = \"7:8\"\nroot_squash = false\nlocal_path = false\n"
                     "run_directory = \"/run/tutti\"\nmunge_socket = \"/m\"\nauth_keys = [\"a\"]\n");
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  ASSERT_TRUE(config->save(path_, 0600).ok());
  const auto again = ClusterConfig::load(path_);
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_EQ(again->auth, "munge");
  EXPECT_EQ(again->owner->gid, 8U);
  EXPECT_FALSE(again->root_squash);
  EXPECT_FALSE(again->local_path);
  EXPECT_EQ(again->run_directory, "/run/tutti");
  EXPECT_EQ(again->munge_socket, "/m");
  EXPECT_EQ(again->auth_keys, config->auth_keys);
  EXPECT_EQ(again->data, config->data);
}

TEST_F(ClusterFile, GivesApplicationIdsToUsersAndPrograms) {
  const std::string rules =
      "[applications]\nenforce = true\nall = \"100-199\"\n[applications.users]\nroot = 3\n1001 = \"10-19\"\n"
      "[applications.programs]\nior = 5\n\"a \\\"b\\\"\" = \"6\"\n";
  auto config = load(kServers + rules);
  ASSERT_TRUE(config.ok()) << config.status().to_string();
  for (int round = 0; round < 2; ++round) {
    const ApplicationRules& read = config->applications;
    EXPECT_TRUE(read.enforce);
    EXPECT_EQ(read.range_for(0, "ior"), (ApplicationRange{3, 3})) << "the user goes before the program";
    EXPECT_EQ(read.range_for(1001, "x"), (ApplicationRange{10, 19}));
    EXPECT_EQ(read.range_for(7, "ior"), (ApplicationRange{5, 5}));
    EXPECT_EQ(read.range_for(7, "a \"b\""), (ApplicationRange{6, 6}));
    EXPECT_EQ(read.range_for(7, "x"), (ApplicationRange{100, 199}));
    ASSERT_TRUE(config->save(path_, 0600).ok());
    config = ClusterConfig::load(path_);
    ASSERT_TRUE(config.ok()) << config.status().to_string();
  }
  EXPECT_TRUE(load(kServers)->applications.empty());
}

TEST_F(ClusterFile, ExplainsWhatIsWrongWithApplicationIds) {
  const std::string servers = kServers;
  for (const char* ids : {"0", "32768", "\"9-3\"", "\"x\"", "-1", "\"1-\"", "\"1-2-3\""}) {
    EXPECT_NE(failure(servers + "[applications]\nall = " + ids + "\n").find("LOW-HIGH"), std::string::npos)
        << ids;
  }
  EXPECT_NE(failure(servers + "[applications.users]\nno-such-user-here = 3\n").find("use the number"),
            std::string::npos);
  EXPECT_NE(failure(servers + "[applications]\nenfroce = true\n").find("enforce"), std::string::npos);
}

}  // namespace
}  // namespace tutti
