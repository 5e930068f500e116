// PageCache: which pages of which objects are in memory, and which of them are dirty. Pure bookkeeping: no
// bytes, no I/O, no clock; device_store.h reads and writes for it.
//
// Pages of 4 KiB are kept in blocks of 64, a bit each; blocks are evicted in order of last use. Dirty pages
// and pages being read are not evicted, so the cache may exceed its size while they are.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>

#include "base/random.h"
#include "base/units.h"
#include "env/store.h"

namespace tutti {

inline constexpr std::uint64_t kCachePage = 4096;

// How windows of read-ahead follow each other: on demand (read_ahead.h), or as before Linux 2.6.23 (two_windows.h).
enum class ReadAheadKind : std::uint8_t { on_demand, two_windows };

struct PageCacheOptions {
  Bytes size = 1_GiB;          // 0: no cache; every operation goes to the device
  Bytes read_ahead = 128_KiB;  // largest window; 0: none
  ReadAheadKind read_ahead_kind = ReadAheadKind::on_demand;
  double background_ratio = 0.10;  // dirty share of the size at which writing back begins
  double dirty_ratio = 0.20;       // and at which writers wait for it
  Nanos dirty_expire = 30_s;       // dirty pages are written back at this age in any case
};

class PageCache {
 public:
  enum class State { missing, pending, present };
  struct Run {
    State state = State::missing;
    std::uint64_t count = 0;
  };
  struct Range {
    ObjectId object;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };

  explicit PageCache(Bytes size) : capacity_(size.count() / kCachePage) {}
  PageCache(const PageCache&) = delete;
  PageCache& operator=(const PageCache&) = delete;
  ~PageCache() = default;

  // The state of page `first` and for how many pages, at most `most`, it is the same. A use.
  Run look(ObjectId object, std::uint64_t first, std::uint64_t most);
  // Missing pages of the range are pending from now on; end_fetch() makes them present, unless dropped
  // meanwhile.
  void begin_fetch(const Range& range);
  void end_fetch(const Range& range);
  // The pages are present and dirty.
  void write(const Range& range, Nanos now);
  // The pages of the range are written back by the caller: they are clean from now on.
  void clean(const Range& range);
  // Takes the next run of dirty pages, at most `most`, of the object whose turn it is, or of the given one. They are clean
  // from now on. Sweeps upwards through an object. A turn lasts kTurn pages, as in Linux (MAX_WRITEBACK_PAGES): then the object
  // goes behind all other dirty ones. Turns begin in the order in which objects became dirty.
  static constexpr std::uint64_t kTurn = 1024;
  std::optional<Range> take_dirty(std::uint64_t most);
  std::optional<Range> take_dirty(ObjectId object, std::uint64_t most);

  // Forgets the object's pages from `first` on, dirty or not.
  void drop(ObjectId object, std::uint64_t first = 0);
  // Forgets all clean pages.
  void drop_clean();

  [[nodiscard]] Bytes used() const { return Bytes(used_ * kCachePage); }
  [[nodiscard]] Bytes dirty() const { return Bytes(dirty_ * kCachePage); }
  // When the object that is dirty longest became so; Nanos::max() if nothing is dirty.
  [[nodiscard]] Nanos oldest_dirty() const;

 private:
  static constexpr std::uint64_t kPerBlock = 64;
  using Mask = std::uint64_t;
  struct Key {
    ObjectId object;
    std::uint64_t index = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>(mix64(key.object.value * 0x9e3779b97f4a7c15U + key.index));
    }
  };
  struct Block {
    Key key;
    Mask present = 0;  // dirty pages are present; pending ones are not
    Mask dirty = 0;
    Mask pending = 0;
    Block* newer = nullptr;  // by use
    Block* older = nullptr;
    Block* previous = nullptr;  // of the same object
    Block* next = nullptr;
  };
  struct Object {
    Block* blocks = nullptr;
    std::set<std::uint64_t> dirty_blocks;
    std::uint64_t cursor = 0;  // block at which the sweep goes on
    std::uint64_t dirty_order = 0;
    std::uint64_t turn_order = 0;
    Nanos dirty_since;
  };

  static Mask mask(std::uint64_t first, std::uint64_t count);
  Block* find(ObjectId object, std::uint64_t index);
  Block& obtain(ObjectId object, std::uint64_t index);
  void touch(Block& block);
  void unlink_use(Block& block);
  void erase(Block& block);
  void evict();
  void clean(Object& object, Block& block, Mask bits);
  // Calls each(block index, mask of pages) for the blocks of a range.
  template <typename Each>
  static void for_blocks(const Range& range, Each each);

  std::uint64_t capacity_;
  std::uint64_t used_ = 0;  // present and pending pages
  std::uint64_t dirty_ = 0;
  std::unordered_map<Key, std::unique_ptr<Block>, KeyHash> blocks_;  // never walked: its order is arbitrary
  std::map<ObjectId, Object> objects_;
  std::map<std::uint64_t, ObjectId> dirty_objects_;  // in the order in which they became dirty
  std::map<std::uint64_t, ObjectId> turns_;          // the same objects, the first is written back next
  std::uint64_t turn_left_ = kTurn;                  // pages of the first one's turn
  std::uint64_t next_dirty_order_ = 0;               // of both
  Block* last_found_ = nullptr;                      // requests come in rows
  Block* newest_ = nullptr;
  Block* oldest_ = nullptr;
};

}  // namespace tutti
