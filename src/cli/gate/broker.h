// GateBroker: the other side of the door (env/real/door/door.h): asks the gate for the processes of a launch.
//
// One session with the coordinator, one turn for each set of resources at a time; processes that ask for the same join it,
// and it is given back when the last has ended, for files of POSIX calls `linger` later, since the next file of the same
// checkpoint may follow. A job whose processes hold a turn and write nothing for `stall` is not renewed. A turn that was lost is
// asked for again as soon as they write on.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/gate_session.h"
#include "env/real/door/door.h"
#include "env/real/local_files.h"
#include "env/real/loop/loop.h"
#include "policy/gate/backoff.h"

namespace tutti::cli {

struct BrokerOptions {
  GateSessionOptions session;
  bool lock = true;    // turns come from the coordinator
  bool alone = false;  // and are for one job at a time
  bool probe = false;  // writes only when the file system answers a probe as fast as a quiet one (prober.h)
  Nanos limit;         // the longest wait; 0: none
  Nanos linger = 200_ms;
  Nanos stall = 60_s;  // 0: nobody watches
};

class GateBroker {
 public:
  // What `env` refers to must outlive it.
  static Result<std::unique_ptr<GateBroker>> open(Loop& loop, Env env, BrokerOptions options);
  GateBroker(const GateBroker&) = delete;
  GateBroker& operator=(const GateBroker&) = delete;
  ~GateBroker();

  // For the environment of the processes.
  [[nodiscard]] const std::string& door() const { return name_; }
  [[nodiscard]] GateSession& session() { return session_; }
  // Gives everything back. The processes that still run write without turns.
  void close();

 private:
  // A turn that processes share.
  struct Shared {
    explicit Shared(Executor& executor) : decided(executor) {}
    std::vector<std::string> resources;
    std::vector<std::uint32_t> servers;  // of Tutti, that the resources are
    std::string label;
    std::uint64_t expected = 0;
    std::uint32_t joined = 0;
    std::uint64_t changes = 0;  // of `joined`
    bool linger = false;        // of any who joined
    GateTurn turn;
    std::uint64_t bytes_before = 0;
    Event decided;
  };
  struct Wanted {
    bool page_only = false;
    std::vector<std::string> resources;
    std::vector<std::uint32_t> servers;
    std::string label;
    std::uint64_t expected = 0;
    bool linger = false;
    bool page = false;
  };

  GateBroker(Loop& loop, Env env, BrokerOptions options);
  Status listen();
  Task<void> accept();
  Task<void> serve(Fd connection);
  Task<void> obtain(std::shared_ptr<Shared> shared);
  Task<void> acquire(std::shared_ptr<Shared> shared);
  Task<void> acquire_again(std::shared_ptr<Shared> shared);
  // Tells the processes in which turn they write.
  void publish(const Shared& shared, std::uint64_t fence);
  Task<void> wait_for_quiet(const Shared& shared);
  Task<void> give_back(std::vector<std::string> key, std::shared_ptr<Shared> shared);
  Result<Wanted> read_request(int fd) const;
  Status answer(int fd, const Shared& shared, bool with_page) const;
  bool progressing();
  [[nodiscard]] std::uint64_t written() const;

  Loop& loop_;
  Env env_;
  BrokerOptions options_;
  std::string name_;
  Fd listener_;
  FdWatch watch_;
  Fd page_file_;
  door::Page* page_ = nullptr;
  std::map<std::vector<std::string>, std::shared_ptr<Shared>> shared_;  // by resources
  std::map<int, pid_t> peers_;                                          // by descriptor
  bool closing_ = false;
  bool told_uncalibrated_ = false;
  std::uint32_t probing_ = 0;  // who probes makes progress
  std::uint64_t seen_ = 0;     // progress as of
  Nanos seen_at_;
  GateSession session_;
  Scope scope_;
};

}  // namespace tutti::cli
