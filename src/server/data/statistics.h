// Statistics: what a data server tells the coordinator about the use of its device.
//
// Most of it stands in the accounts (accounting.h). What is counted here is locality (policy/orchestra/locality.h): how far the
// device goes between two requests, of each application and in all, how soon an application comes back, and what a jump costs.
// It is noted when a request is started, with the addresses that the store knows without waiting (Store::probe); what is in
// memory costs the device no way. Where a store has addresses but not this one's yet, the offset in the object stands for it, and
// objects lie far apart. Objects in memory have none, and nothing is asked about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "env/store.h"
#include "env/sync.h"
#include "policy/orchestra/locality.h"
#include "server/coordinator/member_messages.h"
#include "server/data/accounting.h"

namespace tutti {

class Statistics {
 public:
  static constexpr std::size_t kMostExtents = 64;  // of one request

  // How the device gets to a request's bytes.
  enum class Way : std::uint8_t { none, near, far };

  // `store` must outlive it.
  Statistics(Executor& executor, Store& store) : store_(store), news_(executor) {}
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;

  // Somebody wants reports; before that nothing is noted.
  void begin() { wanted_ = true; }
  // From now on this request policy holds: one with parameters for statistics has its way.
  void follow(std::string_view policy);
  // Set while there is something that report() has not told.
  [[nodiscard]] Event& news() { return news_; }

  // A request has come.
  void arrived() {
    if (wanted_) news_.set();
  }
  // A request is started: these bytes of the object, and what is fetched ahead because of it. `dedicated`: see RequestPolicy.
  Way started(std::uint64_t application, ObjectId object, std::span<const Extent> extents, bool write,
              const std::optional<Extent>& ahead, const std::optional<Dedicated>& dedicated, Nanos now);
  // The store is done with what began `then`.
  void ended(ObjectId object, Way way, Bytes bytes, bool write, Nanos then, Nanos now);

  // With the accounts as they are now.
  UseReport report(const std::vector<Accounting::Row>& accounts);

 private:
  // Addresses are known only where bytes lie on a device.
  [[nodiscard]] bool has_addresses() const { return store_.traits().addresses; }
  void note_stretch(ObjectId object, Extent extent, bool write);

  Store& store_;
  bool wanted_ = false;
  Event news_;
  Locality locality_;
  JumpCost jump_{8_ms};
  Nanos at_once_ = 100_us;
  Nanos last_end_;
  ObjectId last_object_;
  std::vector<Stretch> stretches_;  // of one request
};

}  // namespace tutti
