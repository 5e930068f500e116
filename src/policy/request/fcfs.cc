#include "policy/request/fcfs.h"

#include <fmt/format.h>

#include "policy/request/parameters.h"

namespace tutti {

Result<std::unique_ptr<RequestPolicy>> FcfsPolicy::make(const Parameters& parameters) {
  const auto depth = parameters.number("dispatch_depth", kDefaultDepth, 1, 65536);
  if (!depth.ok()) return depth.status();
  return std::unique_ptr<RequestPolicy>(std::make_unique<FcfsPolicy>(*depth));
}

std::string FcfsPolicy::name() const { return fmt::format("fcfs;dispatch_depth={}", depth_); }

void FcfsPolicy::add(const QueuedRequest& request, Nanos /*now*/) {
  Lane lane = by_object_.find(request.object);
  if (lane == by_object_.kNone) {
    lane = lanes_.open();
    by_object_.insert(request.object, lane);
    if (lane >= object_of_.size()) object_of_.resize(std::size_t{lane} + 1);
    object_of_[lane] = request.object;
    heads_.push(lane, request.id);
  }
  lanes_.push(lane, request.id);
}

Decision FcfsPolicy::next(Nanos /*now*/) {
  if (lanes_.in_service() >= depth_ || heads_.empty()) return Decision::idle();
  const Lane lane = heads_.top();
  heads_.erase(lane);
  return Decision::dispatch(lanes_.take(lane));
}

void FcfsPolicy::served(std::uint64_t id, Bytes /*bytes*/, bool finished, Nanos /*now*/) {
  const Lane lane = lanes_.lane_of(id);
  if (finished) {
    lanes_.forget(id);
  } else {
    lanes_.give_back(id);
  }
  settle(lane);
}

void FcfsPolicy::drop(std::uint64_t id, Nanos /*now*/) {
  const Lane lane = lanes_.lane_of(id);
  const bool busy = !heads_.contains(lane);
  lanes_.forget(id);
  if (!busy) settle(lane);
}

// After something has left a lane that is not busy (any more): its head stands in line, or the lane goes too.
void FcfsPolicy::settle(Lane lane) {
  if (lanes_.empty(lane)) {
    if (heads_.contains(lane)) heads_.erase(lane);
    by_object_.erase(object_of_[lane]);
    lanes_.close(lane);
  } else if (heads_.contains(lane)) {
    heads_.update(lane, lanes_.head(lane));
  } else {
    heads_.push(lane, lanes_.head(lane));
  }
}

}  // namespace tutti
