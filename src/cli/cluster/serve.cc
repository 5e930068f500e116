// tutti serve: one daemon in the foreground.
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/hash.h"
#include "cli/command.h"
#include "cli/cluster/daemon.h"
#include "cli/cluster/state_directory.h"
#include "client/cluster_config.h"
#include "env/real/store/file_store.h"
#include "env/real/kv/lmdb_kv.h"
#include "env/real/loop/loop.h"
#include "env/real/network/socket_network.h"
#include "env/real/system_random.h"
#include "env/scope.h"
#include "env/sim/device/hdd.h"
#include "env/sim/device/parameters.h"
#include "env/sim/device/scheduler.h"
#include "env/sim/device/ssd.h"
#include "env/sim/store/device_store.h"
#include "policy/request/policy.h"
#include "policy/request/window.h"
#include "server/data/data_server.h"
#include "server/meta/meta_server.h"

namespace tutti::cli {
namespace {

// The same until the machine starts anew, and with it until unsynced writes may be lost.
std::uint64_t boot_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return stable_hash(id);
}

// Whether the kernel calls the disk under the directory a rotating one. False where it does not know.
bool on_rotating_disk(const std::string& directory) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) return false;
  const std::string device = fmt::format("/sys/dev/block/{}:{}", major(info.st_dev), minor(info.st_dev));
  for (const char* queue :
       {"/queue/rotational", "/../queue/rotational"}) {  // the second: of a partition's disk
    char answer = '0';
    if (std::ifstream(device + queue) >> answer) return answer == '1';
  }
  return false;
}

// The store behind a modelled disk, for experiments; null for "none".
std::unique_ptr<DeviceStore> modelled_device(Clock& clock, Store& store, const std::string& name) {
  if (name == "none") return nullptr;
  std::unique_ptr<Device> device;
  if (name == "hdd") {
    device = std::make_unique<HddModel>(default_hdd());
  } else {
    device = std::make_unique<SsdModel>(default_ssd());
  }
  DeviceStoreOptions options;
  options.placement.salt = 1;  // anywhere, but alike on all servers; see placement.h
  return std::make_unique<DeviceStore>(clock, store, std::move(device),
                                       std::move(*make_io_scheduler("deadline")), options);
}

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

// A server holds a descriptor for each connection and each object in use.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
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
  std::error_code failure;
  std::filesystem::create_directories(config->run_directory,
                                      failure);  // listening tells what is wrong with it
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
                                                   Random(system_random()),
                                                   -1});
  daemon->ready_fd = options.ready_fd;
  auto signals = Signals::watch(daemon->loop, {SIGTERM, SIGINT, SIGHUP});
  if (!signals.ok()) return signals.status();
  daemon->signals = *std::move(signals);
  raise_descriptor_limit();
  daemon->network = std::make_unique<SocketNetwork>(daemon->loop, daemon->config.socket_options(log));
  return daemon;
}

Task<void> run_until_end(Task<Status> serving, Status* result, Event* ended) {
  *result = co_await std::move(serving);
  ended->set();
}

Task<void> run_until_signal(Daemon* daemon, Event* ended) {
  int number = SIGHUP;
  while (number == SIGHUP) {
    number = co_await daemon->signals->next();
    if (number == SIGHUP) daemon->log.info("key files are read again by themselves when they change");
  }
  daemon->log.info("signal {}: leaving", number);
  ended->set();
}

Task<void> wait(Event* event) { co_await event->wait(); }

// Where a daemon listens: at its address in the cluster file, and for clients on its host at a local socket.
Result<std::vector<std::unique_ptr<Listener>>> listen(Daemon& daemon, const std::string& address) {
  std::vector<std::string> places;
  if (!address.starts_with("unix:")) {
    places.push_back(fmt::format("unix:{}/{}.sock", daemon.config.run_directory, daemon.name));
  }
  places.push_back(address);
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const std::string& place : places) {
    auto listener = daemon.network->listen(place);
    if (!listener.ok()) return listener.status();
    listeners.push_back(*std::move(listener));
  }
  return listeners;
}

