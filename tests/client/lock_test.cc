// Locks and counters through the client, in the simulated world.
#include <algorithm>

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

class LockTest : public ClusterTest {
 protected:
  // A client process with the file open.
  struct Process {
    std::unique_ptr<SimClient> client;
    std::unique_ptr<OpenFile> file;
  };
  Process process(bool write = true, std::uint32_t node = 0, ClientOptions client = {}) {
    Process made;
    made.client = cluster_->make_client(node, Peer{}, std::move(client));
    OpenOptions options;
    options.write = write;
    options.create = write;
    auto file = run(made.client->files().open("/f", options));
    EXPECT_TRUE(file.ok()) << file.status().to_string();
    made.file = std::move(*file);
    return made;
  }
  LockId lock(Process& process, Bytes offset, Bytes length, bool exclusive = true) {
    auto lock = run(process.file->lock({offset, length}, exclusive));
    EXPECT_TRUE(lock.ok()) << lock.status().to_string();
    return lock.ok() ? *lock : 0;
  }
  // Runs `task` in the background; `into` gets the result.
  template <typename T>
  void begin(Task<T> task, std::optional<T>& into) {
    background().spawn(keep(std::move(task), into));
    pass(10_ms);
  }
  void pass(Nanos time) { cluster_->simulation().run_until(cluster_->simulation().now() + time); }
  bool wait_for(const std::function<bool()>& condition) {
    return cluster_->simulation().run_until(condition);
  }
  Scope& background() {
    if (!scope_) scope_.emplace(cluster_->simulation().executor());
    return *scope_;
  }

 private:
  template <typename T>
  static Task<void> keep(Task<T> task, std::optional<T>& into) {
    into.emplace(co_await std::move(task));
  }
  std::optional<Scope> scope_;
};

TEST_F(LockTest, ASecondLockWaitsForTheFirst) {
  start();
  Process a = process();
  Process b = process();
  const LockId first = lock(a, 0_B, 100_B);
  lock(b, 100_B, 100_B);  // beside it
  std::optional<Result<LockId>> second;
  begin(b.file->lock({50_B, 10_B}, true), second);
  EXPECT_FALSE(second.has_value());
  EXPECT_TRUE(run(a.file->unlock(first)).ok());
  ASSERT_TRUE(wait_for([&] { return second.has_value(); }));
  EXPECT_TRUE(second->ok());
  EXPECT_TRUE(run(b.file->unlock(**second)).ok());
}

TEST_F(LockTest, ReadersShare) {
  start();
  Process a = process();
  Process b = process(false);
  lock(a, 0_B, Bytes::max(), false);
  lock(b, 0_B, Bytes::max(), false);
  EXPECT_EQ(run(b.file->lock({0_B, 1_B}, true)).code(), Code::bad_capability) << "not open for writing";
  EXPECT_EQ(run(a.file->lock({0_B, 0_B}, true)).code(), Code::invalid);
}

TEST_F(LockTest, AWaitHasAnEnd) {
  start();
  Process a = process();
  Process b = process();
  lock(a, 0_B, 1_B);
  const Nanos before = cluster_->simulation().now();
  EXPECT_EQ(run(b.file->lock({0_B, 1_B}, true, 5_s)).code(), Code::timed_out);
  EXPECT_LE(cluster_->simulation().now() - before, 6_s);
  EXPECT_EQ(run(b.file->unlock(77)).code(), Code::invalid);
}

TEST_F(LockTest, LocksOfADeadProcessAreFreeAtOnce) {
  start();
  auto a = std::make_unique<Process>(process());
  Process b = process();
  lock(*a, 0_B, 1_B);
  std::optional<Result<LockId>> second;
  begin(b.file->lock({0_B, 1_B}, true), second);
  EXPECT_FALSE(second.has_value());
  a->file.reset();
  a.reset();
  const Nanos before = cluster_->simulation().now();
  ASSERT_TRUE(wait_for([&] { return second.has_value(); }));
  EXPECT_TRUE(second->ok());
  EXPECT_LE(cluster_->simulation().now() - before, 100_ms);
}

TEST_F(LockTest, ARequestThatIsGivenUpDoesNotHoldTheLock) {
  start();
  Process a = process();
  Process b = process();
  const LockId first = lock(a, 0_B, 1_B);
  {
    Scope scope(cluster_->simulation().executor());
    scope.spawn([](OpenFile& file) -> Task<void> {
      (co_await file.lock({0_B, 1_B}, true)).status().ignore();
    }(*b.file));
    pass(10_ms);
  }
  EXPECT_TRUE(run(a.file->unlock(first)).ok());
  lock(a, 0_B, 1_B);
}

