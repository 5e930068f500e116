// target-synthetic in reality: eight clients and eight servers of this host, each in a network namespace of its own, with links
// of 20 MB/s; one block in flight per client, one transfer at a time per server. And incast: one client that reads from sixteen
// servers over a link with a queue of 64 KiB, once with grants (env/real/network/read_grants.h) and once without.
#include <fmt/format.h>

#include <sys/stat.h>
#include <unistd.h>
#include <csignal>
#include <fstream>

#include <cerrno>
#include <memory>

#include "base/parse.h"
#include "cli/bench/bench_worker.h"
#include "cli/lab/hosts.h"
#include "cli/lab/real_run.h"
#include "cli/output.h"
#include "cli/temporary_directory.h"
#include "env/real/system_random.h"
#include "lab/experiments/target/nodes.h"

namespace tutti::cli {
namespace {

constexpr std::uint64_t kRate = 20'000'000;
constexpr int kRounds = 5;

struct Setup {
  std::uint32_t servers = 8;
  std::uint32_t clients = 8;
  std::uint64_t queue = 4 << 20;  // of a link; deep: what is shown is order, not loss
  std::uint32_t packet = 9000;    // as on networks for storage
  std::uint64_t each = 32 << 20;
  std::string policy = "fcfs;dispatch_depth=1";
  bool grants = true;
};
constexpr std::uint64_t kBlock = 4 << 20;
constexpr std::uint64_t kIncastBlock = 4
                                       << 20;  // the default: one read of 64 MiB asks each server for a piece

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return {Code::io_error, "cannot write " + path};
  return ::chmod(path.c_str(), 0600) == 0 ? Status() : Status::from_errno(errno, "chmod " + path);
}

std::string secret(Random& random) {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes.push_back(static_cast<char>(random.below(256)));
  return bytes;
}

// The servers and clients of one run.
class RealHosts {
 public:
  explicit RealHosts(Setup setup) : setup_(std::move(setup)) {}
  Status start(int interrupt) {
    interrupt_ = interrupt;
    auto directory = TemporaryDirectory::create("tutti-target", Bytes(2 * setup_.each * setup_.clients));
    if (!directory.ok()) return directory.status();
    directory_ = *std::move(directory);
    std::vector<std::string> names = {"meta"};
    for (std::uint32_t i = 0; i < setup_.servers; ++i) names.push_back(fmt::format("d{}", i));
    for (std::uint32_t i = 0; i < setup_.clients; ++i) names.push_back(fmt::format("c{}", i));
    auto hosts = Hosts::create(std::move(names), {kRate, setup_.queue, setup_.packet});
    if (!hosts.ok()) return hosts.status();
    hosts_ = *std::move(hosts);
    TUTTI_TRY(furnish());
    TUTTI_TRY(start_server(0, {"meta"}, "meta"));
    for (std::uint32_t i = 0; i < setup_.servers; ++i)
      TUTTI_TRY(start_server(1 + i, {"data", "--index", std::to_string(i)}, fmt::format("data.{}", i)));
    return start_clients();
  }
  ~RealHosts() {
    clients_.clear();
    for (auto& server : servers_) server->tell_to_end();
    servers_.clear();
  }

