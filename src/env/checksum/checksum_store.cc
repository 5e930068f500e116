#include "env/checksum/checksum_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr int kAttempts = 16;
constexpr Nanos kPatience = 1_s;

// As much of the extents as lies before `length`; ascending ones only.
std::vector<Extent> before(std::span<const Extent> extents, Bytes length) {
  std::vector<Extent> parts;
  for (const Extent& extent : extents) {
    if (extent.offset < length && extent.length > Bytes())
      parts.push_back({extent.offset, std::min(extent.length, length - extent.offset)});
  }
  return parts;
}

Task<Status> wait_for(Event& event) {
  co_await event.wait();
  co_return Status();
}

}  // namespace

// Checks each block before its last bytes are given away.
class ChecksumStore::CheckingSink : public Sink {
 public:
  CheckingSink(ChecksumStore& store, Sums sums, std::span<const Extent> extents, Bytes length, Sink& inner)
      : store_(store),
        sums_(std::move(sums)),
        length_(length),
        changes_(sums_->changes),
        summer_(extents),
        inner_(inner) {}

  std::vector<BlockPart> missing;  // what was read besides

  Task<Status> take(Bytes at, ConstPlaces pieces) override {
    summer_.add(at, pieces, [this](const BlockPart& part) { compare(part); });
    if (!doubtful_.empty()) TUTTI_CO_TRY(co_await resolve());
    co_return co_await inner_.take(at, pieces);
  }
  // After the read: of a block at the end of an object that was cut meanwhile.
  Task<Status> finish() {
    summer_.finish([this](const BlockPart& part) { compare(part); });
    if (doubtful_.empty()) co_return Status();
    co_return co_await resolve();
  }

 private:
  void compare(const BlockPart& part) {
    SumBlock& block = sums_->at(part.block);
    const BlockPart* rest = find_part(missing, part.block);
    const std::uint32_t sum = part.sum ^ (rest == nullptr ? 0 : rest->sum);
    const std::uint64_t bytes = part.bytes + (rest == nullptr ? 0 : rest->bytes);
    const Bytes begin = block_offset(part.block);
    const bool all = bytes == std::min<std::uint64_t>(kSumBlock, (length_ - begin).count());
    if (!all) return;  // nothing is known of it, or it was found good a moment ago
    if (block.known) {
      if (block.sum == sum) {
        block.checked = store_.clock_.now();
      } else {
        doubtful_.push_back(part.block);
      }
    } else if (sums_->changes == changes_ && sums_->changing.empty()) {
      block.sum = sum;
      block.known = true;
      sums_->set_dirty(block);
      store_.note_unsettled(sums_);
    }
  }
  Task<Status> resolve() {
    for (const std::uint64_t block : std::exchange(doubtful_, {})) {
      const Result<bool> whole = co_await store_.whole(sums_, block);
      if (!whole.ok()) co_return whole.status();
      if (!*whole) co_return store_.rot(sums_->id, block);
    }
    co_return Status();
  }

  ChecksumStore& store_;
  Sums sums_;
  Bytes length_;
  std::uint64_t changes_;
  BlockSummer summer_;
  std::vector<std::uint64_t> doubtful_;
  Sink& inner_;
};

// What a write does to the sums of its blocks.
struct ChecksumStore::WritePlan {
  std::vector<std::uint64_t> blocks;  // whose sums are known and stay so
  std::vector<BlockPart> replaced;    // what the bytes that it replaces contribute
  bool complete = true;               // there is a plan: what is not in it is not known
};

ChecksumStore::ChecksumStore(Clock& clock, Store& data, Store& sums, ChecksumOptions options)
    : clock_(clock),
      data_(data),
      sums_(sums),
      options_(std::move(options)),
      suspects_(clock.executor(), sums),
      scope_(clock.executor()) {}

StoreTraits ChecksumStore::traits() const {
  StoreTraits traits = data_.traits();
  traits.unshare();
  traits.checksums = true;
  return traits;
}

// --- reading ---

