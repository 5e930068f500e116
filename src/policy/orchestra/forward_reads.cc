#include "policy/orchestra/forward_reads.h"

#include <algorithm>
#include <utility>

#include "base/random.h"

namespace tutti {
namespace {

Bytes apart(Bytes a, Bytes b) { return a > b ? a - b : b - a; }

std::size_t place_of(const std::pair<std::uint64_t, std::uint64_t>& key) {
  return mix64(key.first ^ mix64(key.second)) % ForwardReads::kRuns;
}

}  // namespace

ForwardReads::Run& ForwardReads::run_at(const Key& key, Bytes from) {
  Run* nearest = nullptr;
  for (std::size_t each = heads_.at(place_of(key)); each != 0; each = runs_[each - 1].next) {
    Run& run = runs_[each - 1];
    if (run.key != key) continue;
    if (nearest == nullptr || apart(run.front, from) < apart(nearest->front, from)) nearest = &run;
  }
  if (nearest != nullptr && apart(nearest->front, from) <= kNear) return *nearest;
  if (runs_.size() == kRuns) forget_old();
  runs_.push_back({key, from, from, 0_B, 0_B, kFirst, 0, 0, 0});
  link(runs_.size() - 1);
  return runs_.back();
}

void ForwardReads::link(std::size_t number) {
  std::size_t& head = heads_.at(place_of(runs_[number].key));
  runs_[number].next = std::exchange(head, number + 1);
}

// Half of them at once, so that a program that reads here and there costs little.
void ForwardReads::forget_old() {
  const std::uint64_t since = clock_ - std::min<std::uint64_t>(clock_, kRuns / 2);
  if (std::erase_if(runs_, [&](const Run& run) { return run.used <= since; }) == 0) runs_.clear();
  heads_.fill(0);
  for (std::size_t i = 0; i < runs_.size(); ++i) link(i);
}

std::optional<Extent> ForwardReads::read(std::uint64_t program, std::uint64_t object,
                                         std::span<const Extent> extents, Bytes block) {
  if (block == 0_B || extents.empty()) return {};
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
  if (!dense || run.read < std::max(kFirst, block / kEarned) || run.steps < kSteps) return {};
  run.fetched = std::max(run.fetched, run.front);
  run.block = std::min(run.block, block);
  if (run.fetched - run.front >= run.block) return {};
  const Extent next{run.fetched, run.block};
  run.fetched = next.end();
  const Bytes most = runs_.size() <= kFullBlocks ? block : block * kFullBlocks / runs_.size();
  run.block = std::min(run.block * 2, std::max(most, std::min(kFirst, block)));
  return next;
}

}  // namespace tutti
