#include "server/data/session_views.h"

#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

// Blocks of 100 bytes, 300 apart; the second of three ranks.
FlatType strided() { return FlatType::resized(0, 300, FlatType::bytes(100)); }

void build_view(flatbuffers::FlatBufferBuilder& builder, std::uint64_t number, const FlatType& type,
                std::int64_t displacement = 100, std::uint64_t file = kFile,
                const wire::Layout& layout = wire::Layout(65536, 1, 0, 1, 0), std::uint32_t slot = 0) {
  const auto bytes = *type.encode(1 << 22);
  const auto list = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  builder.Finish(wire::CreateViewRequest(builder, number, file, &layout, slot, displacement, list));
}

FlatType irregular(std::int64_t blocks) {
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(blocks), 1);
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < blocks; ++i) places.push_back(i * 3 + i % 2);
  return FlatType::indexed(lengths, places, FlatType::bytes(1));
}

class SessionViewsTest : public testing::Test {
 protected:
  Status declare(std::uint64_t number, const FlatType& type, std::int64_t displacement = 100,
                 const wire::Layout& layout = wire::Layout(65536, 1, 0, 1, 0), std::uint32_t slot = 0) {
    flatbuffers::FlatBufferBuilder builder;
    build_view(builder, number, type, displacement, kFile, layout, slot);
    return views_.declare(*wire::parse<wire::ViewRequest>(wire::bytes(builder)));
  }
  Code find(std::uint64_t number) { return views_.find(number, kFile).code(); }

  ViewMemory memory_{64_MiB};
  std::shared_ptr<Usage> user_ = std::make_shared<Usage>();
  SessionViews views_{memory_, user_};
};

TEST_F(SessionViewsTest, AViewIsThereUntilItIsDropped) {
  ASSERT_TRUE(declare(1, strided()).ok());
  EXPECT_EQ(find(1), Code::ok);
  EXPECT_EQ(find(2), Code::not_found);
  EXPECT_EQ(views_.find(1, kFile + 1).code(), Code::unsupported) << "of another file";
  EXPECT_GT(memory_.used, 0_B);
  EXPECT_EQ(memory_.used, user_->views);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(wire::CreateViewRequest(builder, 1, kFile));
  ASSERT_TRUE(views_.declare(*wire::parse<wire::ViewRequest>(wire::bytes(builder))).ok());
  EXPECT_EQ(find(1), Code::not_found);
  EXPECT_EQ(memory_.used, 0_B);
}

TEST_F(SessionViewsTest, ThoseNotUsedForLongestMakeRoom) {
  std::uint64_t number = 0;
  while (memory_.used + 100_KiB < SessionViews::kMost) ASSERT_TRUE(declare(++number, irregular(1000)).ok());
  ASSERT_GT(number, 8U);
  EXPECT_EQ(find(1), Code::ok) << "used a moment ago";
  ASSERT_TRUE(declare(++number, irregular(2000)).ok());
  EXPECT_EQ(find(2), Code::not_found);
  EXPECT_EQ(find(1), Code::ok);
  EXPECT_EQ(find(number), Code::ok);
  EXPECT_LE(views_.memory(), SessionViews::kMost);
}