Task<Result<ReadResult>> ChecksumStore::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  const Sums sums = sums_of(object);
  TUTTI_CO_TRY(co_await load(sums, extents));
  const Result<std::optional<Bytes>> there = co_await data_.length(object);
  if (!there.ok()) co_return there.status();
  const Bytes length = there->value_or(Bytes());
  if (!ascending(extents)) {
    for (const Extent& extent : extents) {
      for (std::uint64_t block = block_of(extent.offset); block < block_end(extent); ++block) {
        if (block_offset(block) >= length || !sums->at(block).known) continue;
        const Result<bool> good = co_await whole(sums, block);
        if (!good.ok()) co_return good.status();
        if (!*good) co_return rot(object, block);
      }
    }
    co_return co_await data_.read(object, extents, sink);
  }
  std::vector<Extent> inside;
  const bool all_inside = extents.empty() || extents.back().end() <= length;
  if (!all_inside) inside = before(extents, length);
  const std::span<const Extent> summed = all_inside ? extents : inside;
  CheckingSink checking(*this, sums, summed, length, sink);
  if (const std::vector<Extent> rest = missing(*sums, summed, length); !rest.empty()) {
    Result<std::vector<BlockPart>> parts = co_await sum_up(object, rest);
    if (!parts.ok()) co_return parts.status();
    checking.missing = *std::move(parts);
  }
  const Result<ReadResult> got = co_await data_.read(object, extents, checking);
  if (!got.ok()) co_return got.status();
  TUTTI_CO_TRY(co_await checking.finish());
  co_return *got;
}

Task<void> ChecksumStore::prefetch(ObjectId object, std::span<const Extent> extents) {
  std::vector<Extent> blocks;
  for (const Extent& each : extents) {
    if (each.length == Bytes()) continue;
    const Bytes begin = block_offset(block_of(each.offset));
    const Bytes end = block_offset(block_end(each));
    if (!blocks.empty() && begin >= blocks.back().offset && begin <= blocks.back().end()) {
      blocks.back().length = std::max(blocks.back().end(), end) - blocks.back().offset;
    } else {
      blocks.push_back({begin, end - begin});
    }
  }
  co_await data_.prefetch(object, blocks);
}

std::vector<Extent> ChecksumStore::missing(ObjectSums& sums, std::span<const Extent> extents,
                                           Bytes length) const {
  std::vector<Extent> rest;
  const Nanos trusted_since = clock_.now() - options_.trusted;
  Bytes at;  // all up to here is read, or need not be
  for (std::size_t i = 0; i < extents.size();) {
    if (extents[i].length == Bytes()) {
      ++i;
      continue;
    }
    const std::uint64_t block = block_of(extents[i].offset);
    at = std::max(at, block_offset(block));
    const auto wanted = [&](std::uint64_t each) {
      const SumBlock& state = sums.at(each);
      return state.known && state.checked < trusted_since;
    };
    if (extents[i].offset > at && wanted(block)) rest.push_back({at, extents[i].offset - at});
    at = std::max(at, extents[i].end());
    const std::uint64_t last = block_end(extents[i]) - 1;
    ++i;
    const Bytes end = std::min(block_offset(last + 1), length);
    const bool next_here = i < extents.size() && block_of(extents[i].offset) == last;
    if (!next_here && at < end && wanted(last)) rest.push_back({at, end - at});
  }
  return rest;
}

Task<Result<std::vector<BlockPart>>> ChecksumStore::sum_up(ObjectId object, std::span<const Extent> extents) {
  SumSink sink(extents);
  const Result<ReadResult> got = co_await data_.read(object, extents, sink);
  if (!got.ok()) co_return got.status();
  co_return sink.parts();
}