  // Seconds until the last client is done.
  Result<double> round(const char* operation, const std::string& order, std::uint64_t block,
                       std::size_t in_flight) {
    const std::string line = fmt::format("{} {} {} {}\n", operation, order, block, in_flight);
    for (auto& client : clients_) {
      if (::write(client->input(), line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        return Status::from_errno(errno, "tell a client to begin");
    }
    std::int64_t longest = 0;
    for (auto& client : clients_) {
      const auto said = client->read_line(interrupt_, 120_s);
      if (!said.ok()) return said.status();
      longest = std::max<std::int64_t>(longest, std::atoll(said->c_str()));
    }
    return static_cast<double>(longest) * 1e-9;
  }

 private:
  // Hosts share this machine's files, but each server has a directory of its own, as on machines of their own.
  [[nodiscard]] std::string directory(std::size_t host) const {
    return fmt::format("{}/{}", directory_->path(), host);
  }
  [[nodiscard]] std::string config(std::size_t host) const { return directory(host) + "/cluster.toml"; }

  Status furnish() {
    Random random(system_random());
    const std::string key = secret(random);
    const std::string auth = secret(random);
    std::string data;
    for (std::uint32_t i = 0; i < setup_.servers; ++i)
      data += fmt::format("{}\"tcp:{}:7300\"", i > 0 ? ", " : "", Hosts::address(1 + i));
    const std::string text = fmt::format(
        "format = 1\nid = \"0x7a26e7\"\nmeta = \"tcp:{}:7300\"\ndata = [{}]\npolicy = \"{}\"\n"
        "auth = \"key\"\nauth_keys = [\"auth.key\"]\nowner = \"0:0\"\nprotect = \"none\"\nlocal_path = "
        "false\n"
        "checksums = \"off\"\nread_grants = {}\n",
        Hosts::address(0), data, setup_.policy, setup_.grants);
    for (std::size_t host = 0; host < 1 + setup_.servers + setup_.clients; ++host) {
      if (::mkdir(directory(host).c_str(), 0700) != 0)
        return Status::from_errno(errno, "make " + directory(host));
      TUTTI_TRY(write_file(config(host), text));
      TUTTI_TRY(write_file(directory(host) + "/key", key));
      TUTTI_TRY(write_file(directory(host) + "/auth.key", auth));
    }
    return {};
  }

  Status start_server(std::size_t host, std::vector<std::string> role, const std::string& name) {
    auto made = Child::start({"tutti", "--dir", directory(host), "server", "init", name});
    if (!made.ok()) return made.status();
    TUTTI_TRY((*made)->wait(30_s).with_context("make " + name));
    std::vector<std::string> arguments = {"serve"};
    arguments.insert(arguments.end(), role.begin(), role.end());
    for (const std::string& each :
         {std::string("--config"), config(host), std::string("--log"), directory(host) + "/log"})
      arguments.push_back(each);
    auto server = hosts_->start(host, arguments);
    if (!server.ok()) return server.status();
    servers_.push_back(*std::move(server));
    return {};
  }

  Status start_clients() {
    for (std::uint32_t i = 0; i < setup_.clients; ++i) {
      const std::size_t host = 1 + setup_.servers + i;
      auto client = hosts_->start(
          host, {"--cluster", config(host), "visit-worker", "--path", "/shared", "--rank", std::to_string(i),
                 "--ranks", std::to_string(setup_.clients), "--length", std::to_string(setup_.each)});
      if (!client.ok()) return client.status();
      const auto ready = (*client)->read_line(interrupt_, 60_s);
      if (!ready.ok()) return ready.status().with_context("a client");
      clients_.push_back(*std::move(client));
    }
    return {};
  }

  Setup setup_;
  int interrupt_ = -1;
  std::unique_ptr<TemporaryDirectory> directory_;
  std::unique_ptr<Hosts> hosts_;
  std::vector<std::unique_ptr<Child>> servers_;
  std::vector<std::unique_ptr<Child>> clients_;
};

// The orders, and two in flight beside them.
Status run_orders(int interrupt, Report& report) {
  const Setup setup;
  RealHosts hosts(setup);
  TUTTI_TRY(hosts.start(interrupt));
  TUTTI_TRY(hosts.round("write", "hash", kBlock, 1).status());  // objects are made
  const auto measure = [&](const std::string& order, std::size_t in_flight) -> Result<double> {
    std::vector<double> times;
    for (int i = 0; i < kRounds; ++i) {
      const auto took = hosts.round("write", order, kBlock, in_flight);
      if (!took.ok()) return took.status();
      times.push_back(*took);
    }
    // Now and then a round of any order stands still for two or three seconds, without a packet lost: not what is asked here.
    const double typical = median(times);
    report.rows.push_back(
        {{"part", "order"},
         {"order", order},
         {"block", kBlock},
         {"in_flight", in_flight},
         {"seconds", rounded_to(typical, 3)},
         {"rounds", times},
         {"mb_per_second", rounded_to(static_cast<double>(setup.each * setup.clients) / typical / 1e6, 1)}});
    return typical;
  };
  const auto hash = measure("hash", 1);
  if (!hash.ok()) return hash.status();
  const auto first = measure("first", 1);
  if (!first.ok()) return first.status();
  TUTTI_TRY(measure("random", 1).status());
  TUTTI_TRY(measure("hash", 2).status());
  report.figure("real_first_over_hash", rounded_to(*hash / *first, 3), {}, "0.47 to 0.59");
  report.figure("real_hash_of_line", rounded_to(static_cast<double>(setup.each) / kRate / *hash, 3));
  return {};
}

// The share of the client's link that is goodput when sixteen servers answer at once, with grants and without; two in flight beside
// it, where the program limits itself.
Result<double> run_incast(int interrupt, bool grants, Report& report) {
  const Setup setup{16, 1, 64 << 10, 1500, 64 << 20, "fcfs", grants};
  RealHosts hosts(setup);
  TUTTI_TRY(hosts.start(interrupt));
  TUTTI_TRY(hosts.round("write", "hash", kIncastBlock, 2).status());
  const auto goodput = [&](std::size_t in_flight) -> Result<double> {
    std::vector<double> times;
    for (int i = 0; i < kRounds; ++i) {
      const auto took = hosts.round("read", "hash", kIncastBlock, in_flight);
      if (!took.ok()) return took.status();
      times.push_back(*took);
    }
    const double share = static_cast<double>(setup.each) / mean_of(times) / kRate;
    report.rows.push_back({{"part", "incast"},
                           {"grants", grants},
                           {"asked_at_once", in_flight},
                           {"seconds", rounded_to(mean_of(times), 3)},
                           {"rounds", times},
                           {"goodput_of_link", rounded_to(share, 3)}});
    return share;
  };
  const auto all = goodput(16);
  if (!all.ok()) return all.status();
  TUTTI_TRY(goodput(2).status());
  return *all;
}

Result<Report> run(const Globals& /*globals*/) {
  std::signal(SIGPIPE, SIG_IGN);
  const auto interrupt = catch_interrupts();
  if (!interrupt.ok()) return interrupt.status();
  Report report;
  report.settings = fmt::format(
      "real: clients and servers in network namespaces with links of 20 MB/s (tbf). Order: 8 clients of 32 "
      "MiB, 8 "
      "servers, blocks of 4 MiB, one transfer at a time per server, packets of 9,000 bytes. Incast: one "
      "client reads 64 MiB from "
      "16 servers, queues of 64 KiB, packets of 1,500 bytes, pieces of 4 MiB, all asked for at once. {} "
      "rounds; medians of "
      "the orders, means of incast",
      kRounds);
  TUTTI_TRY(run_orders(interrupt->get(), report));
  const auto with = run_incast(interrupt->get(), true, report);
  if (!with.ok()) return with.status();
  const auto without = run_incast(interrupt->get(), false, report);
  if (!without.ok()) return without.status();
  report.figure("real_incast_goodput", rounded_to(*with, 3), {}, ">= 0.9");
  report.figure("real_incast_goodput_without", rounded_to(*without, 3));
  report.notes.push_back(
      "first_over_hash: throughput; first principles say 0.53. Incast: 16 pieces are asked for at once; with "
      "grants (read_grants, the default) servers send them as the client's link takes them.");
  return report;
}

}  // namespace

constinit const RealRun real_runs::target_synthetic = {
    "target-synthetic", "with daemons and clients of this host in network namespaces, links of 20 MB/s", run};

}  // namespace tutti::cli
