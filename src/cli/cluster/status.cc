// tutti status, tutti df: the servers and their space.
#include <cmath>
#include <memory>

#include "cli/client.h"
#include "cli/cluster/status_apps.h"
#include "cli/command.h"
#include "cli/output.h"
#include "policy/orchestra/orchestrator.h"

namespace tutti::cli {
namespace {

constexpr Nanos kStatusPatience = 2_s;

// Of data server `index` with the coordinator; null if the coordinator does not answer.
const ServerLease* lease_of(const std::vector<ServerStatus>& servers, std::uint32_t index) {
  for (const ServerStatus& server : servers) {
    for (const ServerLease& lease : server.leases) {
      if (lease.index == index) return &lease;
    }
  }
  return nullptr;
}

Json to_json(const ServerLease& lease) {
  Json out = {{"connected", lease.connected}, {"since", nullptr}, {"last_heard", nullptr}};
  if (lease.since > 0_s) out["since"] = time_utc(lease.since);
  if (lease.heard > 0_s) out["last_heard"] = time_utc(lease.heard);
  return out;
}

Json to_json(const ServerStatus& server, const ServerLease* lease) {
  Json out = {{"kind", server.kind},
              {"index", server.index},
              {"address", server.address},
              {"reachable", server.reachable.ok()}};
  if (lease != nullptr) out["coordinator"] = to_json(*lease);
  if (!server.reachable.ok()) {
    out["error"] = server.reachable.to_string();
    return out;
  }
  out["version"] = server.version;
  out["uptime_seconds"] = server.uptime.seconds();
  out["sessions"] = server.sessions;
  if (server.kind == "meta") out["files"] = server.files;
  if (server.kind != "data") return out;
  out["policy"] = server.policy;
  out["total"] = server.total.count();
  out["free"] = server.free.count();
  out["queued"] = server.queued;
  out["in_service"] = server.in_service;
  out["requests_per_second"] = server.requests_per_second;
  out["reads"] = server.reads;
  out["writes"] = server.writes;
  out["bytes_read"] = server.bytes_read.count();
  out["bytes_written"] = server.bytes_written.count();
  return out;
}

std::string server_name(const ServerStatus& server) {
  return server.kind == "data" ? fmt::format("data.{}", server.index) : server.kind;
}

std::vector<std::string> to_row(const ServerStatus& server) {
  if (!server.reachable.ok())
    return {server_name(server), "down", "", "", "", "", "", "", "", "", server.address};
  const bool data = server.kind == "data";
  auto only_data = [&](std::string text) { return data ? std::move(text) : std::string(); };
  return {server_name(server),
          "up",
          server.version,
          to_string(server.uptime),
          only_data(to_string(server.free)),
          std::to_string(server.sessions),
          only_data(fmt::format("{}+{}", server.queued, server.in_service)),
          only_data(fmt::format("{:.0f}", server.requests_per_second)),
          only_data(fmt::format("{} ({})", server.reads, to_string(server.bytes_read))),
          only_data(fmt::format("{} ({})", server.writes, to_string(server.bytes_written))),
          server.address};
}

// The coordinator's word on programs and their time slices; null if it does not answer.
const OrchestraStatus* orchestra_of(const std::vector<ServerStatus>& servers) {
  for (const ServerStatus& server : servers) {
    if (server.orchestra) return &*server.orchestra;
  }
  return nullptr;
}

Json to_json(const OrchestraStatus& orchestra) {
  Json programs = Json::array();
  for (const OrchestraProgramStatus& each : orchestra.programs) {
    programs.push_back({{"application", fmt::format("0x{:x}", each.application)},
                        {"state", eligibility_name(static_cast<Eligibility>(each.eligibility))},
                        {"part", each.part},
                        {"gap", each.gap},
                        {"ratio", each.ratio},
                        {"spread", each.spread},
                        {"reuse_seconds", each.reuse},
                        {"open_files", each.files}});
  }
  return {{"window_seconds", orchestra.window.seconds()}, {"jump_seconds", orchestra.jump},
          {"bytes_per_window_with", orchestra.with},      {"bytes_per_window_without", orchestra.without},
          {"expected_gain", orchestra.predicted},         {"programs", programs}};
}

std::string to_text(const OrchestraStatus& orchestra) {
  if (orchestra.programs.empty()) return "";
  Table table({"program", "state", ">slice", ">gap", ">ratio", ">comes back after", ">open files"});
  for (const OrchestraProgramStatus& each : orchestra.programs) {
    table.add({fmt::format("{:x}", each.application),
               std::string(eligibility_name(static_cast<Eligibility>(each.eligibility))),
               each.part > 0 ? fmt::format("{:.0f}%", each.part * 100) : "",
               to_string(Bytes(static_cast<std::uint64_t>(each.gap))), fmt::format("{:.1f}", each.ratio),
               each.reuse > 0 ? to_string(Nanos::from_seconds(each.reuse)) : "", std::to_string(each.files)});
  }
  return "\n" + table.text();
}

int run_status(const Globals& globals, bool json) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("status", client.status());
  const auto servers = (*client)->run((*client)->files().status(kStatusPatience));
  std::size_t down = 0;
  // The coordinator's word; the file's if it does not answer.
  std::string policy = (*client)->config().policy;
  std::string away;
  Json rows = Json::array();
  Table table({"server", "state", "version", ">up for", ">free", ">clients", ">queue", ">requests/s",
               ">reads", ">writes", "address"});
  for (const ServerStatus& server : servers) {
    down += server.reachable.ok() ? 0 : 1;
    if (server.kind != "data" && !server.policy.empty()) policy = server.policy;
    const ServerLease* lease = server.kind == "data" ? lease_of(servers, server.index) : nullptr;
    if (lease != nullptr && !lease->connected && server.reachable.ok()) {
      away += fmt::format("{} has no session with the coordinator{}\n", server_name(server),
                          lease->heard > 0_s ? ", last heard " + time_text(lease->heard) : "");
    }
    rows.push_back(to_json(server, lease));
    table.add(to_row(server));
  }
  const OrchestraStatus* orchestra = policy.starts_with(kOrchestrated) ? orchestra_of(servers) : nullptr;
  if (json) {
    Json out = {{"cluster", fmt::format("0x{:016x}", (*client)->config().id)},
                {"policy", policy},
                {"healthy", down == 0},
                {"servers", rows}};
    if (orchestra != nullptr) out["orchestra"] = to_json(*orchestra);
    print_json(out);
  } else {
    fmt::print("Cluster {:016x}, policy {}\n{}{}{}", (*client)->config().id, policy, table.text(), away,
               orchestra != nullptr ? to_text(*orchestra) : "");
  }
  if (down == 0) return kSuccess;
  return report(
      "status",
      Status(Code::unavailable,
             fmt::format("{} of {} servers do not answer; `tutti up` starts those of a local cluster", down,
                         servers.size())));
}

int run_df(const Globals& globals, bool json) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("df", client.status());
  const auto space = (*client)->run((*client)->files().space());
  if (!space.ok()) return report("df", space.status());
  if (json) {
    const Json out = {
        {"total", space->total.count()}, {"used", space->used.count()}, {"free", space->free.count()}};
    return print_json(out);
  }
  Table table({"cluster", ">size", ">used", ">free", ">use"});
  // Of what there is for files; rounded up, so that only what is full is 100% and only what is empty 0%.
  const Bytes usable = space->used + space->free;
  const double share =
      usable > Bytes(0) ? static_cast<double>(space->used.count()) / static_cast<double>(usable.count()) : 1;
  table.add({fmt::format("{:016x}", (*client)->config().id), to_string(space->total), to_string(space->used),
             to_string(space->free), fmt::format("{:.0f}%", std::ceil(share * 100))});
  fmt::print("{}", table.text());
  return kSuccess;
}

}  // namespace

void add_status(Command& root) {
  auto json = std::make_shared<bool>(false);
  auto apps = std::make_shared<bool>(false);
  Command status = root.add("status", "Show each server: whether it answers, space, queue, requests",
                            "tutti status --json");
  status.flag("--json", *json, "Print JSON");
  status.flag("--apps", *apps, "Show applications instead: requests, bytes, times, and whom they waited for");
  status.action([&globals = root.globals(), json, apps] {
    return *apps ? run_status_apps(globals, *json) : run_status(globals, *json);
  });
}

void add_df(Command& root) {
  auto json = std::make_shared<bool>(false);
  Command df = root.add(
      "df",
      "Show the space on the disks of the data servers; the fullest one ends it for files on all of them",
      "tutti df");
  df.flag("--json", *json, "Print JSON, in bytes");
  df.action([&globals = root.globals(), json] { return run_df(globals, *json); });
}

}  // namespace tutti::cli
