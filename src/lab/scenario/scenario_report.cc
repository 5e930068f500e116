#include "lab/scenario/scenario_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tutti {
namespace {

Nanos mean(const std::vector<Nanos>& times) {
  Nanos sum;
  for (const Nanos time : times) sum += time;
  return times.empty() ? sum : sum / static_cast<std::int64_t>(times.size());
}

Nanos longest(const std::vector<Nanos>& times) {
  return times.empty() ? Nanos() : *std::max_element(times.begin(), times.end());
}

double rate(Bytes bytes, Nanos time) {
  return time > Nanos() ? static_cast<double>(bytes.count()) / time.seconds() : 0;
}

// Last over first server to be done with the application; 1 if all end together.
double spread(const ApplicationResult& row) {
  Nanos first = Nanos::max();
  Nanos last;
  for (const Nanos finish : row.server_finish) {
    if (finish < Nanos()) continue;
    first = std::min(first, finish);
    last = std::max(last, finish);
  }
  return first > Nanos() && first != Nanos::max() ? last.seconds() / first.seconds() : 1;
}

double utilisation(const ServerResult& server, const ScenarioResult& result) {
  return result.duration > Nanos() ? server.busy.seconds() / result.duration.seconds() : 0;
}

struct Sums {
  Bytes bytes;
  std::uint64_t requests = 0;
  std::uint64_t failed = 0;
  double mean_completion = 0;  // over applications
  double mean_request = 0;     // over all requests
  double utilisation = 0;      // over servers
};

Sums sums(const ScenarioResult& result) {
  Sums sum;
  double request_time = 0;
  for (const ApplicationResult& row : result.applications) {
    sum.bytes += row.bytes;
    sum.requests += row.requests;
    sum.failed += row.failed;
    sum.mean_completion += (row.end - row.start).seconds() / static_cast<double>(result.applications.size());
    for (const Nanos time : row.times) request_time += time.seconds();
  }
  if (sum.requests > 0) sum.mean_request = request_time / static_cast<double>(sum.requests);
  for (const ServerResult& server : result.servers) {
    sum.utilisation += utilisation(server, result) / static_cast<double>(result.servers.size());
  }
  return sum;
}

}  // namespace

std::string to_text(const Scenario& scenario, const ScenarioResult& result) {
  const SimClusterOptions& cluster = scenario.cluster;
  std::string text = fmt::format("{}: {} servers ({}), policy {}, seed {}\n\n", scenario.name,
                                 cluster.servers, describe(cluster.storage), cluster.policy, cluster.seed);
  text += fmt::format("{:<16}{:>6}{:>10}{:>12}{:>12}{:>12}{:>12}{:>14}{:>8}\n", "application", "procs",
                      "requests", "start", "completion", "request", "longest", "throughput", "spread");
  for (const ApplicationResult& row : result.applications) {
    text +=
        fmt::format("{:<16}{:>6}{:>10}{:>12}{:>12}{:>12}{:>12}{:>14}{:>8.2f}\n", row.name, row.processes,
                    row.requests, to_string(row.start), to_string(row.end - row.start),
                    to_string(mean(row.times)), to_string(longest(row.times)),
                    to_string(Bytes(static_cast<std::uint64_t>(rate(row.bytes, row.end - row.start)))) + "/s",
                    spread(row));
    if (row.failed > 0 || !row.first_error.empty()) {
      text += fmt::format("  {} requests failed: {}\n", row.failed, row.first_error);
    }
  }
  text += fmt::format("\n{:<16}{:>12}{:>12}{:>12}\n", "server", "read", "written", "device busy");
  for (std::size_t i = 0; i < result.servers.size(); ++i) {
    const ServerResult& server = result.servers[i];
    text += fmt::format("{:<16}{:>12}{:>12}{:>11.1f}%\n", i, to_string(server.bytes_read),
                        to_string(server.bytes_written), 100 * utilisation(server, result));
  }
  const Sums sum = sums(result);
  text += fmt::format("\nall: {} in {} of virtual time, {}/s, mean completion {}, {} events\n",
                      to_string(sum.bytes), to_string(result.duration),
                      to_string(Bytes(static_cast<std::uint64_t>(rate(sum.bytes, result.duration)))),
                      to_string(Nanos::from_seconds(sum.mean_completion)), result.events);
  return text;
}

std::string to_json(const Scenario& scenario, const ScenarioResult& result) {
  const SimClusterOptions& cluster = scenario.cluster;
  nlohmann::json rows = nlohmann::json::array();
  for (const ApplicationResult& row : result.applications) {
    nlohmann::json finish = nlohmann::json::array();
    for (const Nanos each : row.server_finish) {
      finish.push_back(each < Nanos() ? nlohmann::json() : nlohmann::json(each.seconds()));
    }
    rows.push_back({{"application", row.name},
                    {"id", row.id},
                    {"processes", row.processes},
                    {"requests", row.requests},
                    {"failed", row.failed},
                    {"first_error", row.first_error},
                    {"bytes", row.bytes.count()},
                    {"start", row.start.seconds()},
                    {"completion", (row.end - row.start).seconds()},
                    {"mean_request", mean(row.times).seconds()},
                    {"longest_request", longest(row.times).seconds()},
                    {"bytes_per_second", rate(row.bytes, row.end - row.start)},
                    {"server_finish", std::move(finish)},
                    {"spread", spread(row)}});
  }
  nlohmann::json servers = nlohmann::json::array();
  for (const ServerResult& server : result.servers) {
    servers.push_back({{"bytes_read", server.bytes_read.count()},
                       {"bytes_written", server.bytes_written.count()},
                       {"device_busy", server.busy.seconds()},
                       {"utilisation", utilisation(server, result)}});
  }
  const Sums sum = sums(result);
  const nlohmann::json measured = {{"bytes", sum.bytes.count()},
                                   {"requests", sum.requests},
                                   {"failed", sum.failed},
                                   {"duration", result.duration.seconds()},
                                   {"bytes_per_second", rate(sum.bytes, result.duration)},
                                   {"mean_completion", sum.mean_completion},
                                   {"mean_request", sum.mean_request},
                                   {"utilisation", sum.utilisation},
                                   {"events", result.events}};
  const nlohmann::json report = {{"scenario", scenario.name},       {"seed", cluster.seed},
                                 {"policy", cluster.policy},        {"storage", describe(cluster.storage)},
                                 {"server_count", cluster.servers}, {"rows", std::move(rows)},
                                 {"servers", std::move(servers)},   {"measured", measured}};
  return report.dump(2) + "\n";
}

}  // namespace tutti