Task<Result<bool>> ChecksumStore::whole(Sums sums, std::uint64_t block) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    while (sums->busy(block) > 0) {
      sums->changed.reset();
      const Status ended = co_await with_timeout(clock_, kPatience, wait_for(sums->changed), "write");
      if (!ended.ok()) co_return true;
    }
    const SumBlock& state = sums->at(block);
    if (!state.known || sums->gone) co_return true;
    const std::uint32_t sum = state.sum;
    const Extent extent{block_offset(block), Bytes(kSumBlock)};
    const Result<std::vector<BlockPart>> parts = co_await sum_up(sums->id, only(extent));
    if (!parts.ok()) co_return parts.status();
    const bool moved = sums->busy(block) > 0 || !state.known || state.sum != sum || sums->gone;
    if (moved) continue;
    if ((parts->empty() ? 0 : parts->front().sum) != sum) co_return false;
    sums->at(block).checked = clock_.now();
    co_return true;
  }
  co_return true;  // it is written all the time: those bytes are new
}

Status ChecksumStore::rot(ObjectId object, std::uint64_t block) const {
  Status status(Code::corrupt,
                fmt::format("object {:016x}, bytes {} to {}: the device gives other bytes than were written "
                            "(bit rot, found by their checksum)",
                            object.value, block_offset(block).count(), block_offset(block + 1).count() - 1));
  options_.log.error("{}", status.message());
  return status;
}

// --- writing ---

Task<Status> ChecksumStore::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  const Sums sums = sums_of(object);
  TUTTI_CO_TRY(co_await load(sums, extents));
  ChangingBlocks changing(sums, extents);  // before what is stored is looked at: see settle()
  note_unsettled(sums);                    // before it is listed: see flush_suspects()
  TUTTI_CO_TRY(co_await protect(sums, extents));
  const Result<WritePlan> plan = co_await this->plan(sums, extents);
  if (!plan.ok()) co_return plan.status();
  if (!plan->complete) co_return co_await data_.write(object, extents, source);
  SummingSource summing(source, extents);
  TUTTI_CO_TRY(co_await data_.write(object, extents, summing));
  apply(*sums, *plan, summing.parts());
  changing.applied();
  note_unsettled(sums);
  co_return Status();
}

Task<Status> ChecksumStore::protect(Sums sums, std::span<const Extent> extents) {
  for (const Extent& extent : extents) {
    for (std::uint64_t block = block_of(extent.offset); block < block_end(extent); ++block) {
      if (!sums->at(block).stored) continue;
      const std::uint64_t region = block / ObjectSums::kRegion;
      const SuspectRecord::Range range{sums->id, region * ObjectSums::kRegion,
                                       (region + 1) * ObjectSums::kRegion};
      if (!suspects_.listed(range)) TUTTI_CO_TRY(co_await suspects_.list(range));
      block = range.end - 1;
    }
  }
  co_return Status();
}

// The sums of blocks whose old bytes do not matter begin anew here, at 0: what is added is all there is.
Task<Result<ChecksumStore::WritePlan>> ChecksumStore::plan(Sums sums, std::span<const Extent> extents) {
  WritePlan plan;
  plan.complete = ascending(extents);
  if (!plan.complete) co_return plan;
  const Result<std::optional<Bytes>> there = co_await data_.length(sums->id);
  if (!there.ok()) co_return there.status();
  const Bytes length = there->value_or(Bytes());
  const std::uint64_t changes = sums->changes;
  std::vector<Extent> replaced;
  ExtentWalk walk(extents);
  while (!walk.done()) {
    // What of the block is written: from its begin on without gaps, up to `covered`.
    const std::uint64_t block = block_of(walk.front().offset);
    const Bytes begin = block_offset(block);
    const Bytes end = block_offset(block + 1);
    const std::size_t first = replaced.size();
    Bytes covered = begin;
    while (!walk.done() && block_of(walk.front().offset) == block) {
      const Extent part = walk.next(end - walk.front().offset);
      if (part.offset == covered) covered = part.end();
      if (part.offset < length)
        replaced.push_back({part.offset, std::min(part.length, length - part.offset)});
    }
    const auto is_alone = [&] { return sums->busy(block) == 1 && sums->changes == changes; };
    const bool alone = is_alone();
    bool anew = covered == end || (alone && (covered >= length || begin >= length));
    if (!anew && alone && !sums->at(block).known) {
      const Result<std::optional<Bytes>> data = co_await data_.next_data(sums->id, begin);
      anew = data.ok() && (!data->has_value() || **data >= end) && is_alone();
    }
    SumBlock& state = sums->at(block);
    if (anew) {
      state.known = true;
      state.sum = 0;
      replaced.resize(first);
    }
    if (state.known) plan.blocks.push_back(block);
    if (!state.known) replaced.resize(first);
  }
  if (replaced.empty()) co_return plan;
  Result<std::vector<BlockPart>> parts = co_await sum_up(sums->id, replaced);
  if (parts.ok()) {
    plan.replaced = *std::move(parts);
  } else {  // they are about to be replaced: that they cannot be read any more is not the writer's affair
    for (const Extent& extent : replaced) sums->forget(block_of(extent.offset), block_end(extent));
  }
  co_return plan;
}

