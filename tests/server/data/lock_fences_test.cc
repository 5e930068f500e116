// What was asked for under a lock that was lost is not done.
#include "server/data/lock_fences.h"

#include "server/fence.h"
#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

constexpr ObjectId kObject{kFile};

TEST(LockFences, RefuseLostLocksOfTheirObjectAlone) {
  LockFences fences;
  EXPECT_FALSE(fences.lost(kObject, 7, wire::Lock(1, 10)));
  fences.add(kObject, std::vector<wire::LostLock>{wire::LostLock(7, 1)}, 0);
  EXPECT_TRUE(fences.lost(kObject, 7, wire::Lock(1, 10)));
  EXPECT_FALSE(fences.lost(kObject, 7, wire::Lock(2, 10)));
  EXPECT_FALSE(fences.lost(kObject, 8, wire::Lock(1, 10)));
  EXPECT_FALSE(fences.lost(ObjectId{1}, 7, wire::Lock(1, 10)));
  EXPECT_FALSE(fences.lost(kObject, 7, wire::Lock()));
}

TEST(LockFences, RefuseLocksOfEarlierEpochs) {
  LockFences fences;
  fences.add(kObject, {}, 10);
  fences.add(kObject, {}, 5);
  EXPECT_TRUE(fences.lost(kObject, 1, wire::Lock(1, 9)));
  EXPECT_FALSE(fences.lost(kObject, 1, wire::Lock(1, 10)));
}

TEST(LockFences, AreBounded) {
  LockFences fences;
  for (std::uint64_t object = 0; object < 2 * LockFences::kMostObjects; ++object)
    fences.add(ObjectId{object}, {}, 10);
  EXPECT_FALSE(fences.lost(ObjectId{0}, 1, wire::Lock(1, 9)));
  EXPECT_TRUE(fences.lost(ObjectId{2 * LockFences::kMostObjects - 1}, 1, wire::Lock(1, 9)));
}

class Fencing : public DataServerTest {
 protected:
  Status write(Channel& channel, std::span<std::byte> bytes, const wire::Lock& lock) {
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
    const auto region = channel.connection().expose({&segment, 1}, Access::read);
    flatbuffers::FlatBufferBuilder builder;
    build(builder, bytes.size(), region, lock);
    Status status = ask<wire::TransferReply>(channel, wire::Type::write, builder);
    channel.connection().withdraw(region);
    return status;
  }
  void build(flatbuffers::FlatBufferBuilder& builder, std::size_t length, std::uint64_t region,
             const wire::Lock& lock) {
    const auto rights = capability(wire::kRightWrite);
    const wire::Tag tag(1, clock_.wall().count(), 1, 1, 0);
    const auto list = builder.CreateVectorOfStructs(std::vector<wire::Extent>{wire::Extent(0, length)});
    wire::TransferRequestBuilder fields(builder);
    fields.add_capability(&rights);
    fields.add_tag(&tag);
    fields.add_extents(list);
    fields.add_region(region);
    fields.add_lock(&lock);
    builder.Finish(fields.Finish());
  }
  Status fence(Channel& channel, std::vector<wire::LostLock> lost, std::uint64_t epoch,
               std::uint64_t signed_epoch) {
    flatbuffers::FlatBufferBuilder builder;
    const auto rights = capability(wire::kRightLength);
    const auto proof =
        key_.sign(fence_digest(kFile, lost, signed_epoch), wire::kRightFence, 0, clock_.wall() + 60_s);
    const wire::Tag tag(1, 0, 1, 1, 0);
    const auto list = builder.CreateVectorOfStructs(lost);
    builder.Finish(wire::CreateFenceRequest(builder, &rights, &tag, list, epoch, &proof));
    return ask<wire::StatusReply>(channel, wire::Type::fence, builder);
  }
};

TEST_F(Fencing, TheOldHoldersWritesAreRefusedAlsoIfTheyAreInTheQueue) {
  start("fcfs;dispatch_depth=1", {});
  auto old_holder = connect(7);
  auto new_holder = connect(8);
  auto bytes = pattern(1 << 20);
  const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  const auto region = old_holder->connection().expose({&segment, 1}, Access::read);
  std::vector<flatbuffers::FlatBufferBuilder> builders(4);
  std::vector<Code> codes(4, Code::internal);
  for (std::size_t i = 0; i < builders.size(); ++i) {
    build(builders[i], bytes.size(), region, wire::Lock(1, 5));
    scope_.spawn(ask_later(*old_holder, builders[i], codes[i]));
  }
  ASSERT_TRUE(fence(*new_holder, {wire::LostLock(7, 1)}, 0, 0).ok());
  const auto written = server_->dispatcher().totals().bytes_written;
  run(sleep(1_s));
  EXPECT_EQ(server_->dispatcher().totals().bytes_written, written) << "nothing after the fence was answered";
  EXPECT_EQ(codes.back(), Code::stale);
  EXPECT_EQ(write(*old_holder, bytes, wire::Lock(1, 5)).code(), Code::stale);
  EXPECT_TRUE(write(*old_holder, bytes, wire::Lock(2, 5)).ok());
  EXPECT_TRUE(write(*new_holder, bytes, wire::Lock(1, 5)).ok());
}

TEST_F(Fencing, TakesTheWordOfTheMetadataServerOnly) {
  auto channel = connect(7);
  EXPECT_EQ(fence(*channel, {}, 1000, 10).code(), Code::bad_capability);
  auto bytes = pattern(100);
  EXPECT_TRUE(write(*channel, bytes, wire::Lock(1, 5)).ok());
}

}  // namespace
}  // namespace tutti
