// ChecksumStore: how sums come from their store and go there, and what is done about them while nobody asks.
#include <algorithm>
#include <cstring>
#include <utility>

#include "env/checksum/checksum_store.h"

namespace tutti {
namespace {

constexpr std::uint64_t kEntry = sizeof(SumEntry);
constexpr std::uint64_t kRegion = ObjectSums::kRegion;
// Blocks that an unclean stop has left without sums are read at most this fast.
constexpr Bytes kStep = 4_MiB;
constexpr Nanos kPause = 100_ms;
// Settling many objects takes a quarter of the disk's time at most.
constexpr std::int64_t kOthersShare = 3;

}  // namespace

ChecksumStore::Sums ChecksumStore::sums_of(ObjectId object) {
  Sums& found = objects_[object];
  if (found) return found;
  found = std::make_shared<ObjectSums>(clock_.executor(), object);
  const Sums made = found;
  trim();
  return made;
}

// --- loading ---

Task<Status> ChecksumStore::load(Sums sums, std::span<const Extent> extents) {
  if (!sums->stored_blocks) {
    const Result<std::optional<Bytes>> stored = co_await sums_.length(sums->id);
    if (!stored.ok()) co_return stored.status();
    if (!sums->stored_blocks) sums->stored_blocks = stored->value_or(Bytes()).count() / kEntry;
  }
  for (const Extent& extent : extents) {
    if (extent.length == Bytes()) continue;
    const std::uint64_t end = (block_end(extent) + kRegion - 1) / kRegion;
    for (std::uint64_t region = block_of(extent.offset) / kRegion; region < end; ++region) {
      if (!sums->loaded(region)) TUTTI_CO_TRY(co_await load_region(sums, region));
    }
  }
  co_return Status();
}

Task<Status> ChecksumStore::load_region(Sums sums, std::uint64_t region) {
  auto loaded = std::make_unique<ObjectSums::Region>();
  const std::uint64_t first = region * kRegion;
  if (*sums->stored_blocks > first) {
    std::vector<SumEntry> entries(kRegion);
    MemorySink sink(std::as_writable_bytes(std::span(entries)));
    const Result<Bytes> got =
        co_await sums_.read(sums->id, Bytes(first * kEntry), Bytes(kRegion * kEntry), sink);
    if (!got.ok()) {
      options_.log.warn("{}: the blocks are not checked", got.status().message());
      for (SumBlock& block : *loaded) block.stored = true;
    }
    for (std::uint64_t i = 0; got.ok() && i < got->count() / kEntry; ++i)
      (*loaded)[i] = entries[i].decode(sums->id, first + i);
  }
  if (sums->regions.try_emplace(region, std::move(loaded)).second && !sums->gone) ++regions_;
  co_return Status();
}

// Objects that nobody uses, and of which all sums are stored, go until there is room again.
void ChecksumStore::trim() {
  if (objects_.size() + regions_ <= std::max(trim_at_, options_.regions)) return;
  for (auto each = objects_.begin();
       each != objects_.end() && objects_.size() + regions_ > options_.regions / 2;) {
    if (each->second.use_count() > 1) {
      ++each;
      continue;
    }
    regions_ -= each->second->regions.size();
    each = objects_.erase(each);
  }
  trim_at_ = 2 * (objects_.size() + regions_);  // those in use are not looked at again and again
}

// --- storing ---

void ChecksumStore::note_unsettled(const Sums& sums) {
  sums->last_change = clock_.now();
  if (sums->unsettled || sums->gone) return;
  sums->unsettled = true;
  sums->dirty_since = sums->last_change;
  unsettled_[sums->id] = sums;
  if (!std::exchange(settling_, true)) scope_.spawn(settle_by_and_by());
}

Task<void> ChecksumStore::settle_by_and_by() {
  bool told = false;
  while (!unsettled_.empty()) {
    co_await clock_.sleep(options_.quiet / 4);
    const Nanos now = clock_.now();
    std::vector<Sums> due;
    for (const auto& [id, sums] : unsettled_) {
      if (now - sums->last_change >= options_.quiet || now - sums->dirty_since >= options_.oldest)
        due.push_back(sums);
    }
    if (due.empty()) continue;
    for (const Sums& sums : due) {
      const Nanos began = clock_.now();
      const Status status = co_await settle(sums);
      co_await clock_.sleep((clock_.now() - began) * kOthersShare);
      if (!status.ok() && !std::exchange(told, true))
        options_.log.warn("{}: checksums are not stored until this works again", status.message());
    }
    (co_await flush_suspects()).ignore();  // what is listed for too long is only summed anew for nothing
  }
  settling_ = false;
}

Task<Status> ChecksumStore::settle() {
  Status first;
  const auto all = unsettled_;
  for (const auto& [id, sums] : all) {
    Status status = co_await settle(sums);
    if (first.ok()) first = std::move(status);
  }
  Status flushed = co_await flush_suspects();
  if (first.ok()) first = std::move(flushed);
  co_return first;
}

// Whatever is listed is unsettled.
Task<Status> ChecksumStore::flush_suspects() {
  return unsettled_.empty() ? suspects_.clear() : suspects_.flush();
}

// Blocks that are busy now are left for the next time. The others count as stored from here on: whoever changes one
// lists it first.
Task<Status> ChecksumStore::settle(Sums sums) {
  if (sums->settling || sums->gone) co_return Status();
  struct Settling {
    explicit Settling(ObjectSums& sums) : sums(sums) { sums.settling = true; }
    Settling(const Settling&) = delete;
    Settling& operator=(const Settling&) = delete;
    ~Settling() { sums.settling = false; }
    ObjectSums& sums;
  };
  const Settling mark(*sums);
  std::vector<std::uint64_t> blocks;
  for (const auto& [number, region] : sums->regions) {
    for (std::uint64_t i = 0; i < kRegion; ++i) {
      if ((*region)[i].dirty) blocks.push_back(number * kRegion + i);
    }
  }
  const Result<std::optional<Bytes>> length = co_await data_.length(sums->id);
  if (!length.ok()) co_return length.status();
  for (const std::uint64_t block : blocks) {
    if (sums->at(block).known || block_offset(block) >= length->value_or(Bytes())) continue;
    const Result<bool> summed = co_await sum_block(sums, block);
    if (!summed.ok()) co_return summed.status();
  }
  std::erase_if(blocks, [&](std::uint64_t block) { return sums->busy(block) > 0; });
  for (const std::uint64_t block : blocks) {
    SumBlock& state = sums->at(block);
    sums->set_clean(state);
    state.stored = state.stored || state.known;
  }
  const std::uint64_t cuts = sums->cuts;
  Status status = co_await data_.sync(sums->id);
  if (status.ok()) {
    co_await sums->storing.acquire();
    const Storing storing(*sums);
    if (!sums->gone && sums->cuts == cuts) {
      std::erase_if(blocks,
                    [&](std::uint64_t block) { return sums->at(block).dirty || sums->busy(block) > 0; });
      status = co_await store_entries(sums, blocks);
    } else if (!sums->gone) {
      status = Status(Code::busy, "the object was cut meanwhile");
    }
  }
  const bool listed = suspects_.has(sums->id);
  if (status.ok() && listed && !sums->gone) status = co_await sums_.sync(sums->id);
  if (!status.ok()) {
    for (const std::uint64_t block : blocks) sums->set_dirty(sums->at(block));
    co_return status.code() == Code::busy ? Status() : status;
  }
  if (sums->dirty > 0 || !sums->changing.empty() || sums->cuts != cuts) co_return Status();
  if (sums->stale) co_return Status();
  if (listed) suspects_.drop(sums->id);
  sums->unsettled = false;
  unsettled_.erase(sums->id);
  co_return Status();
}

// Those of neighbours go together. An entry of a block of which nothing is known says so.
Task<Status> ChecksumStore::store_entries(Sums sums, std::vector<std::uint64_t> blocks) {
  std::erase_if(blocks, [&](std::uint64_t block) { return !sums->at(block).stored; });
  std::vector<Extent> extents;
  std::vector<SumEntry> entries;
  for (const std::uint64_t block : blocks) {
    if (extents.empty() || extents.back().end() != Bytes(block * kEntry))
      extents.push_back({Bytes(block * kEntry), Bytes()});
    extents.back().length += Bytes(kEntry);
    entries.push_back(SumEntry::of(sums->id, block, sums->at(block)));
  }
  if (entries.empty()) co_return Status();
  MemorySource source(std::as_bytes(std::span(entries)));
  sums->stored_blocks = std::max(*sums->stored_blocks, blocks.back() + 1);
  co_return co_await sums_.write(sums->id, extents, source);
}

// --- blocks without sums ---

Task<Result<bool>> ChecksumStore::sum_block(Sums sums, std::uint64_t block) {
  if (sums->busy(block) > 0) co_return false;
  const std::uint64_t changes = sums->changes;
  const Extent extent{block_offset(block), Bytes(kSumBlock)};
  const Result<std::vector<BlockPart>> parts = co_await sum_up(sums->id, only(extent));
  if (!parts.ok()) co_return parts.status();
  if (sums->changes != changes || sums->gone) co_return false;
  SumBlock& state = sums->at(block);
  state.sum = parts->empty() ? 0 : parts->front().sum;
  state.known = true;
  sums->set_dirty(state);
  co_return true;
}

Task<Result<Scrubbed>> ChecksumStore::verify(ObjectId object, Extent range) {
  Scrubbed found;
  const Sums sums = sums_of(object);
  const Result<std::optional<Bytes>> length = co_await data_.length(object);
  if (!length.ok()) co_return length.status();
  const Bytes end = std::min(range.end(), length->value_or(Bytes()));
  for (std::uint64_t block = block_of(range.offset); block_offset(block) < end; ++block) {
    const Extent extent{block_offset(block), std::min(Bytes(kSumBlock), **length - block_offset(block))};
    TUTTI_CO_TRY(co_await load(sums, only(extent)));
    if (sums->at(block).known) {
      const Result<bool> good = co_await whole(sums, block);
      if (!good.ok()) co_return good.status();
      if (*good) {
        found.checked += extent.length;
      } else {
        rot(object, block).ignore();
        found.rotten.push_back(extent.offset);
      }
      continue;
    }
    const Result<std::optional<Bytes>> data = co_await data_.next_data(object, extent.offset);
    if (!data.ok()) co_return data.status();
    if (!data->has_value() || **data >= extent.end()) continue;  // a hole
    const Result<bool> summed = co_await sum_block(sums, block);
    if (!summed.ok()) co_return summed.status();
    if (!*summed) continue;
    found.summed += extent.length;
    note_unsettled(sums);
  }
  co_return found;
}

// --- after a stop ---

Task<Status> ChecksumStore::open() {
  auto ranges = co_await suspects_.open();
  if (!ranges.ok()) co_return ranges.status();
  if (ranges->empty()) co_return Status();
  for (const SuspectRecord::Range& range : *ranges) TUTTI_CO_TRY(co_await discard(range));
  TUTTI_CO_TRY(co_await suspects_.clear());
  options_.log.info("the last stop was unclean: {} ranges of blocks are summed anew", ranges->size());
  scope_.spawn(sum_anew(*std::move(ranges)));
  co_return Status();
}

Task<Status> ChecksumStore::discard(SuspectRecord::Range range) {
  if (range.object == SuspectRecord::kAll) {
    const auto all = co_await sums_.list();
    if (!all.ok()) co_return all.status();
    for (const ObjectId object : *all) {
      const SuspectRecord::Range of_object{object, range.first, range.end};
      if (!SuspectRecord::reserved(object)) TUTTI_CO_TRY(co_await discard(of_object));
    }
    co_return Status();
  }
  const auto length = co_await sums_.length(range.object);
  if (!length.ok()) co_return length.status();
  const std::uint64_t stored = length->value_or(Bytes()).count() / kEntry;
  if (stored <= range.first) co_return Status();
  if (range.end >= stored) {
    TUTTI_CO_TRY(co_await sums_.truncate(range.object, Bytes(range.first * kEntry)));
  } else {
    const std::vector<std::byte> zeros((range.end - range.first) * kEntry);
    MemorySource source(zeros);
    TUTTI_CO_TRY(
        co_await sums_.write(range.object, Bytes(range.first * kEntry), Bytes(zeros.size()), source));
  }
  co_return co_await sums_.sync(range.object);
}

Task<void> ChecksumStore::sum_anew(std::vector<SuspectRecord::Range> ranges) {
  for (const SuspectRecord::Range& range : ranges) {
    if (range.object == SuspectRecord::kAll) continue;  // too much: `tutti scrub` does it
    const auto length = co_await data_.length(range.object);
    if (!length.ok() || !length->has_value()) continue;
    const Bytes end = block_offset(std::min(range.end, block_of(**length) + 1));
    for (Bytes at = block_offset(range.first); at < end; at += kStep) {
      const Extent part{at, std::min(kStep, end - at)};
      const Result<Scrubbed> summed = co_await verify(range.object, part);
      if (!summed.ok()) options_.log.warn("{}", summed.status().message());
      if (!summed.ok()) break;
      co_await clock_.sleep(kPause);
    }
  }
}

}  // namespace tutti
