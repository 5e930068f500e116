#include "env/sim/network/transfer.h"

#include <algorithm>
#include <cstring>

namespace tutti::sim {

Transfer::Transfer(Link& link, std::size_t side, bool pull, std::uint64_t region, Bytes offset,
                   std::byte* memory, std::size_t length)
    : link_(&link),
      side_(side),
      pull_(pull),
      region_(region),
      offset_(offset),
      memory_(memory),
      length_(length),
      control_(&asked),
      lanes_{Lane(&chunk_arrived), Lane(&chunk_arrived), Lane(&chunk_arrived), Lane(&chunk_arrived)} {
  control_.owner = this;
  for (Lane& lane : lanes_) lane.owner = this;
}

bool Transfer::await_suspend(std::coroutine_handle<> handle) {
  End& end = link_->ends[side_];
  if (end.lost || end.closed) {
    result_ = Status(Code::unavailable, "bulk transfer with " + end.peer.name + ": the connection is gone");
    return false;
  }
  resume_.handle = handle;
  next_ = end.transfers;
  if (next_ != nullptr) next_->previous_ = this;
  end.transfers = this;
  if (pull_) {
    control_.launch(*link_, 1 - side_, kControlBytes);
  } else {
    start_chunks();
  }
  return true;
}

// The region as it is now; what the far end would answer.
Status Transfer::check() {
  const End& far = link_->ends[1 - side_];
  const ExposedRegion* region = far.region(region_);
  if (region == nullptr) {
    return Status(Code::unavailable, (pull_ ? "pull from " : "push to ") + link_->ends[side_].peer.name +
                                         ": region is withdrawn or was never exposed");
  }
  if (region->access != (pull_ ? Access::read : Access::write)) {
    return Status(Code::permission, "bulk transfer with " + link_->ends[side_].peer.name +
                                        ": region was exposed for the other direction");
  }
  if (offset_.count() > region->total || length_ > region->total - offset_.count()) {
    return Status(Code::invalid,
                  "bulk transfer with " + link_->ends[side_].peer.name + ": range leaves the region");
  }
  return Status();
}

void Transfer::asked(Hop* hop) {
  Transfer& self = *static_cast<Lane*>(hop)->owner;
  if (!self.link_->severed) self.start_chunks();
}

void Transfer::start_chunks() {
  Status status = check();
  const End& sender = link_->ends[pull_ ? 1 - side_ : side_];
  if (!status.ok()) {
    // The news takes its time; a lane carries it back as an empty chunk.
    result_ = std::move(status);
    length_ = 0;
    lanes_[0].length = 0;
    lanes_[0].launch(*link_, side_, kControlBytes);
    return;
  }
  within_ = offset_.count();
  const auto& segments = link_->ends[1 - side_].region(region_)->segments;
  while (segment_ < segments.size() && within_ >= segments[segment_].length)
    within_ -= segments[segment_++].length;
  const NicModel& nic = sender.node->nic;
  const auto on_way = static_cast<std::uint64_t>(nic.latency.count()) * nic.bandwidth / 1'000'000'000U;
  const std::size_t window = std::min<std::size_t>(kLanes, 2 + 2 * on_way / nic.chunk.count());
  for (std::size_t i = 0; i < window && (i == 0 || launched_ < length_); ++i) launch(lanes_[i]);
}

void Transfer::launch(Lane& lane) {
  const End& sender = link_->ends[pull_ ? 1 - side_ : side_];
  const auto chunk = static_cast<std::size_t>(sender.node->nic.chunk.count());
  lane.length = std::min(chunk, length_ - launched_);
  launched_ += lane.length;
  lane.launch(*link_, pull_ ? side_ : 1 - side_, lane.length + kFrameHeader);
}

void Transfer::chunk_arrived(Hop* hop) {
  auto& lane = *static_cast<Lane*>(hop);
  Transfer& self = *lane.owner;
  if (self.link_->severed || self.ended_) return;
  if (!self.result_.ok()) return self.finish(std::move(self.result_));
  if (!self.copy(lane.length)) return self.finish(self.check());
  self.arrived_ += lane.length;
  self.link_->ends[self.side_].moved += lane.length;
  if (self.arrived_ == self.length_) return self.finish(Status());
  if (self.launched_ < self.length_) self.launch(lane);
}

// Moves the next bytes between the region and the memory of the operation. False if the region is gone.
bool Transfer::copy(std::size_t length) {
  const ExposedRegion* region = link_->ends[1 - side_].region(region_);
  if (region == nullptr) return false;
  if (link_->fabric.options.phantom_data) return true;
  std::byte* place = memory_ + arrived_;
  while (length > 0) {
    const Segment& segment = region->segments[segment_];
    const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(length, segment.length - within_));
    auto* exposed =
        reinterpret_cast<std::byte*>(segment.address + within_);  // NOLINT(performance-no-int-to-ptr)
    if (step > 0) std::memcpy(pull_ ? place : exposed, pull_ ? exposed : place, step);
    place += step;
    length -= step;
    within_ += step;
    if (within_ == segment.length) {
      ++segment_;
      within_ = 0;
    }
  }
  return true;
}

void Transfer::finish(Status result) {
  result_ = std::move(result);
  ended_ = true;
  unlink();
  resume_.handle.resume();
}

void Transfer::unlink() {
  End& end = link_->ends[side_];
  if (previous_ == nullptr && end.transfers != this) return;
  (previous_ != nullptr ? previous_->next_ : end.transfers) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  previous_ = next_ = nullptr;
}

void Transfer::fail_all(End& end) {
  while (end.transfers != nullptr) {
    Transfer& each = *end.transfers;
    each.unlink();
    each.ended_ = true;
    each.result_ =
        Status(Code::unavailable, "bulk transfer with " + end.peer.name + ": the connection was lost");
    each.link_->fabric.executor.post(each.resume_);
  }
}

}  // namespace tutti::sim
