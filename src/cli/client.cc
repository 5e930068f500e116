#include "cli/client.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdlib>

#include "base/hash.h"
#include "base/parse.h"
#include "cli/cluster/choose_directory.h"
#include "env/scope.h"

namespace tutti::cli {
namespace {

// A number stands for itself; a name is hashed, the same on every host.
std::uint64_t application_id(const Globals& globals) {
  std::string text = globals.application;
  const char* variable = std::getenv("TUTTI_APPLICATION");
  if (text.empty() && variable != nullptr) text = variable;
  if (text.empty()) return 0;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? number : stable_hash(text);
}

std::string variable_or_empty(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Task<void> run_until_end(Task<Status> task, Status* result, Event* ended) {
  *result = co_await std::move(task);
  ended->set();
}

Task<void> run_until_signal(Signals* signals, Status* result, Event* ended) {
  const int number = co_await signals->next();
  *result = Status(Code::cancelled, number == SIGINT ? "interrupted" : "told to end");
  ended->set();
}

Task<void> wait(Event* event) { co_await event->wait(); }

}  // namespace

Result<ClusterConfig> find_cluster(const Globals& globals) {
  if (!globals.cluster.empty()) return ClusterConfig::load(globals.cluster);
  if (globals.directory.empty() && std::getenv("TUTTI_CLUSTER") != nullptr) {
    return ClusterConfig::load(default_cluster_file());
  }
  const auto state = choose_state_directory(globals);
  if (!state.ok()) return state.status();
  auto config = ClusterConfig::load(state->config_path());
  if (config.ok() || config.code() != Code::not_found) return config;
  return Status(Code::not_found,
                fmt::format("there is no cluster in {}: start one with `tutti up`, or name one with "
                            "--dir or --cluster",
                            state->path()));
}

Client::Client(ClusterConfig config, ClientOptions options, Log log)
    : config_(std::move(config)),
      network_(loop_, config_.socket_options(log)),
      random_(system_random()),
      files_(std::make_unique<FileSystem>(Env{loop_.clock(), network_, random_, log}, config_.map(),
                                          std::move(options))) {
  loop_.set_spin(kClientSpin);
}

Result<std::unique_ptr<Client>> Client::open(const Globals& globals) {
  const auto config = find_cluster(globals);
  if (!config.ok()) return config.status();
  return open(globals, *config);
}

Result<std::unique_ptr<Client>> Client::open(const Globals& globals, const ClusterConfig& config) {
  const auto patience = parse_duration(globals.patience);
  if (!patience.ok()) return patience.status().with_context("--patience");
  ClientOptions options;
  options.patience = *patience;
  options.application = application_id(globals);
  options.job = variable_or_empty("SLURM_JOB_ID");
  options.program = "tutti";
  options.application_range = config.application_range(options.program);
  const Log log = Log::to_stderr("tutti", globals.verbose ? LogLevel::debug : LogLevel::warn);
  return std::unique_ptr<Client>(new Client(config, std::move(options), log));
}

Status Client::run_interruptible(Task<Status> task) {
  if (!signals_) {
    auto signals = Signals::watch(loop_, {SIGINT, SIGTERM, SIGHUP});
    if (!signals.ok()) return signals.status();
    signals_ = *std::move(signals);
  }
  Status result;
  Event ended(loop_.executor());
  Scope scope(loop_.executor());
  scope.spawn(run_until_signal(signals_.get(), &result, &ended));
  scope.spawn(run_until_end(std::move(task), &result, &ended));
  loop_.run(wait(&ended));
  return result;
}

std::string cluster_path(const std::string& argument) {
  constexpr std::string_view kPrefix = "tutti:";
  std::string path = argument.starts_with(kPrefix) ? argument.substr(kPrefix.size()) : argument;
  if (!path.starts_with('/')) path.insert(0, "/");
  return path;
}

std::string base_name(const std::string& path) {
  std::string_view view = path;
  while (view.size() > 1 && view.ends_with('/')) view.remove_suffix(1);
  const auto slash = view.rfind('/');
  return std::string(slash == std::string_view::npos ? view : view.substr(slash + 1));
}

std::string join_path(const std::string& directory, const std::string& name) {
  return directory.ends_with('/') ? directory + name : directory + "/" + name;
}

int for_each_path(const Globals& globals, const std::string& command, const std::vector<std::string>& paths,
                  const std::function<Status(Client&, const std::string& path)>& body) {
  auto client = Client::open(globals);
  if (!client.ok()) return report(command, client.status());
  int code = kSuccess;
  for (const std::string& path : paths) {
    const Status status = body(**client, cluster_path(path));
    if (!status.ok()) {
      print_error(fmt::format("{} {}", command, path), status);
      code = kFailure;
    }
  }
  return code;
}

}  // namespace tutti::cli
