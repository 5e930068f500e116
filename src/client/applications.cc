#include "client/applications.h"

#include <algorithm>
#include <tuple>

#include "wire/messages.h"

namespace tutti {
namespace {

void add_waited(ApplicationStatus& row, const wire::WaitedFor& from) {
  const auto found = std::find_if(row.waited_for.begin(), row.waited_for.end(),
                                  [&](const auto& each) { return each.application == from.application(); });
  if (found != row.waited_for.end()) {
    found->time += Nanos(from.time());
    return;
  }
  const bool others = from.application() == wire::kOtherApplications;
  row.waited_for.push_back({from.application(), others, Nanos(from.time())});
}

}  // namespace

ApplicationStatus& ApplicationMerger::row(std::uint64_t application) {
  auto& rows = report_.applications;
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& each) { return each.application == application; });
  if (found != rows.end()) return *found;
  rows.emplace_back();
  rows.back().application = application;
  rows.back().others = application == wire::kOtherApplications;
  return rows.back();
}

Status ApplicationMerger::add(const std::vector<std::byte>& reply) {
  const auto* message = wire::parse<wire::ApplicationsReply>(reply);
  if (message == nullptr) return {Code::malformed, "the reply does not parse"};
  TUTTI_TRY(wire::status_of(*message));
  if (message->rows() == nullptr) return {};
  for (const wire::ApplicationRow* from : *message->rows()) {
    ApplicationStatus& into = row(from->application());
    if (into.program.empty()) into.program = wire::text(from->program());
    if (into.job.empty()) into.job = wire::text(from->job());
    into.reads += from->reads();
    into.writes += from->writes();
    into.bytes_read += Bytes(from->bytes_read());
    into.bytes_written += Bytes(from->bytes_written());
    into.queued += from->queued();
    into.in_service += from->in_service();
    into.time_in_queue += Nanos(from->time_in_queue());
    into.served += Nanos(from->served());
    if (from->waited_for() == nullptr) continue;
    if (!wire::aligned(from->waited_for())) return {Code::malformed, "the reply does not parse"};
    for (const wire::WaitedFor* waited : *from->waited_for()) add_waited(into, *waited);
  }
  return {};
}

ApplicationReport ApplicationMerger::take() {
  std::sort(report_.applications.begin(), report_.applications.end(), [](const auto& a, const auto& b) {
    return std::tie(a.others, a.application) < std::tie(b.others, b.application);
  });
  for (ApplicationStatus& each : report_.applications) {
    std::sort(each.waited_for.begin(), each.waited_for.end(), [](const auto& a, const auto& b) {
      return std::tie(b.time, a.application) < std::tie(a.time, b.application);
    });
  }
  return std::move(report_);
}

}  // namespace tutti
