#include "policy/request/fcfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"dispatch_depth"};

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto depth = parameters.number("dispatch_depth", FcfsPolicy::kDefaultDepth, 1, 65536);
  if (!depth.ok()) return depth.status();
  return std::unique_ptr<RequestPolicy>(std::make_unique<FcfsPolicy>(*depth));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::fcfs = {"fcfs", kParameters, make};

std::string FcfsPolicy::name() const { return fmt::format("fcfs;dispatch_depth={}", depth_); }

void FcfsPolicy::add(const QueuedRequest& request, Nanos /*now*/) {
  Lane lane = by_object_.find(request.object);
  if (lane == by_object_.kNone) {
    lane = lanes_.open();
    by_object_.insert(request.object, lane);
    if (lane >= object_of_.size()) object_of_.resize(std::size_t{lane} + 1);
    object_of_[lane] = request.object;
  }
  const bool first = lanes_.empty(lane);
  lanes_.push(lane, request.id, Sweeps::Place(), Sweeps::claim_of(request));
  if (first) settle(lane);
}

Decision FcfsPolicy::next(Nanos /*now*/) {
  if (in_service_.size() >= depth_ || heads_.empty()) return Decision::idle();
  const Lane lane = heads_.top();
  in_service_.push_back({lanes_.head(lane), lane, lanes_.claim_of_head(lane)});
  const std::uint64_t id = lanes_.take(lane);
  settle(lane);
  return Decision::dispatch(id);
}

void FcfsPolicy::served(std::uint64_t id, Bytes /*bytes*/, bool finished, Nanos /*now*/) {
  const auto found = std::find_if(in_service_.begin(), in_service_.end(),
                                  [id](const InService& each) { return each.id == id; });
  assert(found != in_service_.end());
  const Lane lane = found->lane;
  *found = in_service_.back();
  in_service_.pop_back();
  if (finished) {
    lanes_.forget(id);
  } else {
    lanes_.give_back(id);
  }
  settle(lane);
}

void FcfsPolicy::drop(std::uint64_t id, Nanos /*now*/) {
  const Lane lane = lanes_.lane_of(id);
  lanes_.forget(id);
  settle(lane);
}

bool FcfsPolicy::may_go(Lane lane) const {
  const Sweeps::Claim& claim = lanes_.claim_of_head(lane);
  return std::none_of(in_service_.begin(), in_service_.end(), [&](const InService& each) {
    return each.lane == lane && each.claim.conflicts(claim);
  });
}

// After a change to a lane: its head stands in line if it may go; a lane that nobody uses goes too.
void FcfsPolicy::settle(Lane lane) {
  if (!lanes_.empty(lane) && may_go(lane)) {
    if (heads_.contains(lane)) {
      heads_.update(lane, lanes_.head(lane));
    } else {
      heads_.push(lane, lanes_.head(lane));
    }
    return;
  }
  if (heads_.contains(lane)) heads_.erase(lane);
  if (!lanes_.deserted(lane)) return;
  by_object_.erase(object_of_[lane]);
  lanes_.close(lane);
}

}  // namespace tutti
