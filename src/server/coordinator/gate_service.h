// GateService: the coordinator's lock service: who may write to which servers now.
//
// Jobs ask for a turn (REQ), are granted it (ACK) and give it back (REL); the rules are those of the pure table in
// policy/gate/lock_table.h. Here they get messages, a clock and a memory:
//   - A turn is a lease of job and ask. It outlives the connection that it was asked on; whoever holds or waits says
//     every now and then that it is still there, and is forgotten otherwise.
//   - What is granted and who waits is written to `state` before anybody is told, unsynced: it survives the death of the
//     process, so that after a restart everybody has what he had, and the order of asking is kept. A loss of power takes it;
//     then nothing is granted for one lease, in which holders say again what they hold.
//   - Fencing numbers are reserved in the Kv in blocks, synced, so that none is ever given out twice.
//
// Nobody depends on it to go on: clients that hear nothing write without a grant (client/gate_session.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "env/env.h"
#include "env/kv.h"
#include "env/scope.h"
#include "env/sync.h"
#include "policy/gate/lock_table.h"
#include "wire/messages.h"

namespace tutti {

class GateService {
 public:
  // `state` may be null: then a restart counts as a loss of power. All references must outlive it.
  GateService(Env env, Kv& kv, Kv* state, gate::LockOptions options);
  GateService(const GateService&) = delete;
  GateService& operator=(const GateService&) = delete;

  // Told the fencing number of every turn that its job lost, before the next one has it. Before open().
  void on_lost(std::function<void(std::uint64_t fence)> lost) { lost_ = std::move(lost); }
  // Before anything else: takes back what was stored, and reserves fencing numbers.
  Task<Status> open();

  // One connection's part. Must not outlive the service.
  class Peer {
   public:
    Peer(GateService& service, Connection& connection);
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer();

    static bool knows(std::uint16_t type);
    // False if the message is not sound.
    bool handle(const Frame& frame);

   private:
    friend class GateService;
    bool on_ask(const Frame& frame);
    bool on_release(const Frame& frame);
    bool on_renew(const Frame& frame);
    bool on_status(const Frame& frame);

    GateService& service_;
    Connection& connection_;
    std::uint64_t number_;
  };

  [[nodiscard]] const gate::LockTable& table() const { return table_; }
  // Turns that jobs took while nobody answered them, as far as they have told.
  [[nodiscard]] std::uint64_t unguarded() const { return unguarded_; }

 private:
  // An ask that somebody was heard of, besides what the table knows.
  struct Known {
    std::uint32_t uid = 0;
    std::string program, label;
    Nanos since;              // in this state
    std::uint64_t peer = 0;   // who waits for the answer; 0: nobody
    std::uint64_t frame = 0;  // to which message
    std::uint8_t told = 0;
  };
  struct Reply {
    std::uint64_t peer = 0;
    std::uint64_t frame = 0;
    gate::Answer answer;
  };
  struct Due : Timer {
    explicit Due(GateService& service) : Timer(&fire), service(service) {}
    static void fire(Timer* self);
    GateService& service;
  };

  Task<Status> reserve_fences();
  Task<void> reserve_more();
  // Tells the next start that what is in the state is all there is.
  Task<Status> mark_whole();
  Task<void> mark_after_grace();
  // After every call of the table: answers, what is to be stored, and the next moment at which something is due.
  void settle();
  Task<void> write();
  void send(const Reply& reply);
  void forget(gate::AskName name);

  Env env_;
  Kv& kv_;
  Kv* state_;
  gate::LockOptions options_;
  gate::LockTable table_;
  std::map<gate::AskName, Known> known_;
  std::map<std::uint64_t, Peer*> peers_;
  std::uint64_t next_peer_ = 1;
  std::map<std::uint64_t, std::optional<std::string>> unwritten_;  // records by sequence
  std::vector<Reply> replies_;                                     // that wait for them to be written
  bool writing_ = false;
  bool reserving_ = false;
  std::uint64_t fence_end_ = 0;  // of the numbers that are reserved
  std::uint64_t unguarded_ = 0;
  std::uint64_t gave_up_ = 0;
  std::function<void(std::uint64_t)> lost_;
  Due due_;
  Nanos due_at_ = Nanos::max();
  Scope scope_;
};

// How a demand is stored.
std::string encode(const gate::LockRecord& record);
std::optional<gate::LockRecord> decode_lock_record(std::string_view bytes);

}  // namespace tutti
