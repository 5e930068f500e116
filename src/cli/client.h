// Client: a command's connection to the cluster it was told to use.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "cli/command.h"
#include "client/cluster_config.h"
#include "client/file_system.h"
#include "env/real/loop/loop.h"
#include "env/real/network/socket_network.h"
#include "env/real/system_random.h"

namespace tutti::cli {

// The configuration that --cluster, --dir or the default directory names.
Result<ClusterConfig> find_cluster(const Globals& globals);

class Client {
 public:
  // Reads the configuration; connects with the first request.
  static Result<std::unique_ptr<Client>> open(const Globals& globals);
  static Result<std::unique_ptr<Client>> open(const Globals& globals, const ClusterConfig& config);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() = default;

  [[nodiscard]] FileSystem& files() { return *files_; }
  [[nodiscard]] Loop& loop() { return loop_; }
  [[nodiscard]] const ClusterConfig& config() const { return config_; }

  template <typename T>
  T run(Task<T> task) {
    return loop_.run(std::move(task));
  }
  // As run(), but SIGINT and SIGTERM cancel the task: Code::cancelled. For work that has to tidy up.
  Status run_interruptible(Task<Status> task);

 private:
  Client(ClusterConfig config, ClientOptions options, Log log);

  ClusterConfig config_;
  Loop loop_;
  std::unique_ptr<Signals> signals_;
  SocketNetwork network_;
  Random random_;
  std::unique_ptr<FileSystem> files_;
};

// "tutti:/a", "a" and "/a" all are "/a".
std::string cluster_path(const std::string& argument);
std::string base_name(const std::string& path);
std::string join_path(const std::string& directory, const std::string& name);

// Runs `body` for each path, reports each failure as "tutti: COMMAND PATH: ...", and returns the exit code.
int for_each_path(const Globals& globals, const std::string& command, const std::vector<std::string>& paths,
                  const std::function<Status(Client&, const std::string& path)>& body);

}  // namespace tutti::cli
