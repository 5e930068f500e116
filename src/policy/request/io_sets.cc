#include "policy/request/io_sets.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"phase_gap", "hold", "unknown", "dispatch_depth"};
constexpr std::uint64_t kLongest = 86'400'000;  // a day in ms

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  IoSetsOptions options;
  for (const auto& [key, value] :
       {std::pair("phase_gap", &options.phase_gap), std::pair("hold", &options.hold),
        std::pair("unknown", &options.unknown)}) {
    const auto read = parameters.number(key, static_cast<std::uint64_t>(value->millis()), 1, kLongest);
    if (!read.ok()) return read.status();
    *value = 1_ms * static_cast<std::int64_t>(*read);
  }
  const auto depth = GuardedPolicy::read_depth(parameters);
  if (!depth.ok()) return depth.status();
  options.dispatch_depth = *depth;
  return std::unique_ptr<RequestPolicy>(std::make_unique<IoSetsPolicy>(options));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::io_sets = {"io_sets", kParameters, make};

std::string IoSetsPolicy::name() const {
  return fmt::format("io_sets;phase_gap={};hold={};unknown={};dispatch_depth={}", options_.phase_gap.millis(),
                     options_.hold.millis(), options_.unknown.millis(), dispatch_depth());
}

int IoSetsPolicy::set_of(Nanos characteristic_time) {
  // Set i ends at 10^(i + 1/2) seconds.
  double end = 3.1622776601683795e-3;
  int set = kFirstSet;
  for (; set < kLastSet && characteristic_time.seconds() >= end; ++set) end *= 10;
  return set;
}

void IoSetsPolicy::enter(Handle handle, Nanos now) {
  const auto [queue, fresh] = queues_.open(request(handle).application);
  if (queue >= applications_.size()) applications_.resize(std::size_t{queue} + 1);
  Application& application = applications_[queue];
  if (fresh) {
    // A forgotten one may have had the queue, and a turn that nobody asked for.
    for (Set& set : sets_) {
      if (set.holder == queue) set.holder = kNobody;
    }
    application = Application();
  }
  const bool quiet = !here(queue) && now - application.last_seen >= options_.phase_gap;
  if (application.phases == 0 || quiet) begin_phase(queue, now);
  application.last_seen = now;
  queues_.push(queue, handle, request(handle).id);
  Set& set = sets_[application.set];
  if (set.holder != queue && !set.line.contains(queue)) set.line.push(queue, next_place_++);
}

void IoSetsPolicy::begin_phase(Queue queue, Nanos now) {
  Application& application = applications_[queue];
  Set& old = sets_[application.set];
  if (old.holder == queue) old.holder = kNobody;
  if (application.phases == 0) application.first_begin = now;
  application.last_begin = now;
  ++application.phases;
  Nanos characteristic_time = options_.unknown;
  if (application.phases > 1) {
    characteristic_time = (application.last_begin - application.first_begin) /
                          static_cast<std::int64_t>(application.phases - 1);
  }
  application.set = static_cast<std::size_t>(set_of(characteristic_time) - kFirstSet);
}

IoSetsPolicy::Choice IoSetsPolicy::choose(Nanos now) {
  Set* best = nullptr;
  Nanos until = Nanos::max();
  for (Set& set : sets_) {
    refresh(set, now);
    if (set.holder == kNobody) continue;
    if (!queues_.empty(set.holder)) {
      if (best == nullptr || set.tag < best->tag) best = &set;
    } else if (!queues_.busy(set.holder) && !set.line.empty()) {
      until = std::min(until, applications_[set.holder].last_seen + options_.hold);
    }
  }
  if (best == nullptr) return Choice::wait(until);
  const Handle handle = queues_.take(best->holder);
  virtual_now_ = best->tag;
  double cost = static_cast<double>(std::max(request(handle).length, 1_B).count());
  for (const Set* set = sets_.data(); set != best; ++set) cost *= 10;
  best->tag += cost;
  return Choice::dispatch(handle);
}

// A set that had nothing to do saves nothing for later.
void IoSetsPolicy::refresh(Set& set, Nanos now) {
  pass_on(set, now);
  const bool active = set.holder != kNobody && here(set.holder);
  if (active && !set.active) set.tag = std::max(set.tag, virtual_now_);
  set.active = active;
}

void IoSetsPolicy::pass_on(Set& set, Nanos now) {
  if (set.holder != kNobody && !here(set.holder) &&
      now - applications_[set.holder].last_seen >= options_.hold) {
    set.holder = kNobody;
  }
  if (set.holder != kNobody || set.line.empty()) return;
  set.holder = set.line.top();
  set.line.erase(set.holder);
}

void IoSetsPolicy::left(Handle handle, Nanos now) {
  const Queue queue = queues_.remove(handle);
  applications_[queue].last_seen = now;
  Set& set = sets_[applications_[queue].set];
  if (queues_.empty(queue) && set.line.contains(queue)) set.line.erase(queue);
}

void IoSetsPolicy::ended(Handle handle, Nanos now) { applications_[queues_.end(handle)].last_seen = now; }

}  // namespace tutti
