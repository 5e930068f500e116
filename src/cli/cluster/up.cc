// tutti up: a local cluster in the background.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/parse.h"
#include "cli/client.h"
#include "cli/cluster/choose_directory.h"
#include "cli/cluster/daemon.h"
#include "cli/cluster/local_cluster.h"
#include "cli/command.h"
#include "cli/files/striping.h"
#include "cli/output.h"
#include "client/cluster_config.h"
#include "daemon/make_store.h"
#include "env/real/system_random.h"
#include "policy/request/policy.h"
#include "server/capability.h"

namespace tutti::cli {
namespace {

constexpr Nanos kStartPatience = 20_s;
constexpr Nanos kStopPatience = 5_s;
constexpr Nanos kAnswerPatience = 3_s;

// What `up` is asked for; unset: as stored, or the default for a new cluster.
Status apply(const UpOptions& options, ClusterConfig& config) {
  if (options.policy) {
    const auto policy = make_request_policy(*options.policy);
    if (!policy.ok()) return policy.status().with_context("--policy");
    config.policy = *options.policy;
  }
  if (options.stripe_size) {
    const auto size = parse_bytes(*options.stripe_size);
    if (!size.ok()) return size.status().with_context("--stripe-size");
    TUTTI_TRY(check_stripe_size(*size).with_context("--stripe-size"));
    config.stripe_size = *size;
  }
  if (options.stripe_count) {
    if (*options.stripe_count > config.servers()) {
      return {Code::invalid, fmt::format("--stripe-count {}: there are {} data servers",
                                         *options.stripe_count, config.servers())};
    }
    config.stripe_count = *options.stripe_count;
  }
  if (options.log_level) config.log_level = *options.log_level;
  if (options.device) config.device = *options.device;
  if (options.checksums) config.checksums = *options.checksums;
  return {};
}

// The kernel's limit; a longer path would fail later and less clearly.
Status check_socket_paths(const std::string& directory, const ClusterConfig& config) {
  const std::string longest =
      directory + "/" +
      StateDirectory::socket_name(config.coordinator.empty() ? fmt::format("data.{}", config.servers() - 1)
                                                             : "coordinator");
  if (longest.size() < sizeof(sockaddr_un::sun_path)) return {};
  return {Code::name_too_long,
          fmt::format("{} has {} bytes, a Unix socket's path at most {}: choose a shorter "
                      "directory with --dir",
                      longest, longest.size(), sizeof(sockaddr_un::sun_path) - 1)};
}

ClusterConfig new_config(const UpOptions& options) {
  ClusterConfig config;
  config.meta = "unix:" + StateDirectory::socket_name("meta");
  if (options.coordinator == "alone")
    config.coordinator = "unix:" + StateDirectory::socket_name("coordinator");
  for (std::uint32_t i = 0; i < options.servers.value_or(4); ++i) {
    config.data.push_back("unix:" + StateDirectory::socket_name(fmt::format("data.{}", i)));
  }
  return config;
}

// Nothing is created before the options are known to be sound.
Status check_new(const StateDirectory& state, const UpOptions& options) {
  ClusterConfig config = new_config(options);
  TUTTI_TRY(check_socket_paths(state.path(), config));
  return apply(options, config);
}

// A port of the loopback device that nobody uses now.
Result<std::uint16_t> free_port() {
  const Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!probe.valid() || ::bind(probe.get(), generic, length) != 0 ||
      ::getsockname(probe.get(), generic, &length) != 0) {
    return Status::from_errno(errno, "find a free port");
  }
  return ntohs(address.sin_port);
}

Status use_loopback_tcp(const StateDirectory& state, ClusterConfig& config) {
  const std::string key = state.path() + "/auth.key";
  TUTTI_TRY(ServerKey::create(key).status());
  config.auth = "key";
  config.auth_keys = {key};
  config.local_path = false;
  std::vector<std::string*> addresses = {&config.meta};
  if (!config.coordinator.empty()) addresses.push_back(&config.coordinator);
  for (std::string& each : config.data) addresses.push_back(&each);
  for (std::string* address : addresses) {
    const auto port = free_port();
    if (!port.ok()) return port.status();
    *address = fmt::format("tcp:127.0.0.1:{}", *port);
  }
  return {};
}

// All of them or none.
Status make_stores(const StateDirectory& state, const ClusterConfig& config) {
  std::vector<std::string> made;
  for (const std::string& name : daemon_names(config.servers(), !config.coordinator.empty())) {
    const Status status = make_store(state, config, name, false);
    if (status.code() != Code::exists) made.push_back(name);
    if (status.ok()) continue;
    std::error_code ignored;
    for (const std::string& each : made) {
      // What is in it: the directory itself may be where a disk is mounted.
      for (const auto& entry : std::filesystem::directory_iterator(state.store_path(each), ignored))
        std::filesystem::remove_all(entry.path(), ignored);
    }
    return status.with_context("make the store of " + name);
  }
  return {};
}

Status create_cluster(const StateDirectory& state, const UpOptions& options) {
  ClusterConfig config = new_config(options);
  if (options.loopback_tcp) TUTTI_TRY(use_loopback_tcp(state, config));
  if (options.loopback_tcp) config.protect = options.protect;
  config.id = system_random() | 1U;
  TUTTI_TRY(apply(options, config));
  const auto key = ServerKey::create(state.key_path());
  if (!key.ok() && key.code() != Code::exists) return key.status();
  TUTTI_TRY(make_stores(state, config));
  return config.save(state.config_path(), 0600);  // last: without it there is no cluster
}

// Takes over what was asked for anew. The number of servers is fixed: files are spread over them.
Status update_cluster(const StateDirectory& state, const UpOptions& options, bool running) {
  auto config = ClusterConfig::load(state.config_path());
  if (!config.ok()) return config.status();
  if (options.servers && *options.servers != config->servers()) {
    return {Code::invalid,
            fmt::format("--servers {}: the cluster in {} has {}; start a new one in another directory",
                        *options.servers, state.path(), config->servers())};
  }
  if (options.coordinator && (*options.coordinator == "alone") == config->coordinator.empty()) {
    return {Code::invalid, fmt::format("--coordinator {}: the cluster in {} was made otherwise; edit its "
                                       "cluster.toml while it is down",
                                       *options.coordinator, state.path())};
  }
  if (!options.policy && !options.stripe_size && !options.stripe_count && !options.log_level &&
      !options.device && !options.checksums) {
    return {};
  }
  if (running) {
    return {Code::busy,
            fmt::format("some daemons run: stop them first with `tutti down --dir {}`", state.path())};
  }
  TUTTI_TRY(apply(options, *config));
  // Addresses were made absolute by load(); those in the directory are stored relative again.
  const std::string prefix = "unix:" + state.path() + "/";
  auto relative = [&](std::string& address) {
    if (address.starts_with(prefix)) address = "unix:" + address.substr(prefix.size());
  };
  relative(config->meta);
  relative(config->coordinator);
  for (std::string& address : config->data) relative(address);
  return config->save(state.config_path(), 0600);
}

Status start_missing(const StateDirectory& state, const std::vector<std::string>& missing) {
  std::vector<Starting> starting;
  Status failure;
  for (const std::string& name : missing) {
    auto started = start_daemon(state, name);
    if (!started.ok()) {
      failure = started.status();
      break;
    }
    starting.push_back(*std::move(started));
  }
  for (const Starting& each : starting) {
    const Status ready = wait_until_ready(state, each, kStartPatience);
    if (failure.ok()) failure = ready;
  }
  if (!failure.ok()) stop_daemons(state, missing, kStopPatience);
  return failure;
}

// Waits until all servers answer; `policy` becomes the one that the cluster follows.
Status check_answers(const Globals& globals, const ClusterConfig& config, std::string& policy) {
  auto client = Client::open(globals, config);
  if (!client.ok()) return client.status();
  for (const ServerStatus& server : (*client)->run((*client)->files().status(kStartPatience))) {
    if (!server.reachable.ok()) return server.reachable.with_context(server.address);
    if (server.kind != "data" && !server.policy.empty()) policy = server.policy;
  }
  return {};
}

// One of the daemons may have ended after it was ready, when the others told it that it is wrong: its own words, if so.
Status with_reason(const StateDirectory& state, const std::vector<std::string>& started, Status failure) {
  for (const std::string& name : started) {
    if (state.running(name)) continue;
    std::ifstream log(state.log_path(name));
    std::string last;
    for (std::string line; std::getline(log, line);) {
      if (!line.empty()) last = std::move(line);
    }
    if (last.empty()) continue;
    return {failure.code(), fmt::format("{} ended: {} (log: {})", name, last, state.log_path(name))};
  }
  return failure;
}

// All daemons are there. Whether they answer is another question: one that was stopped, or hangs, does not.
Status runs_already(const Globals& globals, const StateDirectory& state, const ClusterConfig& config) {
  auto client = Client::open(globals, config);
  if (!client.ok()) return client.status();
  const std::string stop = fmt::format("stop it with `tutti down --dir {}`", state.path());
  std::vector<std::string> silent;
  for (const ServerStatus& server : (*client)->run((*client)->files().status(kAnswerPatience))) {
    if (!server.reachable.ok()) silent.push_back(server.address);
  }
  if (silent.empty())
    return {Code::busy, fmt::format("a cluster runs already in {}: use it, or {}", state.path(), stop)};
  return {Code::unavailable,
          fmt::format("a cluster runs in {}, but {} does not answer: see its log in {}, or {}", state.path(),
                      fmt::join(silent, ", "), state.path(), stop)};
}

}  // namespace

