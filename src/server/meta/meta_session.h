// MetaSession: one client's connection to the metadata server.
//
// Requests that only read are answered at once; changes run beside each other, up to a bound, and are
// answered in any order. Whoever sends something unsound loses the connection. Changes under way when it is
// lost may or may not take place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "env/cluster_clock.h"
#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/coordinator/coordinator_session.h"
#include "server/meta/edit.h"
#include "server/meta/handles.h"
#include "server/meta/lengths.h"
#include "server/meta/locks.h"
#include "server/meta/meta_server.h"
#include "server/meta/purge.h"
#include "server/meta/repeat.h"
#include "server/meta/reply.h"
#include "server/meta/stores.h"

namespace tutti::meta {

// What all sessions of one metadata server share.
struct Service {
  Service(Env env, Kv& kv, ServerKey key, MetaServerOptions options);

  Env env;
  Kv& kv;
  ServerKey key;
  MetaServerOptions options;
  ClusterDefaults defaults;
  ClusterClock clock;  // corrected only if the coordinator runs elsewhere
  Lengths lengths;
  Handles handles;
  Purger purger;
  std::unique_ptr<Coordinator> coordinator;  // null if it runs elsewhere
  Nanos started;
  std::uint32_t sessions = 0;
  std::uint32_t server_sessions = 0;  // of them, data servers' that have shown their stores
  std::set<std::string> complained;   // peers that the log has spoken about
  Locks locks;
  Stores stores;

  // Up to where a file is written, if that is known.
  [[nodiscard]] std::optional<std::uint64_t> end_of(const Inode& node) const;

 private:
  void closed(const Handles::Closed& closed);
};

class MetaSession {
 public:
  static constexpr std::size_t kMaxChanges = 128;    // of one session under way
  static constexpr std::size_t kMaxLockWaits = 256;  // requests for locks that wait, beside the changes

  // `service` must outlive it.
  MetaSession(Service& service, std::unique_ptr<Connection> connection);
  MetaSession(const MetaSession&) = delete;
  MetaSession& operator=(const MetaSession&) = delete;
  ~MetaSession();

  // Serves until the connection is lost or does not deserve better.
  Task<void> run();

 private:
  // Makes the change and the bytes of its reply. Runs on the Kv's thread: captures only by value.
  using Operation = std::function<Result<std::string>(TreeEditor&, const Signer&)>;
  // What the session does after the change, before the reply goes out. `repeated`: it was made before.
  using After = std::function<Status(const std::string& reply, bool repeated)>;
  struct Change;

  Task<bool> welcome();
  // False if the message is not sound or its type unknown.
  bool dispatch(const Frame& frame);
  bool on_status(const Frame& frame);
  bool on_coordination(const Frame& frame);
  bool on_open(const Frame& frame);
  bool on_lookup(const Frame& frame);
  bool on_list(const Frame& frame);
  bool on_make_directory(const Frame& frame);
  bool on_symlink(const Frame& frame);
  bool on_link(const Frame& frame);
  bool on_remove(const Frame& frame);
  bool on_rename(const Frame& frame);
  bool on_set_attributes(const Frame& frame);
  bool on_renew(const Frame& frame);
  bool on_commit(const Frame& frame);
  bool on_close(const Frame& frame);
  bool on_claim(const Frame& frame);
  bool on_name(const Frame& frame);
  bool on_lock(const Frame& frame);
  bool on_unlock(const Frame& frame);
  bool on_counter(const Frame& frame);
  bool on_enrol(const Frame& frame);

  bool of_server_ = false;  // counted in server_sessions
  void answer(std::uint16_t type, std::uint64_t id, const std::string& what,
              const Result<std::string>& reply);
  void start_change(const Frame& frame, std::string what, std::uint64_t sequence, Operation operation,
                    After after = {});
  Task<void> change(std::uint16_t type, std::uint64_t id, std::string what, std::shared_ptr<Change> change,
                    After after);
  static Status apply(KvWriter& kv, Change& change);
  Task<void> enrol(std::uint16_t type, std::uint64_t id, EnrolMessage shown);
  Task<void> lock(std::uint16_t type, std::uint64_t id, std::string what, LockAsk ask);
  void complain(const std::string& about);

  // Notes the handle of an open that is about to be answered.
  Status opened(std::uint64_t handle, std::uint64_t inode, bool write, bool created);
  // Code::stale if the file is gone: neither in the tree nor removed and open here.
  [[nodiscard]] Status check_there(std::uint64_t file) const;
  [[nodiscard]] ClientName name() const { return {connection_->peer().uid, client_}; }

  [[nodiscard]] Caller caller() const;
  [[nodiscard]] Signer signer() const;
  [[nodiscard]] Ticket ticket(const Frame& frame, std::uint64_t sequence) const;
  // Ours, for this user, and not expired for longer than it lived.
  [[nodiscard]] Status check_own(const wire::Capability& capability) const;

  Service& service_;
  std::unique_ptr<Connection> connection_;
  std::optional<CoordinatorSession> coordination_;  // if the coordinator is here
  std::uint64_t client_ = 0;
  std::uint64_t lock_session_ = 0;  // 0 before the greeting
  Semaphore permits_;               // for changes under way
  bool started_change_ = false;
  Scope scope_;
};

}  // namespace tutti::meta
