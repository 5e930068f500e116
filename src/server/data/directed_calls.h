// DirectedCalls: the parts of a collective call that wait until all of it is known here, so that the server can serve it in
// the order of its own disk (disk-directed I/O). Nothing is pulled meanwhile: clients hold their bytes until asked.
//
// A call is complete when as many clients as it has members here have sent their last part. What is not complete kPatience
// after its first part came is served all the same: a member may have died, and coordination fails open. What comes later
// is served as it comes. At most kMost calls wait; beyond, parts are served as they come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/units.h"
#include "server/data/transfer.h"

namespace tutti {

class DirectedCalls {
 public:
  static constexpr Nanos kPatience = 50_ms;
  static constexpr std::size_t kMost = 1024;
  using Parts = std::vector<Transfer*>;

  // Whether the part has to wait for others.
  [[nodiscard]] bool add(Transfer& part, Nanos now) {
    const Id id{part.session->user == nullptr ? 0 : part.session->connection->peer().uid, part.directed.id()};
    const auto known = calls_.find(id);
    if (known == calls_.end() && (calls_.size() >= kMost || over_.contains(id))) return false;
    Call& call = known != calls_.end() ? known->second : calls_[id];
    if (known == calls_.end()) call.deadline = now + kPatience;
    call.members = std::max(call.members, part.directed.members());
    call.parts.push_back(&part);
    if (part.directed.last()) call.ended.insert(part.session->id);
    return true;
  }
  // The parts of the calls that need not wait any longer, each call in the order of its bytes in the object.
  [[nodiscard]] Parts due(Nanos now) {
    Parts parts;
    for (auto at = calls_.begin(); at != calls_.end();) {
      Call& call = at->second;
      const bool complete = call.ended.size() >= call.members;
      if (!complete && now < call.deadline) {
        ++at;
        continue;
      }
      std::stable_sort(call.parts.begin(), call.parts.end(), [](const Transfer* a, const Transfer* b) {
        return a->extents.front().offset < b->extents.front().offset;
      });
      parts.insert(parts.end(), call.parts.begin(), call.parts.end());
      note_over(at->first);
      at = calls_.erase(at);
    }
    return parts;
  }
  // When due() is to be asked again if nothing comes; Nanos::max() if nothing waits.
  [[nodiscard]] Nanos next() const {
    Nanos next = Nanos::max();
    for (const auto& [id, call] : calls_) next = std::min(next, call.deadline);
    return next;
  }
  // The part goes before its time.
  void forget(const Transfer& part) {
    for (auto at = calls_.begin(); at != calls_.end();) {
      std::erase(at->second.parts, &part);
      at = at->second.parts.empty() ? calls_.erase(at) : std::next(at);
    }
  }
  [[nodiscard]] bool empty() const { return calls_.empty(); }

 private:
  struct Id {
    std::uint32_t uid = 0;
    std::uint64_t call = 0;
    auto operator<=>(const Id&) const = default;
  };
  struct Call {
    std::uint32_t members = 0;
    Nanos deadline;
    Parts parts;
    std::set<std::uint64_t> ended;  // clients whose last part is here
  };
  // What comes for a call that is over, because it is late or repeated, does not wait again.
  void note_over(const Id& id) {
    if (over_.size() >= kMost) over_.clear();
    over_.insert(id);
  }

  std::map<Id, Call> calls_;
  std::set<Id> over_;
};

}  // namespace tutti
