#include "server/data/accounting_reply.h"

namespace tutti {

flatbuffers::FlatBufferBuilder applications_reply(const std::vector<Accounting::Row>& rows) {
  flatbuffers::FlatBufferBuilder builder(4096);
  std::vector<flatbuffers::Offset<wire::ApplicationRow>> list;
  for (const Accounting::Row& row : rows) {
    std::vector<wire::WaitedFor> waited;
    for (const auto& each : row.waited_for) {
      waited.emplace_back(each.others ? wire::kOtherApplications : each.application, each.time.count());
    }
    const auto program = builder.CreateString(row.program);
    const auto job = builder.CreateString(row.job);
    const auto waited_for = builder.CreateVectorOfStructs(waited);
    wire::ApplicationRowBuilder fields(builder);
    fields.add_application(row.others ? wire::kOtherApplications : row.application);
    fields.add_program(program);
    fields.add_job(job);
    fields.add_reads(row.reads);
    fields.add_writes(row.writes);
    fields.add_bytes_read(row.bytes_read.count());
    fields.add_bytes_written(row.bytes_written.count());
    fields.add_queued(static_cast<std::uint32_t>(row.queued));
    fields.add_in_service(static_cast<std::uint32_t>(row.in_service));
    fields.add_time_in_queue(row.time_in_queue.count());
    fields.add_served(row.served.count());
    fields.add_waited_for(waited_for);
    list.push_back(fields.Finish());
  }
  const auto table = builder.CreateVector(list);
  wire::ApplicationsReplyBuilder reply(builder);
  reply.add_rows(table);
  builder.Finish(reply.Finish());
  return builder;
}

}  // namespace tutti
