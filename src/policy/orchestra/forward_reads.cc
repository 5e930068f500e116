#include "policy/orchestra/forward_reads.h"

#include <algorithm>

namespace tutti {
namespace {

Bytes apart(Bytes a, Bytes b) { return a > b ? a - b : b - a; }

}  // namespace

ForwardReads::Run& ForwardReads::run_at(const Key& key, Bytes from) {
  auto found = runs_.find(key);
  if (found != runs_.end()) {
    Run* nearest = nullptr;
    for (Run& each : found->second) {
      if (nearest == nullptr || apart(each.front, from) < apart(nearest->front, from)) nearest = &each;
    }
    if (nearest != nullptr && apart(nearest->front, from) <= kNear) return *nearest;
  }
  if (count_ == kRuns) {
    forget_old();
    found = runs_.find(key);
  }
  if (found == runs_.end()) found = runs_.try_emplace(key).first;
  ++count_;
  found->second.push_back({from, from, 0_B, 0_B, std::min(kFirst, block_), 0, 0});
  return found->second.back();
}

// Half of them at once, so that a program that reads here and there costs little.
void ForwardReads::forget_old() {
  const std::uint64_t since = clock_ - std::min<std::uint64_t>(clock_, kRuns / 2);
  const std::size_t before = std::exchange(count_, 0);
  for (auto each = runs_.begin(); each != runs_.end();) {
    std::erase_if(each->second, [&](const Run& run) { return run.used <= since; });
    count_ += each->second.size();
    each = each->second.empty() ? runs_.erase(each) : std::next(each);
  }
  if (count_ < before) return;
  runs_.clear();
  count_ = 0;
}

std::optional<Extent> ForwardReads::read(std::uint64_t program, std::uint64_t object,
                                         std::span<const Extent> extents) {
  if (block_ == 0_B || extents.empty()) return {};
  Bytes from = Bytes::max();
  Bytes end;
  Bytes length;
  for (const Extent& extent : extents) {
    from = std::min(from, extent.offset);
    end = std::max(end, extent.end());
    length += extent.length;
  }
  Run& run = run_at({object, program}, from);
  run.used = ++clock_;
  run.steps += end > run.front ? 1 : 0;
  run.front = std::max(run.front, end);
  Bytes passed = run.front - run.begin;
  run.read = std::min(run.read + length, passed);
  if (passed >= kRemembered) {
    passed = passed / 2;
    run.begin = run.front - passed;
    run.read = run.read / 2;
  }
  const bool dense = static_cast<double>(run.read.count()) >= kDense * static_cast<double>(passed.count());
  if (!dense || run.read < kFirst || run.steps < kSteps) return {};
  run.fetched = std::max(run.fetched, run.front);
  if (run.fetched - run.front >= run.block) return {};
  const Extent next{run.fetched, run.block};
  run.fetched = next.end();
  const Bytes most = count_ <= kFullBlocks ? block_ : block_ * kFullBlocks / count_;
  run.block = std::min(run.block * 2, std::max(most, std::min(kFirst, block_)));
  return next;
}

}  // namespace tutti
