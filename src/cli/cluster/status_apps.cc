#include "cli/cluster/status_apps.h"

#include "cli/client.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr Nanos kPatience = 2_s;
constexpr std::size_t kWaitedShown = 3;

std::string name_of(std::uint64_t application, bool others) {
  return others ? "others" : std::to_string(application);
}

Json name_json(std::uint64_t application, bool others) { return others ? Json("others") : Json(application); }

Json to_json(const ApplicationStatus& row) {
  Json waited = Json::array();
  for (const auto& each : row.waited_for) {
    waited.push_back(
        {{"application", name_json(each.application, each.others)}, {"seconds", each.time.seconds()}});
  }
  return {{"application", name_json(row.application, row.others)},
          {"program", row.program},
          {"job", row.job},
          {"requests", row.reads + row.writes},
          {"reads", row.reads},
          {"writes", row.writes},
          {"bytes_read", row.bytes_read.count()},
          {"bytes_written", row.bytes_written.count()},
          {"queued", row.queued},
          {"in_service", row.in_service},
          {"queue_seconds", row.time_in_queue.seconds()},
          {"served_seconds", row.served.seconds()},
          {"waited_for", waited}};
}

// "7 61%, itself 30%": those it waited for most, as shares of its time in queue.
std::string waited_text(const ApplicationStatus& row) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kWaitedShown, row.waited_for.size()); ++i) {
    const auto& each = row.waited_for[i];
    const bool itself = each.application == row.application;
    const double share = row.time_in_queue > 0_s ? each.time.seconds() / row.time_in_queue.seconds() : 0;
    text += fmt::format("{}{} {:.0f}%", i == 0 ? "" : ", ",
                        itself ? "itself" : name_of(each.application, each.others), 100 * share);
  }
  return text;
}

}  // namespace

int run_status_apps(const Globals& globals, bool json) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("status", client.status());
  const ApplicationReport found = (*client)->run((*client)->files().applications(kPatience));
  Json rows = Json::array();
  Table table({"application", "program", "job", ">requests", ">read", ">written", ">in queue", ">served",
               "waited for"});
  for (const ApplicationStatus& row : found.applications) {
    rows.push_back(to_json(row));
    table.add({name_of(row.application, row.others), row.program, row.job,
               std::to_string(row.reads + row.writes), to_string(row.bytes_read),
               to_string(row.bytes_written), to_string(row.time_in_queue), to_string(row.served),
               waited_text(row)});
  }
  if (json) {
    print_json({{"applications", rows}, {"silent", found.silent}});
  } else {
    fmt::print("{}", table.text());
  }
  if (found.silent.empty()) return kSuccess;
  return report("status",
                Status(Code::unavailable, fmt::format("no account from {}", fmt::join(found.silent, "; "))));
}

}  // namespace tutti::cli
