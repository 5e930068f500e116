#include "daemon/data_daemon.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/hash.h"
#include "daemon/checksums.h"
#include "env/real/store/file_store.h"
#include "env/sim/store/modelled_device.h"
#include "policy/request/policy.h"
#include "policy/request/window.h"
#include "server/data/data_server.h"

namespace tutti {
namespace {

// The same until the machine starts anew, and with it until unsynced writes may be lost.
std::uint64_t boot_number() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return stable_hash(id);
}

// A session has two descriptors at most; the rest of them is for objects and the daemon itself.
std::size_t most_sessions(std::size_t wanted, std::size_t open_files) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const std::size_t others = 2 * open_files;
  const std::size_t left = limit.rlim_cur > others ? (limit.rlim_cur - others) / 2 : 0;
  return std::clamp<std::size_t>(left, 64, wanted);
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
Result<std::unique_ptr<DeviceStore>> modelled_device(Clock& clock, Store& store, const std::string& name) {
  ModelledDevice device;
  device.name = name;
  device.store.placement.salt = 1;  // anywhere, but alike on all servers; see placement.h
  return make_modelled_device(clock, store, device);
}

}  // namespace

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
  TUTTI_TRY(check_identity((*store)->identity(), config.id, index)
                .with_context(daemon.state.store_path(daemon.name)));
  const bool rotational = config.device.starts_with("hdd") ||
                          (config.device == "none" && on_rotating_disk(daemon.state.store_path(daemon.name)));
  auto policy = make_request_policy(for_device(config.policy, rotational));
  if (!policy.ok()) return policy.status();
  const auto checksums = Checksums::open(daemon, **store, daemon.state.store_path(daemon.name));
  if (!checksums.ok()) return checksums.status();
  Store& trusted = *checksums ? (*checksums)->store() : **store;
  const auto modelled = modelled_device(daemon.loop.clock(), trusted, config.device);
  if (!modelled.ok()) return modelled.status();
  DataServerOptions options;
  options.index = index;
  options.cluster = config.id;
  options.boot = boot_number();
  options.max_queued = static_cast<std::size_t>(config.max_queued);
  options.max_queued_per_session = static_cast<std::size_t>(config.max_queued_per_session);
  options.queue_memory = config.queue_memory;
  options.max_sessions = most_sessions(options.max_sessions, files.open_files);
  options.read_grant = config.read_grant;
  options.write_grant = config.write_grant;
  options.max_request_age = config.max_request_age;
  options.coordinator = config.coordinator_address();
  options.metadata = config.meta;
  options.rotational = rotational;
  options.applications = config.applications;
  DataServer server(daemon.env(), *modelled ? static_cast<Store&>(**modelled) : trusted, *std::move(policy),
                    daemon.key, options);
  auto listeners = listen(daemon, config.data[index]);
  if (!listeners.ok()) return listeners.status();
  TUTTI_TRY(server.start());
  std::vector<Task<Status>> serving;
  serving.push_back(server.refused());
  for (auto& each : *listeners) serving.push_back(server.serve(std::move(each)));
  Status served = serve_until_signal(daemon, std::move(serving), server.decided());
  if (*checksums) (*checksums)->settle(daemon.loop);
  return served;
}

}  // namespace tutti
