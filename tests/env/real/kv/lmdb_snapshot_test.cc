#include "env/real/kv/lmdb_snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "env/real/kv/lmdb_kv.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

class Snapshot : public testing::Test {
 protected:
  Status put(const std::string& key, const std::string& value) {
    auto kv = LmdbKv::open(loop_, directory_ / "kv");
    if (!kv.ok()) return kv.status();
    std::function<Status(KvWriter&)> body = [key, value](KvWriter& writer) { return writer.put(key, value); };
    return loop_.run((*kv)->update(std::move(body)));
  }
  // The values, one behind the other.
  static std::string all(const LmdbSnapshot& snapshot) {
    std::string values;
    EXPECT_TRUE(snapshot
                    .view([&](const KvReader& reader) {
                      return reader.scan("", [&](std::string_view, std::string_view value) {
                        values += value;
                        return true;
                      });
                    })
                    .ok());
    return values;
  }

  TemporaryDirectory directory_;
  Loop loop_;
};

TEST_F(Snapshot, CopyHoldsOneStateAndIsReadAsAFile) {
  ASSERT_TRUE(put("a", "1").ok());
  ASSERT_TRUE(put("b", "2").ok());
  const std::string file = directory_ / "copy";
  {
    const auto snapshot = LmdbSnapshot::open(directory_ / "kv");
    ASSERT_TRUE(snapshot.ok()) << snapshot.status().to_string();
    EXPECT_EQ(all(**snapshot), "12");
    ASSERT_TRUE((*snapshot)->copy(file).ok());
  }
  ASSERT_TRUE(put("c", "3").ok());
  const auto copy = LmdbSnapshot::open(file);
  ASSERT_TRUE(copy.ok()) << copy.status().to_string();
  EXPECT_EQ(all(**copy), "12");
  EXPECT_FALSE(std::filesystem::exists(file + ".new"));
}

TEST_F(Snapshot, WhatIsNoStoreIsRefused) {
  EXPECT_EQ(LmdbSnapshot::open(directory_ / "missing").code(), Code::not_found);
  std::ofstream(directory_ / "noise") << std::string(100'000, 'x');
  EXPECT_EQ(LmdbSnapshot::open(directory_ / "noise").code(), Code::malformed);
}

TEST_F(Snapshot, MissingStoreIsMadeOnlyIfAskedFor) {
  LmdbOptions options;
  options.create = false;
  const auto missing = LmdbKv::open(loop_, directory_ / "kv", options);
  EXPECT_EQ(missing.code(), Code::not_found);
  EXPECT_NE(missing.status().message().find("tutti server init"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(directory_ / "kv"));
  ASSERT_TRUE(put("a", "1").ok());
  EXPECT_TRUE(LmdbKv::open(loop_, directory_ / "kv", options).ok());
}

}  // namespace
}  // namespace tutti
