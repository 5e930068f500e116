// tutti demo: a temporary cluster, two applications that write at the same time, and what each got.
#include "cli/cluster/demo.h"

#include <unistd.h>

#include <csignal>
#include <memory>

#include "base/parse.h"
#include "cli/child.h"
#include "cli/client.h"
#include "cli/cluster/local_cluster.h"
#include "cli/cluster/temporary_cluster.h"
#include "cli/output.h"
#include "policy/request/policy.h"

namespace tutti::cli {
namespace {

constexpr std::uint32_t kServers = 4;
constexpr std::uint64_t kApplications = 2;

struct DemoOptions {
  std::string size = "256MiB";
  std::optional<std::string> policy;
  bool json = false;
};

struct Outcome {
  std::vector<Json> applications;
  std::vector<ServerStatus> servers;
  std::string policy;
};

Result<std::vector<Json>> run_applications(const std::string& directory, Bytes size, int interrupt) {
  std::vector<std::unique_ptr<Child>> children;
  for (std::uint64_t i = 1; i <= kApplications; ++i) {
    auto child = Child::start({"tutti", "--dir", directory, "--application", std::to_string(i),
                               "demo-application", "--number", std::to_string(i), "--path",
                               fmt::format("/application-{}", i), "--size", std::to_string(size.count())});
    if (!child.ok()) return child.status();
    children.push_back(*std::move(child));
  }
  for (auto& child : children) {
    const auto ready = child->read_line(interrupt);
    if (!ready.ok()) return ready.status();
  }
  constexpr std::array<std::byte, 1> kGo = {std::byte{1}};
  for (auto& child : children) TUTTI_TRY(write_all(child->input(), kGo, "the start signal"));
  std::vector<Json> results;
  for (auto& child : children) {
    const auto line = child->read_line(interrupt);
    if (!line.ok()) return line.status();
    TUTTI_TRY(child->wait());
    Json result = Json::parse(*line, nullptr, false);
    if (result.is_discarded()) return Status(Code::malformed, "an application gave no result: " + *line);
    results.push_back(std::move(result));
  }
  return results;
}

Result<Outcome> run_cluster(const Globals& globals, const DemoOptions& options, Bytes size, int interrupt) {
  auto directory = TemporaryDirectory::create("tutti-demo", size * kApplications + 64_MiB);
  if (!directory.ok()) return directory.status();
  const TemporaryCluster cluster(*std::move(directory));
  if (!options.json)
    fmt::print("Starting 1 metadata server and {} data servers in {}\n", kServers, cluster.state().path());
  UpOptions up;
  up.servers = kServers;
  up.policy = options.policy;
  const auto config = bring_up(globals, cluster.state(), up);
  if (!config.ok()) return config.status();
  if (!options.json) {
    fmt::print("{} applications write {} each, at the same time, and read it back\n\n", kApplications,
               to_string(size));
  }
  std::fflush(stdout);
  Outcome outcome;
  outcome.policy = config->config.policy;
  auto applications = run_applications(cluster.state().path(), size, interrupt);
  if (!applications.ok()) return applications.status();
  outcome.applications = *std::move(applications);
  auto client = Client::open(globals, config->config);
  if (!client.ok()) return client.status();
  outcome.servers = (*client)->run((*client)->files().status(2_s));
  return outcome;
}

double rate(const Json& application, const char* seconds) {
  const double time = std::max(application[seconds].get<double>(), 1e-9);
  return application["bytes"].get<double>() / time / (1024.0 * 1024.0);
}

void print_tables(const Outcome& outcome) {
  Table applications(
      {"application", "file", ">bytes", ">write", ">MiB/s", ">read", ">MiB/s", "servers", "content"});
  for (const Json& each : outcome.applications) {
    applications.add({std::to_string(each["application"].get<std::uint64_t>()),
                      each["path"].get<std::string>(), to_string(Bytes(each["bytes"].get<std::uint64_t>())),
                      fmt::format("{:.3f} s", each["write_seconds"].get<double>()),
                      fmt::format("{:.0f}", rate(each, "write_seconds")),
                      fmt::format("{:.3f} s", each["read_seconds"].get<double>()),
                      fmt::format("{:.0f}", rate(each, "read_seconds")),
                      std::to_string(each["stripe_count"].get<std::uint32_t>()),
                      each["intact"].get<bool>() ? "intact" : "DAMAGED"});
  }
  Table servers({"data server", ">writes", ">written", ">reads", ">read"});
  for (const ServerStatus& server : outcome.servers) {
    if (server.kind != "data") continue;
    servers.add({std::to_string(server.index), std::to_string(server.writes), to_string(server.bytes_written),
                 std::to_string(server.reads), to_string(server.bytes_read)});
  }
  fmt::print("{}\n{}\nPolicy {}. Everything is cleaned up; `tutti up` starts a cluster that stays.\n",
             applications.text(), servers.text(), outcome.policy);
}

Json to_json(const Outcome& outcome) {
  Json applications = Json::array();
  Json measured = Json::object();
  for (Json each : outcome.applications) {
    each["write_mib_per_second"] = rate(each, "write_seconds");
    each["read_mib_per_second"] = rate(each, "read_seconds");
    const std::string name = fmt::format("application_{}", each["application"].get<std::uint64_t>());
    measured[name + "_write_mib_per_second"] = each["write_mib_per_second"];
    measured[name + "_read_mib_per_second"] = each["read_mib_per_second"];
    applications.push_back(std::move(each));
  }
  Json servers = Json::array();
  for (const ServerStatus& server : outcome.servers) {
    if (server.kind != "data") continue;
    servers.push_back({{"index", server.index},
                       {"writes", server.writes},
                       {"bytes_written", server.bytes_written.count()},
                       {"reads", server.reads},
                       {"bytes_read", server.bytes_read.count()}});
  }
  return {{"policy", outcome.policy},
          {"applications", applications},
          {"servers", servers},
          {"measured", measured}};
}

int run_demo(const Globals& globals, const DemoOptions& options) {
  const auto size = parse_bytes(options.size);
  if (!size.ok()) return report("demo", size.status());
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return report("demo", interrupt.status());
  std::signal(SIGPIPE, SIG_IGN);
  const auto outcome = run_cluster(globals, options, *size, interrupt->get());
  if (!outcome.ok()) {
    const bool interrupted = outcome.code() == Code::cancelled;
    return interrupted ? (print_error("demo", outcome.status()), kInterrupted)
                       : report("demo", outcome.status());
  }
  if (options.json) {
    print_json(to_json(*outcome));
  } else {
    print_tables(*outcome);
  }
  for (const Json& each : outcome->applications) {
    if (!each["intact"].get<bool>())
      return report("demo", Status(Code::internal, "a file came back changed"));
  }
  return kSuccess;
}

}  // namespace

void add_demo(Command& root) {
  auto options = std::make_shared<DemoOptions>();
  Command demo = root.add("demo", "Show a cluster of 4 data servers with two applications, and clean up",
                          "tutti demo --size 1GiB");
  demo.option("--size", options->size, "Bytes that each application writes")
      .show_default()
      .checked([](const std::string& text) {
        const auto parsed = parse_bytes(text);
        if (parsed.ok() && *parsed > Bytes(0)) return Status();
        return Status(Code::invalid, "use a size such as 256MiB");
      });
  demo.option("--policy", options->policy, "Order of requests in the data servers")
      .checked([](const std::string& text) { return make_request_policy(text).status(); });
  demo.flag("--json", options->json, "Print JSON");
  demo.action([&globals = root.globals(), options] { return run_demo(globals, *options); });

  auto application = std::make_shared<DemoApplication>();
  Command part = root.add("demo-application", "One application of the demo", "tutti demo");
  part.hide();
  part.option("--number", application->number, "").required();
  part.option("--path", application->path, "").required();
  part.option("--size", application->size, "").required();
  part.action(
      [&globals = root.globals(), application] { return run_demo_application(globals, *application); });
}

}  // namespace tutti::cli
