// ClusterConfig: the file cluster.toml that `tutti up` writes and every daemon and client reads.
//
// Addresses are "unix:PATH" and "tcp:HOST:PORT". Paths may be relative ("unix:run/meta.sock"): they are then
// taken from the directory of the file, so that a state directory can be moved while nothing runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "base/units.h"
#include "client/file_system.h"
#include "env/real/network/socket_network.h"
#include "policy/application_ids.h"
#include "policy/gate/lock_table.h"

namespace tutti {

// The newest format of the state directory that this build understands.
inline constexpr std::int64_t kStateFormat = 1;
inline constexpr std::uint32_t kMaxServers = 4096;

struct ClusterConfig {
  std::uint64_t id = 0;
  std::string meta;         // address; empty, as `data`: a coordinator without a file system, for its gate
  std::string coordinator;  // address of one that runs alone; empty: the metadata server is it
  std::vector<std::string> data;   // addresses; the order gives the numbers
  std::string policy = "fcfs";     // of request queues, with parameters: "fcfs;dispatch_depth=8"
  Bytes stripe_size = 64_KiB;      // default of new files
  std::uint32_t stripe_count = 0;  // 0: all servers
  std::string target_order =
      std::string(kDefaultTargetOrder);  // in which clients visit servers: policy/target
  Bytes schedule_block = 4_MiB;          // the largest part of a transfer in one message
  std::int64_t pieces_in_flight = 0;     // of one operation; 0: see ClientOptions
  std::string collective = "auto";       // plan of MPI-IO's collective calls, unless a hint names another
  std::string log_level = "info";
  std::string device = "none";      // a modelled disk under the data servers, in real time: none, hdd, ssd
  std::string checksums = "auto";   // of objects: auto (on disks), on, off
  std::string mover = "automatic";  // how bulk data travels: automatic, cma, socket
  Nanos capability_lifetime = 3600_s;
  Nanos open_grace = 60_s;  // how long the open files of a client that is away, or of a restart, are kept
  Nanos max_request_age = 60_s;
  std::int64_t max_queued = 100'000;
  std::int64_t max_queued_per_session = 4'096;
  Bytes queue_memory = 256_MiB;  // of requests that wait in one data server
  Bytes read_grant = 16_MiB;     // how far local readers of objects in memory read on without asking,
  Bytes write_grant = 16_MiB;    // and writers write
  Bytes metadata_limit = 64_GiB;
  std::string gate_order = "auto";     // of turns: auto, preserved, overtaking; see policy/gate/lock_table.h
  Nanos gate_lease = 5_s;              // a silent holder loses its turn after this
  Nanos gate_limit = 0_s;              // whoever has waited so long goes on without a turn; 0: nobody
  std::string auth = "local";          // who may come by TCP: local (nobody), key, munge
  std::vector<std::string> auth_keys;  // key files, at most two; absolute
  std::optional<Owner> owner;          // whom holders of a key act as; default: the servers' own ids
  bool root_squash = true;             // root on another host is nobody here
  bool local_path = true;              // clients on a server's host leave TCP for its local socket
  bool read_grants = true;             // by TCP servers send when the client's link can take it
  std::string run_directory;           // of the servers' local sockets; default: run/ beside the file
  std::string munge_socket;            // default: libmunge's
  std::string protect = "authenticate";  // what goes by TCP: none, authenticate, encrypt
  std::uint32_t server_uid = 0;          // of the servers, for munge; default: the owner of the file
  ApplicationRules applications;         // which ids clients get

  // Addresses are absolute afterwards. Code::version if a newer Tutti wrote it.
  static Result<ClusterConfig> load(const std::string& path);
  // Replaces the file at once, or not at all.
  [[nodiscard]] Status save(const std::string& path, std::uint32_t mode) const;

  [[nodiscard]] ClusterMap map() const { return {id, meta, data, coordinator}; }
  // Where what holds for the cluster is asked: data servers and clients go there.
  [[nodiscard]] const std::string& coordinator_address() const {
    return coordinator.empty() ? meta : coordinator;
  }
  // What a client of this user and program must do about its application id: for ClientOptions.
  [[nodiscard]] ApplicationRange application_range(const std::string& program) const;
  [[nodiscard]] bool has_files() const { return !data.empty(); }
  [[nodiscard]] gate::LockOptions gate_options() const;
  [[nodiscard]] MoverChoice mover_choice() const;
  // What a daemon's or client's network needs of the file.
  [[nodiscard]] SocketOptions socket_options(Log log) const;
  [[nodiscard]] std::uint32_t servers() const { return static_cast<std::uint32_t>(data.size()); }
};

// What ClusterConfig::device may be.
const std::vector<std::string>& modelled_devices();

// What ClusterConfig::checksums may be.
const std::vector<std::string>& kinds_of_checksums();

// A stripe size that Layout accepts; the message says which ones it does.
Status check_stripe_size(Bytes size);

}  // namespace tutti
