// ObjectSums: what is known of the checksums of one object, in memory.
//
// A block is *known* if the sum here is that of its bytes; *stored* if its entry in the store of sums may say something
// (so that the entry must be marked as suspect before the block changes); *dirty* if the entry says something else than
// this. Blocks under a write or a cut are *busy*: sum and bytes may differ.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/extent.h"
#include "base/units.h"
#include "env/checksum/block_summer.h"
#include "env/store.h"
#include "env/sync.h"

namespace tutti {

inline constexpr Nanos kNeverChecked{std::numeric_limits<std::int64_t>::min() / 2};

struct SumBlock {
  std::uint32_t sum = 0;
  bool known = false;
  bool stored = false;
  bool dirty = false;
  Nanos checked = kNeverChecked;  // when its bytes were last seen to agree
};

// As it stands in the store of sums: 8 bytes for each block. The mark tells a sum from a hole, from another object's and
// from one that rotted itself; those say nothing.
struct SumEntry {
  std::uint32_t sum = 0;
  std::uint32_t mark = 0;

  static SumEntry of(ObjectId object, std::uint64_t block, const SumBlock& state);
  [[nodiscard]] SumBlock decode(ObjectId object, std::uint64_t block) const;
};

class ObjectSums {
 public:
  static constexpr std::uint64_t kRegion = 256;  // blocks that are loaded and protected together
  using Region = std::array<SumBlock, kRegion>;

  ObjectSums(Executor& executor, ObjectId id) : id(id), changed(executor), storing(executor, 1) {}

  [[nodiscard]] bool loaded(std::uint64_t region) const { return regions.contains(region); }
  // Of a region that is loaded.
  SumBlock& at(std::uint64_t block) { return (*regions.at(block / kRegion))[block % kRegion]; }
  // Nothing is known of the blocks from `first` to `end` any more, as far as they are loaded.
  void forget(std::uint64_t first, std::uint64_t end);
  // There are no blocks from `first` on.
  void drop(std::uint64_t first);
  void set_dirty(SumBlock& block) {
    if (block.dirty) return;
    block.dirty = true;
    ++dirty;
  }
  void set_clean(SumBlock& block) {
    if (!block.dirty) return;
    block.dirty = false;
    --dirty;
  }
  // How many changes of the block are under way.
  [[nodiscard]] std::size_t busy(std::uint64_t block) const;

  ObjectId id;
  std::map<std::uint64_t, std::unique_ptr<Region>> regions;  // by number
  struct Change {
    std::span<const Extent> extents;
    bool ascending = true;
  };
  std::vector<Change> changing;                // writes and cuts under way
  std::uint64_t changes = 0;                   // begun or ended so far
  Event changed;                               // a change has ended
  std::optional<std::uint64_t> stored_blocks;  // entries in the store of sums; unset: not asked
  Semaphore storing;                           // who changes its entries in the store of sums
  std::uint64_t cuts = 0;                      // begun so far
  std::size_t dirty = 0;                       // blocks
  bool unsettled = false;                      // there is something to do: dirty blocks, or a cut
  bool settling = false;
  bool gone = false;   // removed
  bool stale = false;  // entries past its end could not be removed: it stays listed
  Nanos dirty_since;
  Nanos last_change;
};

// Gives back the turn to change the entries, which was acquired.
class Storing {
 public:
  explicit Storing(ObjectSums& sums) : sums_(sums) {}
  Storing(const Storing&) = delete;
  Storing& operator=(const Storing&) = delete;
  ~Storing() { sums_.storing.release(); }

 private:
  ObjectSums& sums_;
};

// A write or a cut under way. What is not applied at its end is forgotten.
class ChangingBlocks {
 public:
  ChangingBlocks(std::shared_ptr<ObjectSums> sums, std::span<const Extent> extents);
  ChangingBlocks(const ChangingBlocks&) = delete;
  ChangingBlocks& operator=(const ChangingBlocks&) = delete;
  ~ChangingBlocks();
  void applied() { applied_ = true; }

 private:
  std::shared_ptr<ObjectSums> sums_;
  std::span<const Extent> extents_;
  bool applied_ = false;
};

}  // namespace tutti