TEST_F(LockTest, AHeldLockSurvivesARestartOfTheServer) {
  start();
  Process a = process();
  Process b = process();
  const LockId first = lock(a, 0_B, 1_B);
  cluster_->stop_meta();
  pass(1_s);
  cluster_->start_meta();
  std::optional<Result<LockId>> second;
  begin(b.file->lock({0_B, 1_B}, true), second);
  pass(20_s);
  EXPECT_FALSE(second.has_value()) << "the holder has reclaimed it";
  EXPECT_TRUE(run(a.file->unlock(first)).ok());
  ASSERT_TRUE(wait_for([&] { return second.has_value(); }));
  EXPECT_TRUE(second->ok());
}

TEST_F(LockTest, ALockThatOthersGotMeanwhileIsReportedLost) {
  SimClusterOptions options;
  options.client_nodes = 2;
  start(options);
  Process a = process(true, 1);
  Process b = process();
  const LockId first = lock(a, 0_B, 1_B);
  std::optional<Result<LockId>> second;
  begin(b.file->lock({0_B, 1_B}, true), second);
  cluster_->fabric().cut(cluster_->client_node(1), SimCluster::meta_node());
  ASSERT_TRUE(wait_for([&] { return second.has_value(); }));
  EXPECT_TRUE(second->ok());
  cluster_->fabric().heal(cluster_->client_node(1), SimCluster::meta_node());
  pass(10_s);
  EXPECT_EQ(run(a.file->unlock(first)).code(), Code::stale);
}

TEST_F(LockTest, ManyClientsTakeTurns) {
  start();
  constexpr int kProcesses = 9;
  std::vector<Process> processes;
  for (int i = 0; i < kProcesses; ++i) processes.push_back(process());
  int inside = 0;
  int most = 0;
  int rounds = 0;
  Scope scope(cluster_->simulation().executor());
  const auto work = [](OpenFile& file, Clock& clock, int& in, int& max, int& done) -> Task<void> {
    for (int i = 0; i < 10; ++i) {
      auto lock = co_await file.lock({0_B, Bytes::max()}, true);
      EXPECT_TRUE(lock.ok());
      max = std::max(max, ++in);
      co_await clock.sleep(1_ms);
      --in;
      EXPECT_TRUE((co_await file.unlock(*lock)).ok());
      ++done;
    }
  };
  for (Process& each : processes) scope.spawn(work(*each.file, each.client->clock(), inside, most, rounds));
  ASSERT_TRUE(wait_for([&] { return rounds == kProcesses * 10; }));
  EXPECT_EQ(most, 1);
}

using CounterTest = ClusterTest;

TEST_F(CounterTest, CountsForAllClients) {
  start();
  auto other = make_client();
  EXPECT_EQ(run(files().counter(7, CounterOp::get, 0)).code(), Code::not_found);
  EXPECT_EQ(run(files().counter(7, CounterOp::fetch_add, 1)).code(), Code::not_found);
  EXPECT_EQ(*run(files().counter(7, CounterOp::set, 40)), 40);
  EXPECT_EQ(*run(other->files().counter(7, CounterOp::fetch_add, 2)), 40);
  EXPECT_EQ(*run(files().counter(7, CounterOp::get, 0)), 42);
  EXPECT_EQ(*run(files().counter(7, CounterOp::fetch_add, -50)), 42);
  EXPECT_EQ(*run(files().counter(7, CounterOp::get, 0)), -8);
  EXPECT_TRUE(run(files().counter(7, CounterOp::remove, 0)).ok());
  EXPECT_TRUE(run(files().counter(7, CounterOp::remove, 0)).ok());
  EXPECT_EQ(run(files().counter(7, CounterOp::get, 0)).code(), Code::not_found);
  EXPECT_EQ(*run(files().counter(7, CounterOp::make, 3)), 3);
  EXPECT_EQ(*run(other->files().counter(7, CounterOp::make, 5)), 3) << "it is there already";
  EXPECT_EQ(*run(files().counter(7, CounterOp::set, INT64_MAX)), INT64_MAX);
  EXPECT_EQ(run(files().counter(7, CounterOp::fetch_add, 1)).code(), Code::too_large);
}

TEST_F(CounterTest, BelongsToItsUser) {
  start();
  auto other = make_client({}, 1000);
  EXPECT_TRUE(run(files().counter(7, CounterOp::set, 1)).ok());
  for (const CounterOp op :
       {CounterOp::get, CounterOp::set, CounterOp::fetch_add, CounterOp::remove, CounterOp::make})
    EXPECT_EQ(run(other->files().counter(7, op, 1)).code(), Code::permission);
}

TEST_F(CounterTest, EveryAdditionCountsOnceHoweverOftenTheServerRestarts) {
  start();
  ASSERT_TRUE(run(files().counter(7, CounterOp::set, 0)).ok());
  for (int i = 0; i < 20; ++i) {
    const auto before = run_with(files().counter(7, CounterOp::fetch_add, 1), Nanos(i * 20'000), [&] {
      cluster_->stop_meta();
      cluster_->simulation().run_until(cluster_->simulation().now() + 200_ms);
      cluster_->start_meta();
    });
    ASSERT_TRUE(before.ok()) << before.status().to_string();
    EXPECT_EQ(*before, i);
  }
}