TEST_F(SessionViewsTest, WhatIsTooLargeIsRefusedBeforeMemoryIsSpent) {
  ASSERT_TRUE(declare(1, irregular(20'000)).ok()) << "many blocks in few bytes of the wire";
  EXPECT_EQ(find(1), Code::unsupported);
  ASSERT_TRUE(declare(2, irregular(40'000)).ok());
  EXPECT_EQ(find(2), Code::unsupported);
  EXPECT_EQ(memory_.used, 0_B);
  ASSERT_TRUE(declare(3, strided()).ok());
  EXPECT_EQ(find(3), Code::ok);
}

TEST_F(SessionViewsTest, WhatNoClientMeansIsMalformed) {
  const wire::Layout good(65536, 2, 0, 2, 0);
  EXPECT_EQ(declare(0, strided()).code(), Code::malformed);
  EXPECT_EQ(declare(1, strided(), -1).code(), Code::malformed);
  EXPECT_EQ(declare(1, FlatType::empty()).code(), Code::malformed);
  EXPECT_EQ(declare(1, FlatType::vector(3, 1, -12, FlatType::bytes(4))).code(), Code::malformed)
      << "descends";
  EXPECT_EQ(declare(1, strided(), 0, wire::Layout(100, 2, 0, 2, 0)).code(), Code::malformed);
  EXPECT_EQ(declare(1, strided(), 0, wire::Layout(65536, 0, 0, 2, 0)).code(), Code::malformed);
  EXPECT_EQ(declare(1, strided(), 0, good, 2).code(), Code::malformed);
  EXPECT_TRUE(declare(1, strided(), 0, good, 1).ok());
}

TEST_F(SessionViewsTest, OneUserLeavesRoomForOthers) {
  ViewMemory small{4_MiB};
  std::vector<std::unique_ptr<SessionViews>> sessions;
  flatbuffers::FlatBufferBuilder builder;
  build_view(builder, 1, irregular(5000));
  const auto& request = *wire::parse<wire::ViewRequest>(wire::bytes(builder));
  for (int i = 0; i < 100; ++i) {
    sessions.push_back(std::make_unique<SessionViews>(small, user_));
    ASSERT_TRUE(sessions.back()->declare(request).ok());
  }
  EXPECT_EQ(sessions.back()->find(1, kFile).code(), Code::unsupported);
  EXPECT_LT(small.used, small.most);
  SessionViews other(small, std::make_shared<Usage>());
  ASSERT_TRUE(other.declare(request).ok());
  EXPECT_TRUE(other.find(1, kFile).ok());
  sessions.clear();
  EXPECT_EQ(user_->views, 0_B);
}

// --- transfers that name one ---

class ViewTransfers : public DataServerTest {
 protected:
  void declare(Channel& channel, std::uint64_t number, const FlatType& type, std::uint64_t file = kFile) {
    flatbuffers::FlatBufferBuilder builder;
    build_view(builder, number, type, 100, file);
    channel.connection().send(wire::request_type(wire::Type::view), 0, wire::bytes(builder)).ignore();
  }
  Status by_view(Channel& channel, bool write, std::uint64_t number, std::uint64_t offset,
                 std::span<std::byte> bytes, std::uint64_t share, std::uint32_t inline_limit = 0) {
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
    const auto region = channel.connection().expose({&segment, 1}, write ? Access::read : Access::write);
    flatbuffers::FlatBufferBuilder builder;
    const wire::Tag tag(1, clock_.wall().count(), 1, 1, 0);
    const auto rights = capability(write ? wire::kRightWrite : wire::kRightRead);
    wire::TransferRequestBuilder fields(builder);
    fields.add_capability(&rights);
    fields.add_tag(&tag);
    fields.add_region(region);
    fields.add_inline_limit(inline_limit);
    fields.add_view(number);
    fields.add_view_offset(offset);
    fields.add_view_length(bytes.size());
    fields.add_view_share(share);
    builder.Finish(fields.Finish());
    Status status = ask<wire::TransferReply>(channel, write ? wire::Type::write : wire::Type::read, builder);
    channel.connection().withdraw(region);
    return status;
  }
};

TEST_F(ViewTransfers, TheServerScattersAndGathers) {
  auto channel = connect();
  declare(*channel, 5, strided());
  auto bytes = pattern(1000);
  ASSERT_TRUE(by_view(*channel, true, 5, 0, bytes, 1000).ok());
  std::vector<std::byte> file(2900);
  ASSERT_TRUE(transfer(*channel, false, 0, file, capability(wire::kRightRead)).ok());
  for (std::size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(file[100 + i / 100 * 300 + i % 100], bytes[i]) << i;
  }
  EXPECT_EQ(file[99], std::byte{0});
  EXPECT_EQ(file[200], std::byte{0});
  std::vector<std::byte> back(500);
  ASSERT_TRUE(by_view(*channel, false, 5, 250, back, 500).ok());
  EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin() + 250));
  EXPECT_EQ(server_->dispatcher().totals().by_view, 2U);
}

TEST_F(ViewTransfers, AReadPastTheEndTellsWhereTheObjectEnds) {
  auto channel = connect();
  declare(*channel, 5, strided());
  auto bytes = pattern(150);
  ASSERT_TRUE(by_view(*channel, true, 5, 0, bytes, 150).ok());
  std::vector<std::byte> back(400);
  ASSERT_TRUE(by_view(*channel, false, 5, 0, back, 400).ok());
  EXPECT_EQ(reply()->valid_end(), 450U);
}

TEST_F(ViewTransfers, WhatIsNotThereOrNotForThisIsRefusedAndTheSessionGoesOn) {
  auto channel = connect();
  auto bytes = pattern(1000);
  EXPECT_EQ(by_view(*channel, true, 5, 0, bytes, 1000).code(), Code::not_found);
  declare(*channel, 5, strided(), kFile + 1);
  EXPECT_EQ(by_view(*channel, true, 5, 0, bytes, 1000).code(), Code::unsupported) << "another file's";
  declare(*channel, 5, strided());
  EXPECT_EQ(by_view(*channel, true, 5, 0, bytes, 999).code(), Code::unsupported) << "both count otherwise";
  EXPECT_EQ(by_view(*channel, true, 5, wire::kMaxOffset + 1, bytes, 1000).code(), Code::invalid);
  EXPECT_EQ(by_view(*channel, true, 5, wire::kMaxOffset, bytes, 1000).code(), Code::too_large);
  EXPECT_EQ(by_view(*channel, true, 5, 0, bytes, 0).code(), Code::invalid);
  const FlatType overlap = FlatType::vector(3, 1, 50, FlatType::bytes(100));
  declare(*channel, 6, overlap);
  EXPECT_EQ(by_view(*channel, true, 6, 0, bytes, 1000).code(), Code::unsupported) << "it overlaps itself";
  EXPECT_TRUE(by_view(*channel, false, 6, 0, bytes, 1000).ok()) << "which does not matter to a reader";
  EXPECT_TRUE(by_view(*channel, true, 5, 0, bytes, 1000).ok());
}

TEST_F(ViewTransfers, ASuccessorHasNoViewsOfItsPredecessor) {
  auto channel = connect();
  declare(*channel, 5, strided());
  auto bytes = pattern(1000);
  ASSERT_TRUE(by_view(*channel, true, 5, 0, bytes, 1000).ok());
  auto again = connect();
  EXPECT_EQ(by_view(*again, true, 5, 0, bytes, 1000).code(), Code::not_found);
}

TEST_F(ViewTransfers, AMalformedViewCostsTheConnection) {
  auto channel = connect();
  declare(*channel, 5, FlatType::vector(3, 1, -12, FlatType::bytes(4)));
  auto bytes = pattern(10);
  EXPECT_EQ(transfer(*channel, true, 0, bytes, capability(wire::kRightWrite)).code(), Code::unavailable);
}

// A view and a list in one message: which of them would count?
TEST_F(ViewTransfers, ARequestNamesAViewOrExtents) {
  auto channel = connect();
  declare(*channel, 5, strided());
  flatbuffers::FlatBufferBuilder builder;
  const wire::Tag tag(1, clock_.wall().count(), 1, 1, 0);
  const auto rights = capability(wire::kRightRead);
  const std::vector<wire::Extent> extents = {wire::Extent(0, 10)};
  const auto list = builder.CreateVectorOfStructs(extents);
  wire::TransferRequestBuilder fields(builder);
  fields.add_capability(&rights);
  fields.add_tag(&tag);
  fields.add_extents(list);
  fields.add_view(5);
  fields.add_view_length(10);
  fields.add_view_share(10);
  builder.Finish(fields.Finish());
  EXPECT_EQ(ask<wire::TransferReply>(*channel, wire::Type::read, builder).code(), Code::unavailable);
}

}  // namespace
}  // namespace tutti
