#include "env/sim/store/page_cache.h"

#include <algorithm>
#include <bit>

namespace tutti {

PageCache::Mask PageCache::mask(std::uint64_t first, std::uint64_t count) {
  return count == kPerBlock ? ~Mask{0} : ((Mask{1} << count) - 1U) << first;
}

template <typename Each>
void PageCache::for_blocks(const Range& range, Each each) {
  const std::uint64_t end = range.first + range.count;
  for (std::uint64_t page = range.first; page < end;) {
    const std::uint64_t within = page % kPerBlock;
    const std::uint64_t count = std::min(end - page, kPerBlock - within);
    each(page / kPerBlock, mask(within, count));
    page += count;
  }
}

PageCache::Block* PageCache::find(ObjectId object, std::uint64_t index) {
  const Key key{object, index};
  if (last_found_ != nullptr && last_found_->key == key) return last_found_;
  const auto found = blocks_.find(key);
  return found == blocks_.end() ? nullptr : last_found_ = found->second.get();
}

PageCache::Block& PageCache::obtain(ObjectId object, std::uint64_t index) {
  Block* block = find(object, index);
  if (block == nullptr) {
    auto& slot = blocks_[Key{object, index}];
    slot = std::make_unique<Block>();
    block = last_found_ = slot.get();
    block->key = Key{object, index};
    Object& owner = objects_[object];
    block->next = owner.blocks;
    if (block->next != nullptr) block->next->previous = block;
    owner.blocks = block;
  }
  touch(*block);
  return *block;
}

void PageCache::unlink_use(Block& block) {
  if (newest_ != &block && block.newer == nullptr) return;
  (block.newer != nullptr ? block.newer->older : newest_) = block.older;
  (block.older != nullptr ? block.older->newer : oldest_) = block.newer;
  block.newer = block.older = nullptr;
}

void PageCache::touch(Block& block) {
  if (newest_ == &block) return;
  unlink_use(block);
  block.older = newest_;
  (newest_ != nullptr ? newest_->newer : oldest_) = &block;
  newest_ = &block;
}

void PageCache::erase(Block& block) {
  unlink_use(block);
  if (last_found_ == &block) last_found_ = nullptr;
  const auto owner = objects_.find(block.key.object);
  (block.previous != nullptr ? block.previous->next : owner->second.blocks) = block.next;
  if (block.next != nullptr) block.next->previous = block.previous;
  used_ -= static_cast<std::uint64_t>(std::popcount(block.present | block.pending));
  if (owner->second.blocks == nullptr && owner->second.dirty_blocks.empty()) objects_.erase(owner);
  const Key key = block.key;
  blocks_.erase(key);
}

// Looks at a few old blocks at a time, so that a cache full of dirty pages costs little.
void PageCache::evict() {
  for (int tries = 0; used_ > capacity_ && oldest_ != nullptr && tries < 32; ++tries) {
    Block& block = *oldest_;
    if ((block.dirty | block.pending) != 0) {
      touch(block);
    } else {
      erase(block);
    }
  }
}

PageCache::Run PageCache::look(ObjectId object, std::uint64_t first, std::uint64_t most) {
  Run run;
  while (run.count < most) {
    const std::uint64_t page = first + run.count;
    const std::uint64_t within = page % kPerBlock;
    Block* block = find(object, page / kPerBlock);
    const Mask present = block != nullptr ? block->present >> within : 0;
    const Mask pending = block != nullptr ? block->pending >> within : 0;
    const State state = (present & 1U) != 0   ? State::present
                        : (pending & 1U) != 0 ? State::pending
                                              : State::missing;
    if (run.count == 0) run.state = state;
    if (state != run.state) break;
    const Mask same = state == State::present   ? present
                      : state == State::pending ? pending
                                                : ~(present | pending);
    const std::uint64_t here =
        std::min<std::uint64_t>(static_cast<std::uint64_t>(std::countr_one(same)), kPerBlock - within);
    if (block != nullptr) touch(*block);
    run.count += here;
    if (here < kPerBlock - within) break;
  }
  run.count = std::min(run.count, most);
  return run;
}

void PageCache::begin_fetch(const Range& range) {
  for_blocks(range, [&](std::uint64_t index, Mask bits) {
    Block& block = obtain(range.object, index);
    const Mask missing = bits & ~(block.present | block.pending);
    block.pending |= missing;
    used_ += static_cast<std::uint64_t>(std::popcount(missing));
  });
  evict();
}

void PageCache::end_fetch(const Range& range) {
  for_blocks(range, [&](std::uint64_t index, Mask bits) {
    Block* block = find(range.object, index);
    if (block == nullptr) return;
    const Mask arrived = bits & block->pending;
    block->pending &= ~arrived;
    block->present |= arrived;
  });
}

void PageCache::write(const Range& range, Nanos now) {
  for_blocks(range, [&](std::uint64_t index, Mask bits) {
    Block& block = obtain(range.object, index);
    used_ += static_cast<std::uint64_t>(std::popcount(bits & ~(block.present | block.pending)));
    dirty_ += static_cast<std::uint64_t>(std::popcount(bits & ~block.dirty));
    block.pending &= ~bits;
    block.present |= bits;
    Object& object = objects_[range.object];
    if (object.dirty_blocks.empty()) {
      object.dirty_since = now;
      object.dirty_order = object.turn_order = next_dirty_order_++;
      turns_.emplace(object.turn_order, range.object);
      object.cursor = 0;
      dirty_objects_.emplace(object.dirty_order, range.object);
    }
    if (block.dirty == 0) object.dirty_blocks.insert(object.dirty_blocks.end(), index);
    block.dirty |= bits;
  });
  evict();
}

void PageCache::clean(const Range& range) {
  const auto found = objects_.find(range.object);
  if (found == objects_.end()) return;
  for_blocks(range, [&](std::uint64_t index, Mask bits) {
    Block* block = find(range.object, index);
    if (block != nullptr && (block->dirty & bits) != 0) clean(found->second, *block, bits);
  });
}

void PageCache::clean(Object& object, Block& block, Mask bits) {
  dirty_ -= static_cast<std::uint64_t>(std::popcount(bits & block.dirty));
  block.dirty &= ~bits;
  if (block.dirty != 0) return;
  object.dirty_blocks.erase(block.key.index);
  if (!object.dirty_blocks.empty()) return;
  dirty_objects_.erase(object.dirty_order);
  if (turns_.begin()->first == object.turn_order) turn_left_ = kTurn;
  turns_.erase(object.turn_order);
}

std::optional<PageCache::Range> PageCache::take_dirty(std::uint64_t most) {
  if (turns_.empty()) return std::nullopt;
  const ObjectId id = turns_.begin()->second;
  const std::uint64_t order = turns_.begin()->first;
  const auto range = take_dirty(id, std::min(most, turn_left_));
  if (turns_.empty() || turns_.begin()->first != order) return range;  // it is clean
  turn_left_ -= range->count;
  if (turn_left_ > 0) return range;
  turn_left_ = kTurn;
  Object& object = objects_.at(id);
  turns_.erase(order);
  object.turn_order = next_dirty_order_++;
  turns_.emplace(object.turn_order, id);
  return range;
}

std::optional<PageCache::Range> PageCache::take_dirty(ObjectId id, std::uint64_t most) {
  const auto found = objects_.find(id);
  if (found == objects_.end() || found->second.dirty_blocks.empty()) return std::nullopt;
  Object& object = found->second;
  auto at = object.dirty_blocks.lower_bound(object.cursor);
  if (at == object.dirty_blocks.end()) at = object.dirty_blocks.begin();
  Range range{id, 0, 0};
  for (std::uint64_t index = *at; range.count < most; ++index) {
    Block* block = find(id, index);
    if (block == nullptr || block->dirty == 0) break;
    const auto start =
        range.count == 0 ? static_cast<std::uint64_t>(std::countr_zero(block->dirty)) : std::uint64_t{0};
    if (range.count == 0) range.first = index * kPerBlock + start;
    const auto run = static_cast<std::uint64_t>(std::countr_one(block->dirty >> start));
    const std::uint64_t count = std::min(run, most - range.count);
    if (count == 0) break;
    clean(object, *block, mask(start, count));
    range.count += count;
    object.cursor = index;
    if (start + count < kPerBlock) break;
  }
  return range;
}

void PageCache::drop(ObjectId id, std::uint64_t first) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) return;
  Object& object = found->second;
  Block* next = nullptr;
  for (Block* block = object.blocks; block != nullptr; block = next) {
    next = block->next;
    const std::uint64_t start = block->key.index * kPerBlock;
    if (start + kPerBlock <= first) continue;
    const Mask bits = first <= start ? mask(0, kPerBlock) : mask(first - start, kPerBlock - (first - start));
    if (block->dirty != 0) clean(object, *block, bits);
    const Mask gone = bits & (block->present | block->pending);
    used_ -= static_cast<std::uint64_t>(std::popcount(gone));
    block->present &= ~bits;
    block->pending &= ~bits;
    if ((block->present | block->pending) == 0) {
      const bool last = object.blocks == block && block->next == nullptr;
      erase(*block);
      if (last) return;  // the object may be gone with it
    }
  }
}

void PageCache::drop_clean() {
  Block* newer = nullptr;
  for (Block* block = oldest_; block != nullptr; block = newer) {
    newer = block->newer;
    const Mask kept = block->dirty | block->pending;
    used_ -= static_cast<std::uint64_t>(std::popcount(block->present & ~block->dirty));
    block->present &= block->dirty;
    if (kept == 0) erase(*block);
  }
}

Nanos PageCache::oldest_dirty() const {
  if (dirty_objects_.empty()) return Nanos::max();
  return objects_.at(dirty_objects_.begin()->second).dirty_since;
}

}  // namespace tutti
