// GateSession: a job's side of the gate (server/coordinator/gate_service.h), in either world.
//
// A turn is asked for, held and given back; the session says every quarter of the lease that the job is still there, comes
// back by itself after a lost connection, and says again what it holds to a coordinator that has forgotten. Nothing here ever
// fails: a job that gets no answer within the patience goes on without a turn, which is told to the log and counted.
//
// The loop must be driven for turns to be renewed: `tutti run` does so for the programs that it starts.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/server_session.h"

namespace tutti {

struct GateSessionOptions {
  std::string address;        // of the coordinator
  std::uint64_t cluster = 0;  // that it must be of; 0: any
  std::uint64_t job = 0;      // 0: drawn at random
  std::string program;        // for people
  Nanos patience = 10_s;      // without a word from the coordinator: then nobody waits any longer
};

struct GateAsk {
  std::vector<std::string> resources;  // at least one
  bool alone = false;                  // nobody else at the same time, whatever the storage could feed
  Bytes expected;                      // to be written; 0: not known
  Nanos limit;                         // the longest wait; 0: none
  std::string label;                   // for people: what is written
};

enum class GateOutcome : std::uint8_t {
  waiting,
  granted,
  blocked,    // goes on without a turn: it has waited long enough,
  holding,    // or the job holds something else, and nobody waits holding,
  unguarded,  // or the coordinator does not answer
  lost,       // it had a turn, and was silent for too long
};
std::string_view to_string(GateOutcome outcome);

struct GateTurn {
  std::uint64_t number = 0;  // names it
  GateOutcome outcome = GateOutcome::waiting;
  std::uint64_t fence = 0;  // of a grant; without one 0
};

// What a session has seen.
struct GateCounts {
  std::uint64_t granted = 0, blocked = 0, holding = 0, unguarded = 0, lost = 0;
};

class GateSession {
 public:
  // What `env` refers to must outlive it. Nobody is contacted before something is asked for.
  GateSession(Env env, GateSessionOptions options);
  GateSession(const GateSession&) = delete;
  GateSession& operator=(const GateSession&) = delete;
  // As if the process died: what is held is not given back.
  ~GateSession();

  // Ends when the job may go on, in whichever way. What it returns is to be released. If the task is destroyed, the ask is
  // taken back.
  Task<GateTurn> acquire(GateAsk ask);
  // The same without waiting for it: returns the number, and test() tells how it stands.
  std::uint64_t ask(GateAsk ask);
  [[nodiscard]] GateTurn test(std::uint64_t number) const;
  // `written` is what was written under the turn. Unknown numbers are ignored.
  void release(std::uint64_t number, Bytes written = {});
  void release_all();

  // Whether the turn holds now for certain: it was granted, and the lease runs, reckoned from when it was last asked for.
  [[nodiscard]] bool valid(std::uint64_t number) const;
  // Asked before each renewal; a job that does not progress is not renewed. Empty: it always does.
  void set_alive(std::function<bool()> alive) { alive_ = std::move(alive); }
  // Called when a turn was lost while it was held; may release it.
  void on_lost(std::function<void(std::uint64_t number)> lost) { lost_ = std::move(lost); }

  [[nodiscard]] const GateCounts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t job() const { return options_.job; }
  [[nodiscard]] ServerSession& server() { return session_; }

 private:
  struct Entry {
    explicit Entry(Executor& executor) : decided(executor) {}
    GateAsk ask;
    GateOutcome outcome = GateOutcome::waiting;
    std::uint64_t fence = 0;
    Nanos confirmed;  // steady: a message sent then was answered, and the coordinator knew the ask
    Event decided;
  };
  using Entries = std::map<std::uint64_t, std::shared_ptr<Entry>>;
  struct Release {
    std::uint64_t number = 0;
    Bytes written;
    bool blocked = false;
  };
  class Seek;

  std::uint64_t begin(GateAsk ask);
  Task<void> pursue(std::uint64_t number, std::shared_ptr<Entry> entry);
  Task<Status> seek(std::uint64_t number, std::shared_ptr<Entry> entry);
  Task<Status> ask_once(std::uint64_t number, std::shared_ptr<Entry> entry, std::uint64_t fence);
  Task<void> keep();
  Task<Status> renew();
  Task<void> reassert(std::uint64_t number, std::shared_ptr<Entry> entry);
  void decide(Entry& entry, GateOutcome outcome);
  void lose(std::uint64_t number, Entry& entry);
  void tell(Release release);
  static void send(Channel& channel, std::uint64_t job, const Release& release);

  Env env_;
  GateSessionOptions options_;
  SessionInfo info_;
  ServerSession session_;
  Entries entries_;
  std::uint64_t next_number_ = 1;
  std::deque<Release> unheard_;      // given back, and not known to have arrived
  std::uint64_t unheard_first_ = 0;  // how many were taken off its front so far
  std::uint64_t untold_unguarded_ = 0;
  Nanos lease_;
  bool complained_ = false;  // that nobody answers
  std::function<bool()> alive_;
  std::function<void(std::uint64_t)> lost_;
  GateCounts counts_;
  Event busy_;  // there is something to renew
  Scope scope_;
};

// What a data server is called at the gate.
std::string gate_resource(std::uint64_t cluster, std::uint32_t server);

}  // namespace tutti
