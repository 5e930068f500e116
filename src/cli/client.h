// Client: a command's connection to the cluster it was told to use.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/command.h"
#include "client/path.h"
#include "client/real/real_client.h"

namespace tutti::cli {

// The cluster that --cluster and --dir name.
ClusterChoice cluster_choice(const Globals& globals);
// --patience, if it was given.
Result<std::optional<Nanos>> patience_of(const Globals& globals);

class Client {
 public:
  // Reads the configuration, or takes one that was read before; connects with the first request.
  static Result<std::unique_ptr<Client>> open(const Globals& globals);
  static Result<std::unique_ptr<Client>> open(const Globals& globals, const ClusterConfig& config);
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() = default;

  [[nodiscard]] FileSystem& files() { return client_.files(); }
  [[nodiscard]] Loop& loop() { return client_.loop(); }
  [[nodiscard]] const ClusterConfig& config() const { return client_.config(); }

  template <typename T>
  T run(Task<T> task) {
    return client_.run(std::move(task));
  }
  // As run(), but SIGINT and SIGTERM cancel the task: Code::cancelled. For work that has to tidy up.
  Status run_interruptible(Task<Status> task);

 private:
  explicit Client(RealClientOptions options) : client_(std::move(options)) {}
  static Result<std::unique_ptr<Client>> make(const Globals& globals);

  RealClient client_;
  std::unique_ptr<Signals> signals_;
};

std::string base_name(const std::string& path);
std::string join_path(const std::string& directory, const std::string& name);

// Runs `body` for each path, reports each failure as "tutti: COMMAND PATH: ...", and returns the exit code.
int for_each_path(const Globals& globals, const std::string& command, const std::vector<std::string>& paths,
                  const std::function<Status(Client&, const std::string& path)>& body);

}  // namespace tutti::cli
