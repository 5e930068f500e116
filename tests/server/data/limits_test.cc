// No user and no application takes all of a data server.
#include "env/combine.h"
#include "server/data/usage.h"
#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

TEST(Usages, NobodyHasMoreThanEightTimesWhatIsLeft) {
  EXPECT_TRUE(fair(0, 0, 1));
  EXPECT_FALSE(fair(0, 1, 1));
  std::uint64_t used = 0;
  while (fair(used, used, 900)) ++used;
  EXPECT_EQ(used, 800U);
  std::uint64_t second = 0;
  while (fair(second, used + second, 900)) ++second;
  EXPECT_GT(second, 80U) << "another one finds room";
}

TEST(Usages, AreForgottenWithTheirLastUser) {
  Usages shares;
  const auto kept = shares.of_user(1);
  kept->requests = 5;
  for (std::uint32_t uid = 100; uid < 1000; ++uid) shares.of_user(uid)->requests = 1;
  EXPECT_EQ(shares.of_user(1)->requests, 5U);
  EXPECT_EQ(shares.of_user(100)->requests, 0U);
  EXPECT_NE(shares.of_application(1, 7), shares.of_application(2, 7));
}

class Limits : public DataServerTest {
 protected:
  void become(std::uint32_t uid) {
    Peer peer;
    peer.uid = uid;
    peer.any_user = true;  // capabilities are for others here
    peer.name = "somebody";
    fabric_.set_peer(client_node_, peer);
  }
  // So many requests at once; how many are told to wait.
  int told_to_wait(Channel& channel, std::size_t count, std::span<std::byte> bytes,
                   std::uint64_t application) {
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
    const auto region = channel.connection().expose({&segment, 1}, Access::read);
    std::vector<flatbuffers::FlatBufferBuilder> builders(count);
    for (auto& builder : builders) {
      build_transfer(builder, capability(wire::kRightWrite), {wire::Extent(0, bytes.size())}, region,
                     clock_.wall(), 0, application);
      calls_.push_back(channel.call(wire::request_type(wire::Type::write), wire::bytes(builder)));
    }
    int told = 0;
    for (const auto& reply : run(when_all(std::move(calls_)))) {
      const Status status = wire::status_of(*wire::parse<wire::TransferReply>(reply->payload));
      told += status.code() == Code::busy ? 1 : 0;
    }
    calls_.clear();
    return told;
  }
  std::vector<Task<Result<Channel::Reply>>> calls_;
};

TEST_F(Limits, OneUsersRequestsLeaveRoomForAnothers) {
  DataServerOptions options;
  options.max_queued = 90;
  start("fcfs;dispatch_depth=1", options);
  auto bytes = pattern(1 << 20);
  become(1000);
  auto greedy = connect(1);
  become(2000);
  auto modest = connect(2);
  flatbuffers::FlatBufferBuilder builder;
  const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  const auto region = modest->connection().expose({&segment, 1}, Access::read);
  build_transfer(builder, capability(wire::kRightWrite), {wire::Extent(0, 100)}, region, clock_.wall(), 0, 9);
  Code modest_code = Code::internal;
  scope_.spawn(ask_later(*modest, builder, modest_code));
  const int told = told_to_wait(*greedy, 200, bytes, 1);
  EXPECT_GE(told, 100);
  EXPECT_EQ(modest_code, Code::ok) << "while the other one's filled the queue";
}

TEST_F(Limits, ARefusedSessionMayComeAgain) {
  DataServerOptions options;
  options.max_sessions = 9;
  start("fcfs", options);
  become(1000);
  std::vector<std::unique_ptr<Channel>> greedy;
  while (session_.ok() && greedy.size() < 20) greedy.push_back(connect(greedy.size() + 1));
  EXPECT_EQ(session_.code(), Code::busy);
  EXPECT_EQ(greedy.size(), 9U) << "eight, and the one that was refused";
  become(2000);
  auto modest = connect(100);
  EXPECT_TRUE(session_.ok());
}

class CutMeanwhile : public DataServerTest {
 protected:
  static Task<void> later(Clock& clock, Nanos time, DataServerTest& /*test*/, Channel& channel,
                          const flatbuffers::FlatBufferBuilder& builder) {
    co_await clock.sleep(time);
    (co_await channel.call(wire::request_type(wire::Type::truncate), wire::bytes(builder))).status().ignore();
  }
};

// The policy serves a quantum at a time: a truncate has its turn between two of them.
TEST_F(CutMeanwhile, AWriteIsWholeAfterATruncateBetweenItsTurns) {
  start("window;interval=1;quantum=64KiB", {});
  auto writer = connect(1);
  auto cutter = connect(2);
  auto bytes = pattern(4 << 20);
  flatbuffers::FlatBufferBuilder builder;
  const auto rights = capability(wire::kRightWrite);
  const wire::Tag tag(2, clock_.wall().count(), 2, 1, 0);
  builder.Finish(wire::CreateTruncateRequest(builder, &rights, &tag, 0, true, false));
  for (const Nanos time : {1_ms, 3_ms, 7_ms, 13_ms, 19_ms})
    scope_.spawn(later(clock_, time, *this, *cutter, builder));
  ASSERT_TRUE(transfer(*writer, true, 0, bytes, capability(wire::kRightWrite)).ok());
  std::vector<std::byte> seen(bytes.size());
  ASSERT_TRUE(transfer(*writer, false, 0, seen, capability(wire::kRightRead)).ok());
  if (seen.front() != std::byte{0}) {
    EXPECT_TRUE(seen == bytes) << "all of it, or nothing of it";
  } else {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), std::byte{0}), static_cast<long>(seen.size()));
  }
}

class StolenCapability : public DataServerTest {};

TEST_F(StolenCapability, IsOfNoUseToAnotherUser) {
  Peer thief;
  thief.uid = 1000;
  thief.name = "thief";
  fabric_.set_peer(client_node_, thief);
  auto channel = connect(1);
  auto bytes = pattern(10);
  const auto of_root = key_.sign(kFile, wire::kRightWrite | wire::kRightRead, 0, clock_.wall() + 60_s);
  EXPECT_EQ(transfer(*channel, true, 0, bytes, of_root).code(), Code::bad_capability);
  EXPECT_EQ(transfer(*channel, false, 0, bytes, of_root).code(), Code::bad_capability);
  const auto own = key_.sign(kFile, wire::kRightWrite, 1000, clock_.wall() + 60_s);
  EXPECT_TRUE(transfer(*channel, true, 0, bytes, own).ok());
}

}  // namespace
}  // namespace tutti
