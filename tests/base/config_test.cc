#include "base/config.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

ConfigReader read(std::string_view text) {
  auto reader = ConfigReader::parse(text, "cluster.toml");
  EXPECT_TRUE(reader.ok()) << reader.status().to_string();
  return *reader;
}

TEST(Config, ReadsEveryTypeWithItsDefault) {
  ConfigReader config = read(R"(
name = "a"
count = 7
share = 0.25
on = true
size = "64KiB"
limit = 4096
patience = "250ms"
id = "0xdeadbeefdeadbeef"
servers = ["x", "y"]
sizes = [1, 2]
weights = [1, 0.5]
)");
  EXPECT_EQ(config.string("name"), "a");
  EXPECT_EQ(config.integer("count", 1, 0, 10), 7);
  EXPECT_DOUBLE_EQ(config.number("share", 1, 0, 1), 0.25);
  EXPECT_TRUE(config.boolean("on", false));
  EXPECT_EQ(config.bytes("size", 1_KiB, 1_B, 1_MiB), 64_KiB);
  EXPECT_EQ(config.bytes("limit", 1_KiB, 1_B, 1_MiB), 4_KiB);
  EXPECT_EQ(config.duration("patience", 1_s, 0_s, 60_s), 250_ms);
  EXPECT_EQ(config.identifier("id", 0), 0xdeadbeefdeadbeefU);
  EXPECT_EQ(config.strings("servers"), (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(config.integers("sizes", 0, 9), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(config.numbers("weights", 0, 9), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(config.string("absent", "b"), "b");
  EXPECT_EQ(config.duration("absent", 1_s, 0_s, 60_s), 1_s);
  EXPECT_TRUE(config.finish().ok()) << config.finish().to_string();
}

TEST(Config, UnknownKeyIsRejectedWithLineAndNearestName) {
  ConfigReader config = read("servers = 4\n\npolcy = \"fcfs\"\n");
  config.integer("servers", 1, 1, 100);
  config.string("policy", "fcfs");
  EXPECT_EQ(config.finish().code(), Code::invalid);
  EXPECT_EQ(config.finish().message(), "cluster.toml:3: unknown key 'polcy'; did you mean 'policy'?");
}

TEST(Config, UnknownKeyFarFromAnyNameIsOnlyRejected) {
  ConfigReader config = read("zebra = 1\n");
  config.string("policy", "fcfs");
  EXPECT_EQ(config.finish().message(), "cluster.toml:1: unknown key 'zebra'");
}

TEST(Config, UnknownKeyOfANestedTableIsRejected) {
  ConfigReader config =
      read("[data]\n[data.device]\nsek = 1\n[[client]]\ncount = 1\n[[client]]\ncuont = 1\n");
  config.table("data").table("device").integer("seek", 0, 0, 9);
  for (ConfigReader client : config.tables("client")) client.integer("count", 0, 0, 9);
  EXPECT_EQ(config.finish().message(),
            "cluster.toml:3: unknown key 'data.device.sek'; did you mean 'data.device.seek'?");
}

TEST(Config, ArraysOfTablesKeepTheirOrder) {
  ConfigReader config = read("[[client]]\ncount = 1\n[[client]]\ncount = 2\n");
  std::vector<std::int64_t> counts;
  for (ConfigReader client : config.tables("client")) counts.push_back(client.integer("count", 0, 0, 9));
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2}));
  EXPECT_TRUE(config.finish().ok());
}

TEST(Config, WrongTypeIsRejectedWithLine) {
  ConfigReader config = read("a = 1\nservers = \"four\"\n");
  config.integer("a", 0, 0, 9);
  EXPECT_EQ(config.integer("servers", 4, 1, 100), 4);
  EXPECT_EQ(config.finish().message(), "cluster.toml:2: servers: must be an integer, not a string");
}

TEST(Config, ValueOutOfRangeIsRejected) {
  ConfigReader config = read("[data]\nstripe_size = 0\n");
  config.table("data").bytes("stripe_size", 64_KiB, 512_B, 1_GiB);
  EXPECT_EQ(config.finish().message(),
            "cluster.toml:2: data.stripe_size: 0 B is out of range; use 512 B to 1.0 GiB");
}

TEST(Config, OnlyTheFirstErrorIsReported) {
  ConfigReader config = read("a = 100\nb = \"x\"\n");
  config.integer("a", 0, 0, 9);
  config.integer("b", 0, 0, 9);
  EXPECT_EQ(config.finish().message(), "cluster.toml:1: a: 100 is out of range; use 0 to 9");
}

TEST(Config, MissingRequiredKeyIsNamed) {
  ConfigReader config = read("[data]\n");
  config.table("data").require("path");
  EXPECT_EQ(config.finish().message(), "cluster.toml:1: key 'data.path' is missing");
}

TEST(Config, MisspeltKeyIsReportedBeforeTheOneThatIsMissingForIt) {
  ConfigReader config = read("pth = 1\n");
  config.require("path");
  config.string("path");
  EXPECT_EQ(config.finish().message(), "cluster.toml:1: unknown key 'pth'; did you mean 'path'?");
}

TEST(Config, ChoiceListsWhatIsAllowed) {
  ConfigReader config = read("device = \"tape\"\n");
  const std::vector<std::string> allowed = {"none", "hdd", "ssd"};
  EXPECT_EQ(config.choice("device", "none", allowed), "none");
  EXPECT_EQ(config.finish().message(),
            "cluster.toml:1: device: 'tape' is not known; use one of: none, hdd, ssd");
}

TEST(Config, SyntaxErrorHasALine) {
  const auto reader = ConfigReader::parse("a = 1\nb = = 2\n", "cluster.toml");
  ASSERT_FALSE(reader.ok());
  EXPECT_EQ(reader.status().message().substr(0, 15), "cluster.toml:2:") << reader.status().message();
}

TEST(Config, MissingFileIsNotFound) {
  EXPECT_EQ(ConfigReader::load("/nonexistent/cluster.toml").code(), Code::not_found);
}

TEST(Config, KeysComeInTheOrderOfTheFile) {
  const ConfigReader config = read("z = 1\na = 2\n");
  EXPECT_EQ(config.keys(), (std::vector<std::string>{"z", "a"}));
}

}  // namespace
}  // namespace tutti