void ChecksumStore::apply(ObjectSums& sums, const WritePlan& plan, std::span<const BlockPart> added) {
  for (const std::uint64_t block : plan.blocks) {
    SumBlock& state = sums.at(block);
    const BlockPart* off = find_part(plan.replaced, block);
    const BlockPart* on = find_part(added, block);
    state.sum ^= (off == nullptr ? 0 : off->sum) ^ (on == nullptr ? 0 : on->sum);
    state.checked = kNeverChecked;
  }
  for (const BlockPart& part : added) sums.set_dirty(sums.at(part.block));
}

Task<Status> ChecksumStore::truncate(ObjectId object, Bytes length) {
  const Result<std::optional<Bytes>> there = co_await data_.length(object);
  if (!there.ok()) co_return there.status();
  const Bytes old = there->value_or(Bytes());
  if (length >= old) co_return co_await data_.truncate(object, length);
  const Sums sums = sums_of(object);
  const std::uint64_t block = block_of(length);
  const Bytes begin = block_offset(block);
  const Extent in_block{length, std::min(block_offset(block + 1), old) - length};
  const Extent cut{length, old - length};
  TUTTI_CO_TRY(co_await load(sums, only(in_block)));
  ChangingBlocks changing(sums, only(cut));
  ++sums->cuts;
  note_unsettled(sums);
  const SuspectRecord::Range suspect{object, block, ~std::uint64_t{0}};
  if (*sums->stored_blocks > block || sums->at(block).stored) TUTTI_CO_TRY(co_await suspects_.list(suspect));
  std::uint32_t cut_off = 0;
  if (length > begin && sums->at(block).known) {
    const Result<std::vector<BlockPart>> parts = co_await sum_up(object, only(in_block));
    if (!parts.ok()) co_return parts.status();
    if (!parts->empty()) cut_off = parts->front().sum;
  }
  TUTTI_CO_TRY(co_await data_.truncate(object, length));
  SumBlock& last = sums->at(block);
  last.sum ^= cut_off;
  last.known = last.known && length > begin;
  last.checked = kNeverChecked;
  sums->set_dirty(last);
  sums->forget(block + 1, ~std::uint64_t{0});
  changing.applied();
  note_unsettled(sums);
  // The block that was cut keeps its entry, which is listed.
  co_await sums->storing.acquire();
  const Storing storing(*sums);
  if (*sums->stored_blocks > block + 1) {
    Status status = co_await sums_.truncate(object, Bytes((block + 1) * sizeof(SumEntry)));
    sums->stale = sums->stale || !status.ok();
    if (!status.ok()) co_return status;
  }
  sums->stored_blocks = std::min(*sums->stored_blocks, block + 1);
  sums->drop(block + 1);
  co_return Status();
}

// The sums go first: those of an object that is gone would stay for ever.
Task<Status> ChecksumStore::remove(ObjectId object) {
  const Sums sums = sums_of(object);
  sums->gone = true;
  regions_ -= sums->regions.size();
  objects_.erase(object);
  unsettled_.erase(object);
  suspects_.drop(object);
  co_await sums->storing.acquire();
  const Storing storing(*sums);
  TUTTI_CO_TRY(co_await sums_.remove(object));
  co_return co_await data_.remove(object);
}

}  // namespace tutti