TEST_F(CounterTest, LeftoversAreRemovedAfterAWeek) {
  start();
  for (std::uint64_t key = 1; key <= 4; ++key) ASSERT_TRUE(run(files().counter(key, CounterOp::set, 0)).ok());
  client_.reset();
  const Nanos week = 3600_s * 24 * 7;
  cluster_->simulation().run_until(cluster_->simulation().now() + week / 2);
  client_ = make_client();
  ASSERT_TRUE(run(files().counter(2, CounterOp::fetch_add, 5)).ok());
  client_.reset();
  cluster_->simulation().run_until(cluster_->simulation().now() + week / 2 + 1_s);
  client_ = make_client();
  ASSERT_TRUE(run(files().counter(100, CounterOp::set, 0)).ok());
  for (const std::uint64_t key : {1, 3, 4})
    EXPECT_EQ(run(files().counter(key, CounterOp::get, 0)).code(), Code::not_found) << key;
  EXPECT_EQ(*run(files().counter(2, CounterOp::get, 0)), 5) << "it was in use";
}

TEST_F(LockTest, AfterTheLossOfALockItsHoldersWritesAreRefused) {
  SimClusterOptions options;
  options.client_nodes = 2;
  start(options);
  Process a = process(true, 1);
  Process b = process();
  const LockId first = lock(a, 0_B, 1_B);
  const std::vector<std::byte> old(1, std::byte{'a'});
  const std::vector<std::byte> now(1, std::byte{'b'});
  ASSERT_TRUE(run(a.file->write(0_B, old)).ok());
  // The holder reaches the data servers, but not the metadata server, and has not noticed yet.
  cluster_->fabric().cut(cluster_->client_node(1), SimCluster::meta_node());
  lock(b, 0_B, 1_B);
  ASSERT_TRUE(run(b.file->write(0_B, now)).ok());
  EXPECT_EQ(run(a.file->write(0_B, old)).code(), Code::stale);
  EXPECT_EQ(run(a.file->write(0_B, old)).code(), Code::stale) << "without asking";
  std::vector<std::byte> seen(1);
  ASSERT_TRUE(run(b.file->read(0_B, seen)).ok());
  EXPECT_EQ(seen, now);
  EXPECT_TRUE(run(a.file->write(100_B, old)).ok()) << "the lock does not cover these bytes";
  cluster_->fabric().heal(cluster_->client_node(1), SimCluster::meta_node());
  EXPECT_EQ(run(a.file->unlock(first)).code(), Code::stale);
}

TEST_F(LockTest, ADataServerThatHasRestartedIsNotWrittenToUnderALostLock) {
  SimClusterOptions options;
  options.client_nodes = 2;
  start(options);
  ClientOptions impatient;
  impatient.patience = 5_s;
  Process a = process(true, 1, impatient);
  Process b = process();
  lock(a, 0_B, 1_B);
  const std::vector<std::byte> old(1, std::byte{'a'});
  const std::vector<std::byte> now(1, std::byte{'b'});
  ASSERT_TRUE(run(a.file->write(0_B, old)).ok());
  cluster_->fabric().cut(cluster_->client_node(1), SimCluster::meta_node());
  lock(b, 0_B, 1_B);
  ASSERT_TRUE(run(b.file->write(0_B, now)).ok());
  for (std::uint32_t server = 0; server < cluster_->servers(); ++server) {
    cluster_->stop_data(server);
    cluster_->start_data(server);
  }
  EXPECT_FALSE(run(a.file->write(0_B, old)).ok()) << "nobody can tell it whether it has the lock";
  cluster_->fabric().heal(cluster_->client_node(1), SimCluster::meta_node());
  pass(10_s);
  EXPECT_EQ(run(a.file->write(0_B, old)).code(), Code::stale);
  std::vector<std::byte> seen(1);
  ASSERT_TRUE(run(b.file->read(0_B, seen)).ok());
  EXPECT_EQ(seen, now);
}

TEST_F(LockTest, ALockThatIsStillHeldOutlivesTheRestartOfADataServer) {
  start();
  Process a = process();
  const LockId held = lock(a, 0_B, 1_B);
  const std::vector<std::byte> bytes(1, std::byte{'a'});
  for (std::uint32_t server = 0; server < cluster_->servers(); ++server) {
    cluster_->stop_data(server);
    cluster_->start_data(server);
  }
  EXPECT_TRUE(run(a.file->write(0_B, bytes)).ok());
  EXPECT_TRUE(run(a.file->truncate(0_B)).ok());
  EXPECT_TRUE(run(a.file->unlock(held)).ok());
}

}  // namespace
}  // namespace tutti
