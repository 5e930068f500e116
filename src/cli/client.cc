#include "cli/client.h"

#include <fmt/format.h>

#include <csignal>

#include "base/parse.h"
#include "env/scope.h"

namespace tutti::cli {
namespace {

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

ClusterChoice cluster_choice(const Globals& globals) { return {globals.cluster, globals.directory}; }

Result<std::optional<Nanos>> patience_of(const Globals& globals) {
  if (globals.patience.empty()) return std::optional<Nanos>();
  const auto patience = parse_duration(globals.patience);
  if (!patience.ok()) return patience.status().with_context("--patience");
  return std::optional<Nanos>(*patience);
}

Result<std::unique_ptr<Client>> Client::make(const Globals& globals) {
  const auto patience = patience_of(globals);
  if (!patience.ok()) return patience.status();
  RealClientOptions options;
  options.cluster = cluster_choice(globals);
  options.application = globals.application;
  options.patience = *patience;
  options.program = "tutti";
  options.log = globals.verbose ? Log::to_stderr("tutti", LogLevel::debug)
                                : client_log("tutti", LogLevel::warn, options.environment);
  return std::unique_ptr<Client>(new Client(std::move(options)));
}

Result<std::unique_ptr<Client>> Client::open(const Globals& globals) {
  auto client = make(globals);
  if (!client.ok()) return client;
  if (Status connected = (*client)->client_.connect(); !connected.ok()) return connected;
  return client;
}

Result<std::unique_ptr<Client>> Client::open(const Globals& globals, const ClusterConfig& config) {
  auto client = make(globals);
  if (!client.ok()) return client;
  if (Status connected = (*client)->client_.connect(config); !connected.ok()) return connected;
  return client;
}

Status Client::run_interruptible(Task<Status> task) {
  if (!signals_) {
    auto signals = Signals::watch(loop(), {SIGINT, SIGTERM, SIGHUP});
    if (!signals.ok()) return signals.status();
    signals_ = *std::move(signals);
  }
  Status result;
  Event ended(loop().executor());
  Scope scope(loop().executor());
  scope.spawn(run_until_signal(signals_.get(), &result, &ended));
  scope.spawn(run_until_end(std::move(task), &result, &ended));
  loop().run(wait(&ended));
  return result;
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
