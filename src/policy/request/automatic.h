// auto: takes the better of several policies, on all servers at one moment.
//
// Its choices are `window`, `fcfs` and `window;order=rotated`, each as suits the device. Which one holds says the plan in
// the coordinator's advice; the coordinator finds out which is better (chooser.h). Without a plan, and when it has expired,
// `window` holds: of the three it loses least where nothing is known yet.
//
// Requests in line move over when the choice changes. The new choice starts when those in service have ended: it does not
// know what they touch.
//
// Parameters (auto;key=value):
//   rotational      true | false: of the device; follows it (see for_device() in window_options.h)
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/request/flat_map.h"
#include "policy/request/policy.h"

namespace tutti {

// The names of what `auto` chooses from. The first one holds where nothing is known.
std::vector<std::string> automatic_choices(bool rotational);

class AutomaticPolicy : public RequestPolicy {
 public:
  AutomaticPolicy(std::vector<std::unique_ptr<RequestPolicy>> choices, std::string name);

  [[nodiscard]] std::string name() const override { return name_; }
  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  void advise(const Advice& advice, Nanos now) override;
  [[nodiscard]] Bytes ahead() const override { return choices_[current_]->ahead(); }
  [[nodiscard]] std::size_t queued() const override { return index_.size() - in_service_; }
  [[nodiscard]] PolicyCounters counters() const override { return choices_[current_]->counters(); }

  // Which one holds.
  [[nodiscard]] std::size_t choice() const { return current_; }

 private:
  using Place = std::uint32_t;
  struct Entry {
    QueuedRequest request;
    std::size_t choice = 0;  // who knows it
    bool in_service = false;
  };

  [[nodiscard]] std::size_t planned(Nanos now) const;
  // When the plan says something else next; Nanos::max(): never.
  [[nodiscard]] Nanos next_step(Nanos now) const;
  void change_to(std::size_t choice, Nanos now);
  void forget(Place place);

  std::string name_;
  std::vector<std::unique_ptr<RequestPolicy>> choices_;
  std::size_t current_ = 0;
  std::vector<PlanStep> plan_;
  Nanos expiry_;
  std::vector<Entry> entries_;
  std::vector<Place> free_entries_;
  FlatMap<std::uint64_t, HashOfNumber> index_;  // id to entry
  std::size_t in_service_ = 0;
  std::size_t of_others_ = 0;  // in service for a choice that no longer holds
};

}  // namespace tutti