Result<UpReport> bring_up(const Globals& globals, const StateDirectory& state, const UpOptions& options) {
  if (!state.has_cluster()) TUTTI_TRY(check_new(state, options));
  TUTTI_TRY(state.create());
  auto lock = state.lock();
  if (!lock.ok()) return lock.status();
  const bool fresh = !state.has_cluster();
  if (fresh) TUTTI_TRY(create_cluster(state, options));
  auto config = ClusterConfig::load(state.config_path());
  if (!config.ok()) return config.status();
  UpReport report;
  std::vector<std::string> missing;
  const auto names = daemon_names(config->servers(), !config->coordinator.empty());
  for (const std::string& name : names) {
    if (!state.running(name)) missing.push_back(name);
  }
  if (missing.empty()) return runs_already(globals, state, *config);
  const bool some_run = missing.size() < names.size();
  if (!fresh) TUTTI_TRY(update_cluster(state, options, some_run));
  config = ClusterConfig::load(state.config_path());
  if (!config.ok()) return config.status();
  TUTTI_TRY(check_socket_paths(state.path(), *config));
  TUTTI_TRY(start_missing(state, missing));
  if (Status silent = check_answers(globals, *config, report.policy); !silent.ok())
    return with_reason(state, missing, std::move(silent));
  report.config = *std::move(config);
  report.started = missing;
  report.fresh = fresh;
  return report;
}

