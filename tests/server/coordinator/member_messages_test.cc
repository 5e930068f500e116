#include "server/coordinator/member_messages.h"

#include <gtest/gtest.h>

#include <limits>

namespace tutti {
namespace {

const ServerKey kKey = ServerKey::from_seed(1);

TEST(JoinMessage, IsGoodForOneServerAndForAWhile) {
  const auto good = join_message(kKey, {3, true}, 0_s);
  const auto read = read_join(kKey, wire::bytes(good), 1_s);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->index, 3U);
  EXPECT_TRUE(read->rotational);
  EXPECT_EQ(read_join(kKey, wire::bytes(good), 301_s).code(), Code::expired);
  EXPECT_EQ(read_join(ServerKey::from_seed(2), wire::bytes(good), 1_s).code(), Code::bad_capability);
  const auto* sound = wire::parse<wire::JoinRequest>(wire::bytes(good));
  flatbuffers::FlatBufferBuilder other;
  other.Finish(wire::CreateJoinRequest(other, sound->capability(), 4, true));
  EXPECT_EQ(read_join(kKey, wire::bytes(other), 1_s).code(), Code::bad_capability) << "another server";
}

TEST(LostTurns, ArriveAsTheyWereSentOrNotAtAll) {
  const std::vector<std::uint64_t> fences = {5, 9};
  const auto good = lost_turns_message(kKey, fences, 0_s);
  const auto read = read_lost_turns(kKey, wire::bytes(good), 1_s);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, fences);
  EXPECT_EQ(read_lost_turns(kKey, wire::bytes(good), 301_s).code(), Code::expired);
  const auto* sound = wire::parse<wire::LostTurnsRequest>(wire::bytes(good));
  const auto with = [&](const std::vector<std::uint64_t>& others) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(wire::CreateLostTurnsRequest(builder, sound->capability(), builder.CreateVector(others)));
    return read_lost_turns(kKey, wire::bytes(builder), 1_s).code();
  };
  EXPECT_EQ(with({5, 9}), Code::ok);
  EXPECT_EQ(with({5, 10}), Code::bad_capability);
  EXPECT_EQ(with(std::vector<std::uint64_t>(wire::kMaxLostTurns + 1)), Code::malformed);
}

TEST(AdviceMessage, ArrivesAsItWasSentOrNotAtAll) {
  const Advice advice{5, 9_s, {{7, false, 1_s, 2_s}, {0, true, 2_s, 3_s}}, {{1_s, 1}, {2_s, 0}}};
  const auto good = advice_message(kKey, advice, 0_s);
  const auto read = read_advice(kKey, wire::bytes(good), 1_s);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, advice);
  const auto* sound = wire::parse<wire::AdviceRequest>(wire::bytes(good));
  const auto changed = [&](std::uint32_t version, std::uint64_t epoch) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<wire::TimeSlice> slices;
    for (const wire::TimeSlice* slice : *sound->slices()) slices.push_back(*slice);
    std::vector<wire::PlanStep> steps;
    for (const wire::PlanStep* step : *sound->plan()) steps.push_back(*step);
    const auto list = builder.CreateVectorOfStructs(slices);
    const auto plan = builder.CreateVectorOfStructs(steps);
    builder.Finish(
        wire::CreateAdviceRequest(builder, sound->capability(), version, epoch, sound->expiry(), list, plan));
    return read_advice(kKey, wire::bytes(builder), 1_s).code();
  };
  EXPECT_EQ(changed(wire::kAdviceVersion, 5), Code::ok);
  EXPECT_EQ(changed(wire::kAdviceVersion, 6), Code::bad_capability);
  EXPECT_EQ(changed(wire::kAdviceVersion + 1, 5), Code::version);
}

TEST(AdviceMessage, IsForATimeThatCanBeReckonedWith) {
  const auto read = [](const Advice& advice) {
    return read_advice(kKey, wire::bytes(advice_message(kKey, advice, 0_s)), 1_s).code();
  };
  const Nanos never = Nanos(std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read({5, 9_s, {}, {{1_s, 1}}}), Code::ok);
  EXPECT_EQ(read({5, 9_s, {}, {{never, 1}}}), Code::malformed);
  EXPECT_EQ(read({5, 9_s, {{7, false, 1_s, Nanos::max()}}, {}}), Code::malformed);
  EXPECT_EQ(read({5, Nanos::max(), {}, {}}), Code::malformed);
}

TEST(StatisticsMessage, ArrivesAsItWasSentAndIsBounded) {
  UseReport report{{{7, false, 2, 3_KiB, 4_s, 5, 6_KiB, 8, 9, 12, 13, 14_s, 15_KiB, 16_s}},
                   10,
                   11_KiB,
                   17,
                   18_KiB,
                   19_s,
                   20,
                   21_s,
                   true};
  report.applications.push_back({0, true, 1, 1_B, 1_ns, 0, {}, 0, 0, 0, 0, {}, {}, {}});
  const auto read = read_statistics(wire::bytes(statistics_message(report)));
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read->applications.size(), 2U);
  EXPECT_EQ(read->applications[0].application, 7U);
  EXPECT_EQ(read->applications[0].distance, 6_KiB);
  EXPECT_EQ(read->applications[0].in_service, 9U);
  EXPECT_EQ(read->applications[0].far, 12U);
  EXPECT_EQ(read->applications[0].reuses, 13U);
  EXPECT_EQ(read->applications[0].reuse, 14_s);
  EXPECT_EQ(read->applications[0].running_gap, 15_KiB);
  EXPECT_EQ(read->applications[0].running_reuse, 16_s);
  EXPECT_EQ(read->far, 17U);
  EXPECT_EQ(read->running_gap, 18_KiB);
  EXPECT_EQ(read->jump, 19_s);
  EXPECT_EQ(read->rest_reuses, 20U);
  EXPECT_EQ(read->rest_reuse, 21_s);
  EXPECT_TRUE(read->addresses);
  EXPECT_TRUE(read->applications[1].others);
  EXPECT_EQ(read->gaps, 10U);
  EXPECT_EQ(read->distance, 11_KiB);
  report.applications.resize(wire::kMaxStatistics + 1);
  EXPECT_EQ(read_statistics(wire::bytes(statistics_message(report))).code(), Code::malformed);
}

}  // namespace
}  // namespace tutti
