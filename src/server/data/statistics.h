// Statistics: what a data server tells the coordinator about the use of its device.
//
// Most of it stands in the accounts (accounting.h). What is counted here is how far the device goes between two
// requests, of each application and in all: from the last byte of one to the first byte of the next one served. Serving
// only notes which bytes it were; where they lie is asked from the store when a report is made, so that nothing is added
// to a transfer. At most kMostNoted requests between two reports are noted: a sample is enough. Objects in memory have no
// addresses, and nothing is asked about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "env/store.h"
#include "env/sync.h"
#include "server/coordinator/member_messages.h"
#include "server/data/accounting.h"

namespace tutti {

class Statistics {
 public:
  static constexpr std::size_t kMostNoted = 256;

  // `store` must outlive it.
  Statistics(Executor& executor, Store& store) : store_(store), news_(executor) {}
  Statistics(const Statistics&) = delete;
  Statistics& operator=(const Statistics&) = delete;

  // Somebody wants reports; before that nothing is noted.
  void begin() { wanted_ = true; }
  // Set while there is something that report() has not told.
  [[nodiscard]] Event& news() { return news_; }

  // A request has come, or has been served: these bytes of the object, `end` excluded.
  void arrived() {
    if (wanted_) news_.set();
  }
  void served(std::uint64_t application, ObjectId object, Bytes begin, Bytes end);

  // With the accounts as they are now. One at a time.
  Task<UseReport> report(std::vector<Accounting::Row> accounts);

 private:
  struct Noted {
    std::uint64_t application = 0;
    ObjectId object;
    Bytes begin, end;
  };
  // How far the device went, and where it is.
  struct Way {
    std::uint64_t gaps = 0;
    Bytes distance;
    std::optional<Bytes> at;
    void go(Bytes begin, Bytes end);
  };

  Task<std::optional<Bytes>> address(ObjectId object, Bytes offset);
  Task<void> locate_noted();
  // Addresses are known only where bytes lie on a device.
  [[nodiscard]] bool has_addresses() const { return store_.traits().addresses; }

  Store& store_;
  bool wanted_ = false;
  Event news_;
  std::vector<Noted> noted_;
  bool missed_ = false;  // some request was not noted
  Way all_;
  std::map<std::uint64_t, Way> ways_;  // by application, those of the last report's accounts
};

}  // namespace tutti
