// tutti serve: one daemon in the foreground.
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <random>

#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/state_directory.h"
#include "client/cluster_config.h"
#include "env/real/file_store.h"
#include "env/real/lmdb_kv.h"
#include "env/real/loop.h"
#include "env/real/socket_network.h"
#include "env/scope.h"
#include "policy/request/policy.h"
#include "server/data_server.h"
#include "server/meta_server.h"

namespace tutti::cli {
namespace {

struct ServeOptions {
  std::string config;
  std::string log;
  std::uint32_t index = 0;
  int ready_fd = -1;
};

// What a daemon needs whichever kind it is. Members are destroyed in reverse: the loop last.
struct Daemon {
  StateDirectory state;
  ClusterConfig config;
  std::string name;
  ServerKey key;
  Log log;
  Fd claimed;
  Loop loop;
  std::unique_ptr<Signals> signals;
  std::unique_ptr<SocketNetwork> network;
  Random random{1};
  int ready_fd = -1;

  [[nodiscard]] Env env() { return {loop.clock(), *network, random, log}; }
};

std::uint64_t random_seed() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U) | device();
}

Result<std::unique_ptr<Daemon>> prepare(const ServeOptions& options, const std::string& name) {
  const auto directory = std::filesystem::absolute(options.config).lexically_normal().parent_path();
  const StateDirectory state(directory.string());
  TUTTI_TRY(state.check());
  auto config = ClusterConfig::load(options.config);
  if (!config.ok()) return config.status();
  auto level = parse_log_level(config->log_level);
  if (!level.ok()) return level.status();
  Log log = Log::to_stderr(name, *level);
  if (!options.log.empty()) {
    auto to_file = Log::to_file(options.log, name, *level);
    if (!to_file.ok()) return to_file.status();
    log = *to_file;
  }
  auto key = ServerKey::load(state.key_path());
  if (!key.ok()) return key.status();
  std::filesystem::create_directory(directory / "run");
  auto claimed = state.claim(name);
  if (!claimed.ok()) return claimed.status();

  auto daemon = std::unique_ptr<Daemon>(new Daemon{state,
                                                   *std::move(config),
                                                   name,
                                                   *key,
                                                   log,
                                                   *std::move(claimed),
                                                   {},
                                                   {},
                                                   {},
                                                   Random(random_seed()),
                                                   -1});
  daemon->ready_fd = options.ready_fd;
  auto signals = Signals::watch(daemon->loop, {SIGTERM, SIGINT});
  if (!signals.ok()) return signals.status();
  daemon->signals = *std::move(signals);
  SocketOptions socket;
  socket.mover = daemon->config.mover_choice();
  socket.log = log;
  daemon->network = std::make_unique<SocketNetwork>(daemon->loop, socket);
  return daemon;
}

Task<void> run_until_end(Task<Status> serving, Status* result, Event* ended) {
  *result = co_await std::move(serving);
  ended->set();
}

Task<void> run_until_signal(Daemon* daemon, Event* ended) {
  const int number = co_await daemon->signals->next();
  daemon->log.info("signal {}: leaving", number);
  ended->set();
}

Task<void> wait(Event* event) { co_await event->wait(); }

// Serves until a signal comes or serving fails.
Status serve_until_signal(Daemon& daemon, Task<Status> serving) {
  Status result;
  Event ended(daemon.loop.executor());
  Scope scope(daemon.loop.executor());
  scope.spawn(run_until_signal(&daemon, &ended));
  scope.spawn(run_until_end(std::move(serving), &result, &ended));
  daemon.log.info("serves in {} as pid {}", daemon.state.path(), ::getpid());
  say_ready(daemon.ready_fd, {});
  daemon.ready_fd = -1;
  daemon.loop.run(wait(&ended));
  scope.cancel();
  return result;
}

Status serve_meta(Daemon& daemon) {
  const ClusterConfig& config = daemon.config;
  LmdbOptions lmdb;
  lmdb.map_size = config.metadata_limit;
  auto kv = LmdbKv::open(daemon.loop, daemon.state.store_path("meta"), lmdb);
  if (!kv.ok()) return kv.status();
  MetaServerOptions options;
  options.cluster = config.id;
  options.data_servers = config.data;
  options.stripe_size = config.stripe_size;
  options.stripe_count = config.stripe_count;
  options.capability_lifetime = config.capability_lifetime;
  options.root_uid = ::geteuid();
  options.root_gid = ::getegid();
  MetaServer server(daemon.env(), **kv, daemon.key, options);
  TUTTI_TRY(daemon.loop.run(server.open()));
  auto listener = daemon.network->listen(config.meta);
  if (!listener.ok()) return listener.status();
  return serve_until_signal(daemon, server.serve(*std::move(listener)));
}

Status serve_data(Daemon& daemon, std::uint32_t index) {
  const ClusterConfig& config = daemon.config;
  if (index >= config.servers()) {
    return {Code::invalid,
            fmt::format("--index {}: the cluster has data servers 0 to {}", index, config.servers() - 1)};
  }
  FileStoreOptions files;
  files.log = daemon.log;
  auto store = FileStore::open(daemon.loop, daemon.state.store_path(daemon.name), files);
  if (!store.ok()) return store.status();
  auto policy = make_request_policy(config.policy);
  if (!policy.ok()) return policy.status();
  DataServerOptions options;
  options.index = index;
  options.cluster = config.id;
  options.max_queued = static_cast<std::size_t>(config.max_queued);
  options.max_queued_per_session = static_cast<std::size_t>(config.max_queued_per_session);
  options.max_request_age = config.max_request_age;
  DataServer server(daemon.env(), **store, *std::move(policy), daemon.key, options);
  auto listener = daemon.network->listen(config.data[index]);
  if (!listener.ok()) return listener.status();
  return serve_until_signal(daemon, server.serve(*std::move(listener)));
}

int run_serve(const ServeOptions& options, const std::string& name) {
  ::umask(0077);
  std::signal(SIGPIPE, SIG_IGN);
  auto daemon = prepare(options, name);
  if (!daemon.ok()) {
    say_ready(options.ready_fd, daemon.status());
    return report("serve " + name, daemon.status());
  }
  const Status served = name == "meta" ? serve_meta(**daemon) : serve_data(**daemon, options.index);
  say_ready((*daemon)->ready_fd, served);
  return report("serve " + name, served);
}

void add_common(CLI::App* command, ServeOptions& options) {
  command->add_option("--config", options.config, "The cluster.toml of the state directory")->required();
  command->add_option("--log", options.log, "Append the log to this file instead of standard error");
  command->add_option("--ready-fd", options.ready_fd, "Tell this descriptor when it serves")->group("");
}

}  // namespace

void add_serve(CLI::App& root, Context& context) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* serve = add_command(root, "serve", "Run one daemon in the foreground, for service managers",
                                "tutti serve data --index 0 --config ~/.tutti/cluster.toml");
  serve->require_subcommand(1);
  CLI::App* meta =
      add_command(*serve, "meta", "The metadata server", "tutti serve meta --config D/cluster.toml");
  add_common(meta, *options);
  meta->callback([&context, options] { context.action = [options] { return run_serve(*options, "meta"); }; });
  CLI::App* data =
      add_command(*serve, "data", "A data server", "tutti serve data --index 2 --config D/cluster.toml");
  add_common(data, *options);
  data->add_option("--index", options->index, "Its number in the cluster, from 0")->required();
  data->callback([&context, options] {
    context.action = [options] { return run_serve(*options, fmt::format("data.{}", options->index)); };
  });
}

}  // namespace tutti::cli
