// Changes are applied once, however often a client has to ask for them.
#include "server/data/replay.h"

#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

TEST(ReplayRecord, KnowsWhatWasAppliedUntilTheClientHasTheAnswer) {
  ReplayRecord record;
  record.note(3, 100_B, 0);
  record.note(2, 50_B, 0);
  EXPECT_EQ(record.applied(2, 100_B, 0), 50_B);
  EXPECT_EQ(record.applied(3, 100_B, 0), 100_B);
  EXPECT_EQ(record.applied(4, 100_B, 0), 0_B);
  record.forget_before(3);
  EXPECT_EQ(record.applied(2, 100_B, 0), 0_B);
  EXPECT_EQ(record.size(), 1U);
}

TEST(ReplayRecord, APartDoesNotCountAfterAnObjectWasCut) {
  ReplayRecord record;
  record.note(1, 50_B, 7);
  record.note(2, 100_B, 7);
  EXPECT_EQ(record.applied(1, 100_B, 8), 0_B);
  EXPECT_EQ(record.applied(2, 100_B, 8), 100_B) << "all of it was applied before";
}

TEST(ReplayRecords, OutliveTheSessionsOfSoManyClients) {
  ReplayRecords records;
  for (std::uint64_t client = 0; client < 2 * ReplayRecords::kKept; ++client) {
    records.open(0, client)->note(1, 1_B, 0);
    records.close(0, client);
  }
  EXPECT_EQ(records.size(), ReplayRecords::kKept);
  EXPECT_EQ(records.open(0, 0)->applied(1, 1_B, 0), 0_B);
  EXPECT_EQ(records.open(0, 2 * ReplayRecords::kKept - 1)->applied(1, 1_B, 0), 1_B);
  records.open(0, 5)->note(1, 1_B, 0);
  EXPECT_EQ(records.open(1, 5)->applied(1, 1_B, 0), 0_B) << "another user's";
  records.open(0, 77777);
  records.close(0, 77777);
  EXPECT_EQ(records.open(0, 77777)->size(), 0U);
}

class AppliedOnce : public DataServerTest {
 protected:
  Status write(Channel& channel, std::uint64_t number, std::uint64_t unanswered, std::span<std::byte> bytes) {
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
    const auto region = channel.connection().expose({&segment, 1}, Access::read);
    flatbuffers::FlatBufferBuilder builder;
    const auto rights = capability(wire::kRightWrite);
    const wire::Tag tag(1, clock_.wall().count(), 1, 1, 0);
    const auto list = builder.CreateVectorOfStructs(std::vector<wire::Extent>{wire::Extent(0, bytes.size())});
    wire::TransferRequestBuilder fields(builder);
    fields.add_capability(&rights);
    fields.add_tag(&tag);
    fields.add_extents(list);
    fields.add_region(region);
    fields.add_number(number);
    fields.add_unanswered(unanswered);
    builder.Finish(fields.Finish());
    Status status = ask<wire::TransferReply>(channel, wire::Type::write, builder);
    channel.connection().withdraw(region);
    return status;
  }
  Status truncate(Channel& channel, std::uint64_t number, std::uint64_t length) {
    flatbuffers::FlatBufferBuilder builder;
    const auto rights = capability(wire::kRightWrite);
    const wire::Tag tag(1, clock_.wall().count(), 1, 1, 0);
    builder.Finish(wire::CreateTruncateRequest(builder, &rights, &tag, length, true, true, number, 1));
    return ask<wire::StatusReply>(channel, wire::Type::truncate, builder);
  }
  std::byte first(Channel& channel) {
    std::byte byte{0};
    EXPECT_TRUE(transfer(channel, false, 0, {&byte, 1}, capability(wire::kRightRead)).ok());
    return byte;
  }
};

TEST_F(AppliedOnce, AWriteRepeatedAfterALostAnswerDoesNotUndoWhatCameBetween) {
  std::vector<std::byte> a(100'000, std::byte{'A'});
  std::vector<std::byte> b(100'000, std::byte{'B'});
  auto lost = connect(1);
  ASSERT_TRUE(write(*lost, 1, 1, a).ok());  // its answer, let us say, was lost with the connection
  lost.reset();
  auto other = connect(2);
  ASSERT_TRUE(write(*other, 1, 1, b).ok());
  auto again = connect(1);
  EXPECT_TRUE(write(*again, 1, 1, a).ok()) << "the answer of the first time";
  EXPECT_EQ(first(*again), std::byte{'B'});
  EXPECT_TRUE(write(*again, 2, 2, a).ok());
  EXPECT_EQ(first(*again), std::byte{'A'}) << "that is another write";
}

TEST_F(AppliedOnce, ATruncateRepeatedAfterALostAnswerCutsNothing) {
  std::vector<std::byte> bytes(1000, std::byte{'B'});
  auto channel = connect(1);
  ASSERT_TRUE(truncate(*channel, 1, 0).ok());
  channel.reset();
  auto other = connect(2);
  ASSERT_TRUE(write(*other, 1, 1, bytes).ok());
  auto again = connect(1);
  EXPECT_TRUE(truncate(*again, 1, 0).ok());
  EXPECT_EQ(first(*again), std::byte{'B'});
}

TEST_F(AppliedOnce, AnotherUserWithTheSameClientIdHasARecordOfItsOwn) {
  std::vector<std::byte> bytes(1000, std::byte{'A'});
  auto channel = connect(1);
  ASSERT_TRUE(write(*channel, 1, 1, bytes).ok());
  channel.reset();
  run(sleep(1_s));
  Peer stranger;
  stranger.any_user = true;
  stranger.uid = 1000;
  fabric_.set_peer(client_node_, stranger);
  auto second = connect(1);
  bytes.assign(1000, std::byte{'B'});
  ASSERT_TRUE(write(*second, 1, 1, bytes).ok());
  EXPECT_EQ(first(*second), std::byte{'B'});
}

}  // namespace
}  // namespace tutti
