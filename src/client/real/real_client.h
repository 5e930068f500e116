// RealClient: a client of a cluster in the real world, as the C and C++ API, the command and MPI-IO make it.
//
// It owns the event loop, the connections, the configuration and the file systems. A file system is a client with an
// application id of its own; most programs have one, an MPI program has one for each application that its hints name.
// No servers are contacted before a file system is used. Of one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/log.h"
#include "base/random.h"
#include "base/status.h"
#include "base/units.h"
#include "client/application.h"
#include "client/cluster_config.h"
#include "client/cluster_file.h"
#include "client/file_system.h"
#include "client/real/process.h"
#include "env/real/loop/loop.h"
#include "env/real/network/socket_network.h"

namespace tutti {

// Nobody waits longer: any longer patience means this one, so that sums of times do not overflow.
inline constexpr Nanos kMostPatience = 86400_s * 3650;

// What the maker of a client was told. What is left empty comes from the environment, else from the defaults.
struct RealClientOptions {
  ClusterChoice cluster;                    // see cluster_file()
  std::string application;                  // a number or a name, see choose_application()
  std::optional<Nanos> patience;            // else $TUTTI_PATIENCE, else that of ClientOptions
  std::string job;                          // else that of the batch system
  std::string program;                      // else the name of the executable
  std::shared_ptr<TransferGate> gate = {};  // of ClientOptions
  Log log;
  Environment environment = &environment_variable;
};

// A patience in milliseconds, as C programs give it.
Nanos patience_of_milliseconds(std::uint64_t milliseconds);

// Lines on standard error from the level of $TUTTI_LOG on; without it from `level` on, or none if that is not given.
Log client_log(std::string_view name, std::optional<LogLevel> level, const Environment& environment);

class RealClient {
 public:
  explicit RealClient(RealClientOptions options);
  RealClient(const RealClient&) = delete;
  RealClient& operator=(const RealClient&) = delete;
  ~RealClient();

  // Reads the configuration of the cluster, or takes one that was read before. Nothing happens if that was done before.
  Status connect();
  Status connect(const ClusterConfig& config);
  // Destroys the file systems, whose files and tasks must be gone, and the connections. The loop stays.
  void disconnect();

  // After connect(): the file system of the chosen application.
  [[nodiscard]] FileSystem& files() { return make_files(*application_); }
  // The file system of another application; connects if needed.
  Result<FileSystem*> files_of(std::uint64_t application);
  // Whether one of the file systems holds or asks for a lock.
  [[nodiscard]] bool locking() const;
  [[nodiscard]] bool connected() const { return connection_ != nullptr; }
  // After connect().
  [[nodiscard]] const ClusterConfig& config() const { return connection_->config; }

  // The application that was chosen, before the administrator's rules: the same at every call.
  Result<std::uint64_t> application();
  // Processes that work together use what one of them has chosen. Before connect().
  void set_application(std::uint64_t application) { application_ = application; }

  [[nodiscard]] Loop& loop() { return loop_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] const Log& log() const { return options_.log; }

  // Drives the loop until the task has ended.
  template <typename T>
  T run(Task<T> task) {
    return loop_.run(std::move(task));
  }

 private:
  // One network for all file systems.
  struct Connection {
    Connection(Loop& loop, ClusterConfig configuration, const Log& log)
        : config(std::move(configuration)), network(loop, config.socket_options(log)) {}
    ClusterConfig config;
    SocketNetwork network;
    ClientOptions options;  // of every file system, but for the application
    std::map<std::uint64_t, std::unique_ptr<FileSystem>> systems;  // by application
  };
  [[nodiscard]] Result<Nanos> patience() const;
  FileSystem& make_files(std::uint64_t application);

  RealClientOptions options_;
  Loop loop_;
  Random random_;
  std::optional<std::uint64_t> application_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace tutti
