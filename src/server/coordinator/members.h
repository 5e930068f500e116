// Members: the data servers that have a session with the coordinator, and how it speaks to them.
//
// A member's session is its lease: it holds as long as something is heard of the member every kLease, and ends with the
// connection. A data server that comes again takes the place of its former session.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/env.h"
#include "env/scope.h"
#include "env/sync.h"
#include "server/coordinator/member_messages.h"
#include "server/coordinator/policy_keeper.h"

namespace tutti {

class Members;

// One session of a data server with the coordinator, from its joining to its end.
class Member {
 public:
  // Joins. `connection` must outlive it; `members` too.
  Member(Members& members, Connection& connection, JoinMessage who);
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;
  // Leaves. Questions that wait end with Code::unavailable.
  ~Member();

  [[nodiscard]] const JoinMessage& who() const { return who_; }
  // A frame has come.
  void heard();
  // A frame with the reply bit has come. False if it is not sound.
  bool answered(const Frame& frame);
  void report(UseReport report);
  // The last statistics of this session.
  [[nodiscard]] const UseReport& report() const { return report_; }

  void send(wire::Type type, std::span<const std::byte> payload);
  // Sends a message and waits for the StatusReply.
  Task<Status> ask(wire::Type type, flatbuffers::FlatBufferBuilder message);
  void close() { connection_.close(); }

 private:
  struct Question;
  Task<void> watch();

  Members& members_;
  Connection& connection_;
  JoinMessage who_;
  Nanos heard_;
  UseReport report_;
  std::uint64_t next_id_ = wire::kDownwards;
  std::map<std::uint64_t, Question*> questions_;
  Scope scope_;
};

struct Lease {
  std::uint32_t index = 0;
  bool connected = false;
  Nanos since;  // connected or not, in wall time; 0: never was
  Nanos heard;  // 0: never
};

class Members : public PolicyFollowers {
 public:
  static constexpr Nanos kLease = 15_s;

  // `addresses` name the data servers in messages, in the order of their numbers.
  Members(Env env, ServerKey key, std::vector<std::string> addresses);

  // Tells all members, and those that come later while it is valid. The epoch is set here.
  void advise(Advice advice);
  // Has all members refuse what is written in this turn at the gate, and those that come later.
  void lose_turn(std::uint64_t fence);

  [[nodiscard]] std::vector<Lease> leases() const;
  // Null while it is away.
  [[nodiscard]] const Member* member(std::uint32_t index) const { return places_.at(index).member; }
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  // Set when statistics have come; whoever waits for it resets it.
  [[nodiscard]] Event& reported() { return reported_; }
  // How many are here.
  [[nodiscard]] std::uint32_t connected() const;

  // ---- PolicyFollowers ----
  Task<Status> gather(Nanos patience) override;
  [[nodiscard]] bool any_rotational() const override;
  Task<Status> tell_all(PolicyMessage message, Nanos patience) override;

 private:
  friend class Member;
  struct Place {
    std::string address;
    Member* member = nullptr;
    Nanos since, heard;
  };

  void join(Member& member);
  void leave(Member& member);
  Task<Status> tell(std::uint32_t index, PolicyMessage message, Nanos patience);
  [[nodiscard]] Status named(std::uint32_t index, const Status& status) const;

  Env env_;
  ServerKey key_;
  std::vector<Place> places_;
  std::optional<Advice> advice_;
  std::deque<std::uint64_t> lost_turns_;  // the last ones
  Event joined_;
  Event reported_;
};

}  // namespace tutti
