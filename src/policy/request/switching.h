// SwitchingPolicy: a request policy that consists of several, of which one holds at a time. Pure.
//
// Requests in line move over when another one holds. That one starts when those in service have ended: it does not know
// what they touch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/request/flat_map.h"
#include "policy/request/policy.h"

namespace tutti {

class SwitchingPolicy : public RequestPolicy {
 public:
  // The first one holds at the begin.
  explicit SwitchingPolicy(std::vector<std::unique_ptr<RequestPolicy>> choices);

  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  [[nodiscard]] Bytes ahead() const override { return choices_[current_]->ahead(); }
  [[nodiscard]] std::size_t queued() const override { return index_.size() - in_service_; }
  [[nodiscard]] PolicyCounters counters() const override { return choices_[current_]->counters(); }

  // Which one holds.
  [[nodiscard]] std::size_t choice() const { return current_; }

 protected:
  [[nodiscard]] RequestPolicy& choice_at(std::size_t choice) const { return *choices_[choice]; }
  [[nodiscard]] std::size_t choices() const { return choices_.size(); }

 private:
  using Place = std::uint32_t;
  struct Entry {
    QueuedRequest request;
    std::size_t choice = 0;  // who knows it
    bool in_service = false;
  };

  // Which one shall hold now, and when that may be another one; Nanos::max(): never by itself.
  [[nodiscard]] virtual std::size_t planned(Nanos now) const = 0;
  [[nodiscard]] virtual Nanos next_step(Nanos now) const = 0;
  void change_to(std::size_t choice, Nanos now);
  void forget(Place place);

  std::vector<std::unique_ptr<RequestPolicy>> choices_;
  std::size_t current_ = 0;
  std::vector<Entry> entries_;
  std::vector<Place> free_entries_;
  FlatMap<std::uint64_t, HashOfNumber> index_;  // id to entry
  std::size_t in_service_ = 0;
  std::size_t of_others_ = 0;  // in service for a choice that no longer holds
};

}  // namespace tutti
