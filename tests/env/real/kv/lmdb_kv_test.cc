#include "env/real/kv/lmdb_kv.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "env/scope.h"
#include "tests/env/conformance/kv_suite.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

using namespace conformance;

// On a disk, where a thread commits, and in memory, where the loop does.
std::string disk() { return std::filesystem::temp_directory_path(); }
std::string memory() { return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : disk(); }

class LmdbWorld {
 public:
  explicit LmdbWorld(const std::string& parent = disk()) : directory_(parent) { reopen(); }
  void reopen(LmdbOptions options = {}) {
    kv_.reset();
    Result<std::unique_ptr<LmdbKv>> opened = LmdbKv::open(loop_, directory_ / "kv", options);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    if (opened.ok()) kv_ = *std::move(opened);
  }
  Kv& kv() { return *kv_; }
  LmdbKv& lmdb() { return *kv_; }
  Loop& loop() { return loop_; }
  Executor& executor() { return loop_.executor(); }
  template <typename T>
  T run(Task<T> task) {
    return loop_.run(std::move(task));
  }

 private:
  TemporaryDirectory directory_;
  Loop loop_;
  std::unique_ptr<LmdbKv> kv_;
};

struct MemoryLmdbWorld : LmdbWorld {
  MemoryLmdbWorld() : LmdbWorld(memory()) {}
};
using Worlds = testing::Types<LmdbWorld, MemoryLmdbWorld>;
INSTANTIATE_TYPED_TEST_SUITE_P(Lmdb, KvSuite, Worlds);

class LmdbKvTest : public testing::TestWithParam<bool> {
 protected:
  static std::function<Status(KvWriter&)> putting(std::string key, std::string value) {
    return
        [key = std::move(key), value = std::move(value)](KvWriter& writer) { return writer.put(key, value); };
  }
  Status put(std::string key, std::string value) {
    return world_.run(world_.kv().update(putting(std::move(key), std::move(value))));
  }
  std::optional<std::string> get(const std::string& key) {
    std::optional<std::string> value;
    const Status status = world_.kv().view([&](const KvReader& reader) {
      Result<std::optional<std::string>> got = reader.get(key);
      if (got.ok()) value = *got;
      return got.status();
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
    return value;
  }
  LmdbWorld world_{GetParam() ? memory() : disk()};
};
INSTANTIATE_TEST_SUITE_P(InMemory, LmdbKvTest, testing::Bool());

TEST_P(LmdbKvTest, DataSurvivesARestart) {
  ASSERT_TRUE(put("a", "1").ok());
  world_.reopen();
  EXPECT_EQ(get("a"), "1");
}

TEST_P(LmdbKvTest, UpdatesThatWaitTogetherShareCommits) {
  const std::uint64_t before = world_.lmdb().commits();
  std::vector<Task<Status>> updates;
  for (int i = 0; i < 200; ++i) updates.push_back(world_.kv().update(putting(std::to_string(i), "v")));
  for (const Status& status : world_.run(when_all(std::move(updates)))) EXPECT_TRUE(status.ok());
  const std::uint64_t commits = world_.lmdb().commits() - before;
  EXPECT_GE(commits, 1U);
  EXPECT_LT(commits, 200U);
}

TEST_P(LmdbKvTest, FullMapIsNoSpaceAndOnlyForThoseWhoNeedIt) {
  LmdbOptions small;
  small.map_size = 1_MiB;
  world_.reopen(small);
  ASSERT_TRUE(put("small", "1").ok());
  std::vector<Task<Status>> updates;
  updates.push_back(world_.kv().update(putting("large", std::string(4'000'000, 'x'))));
  updates.push_back(world_.kv().update(putting("small", "2")));
  updates.push_back(world_.kv().update(putting("larger", std::string(5'000'000, 'x'))));
  const std::vector<Status> results = world_.run(when_all(std::move(updates)));
  EXPECT_EQ(results[0].code(), Code::no_space) << results[0].to_string();
  EXPECT_TRUE(results[1].ok()) << results[1].to_string();
  EXPECT_EQ(results[2].code(), Code::no_space);
  EXPECT_EQ(get("small"), "2");
  EXPECT_EQ(get("large"), std::nullopt);
}

TEST_P(LmdbKvTest, FailureOfTheStoreFailsTheUpdateEvenIfTheBodyIgnoresIt) {
  LmdbOptions small;
  small.map_size = 1_MiB;
  world_.reopen(small);
  const Status status = world_.run(world_.kv().update([](KvWriter& writer) {
    writer.put("large", std::string(4'000'000, 'x')).ignore();
    return writer.put("small", "1");
  }));
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(get("small"), std::nullopt);
}

TEST_P(LmdbKvTest, CancelledUpdatesDoNoHarm) {
  struct Update {
    static Task<void> run(Kv& kv, std::function<Status(KvWriter&)> body) {
      (void)co_await kv.update(std::move(body));
    }
  };
  for (int i = 0; i < 50; ++i) {
    Scope scope(world_.executor());
    for (int j = 0; j < 5; ++j)
      scope.spawn(Update::run(world_.kv(), putting("cancelled" + std::to_string(j), "v")));
    world_.loop().run_once(Nanos(0));
  }
  ASSERT_TRUE(put("a", "1").ok());
  EXPECT_EQ(get("a"), "1");
}

TEST_P(LmdbKvTest, DestructionDrainsTheQueue) {
  struct Update {
    static Task<void> run(Kv& kv, std::function<Status(KvWriter&)> body) {
      (void)co_await kv.update(std::move(body));
    }
  };
  {
    Scope scope(world_.executor());
    for (int j = 0; j < 20; ++j) scope.spawn(Update::run(world_.kv(), putting("k" + std::to_string(j), "v")));
    world_.executor().run_ready();
  }
  world_.reopen();
  EXPECT_EQ(get("k19"), "v");
}

TEST_P(LmdbKvTest, ViewInsideAViewSeesTheSame) {
  ASSERT_TRUE(put("a", "1").ok());
  std::optional<std::string> inner;
  const Status status = world_.kv().view([&](const KvReader& reader) {
    inner = get("a");
    Result<std::optional<std::string>> outer = reader.get("a");
    EXPECT_EQ(*outer, inner);
    return outer.status();
  });
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(inner, "1");
}

}  // namespace
}  // namespace tutti
