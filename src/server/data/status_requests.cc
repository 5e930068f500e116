// What a data server tells of itself.
#include "base/hash.h"
#include "base/version.h"
#include "server/data/accounting_reply.h"
#include "server/data/data_session.h"
#include "server/data/status_reply.h"

namespace tutti {

Status DataSession::server_status(const Frame& frame) {
  flatbuffers::FlatBufferBuilder builder;
  const Dispatcher& dispatcher = server_.dispatcher_;
  const auto space = server_.store_.space();
  const Status status = space.status();
  const auto message = message_of(builder, status);
  const auto kind = builder.CreateString("data");
  const auto version = builder.CreateString(kVersion.data(), kVersion.size());
  const auto policy = builder.CreateString(dispatcher.policy_name());
  wire::ServerStatusReplyBuilder fields(builder);
  fields.add_code(code_of(status));
  if (!status.ok()) fields.add_message(message);
  fields.add_kind(kind);
  fields.add_index(server_.options_.index);
  fields.add_version(version);
  fields.add_policy(policy);
  fields.add_uptime((server_.env_.clock.now() - server_.started_).count());
  if (space.ok()) {
    fields.add_total(space->total.count());
    fields.add_free(space->free.count());
    if (space->disk != 0) fields.add_disk(mix64(space->disk ^ server_.options_.boot));
  }
  fields.add_sessions(static_cast<std::uint32_t>(server_.sessions_.size()));
  fields.add_queued(static_cast<std::uint32_t>(dispatcher.queued()));
  fields.add_in_service(static_cast<std::uint32_t>(dispatcher.in_service()));
  fields.add_reads(dispatcher.totals().reads);
  fields.add_writes(dispatcher.totals().writes);
  fields.add_bytes_read(dispatcher.totals().bytes_read.count());
  fields.add_bytes_written(dispatcher.totals().bytes_written.count());
  fields.add_requests_per_second(server_.dispatcher_.requests_per_second());
  const PolicyCounters counters = dispatcher.policy_counters();
  fields.add_switches(counters.switches);
  fields.add_drain(counters.drain.count());
  fields.add_longest_drain(counters.longest_drain.count());
  fields.add_filled(counters.filled);
  builder.Finish(fields.Finish());
  return connection().send(wire::reply_type(wire::Type::status), frame.id, wire::bytes(builder));
}

Status DataSession::applications(const Frame& frame) {
  if (wire::parse<wire::ApplicationsRequest>(frame.payload) == nullptr)
    return {Code::malformed, "applications request"};
  const auto reply = applications_reply(server_.dispatcher_.accounts());
  return connection().send(wire::reply_type(wire::Type::applications), frame.id, wire::bytes(reply));
}

}  // namespace tutti
