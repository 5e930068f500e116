#include "server/data/directed_calls.h"

#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

class DirectedCallsTest : public DataServerTest {
 protected:
  struct Part {
    std::vector<std::byte> bytes;
    flatbuffers::FlatBufferBuilder builder;
    Code code = Code::internal;
    Nanos answered;
  };
  // Asks for a write of a block as a part of call 9, which has so many members.
  void ask(Channel& channel, Part& part, std::uint64_t offset, std::uint32_t members, bool last) {
    part.bytes = pattern(50'000, static_cast<unsigned>(offset));
    const Segment segment{reinterpret_cast<std::uint64_t>(part.bytes.data()), part.bytes.size()};
    const auto region = channel.connection().expose({&segment, 1}, Access::read);
    const wire::Tag tag(1, clock_.wall().count(), 1, 1, 0);
    const auto rights = capability(wire::kRightWrite);
    const std::vector<wire::Extent> extents = {wire::Extent(offset, part.bytes.size())};
    const auto list = part.builder.CreateVectorOfStructs(extents);
    const wire::DirectedCall directed(9, members, last);
    wire::TransferRequestBuilder fields(part.builder);
    fields.add_capability(&rights);
    fields.add_tag(&tag);
    fields.add_extents(list);
    fields.add_region(region);
    fields.add_directed(&directed);
    part.builder.Finish(fields.Finish());
    asking_.spawn(note(channel, part, clock_));
  }
  static Task<void> note(Channel& channel, Part& part, Clock& clock) {
    co_await ask_later(channel, part.builder, part.code);
    part.answered = clock.now();
  }

  Scope asking_{simulation_.executor()};
};

TEST_F(DirectedCallsTest, ACallIsServedWhenAllMembersHaveAskedAndInTheOrderOfItsBytes) {
  start("fcfs;dispatch_depth=1", {});
  auto one = connect(1);
  auto two = connect(2);
  std::array<Part, 4> parts;
  ask(*one, parts[0], 400'000, 2, false);
  ask(*one, parts[1], 200'000, 2, true);
  run(sleep(20_ms));
  EXPECT_EQ(parts[0].code, Code::internal) << "not all of it is known";
  EXPECT_EQ(server_->dispatcher().queued(), 2U);
  ask(*two, parts[2], 300'000, 2, false);
  ask(*two, parts[3], 100'000, 2, true);
  const Nanos all = clock_.now();
  run(sleep(20_ms));
  for (const Part& part : parts) EXPECT_EQ(part.code, Code::ok);
  EXPECT_LT(parts[3].answered, parts[1].answered);
  EXPECT_LT(parts[1].answered, parts[2].answered);
  EXPECT_LT(parts[2].answered, parts[0].answered);
  EXPECT_GT(parts[3].answered, all);
}

TEST_F(DirectedCallsTest, AMemberThatDoesNotComeIsNotWaitedForLong) {
  auto one = connect(1);
  Part part;
  const Nanos began = clock_.now();
  ask(*one, part, 0, 2, true);
  run(sleep(200_ms));
  EXPECT_EQ(part.code, Code::ok);
  EXPECT_GE(part.answered - began, DirectedCalls::kPatience);
  EXPECT_LT(part.answered - began, DirectedCalls::kPatience + 20_ms);
  Part late;
  const Nanos then = clock_.now();
  ask(*one, late, 100'000, 2, false);
  run(sleep(200_ms));
  EXPECT_EQ(late.code, Code::ok);
  EXPECT_LT(late.answered - then, 20_ms) << "the call is over: nobody waits for it again";
}

TEST_F(DirectedCallsTest, PartsGoWithTheirSession) {
  auto one = connect(1);
  Part part;
  ask(*one, part, 0, 2, true);
  run(sleep(10_ms));
  EXPECT_EQ(server_->dispatcher().queued(), 1U);
  one->close();
  run(sleep(10_ms));
  EXPECT_EQ(server_->dispatcher().queued(), 0U);
  run(sleep(100_ms));
  EXPECT_EQ(server_->dispatcher().totals().writes, 0U);
}

}  // namespace
}  // namespace tutti
