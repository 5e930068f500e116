#include "server/coordinator/member_messages.h"

#include <algorithm>

#include "server/meta/codec.h"

namespace tutti {
namespace {

constexpr Nanos kLifetime = 300_s;

std::uint64_t mark_of(const JoinMessage& message) {
  return message_digest(
      meta::Encoder().number(message.index).number(static_cast<std::uint8_t>(message.rotational)).take());
}

std::uint64_t wire_application(const TimeSlice& slice) {
  return slice.rest ? wire::kOtherApplications : slice.application;
}

std::uint64_t mark_of(const Advice& advice) {
  meta::Encoder encoder;
  encoder.number(advice.epoch).number(advice.expiry.count());
  for (const TimeSlice& slice : advice.slices)
    encoder.number(wire_application(slice)).number(slice.from.count()).number(slice.to.count());
  for (const PlanStep& step : advice.plan) encoder.number(step.from.count()).number(step.choice);
  return message_digest(encoder.take());
}

std::uint64_t mark_of(std::span<const std::uint64_t> fences) {
  meta::Encoder encoder;
  for (const std::uint64_t fence : fences) encoder.number(fence);
  return message_digest(encoder.take());
}

// The capability must have been made for just this message.
Status check(const ServerKey& key, const wire::Capability& capability, std::uint32_t right,
             std::uint64_t mark, Nanos wall) {
  TUTTI_TRY(key.check(capability, right, wall));
  if (capability.file() == mark) return {};
  return {Code::bad_capability, "the capability was made for another message"};
}

// Times that can be reckoned with: since 1970, and for another hundred years.
bool sound(const Advice& advice) {
  static constexpr Nanos kLatest = Nanos(std::int64_t{1} << 62U);
  const auto fine = [](Nanos time) { return time >= Nanos(0) && time <= kLatest; };
  return fine(advice.expiry) &&
         std::all_of(advice.slices.begin(), advice.slices.end(),
                     [&](const TimeSlice& slice) { return fine(slice.from) && fine(slice.to); }) &&
         std::all_of(advice.plan.begin(), advice.plan.end(),
                     [&](const PlanStep& step) { return fine(step.from); });
}

}  // namespace

flatbuffers::FlatBufferBuilder join_message(const ServerKey& key, const JoinMessage& message, Nanos wall) {
  const wire::Capability capability = key.sign(mark_of(message), wire::kRightJoin, 0, wall + kLifetime);
  flatbuffers::FlatBufferBuilder builder(256);
  builder.Finish(wire::CreateJoinRequest(builder, &capability, message.index, message.rotational));
  return builder;
}

Result<JoinMessage> read_join(const ServerKey& key, std::span<const std::byte> payload, Nanos wall) {
  const auto* request = wire::parse<wire::JoinRequest>(payload);
  if (request == nullptr || request->capability() == nullptr) return Status(Code::malformed, "join request");
  const JoinMessage message{request->index(), request->rotational()};
  TUTTI_TRY(check(key, *request->capability(), wire::kRightJoin, mark_of(message), wall));
  return message;
}

flatbuffers::FlatBufferBuilder advice_message(const ServerKey& key, const Advice& advice, Nanos wall) {
  const wire::Capability capability = key.sign(mark_of(advice), wire::kRightAdvise, 0, wall + kLifetime);
  flatbuffers::FlatBufferBuilder builder(1024);
  std::vector<wire::TimeSlice> slices;
  slices.reserve(advice.slices.size());
  for (const TimeSlice& slice : advice.slices)
    slices.emplace_back(wire_application(slice), slice.from.count(), slice.to.count());
  std::vector<wire::PlanStep> steps;
  steps.reserve(advice.plan.size());
  for (const PlanStep& step : advice.plan) steps.emplace_back(step.from.count(), step.choice);
  const auto list = builder.CreateVectorOfStructs(slices);
  const auto plan = builder.CreateVectorOfStructs(steps);
  builder.Finish(wire::CreateAdviceRequest(builder, &capability, wire::kAdviceVersion, advice.epoch,
                                           advice.expiry.count(), list, plan));
  return builder;
}

Result<Advice> read_advice(const ServerKey& key, std::span<const std::byte> payload, Nanos wall) {
  const auto* request = wire::parse<wire::AdviceRequest>(payload);
  if (request == nullptr || request->capability() == nullptr || !wire::aligned(request->slices()) ||
      (request->slices() != nullptr && request->slices()->size() > wire::kMaxSlices) ||
      !wire::aligned(request->plan()) ||
      (request->plan() != nullptr && request->plan()->size() > wire::kMaxPlan)) {
    return Status(Code::malformed, "advice");
  }
  if (request->version() != wire::kAdviceVersion) return Status(Code::version, "advice of another version");
  Advice advice{request->epoch(), Nanos(request->expiry()), {}, {}};
  if (request->slices() != nullptr) {
    advice.slices.reserve(request->slices()->size());
    for (const wire::TimeSlice* slice : *request->slices()) {
      const bool rest = slice->application() == wire::kOtherApplications;
      advice.slices.push_back(
          {rest ? 0 : slice->application(), rest, Nanos(slice->from()), Nanos(slice->to())});
    }
  }
  if (request->plan() != nullptr) {
    for (const wire::PlanStep* step : *request->plan())
      advice.plan.push_back({Nanos(step->from()), step->choice()});
  }
  TUTTI_TRY(check(key, *request->capability(), wire::kRightAdvise, mark_of(advice), wall));
  if (!sound(advice)) return Status(Code::malformed, "advice for no time");
  return advice;
}

flatbuffers::FlatBufferBuilder lost_turns_message(const ServerKey& key, std::span<const std::uint64_t> fences,
                                                  Nanos wall) {
  const wire::Capability capability = key.sign(mark_of(fences), wire::kRightAdvise, 0, wall + kLifetime);
  flatbuffers::FlatBufferBuilder builder(256);
  const auto list = builder.CreateVector(fences.data(), fences.size());
  builder.Finish(wire::CreateLostTurnsRequest(builder, &capability, list));
  return builder;
}

Result<std::vector<std::uint64_t>> read_lost_turns(const ServerKey& key, std::span<const std::byte> payload,
                                                   Nanos wall) {
  const auto* request = wire::parse<wire::LostTurnsRequest>(payload);
  if (request == nullptr || request->capability() == nullptr || request->fences() == nullptr ||
      request->fences()->size() > wire::kMaxLostTurns) {
    return Status(Code::malformed, "lost turns");
  }
  const std::vector<std::uint64_t> fences(request->fences()->begin(), request->fences()->end());
  TUTTI_TRY(check(key, *request->capability(), wire::kRightAdvise, mark_of(fences), wall));
  return fences;
}

flatbuffers::FlatBufferBuilder statistics_message(const UseReport& report) {
  flatbuffers::FlatBufferBuilder builder(4096);
  std::vector<wire::ApplicationStatistics> rows;
  std::vector<wire::ProgramLocality> localities;
  rows.reserve(report.applications.size());
  localities.reserve(report.applications.size());
  for (const Use& use : report.applications) {
    rows.emplace_back(use.others ? wire::kOtherApplications : use.application, use.requests,
                      use.bytes.count(), use.served.count(), use.gaps, use.distance.count(), use.queued,
                      use.in_service);
    localities.emplace_back(use.reuses, use.reuse.count(), use.running_gap.count(), use.running_reuse.count(),
                            use.far);
  }
  const auto list = builder.CreateVectorOfStructs(rows);
  const auto more = builder.CreateVectorOfStructs(localities);
  const wire::ProgramLocality rest(report.rest_reuses, report.rest_reuse.count(), 0, 0, 0);
  builder.Finish(wire::CreateStatisticsRequest(builder, list, report.gaps, report.distance.count(), more,
                                               report.jump.count(), &rest, report.running_gap.count(),
                                               report.far, report.addresses));
  return builder;
}

Result<UseReport> read_statistics(std::span<const std::byte> payload) {
  const auto* message = wire::parse<wire::StatisticsRequest>(payload);
  if (message == nullptr || message->applications() == nullptr || !wire::aligned(message->applications()) ||
      message->applications()->size() > wire::kMaxStatistics || !wire::aligned(message->localities())) {
    return Status(Code::malformed, "statistics");
  }
  UseReport report;
  report.gaps = message->gaps();
  report.distance = Bytes(message->distance());
  report.far = message->far();
  report.running_gap = Bytes(message->running_gap());
  report.jump = Nanos(message->jump());
  report.addresses = message->addresses();
  if (message->rest() != nullptr) {
    report.rest_reuses = message->rest()->reuses();
    report.rest_reuse = Nanos(message->rest()->reuse());
  }
  report.applications.reserve(message->applications()->size());
  for (const wire::ApplicationStatistics* row : *message->applications()) {
    const bool others = row->application() == wire::kOtherApplications;
    Use use;
    use.application = others ? 0 : row->application();
    use.others = others;
    use.requests = row->requests();
    use.bytes = Bytes(row->bytes());
    use.served = Nanos(row->served());
    use.gaps = row->gaps();
    use.distance = Bytes(row->distance());
    use.queued = row->queued();
    use.in_service = row->in_service();
    const auto at = static_cast<flatbuffers::uoffset_t>(report.applications.size());
    if (message->localities() != nullptr && at < message->localities()->size()) {
      const wire::ProgramLocality* more = message->localities()->Get(at);
      use.far = more->far();
      use.reuses = more->reuses();
      use.reuse = Nanos(more->reuse());
      use.running_gap = Bytes(more->running_gap());
      use.running_reuse = Nanos(more->running_reuse());
    }
    report.applications.push_back(use);
  }
  return report;
}

}  // namespace tutti
