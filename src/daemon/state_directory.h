// StateDirectory: where a local cluster lives, and which of its daemons run.
//
//   D/cluster.toml        the cluster (cluster_config.h)
//   D/key                 the servers' key, 0600
//   D/NAME/               what each daemon stores
//   D/run/NAME.pid        locked by the daemon as long as it lives, so that a stale number is recognized
//   D/run/NAME.sock       its socket, unless the configuration says otherwise
//   D/log/NAME.log
//
// The directory is 0700. NAME is "meta", "data.N" or, where it runs alone, "coordinator".
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "env/real/local_files.h"

namespace tutti {

class StateDirectory {
 public:
  // Takes a path as it is; touches nothing.
  explicit StateDirectory(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string config_path() const { return path_ + "/cluster.toml"; }
  [[nodiscard]] std::string key_path() const { return path_ + "/key"; }
  [[nodiscard]] std::string store_path(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string log_path(const std::string& name) const {
    return path_ + "/log/" + name + ".log";
  }
  [[nodiscard]] std::string pid_path(const std::string& name) const {
    return path_ + "/run/" + name + ".pid";
  }
  // "run/NAME.sock", relative to the directory.
  [[nodiscard]] static std::string socket_name(const std::string& name) { return "run/" + name + ".sock"; }

  [[nodiscard]] bool has_cluster() const;
  // Makes it and its subdirectories, 0700. Refuses one that holds something else or that others may enter.
  [[nodiscard]] Status create() const;
  // Whether the caller may use it: exists, is a directory, is closed to others, can be read.
  [[nodiscard]] Status check() const;
  // Held by `up` and `down`, so that they do not run at the same time. Waits for its turn.
  [[nodiscard]] Result<Fd> lock() const;

  // The process id of the daemon, if it lives.
  [[nodiscard]] std::optional<pid_t> running(const std::string& name) const;
  // For the daemon itself: writes its process id and holds the lock until the Fd is closed. Code::busy if
  // another one has it.
  [[nodiscard]] Result<Fd> claim(const std::string& name) const;

 private:
  std::string path_;
};

// "meta", "data.0" and so on; "coordinator" first, if there is one.
std::vector<std::string> daemon_names(std::uint32_t servers, bool coordinator = false);

}  // namespace tutti
