#include "client/cluster_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "client/path.h"
#include "tests/client/environment.h"

namespace tutti {
namespace {

TEST(ClusterFile, OptionsGoBeforeVariablesAndThoseBeforeTheHomeDirectory) {
  std::map<std::string, std::string> variables = {
      {"TUTTI_CLUSTER", "/v/c.toml"}, {"TUTTI_DIR", "/v/d"}, {"HOME", "/home/a"}};
  EXPECT_EQ(*cluster_file({"/o/c.toml", "/o/d"}, environment_of(variables)), "/o/c.toml");
  EXPECT_EQ(*cluster_file({"", "/o/d"}, environment_of(variables)), "/o/d/cluster.toml");
  EXPECT_EQ(*cluster_file({}, environment_of(variables)), "/v/c.toml");
  variables.erase("TUTTI_CLUSTER");
  EXPECT_EQ(*cluster_file({}, environment_of(variables)), "/v/d/cluster.toml");
  variables.erase("TUTTI_DIR");
  EXPECT_EQ(*cluster_file({}, environment_of(variables)), "/home/a/.tutti/cluster.toml");
}

TEST(ClusterFile, RelativeNamesAreMadeAbsolute) {
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(*cluster_file({"c.toml", ""}, environment_of({})), here + "/c.toml");
  EXPECT_EQ(*state_directory("a/../b/", environment_of({})), here + "/b");
}

TEST(ClusterFile, AMissingOneIsExplained) {
  const auto config = load_cluster({"", "/no/such"}, environment_of({}));
  EXPECT_EQ(config.code(), Code::not_found);
  EXPECT_NE(config.status().message().find("/no/such/cluster.toml"), std::string::npos);
  EXPECT_NE(config.status().message().find("tutti up"), std::string::npos);
}

TEST(Path, AllFormsOfAPathAreTheSame) {
  for (const char* name : {"tutti:/a/b", "tutti:a/b", "tutti://a/b", "/a/b", "//a/b", "a/b"})
    EXPECT_EQ(cluster_path(name), "/a/b") << name;
  for (const char* name : {"tutti:", "tutti:/", "/", ""}) EXPECT_EQ(cluster_path(name), "/") << name;
  EXPECT_EQ(cluster_path("/tutti:a"), "/tutti:a") << "only in front";
}

TEST(Path, OnlyThePrefixNamesTheCluster) {
  EXPECT_TRUE(has_cluster_prefix("tutti:/a"));
  EXPECT_FALSE(has_cluster_prefix("/a"));
  EXPECT_FALSE(has_cluster_prefix("tutti/a"));
}

TEST(Path, ADirectoryNameMayStandForTheCluster) {
  for (const char* directory : {"/mnt/t", "/mnt/t/"}) {
    EXPECT_EQ(path_on_cluster("/mnt/t/a/b", directory), "/a/b");
    EXPECT_EQ(path_on_cluster("/mnt/t", directory), "/");
    EXPECT_EQ(path_on_cluster("tutti:/a", directory), "/a");
    EXPECT_EQ(path_on_cluster("/mnt/tt/a", directory), std::nullopt);
    EXPECT_EQ(path_on_cluster("/mnt", directory), std::nullopt);
  }
  EXPECT_EQ(path_on_cluster("/a", ""), std::nullopt);
  EXPECT_EQ(path_on_cluster("/a", "/"), std::nullopt) << "not all files";
}

}  // namespace
}  // namespace tutti