namespace {

int run_up(const Globals& globals, const UpOptions& options, bool json) {
  const auto state = choose_state_directory(globals);
  if (!state.ok()) return report("up", state.status());
  const auto up = bring_up(globals, *state, options);
  if (!up.ok()) return report("up", up.status());
  if (json) {
    Json out = {{"directory", state->path()},
                {"servers", up->config.servers()},
                {"policy", up->policy},
                {"started", up->started},
                {"created", up->fresh}};
    return print_json(out);
  }
  const bool alone = !up->config.coordinator.empty();
  const bool all = up->started.size() == daemon_names(up->config.servers(), alone).size();
  fmt::print("{}: {}1 metadata server and {} data servers in {}, policy {}\n",
             all ? "Cluster is up" : fmt::format("Started {} again", fmt::join(up->started, ", ")),
             alone ? "1 coordinator, " : "", up->config.servers(), state->path(), up->policy);
  return kSuccess;
}

}  // namespace

void add_up(Command& root) {
  auto options = std::make_shared<UpOptions>();
  auto json = std::make_shared<bool>(false);
  Command up = root.add("up", "Start a local cluster in the background; restarts daemons that died",
                        "tutti up --servers 4 && tutti put results.h5 /results.h5");
  up.option("--servers", options->servers, "Number of data servers (4); fixed when the cluster is created")
      .range(1, kMaxServers);
  up.option("--policy", options->policy,
            "Order of requests in the data servers: " +
                fmt::format("{}", fmt::join(request_policy_names(), ", ")))
      .checked([](const std::string& text) { return make_request_policy(text).status(); });
  up.option("--stripe-size", options->stripe_size, "Default stripe size of new files (64KiB)")
      .checked(check_stripe_size_text);
  up.option("--stripe-count", options->stripe_count, "Servers that a new file is spread over (0: all)");
  up.option("--log-level", options->log_level, "debug, info, warn or error")
      .one_of({"debug", "info", "warn", "error"});
  up.flag("--tcp", options->loopback_tcp,
          "Of a new cluster: clients come by TCP over the loopback device, as if from another host");
  up.option("--device", options->device,
            "A modelled disk under the data servers, in real time: none, hdd, ssd")
      .one_of(modelled_devices());
  up.option("--checksums", options->checksums,
            "Of the stored bytes: auto (where objects are on a disk), on, off")
      .one_of(kinds_of_checksums());
  up.option("--coordinator", options->coordinator,
            "Of a new cluster: meta (the metadata server coordinates) or alone (in a daemon of its own)")
      .one_of({"meta", "alone"});
  up.flag("--json", *json, "Print JSON");
  up.action([&globals = root.globals(), options, json] { return run_up(globals, *options, *json); });
}

}  // namespace tutti::cli