// Serves until a signal comes or serving fails.
Status serve_until_signal(Daemon& daemon, std::vector<Task<Status>> serving) {
  Status result;
  Event ended(daemon.loop.executor());
  Scope scope(daemon.loop.executor());
  scope.spawn(run_until_signal(&daemon, &ended));
  for (Task<Status>& each : serving) scope.spawn(run_until_end(std::move(each), &result, &ended));
  daemon.log.info("serves in {} as pid {}", daemon.state.path(), ::getpid());
  say_ready(daemon.ready_fd, {});
  notify_manager("READY=1");
  daemon.ready_fd = -1;
  daemon.loop.run(wait(&ended));
  notify_manager("STOPPING=1");
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
  options.policy = config.policy;
  options.capability_lifetime = config.capability_lifetime;
  options.root_uid = config.owner ? config.owner->uid : ::geteuid();
  options.root_gid = config.owner ? config.owner->gid : ::getegid();
  MetaServer server(daemon.env(), **kv, daemon.key, options);
  TUTTI_TRY(daemon.loop.run(server.open()));
  auto listeners = listen(daemon, config.meta);
  if (!listeners.ok()) return listeners.status();
  std::vector<Task<Status>> serving;
  for (auto& each : *listeners) serving.push_back(server.serve(std::move(each)));
  return serve_until_signal(daemon, std::move(serving));
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
  const bool rotational = config.device == "hdd" ||
                          (config.device == "none" && on_rotating_disk(daemon.state.store_path(daemon.name)));
  auto policy = make_request_policy(with_default_interval(config.policy, rotational));
  if (!policy.ok()) return policy.status();
  const auto modelled = modelled_device(daemon.loop.clock(), **store, config.device);
  DataServerOptions options;
  options.index = index;
  options.cluster = config.id;
  options.boot = boot_number();
  options.max_queued = static_cast<std::size_t>(config.max_queued);
  options.max_queued_per_session = static_cast<std::size_t>(config.max_queued_per_session);
  options.queue_memory = config.queue_memory;
  options.read_grant = config.read_grant;
  options.max_request_age = config.max_request_age;
  options.meta = config.meta;
  options.rotational = rotational;
  options.applications = config.applications;
  DataServer server(daemon.env(), modelled ? static_cast<Store&>(*modelled) : **store, *std::move(policy),
                    daemon.key, options);
  auto listeners = listen(daemon, config.data[index]);
  if (!listeners.ok()) return listeners.status();
  server.start();
  std::vector<Task<Status>> serving;
  for (auto& each : *listeners) serving.push_back(server.serve(std::move(each)));
  return serve_until_signal(daemon, std::move(serving));
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

void add_common(Command& command, ServeOptions& options) {
  command.option("--config", options.config, "The cluster.toml of the state directory").required();
  command.option("--log", options.log, "Append the log to this file instead of standard error");
  command.option("--ready-fd", options.ready_fd, "Tell this descriptor when it serves").hidden();
}

}  // namespace

void add_serve(Command& root) {
  auto options = std::make_shared<ServeOptions>();
  Command serve = root.add("serve", "Run one daemon in the foreground, for service managers",
                           "tutti serve data --index 0 --config ~/.tutti/cluster.toml");
  serve.needs_command();
  Command meta = serve.add("meta", "The metadata server", "tutti serve meta --config D/cluster.toml");
  add_common(meta, *options);
  meta.action([options] { return run_serve(*options, "meta"); });
  Command data = serve.add("data", "A data server", "tutti serve data --index 2 --config D/cluster.toml");
  add_common(data, *options);
  data.option("--index", options->index, "Its number in the cluster, from 0").required();
  data.action([options] { return run_serve(*options, fmt::format("data.{}", options->index)); });
}

}  // namespace tutti::cli
