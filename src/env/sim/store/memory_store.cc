#include "env/sim/store/memory_store.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tutti {

namespace {
constexpr std::uint64_t kPage = 64U << 10U;
constexpr std::uint64_t kSector = 4U << 10U;
constexpr std::uint64_t kAtom = 512;
constexpr std::uint64_t kSectors = kPage / kSector;
// What a source or sink is given at once.
constexpr std::uint64_t kPiece = 1U << 20U;

// The largest piece of the stream that the extents are.
std::uint64_t piece_of(std::span<const Extent> extents) {
  std::uint64_t bytes = 0;
  for (const Extent& extent : extents) {
    bytes += std::min(extent.length.count(), kPiece);
    if (bytes >= kPiece) return kPiece;
  }
  return bytes;
}
}  // namespace

// Bytes as written, and for each sector written since the last sync (a bit of `unsynced`) what it held at
// that sync: `synced`, or zeros where that is empty.
struct MemoryStore::Page {
  std::unique_ptr<std::byte[]> bytes = std::make_unique<std::byte[]>(kPage);
  std::unique_ptr<std::byte[]> synced;
  std::uint32_t unsynced = 0;
  bool fresh = true;  // came into being since the last sync
};

struct MemoryStore::Object {
  std::uint64_t length = 0;
  std::uint64_t synced_length = 0;
  bool synced = false;  // would survive a loss of power
  std::map<std::uint64_t, Page> pages;
  std::vector<std::uint64_t> unsynced_pages;  // may name pages that are gone
};

MemoryStore::MemoryStore(const MemoryStoreOptions& options, Random random)
    : options_(options), random_(random) {
  if (options_.phantom) scratch_ = std::make_unique<std::byte[]>(2 * kPiece);
}
MemoryStore::~MemoryStore() = default;

// All extents are one stream: as much of it as a piece holds goes at once, however many extents that is.
Task<Result<ReadResult>> MemoryStore::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  ReadResult result;
  std::unique_ptr<std::byte[]> buffer;
  if (!options_.phantom) buffer = std::make_unique_for_overwrite<std::byte[]>(piece_of(extents));
  std::byte* const place = options_.phantom ? scratch_.get() : buffer.get();
  for (ExtentWalk walk(extents); !walk.done();) {
    // Looked up for each piece: the sink may wait, and the object change meanwhile.
    const auto found = objects_.find(object);
    const std::uint64_t length = found == objects_.end() ? 0 : found->second.length;
    const Bytes begin = walk.at();
    std::uint64_t filled = 0;
    while (!walk.done() && filled < kPiece && walk.front().offset.count() < length) {
      const Extent rest = walk.front();
      const std::uint64_t inside = std::min(rest.length.count(), length - rest.offset.count());
      const std::uint64_t step = std::min(inside, kPiece - filled);
      if (!options_.phantom) read_piece(found->second, rest.offset, {place + filled, step});
      filled += step;
      walk.next(Bytes(step));
      if (step == rest.length.count() || step < inside) continue;
      result.end = std::min(result.end, rest.offset + Bytes(step));
      walk.next(Bytes::max());
      break;  // what follows does not follow on this
    }
    if (filled == 0) {
      result.end = std::min(result.end, walk.front().offset);
      walk.next(Bytes::max());
      continue;
    }
    const std::span<const std::byte> piece(place, filled);
    TUTTI_CO_TRY(co_await sink.take(begin, only(piece)));
    result.bytes += Bytes(filled);
  }
  co_return result;
}

Task<Status> MemoryStore::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  for (const Extent& extent : extents) {
    if (extent.end() < extent.offset) {
      co_return Status(Code::too_large,
                       "write to object " + std::to_string(object.value) + ": offset overflows");
    }
    TUTTI_CO_TRY(reserve(made(object), extent.end()));
  }
  std::unique_ptr<std::byte[]> buffer;
  if (!options_.phantom) buffer = std::make_unique_for_overwrite<std::byte[]>(piece_of(extents));
  for (ExtentWalk walk(extents); !walk.done();) {
    Bytes count;
    for (ExtentWalk ahead = walk; !ahead.done() && count < Bytes(kPiece);)
      count += ahead.next(Bytes(kPiece) - count).length;
    std::span<std::byte> place(options_.phantom ? scratch_.get() + kPiece : buffer.get(), count.count());
    TUTTI_CO_TRY(co_await source.fill(walk.at(), only(place)));
    while (!place.empty()) {
      const Extent part = walk.next(Bytes(place.size()));
      TUTTI_CO_TRY(write_piece(object, part.offset, place.first(part.length.count())));
      place = place.subspan(part.length.count());
    }
  }
  co_return Status();
}

// The object, made if it is not there.
MemoryStore::Object& MemoryStore::made(ObjectId object) {
  newest_ = std::max(newest_, object);
  return objects_[object];
}

Status MemoryStore::reserve(Object& object, Bytes end) {
  if (!options_.phantom || end.count() <= object.length) return Status();
  if (used_ + end.count() - object.length > options_.capacity.count()) {
    return Status(Code::no_space,
                  "memory store: capacity of " + to_string(options_.capacity) + " is used up");
  }
  return Status();
}

Status MemoryStore::write_piece(ObjectId id, Bytes offset, std::span<const std::byte> bytes) {
  Object& object = made(id);
  std::uint64_t at = offset.count();
  if (options_.phantom) {
    TUTTI_TRY(reserve(object, offset + Bytes(bytes.size())));
    if (at + bytes.size() > object.length) used_ += at + bytes.size() - object.length;
    object.length = std::max(object.length, at + bytes.size());
    return Status();
  }
  while (!bytes.empty()) {
    const std::uint64_t within = at % kPage;
    const std::uint64_t step = std::min<std::uint64_t>(bytes.size(), kPage - within);
    Page* page = page_for_write(object, at / kPage);
    if (page == nullptr) {
      return Status(Code::no_space, "write to object " + std::to_string(id.value) + ": capacity of " +
                                        to_string(options_.capacity) + " is used up");
    }
    for (std::uint64_t sector = within / kSector; sector <= (within + step - 1) / kSector; ++sector) {
      const std::uint32_t bit = 1U << sector;
      if ((page->unsynced & bit) != 0) continue;
      page->unsynced |= bit;
      if (page->fresh) continue;
      if (!page->synced) page->synced = std::make_unique_for_overwrite<std::byte[]>(kPage);
      std::memcpy(page->synced.get() + sector * kSector, page->bytes.get() + sector * kSector, kSector);
    }
    std::memcpy(page->bytes.get() + within, bytes.data(), step);
    at += step;
    bytes = bytes.subspan(step);
    object.length = std::max(object.length, at);
  }
  return Status();
}

MemoryStore::Page* MemoryStore::page_for_write(Object& object, std::uint64_t index) {
  auto found = object.pages.find(index);
  if (found == object.pages.end()) {
    if (used_ + kPage > options_.capacity.count()) return nullptr;
    used_ += kPage;
    found = object.pages.try_emplace(index).first;
  }
  if (found->second.unsynced == 0) object.unsynced_pages.push_back(index);
  return &found->second;
}

void MemoryStore::read_piece(const Object& object, Bytes offset, std::span<std::byte> bytes) const {
  std::uint64_t at = offset.count();
  while (!bytes.empty()) {
    const std::uint64_t within = at % kPage;
    const std::uint64_t step = std::min<std::uint64_t>(bytes.size(), kPage - within);
    const auto page = object.pages.find(at / kPage);
    if (page == object.pages.end()) {
      std::memset(bytes.data(), 0, step);
    } else {
      std::memcpy(bytes.data(), page->second.bytes.get() + within, step);
    }
    at += step;
    bytes = bytes.subspan(step);
  }
}

Task<Status> MemoryStore::truncate(ObjectId id, Bytes length) {
  Object& object = made(id);
  if (length.count() < object.length) cut(object, length);
  TUTTI_CO_TRY(reserve(object, length));
  if (options_.phantom && length.count() > object.length) used_ += length.count() - object.length;
  object.length = length.count();
  co_return Status();
}

// Durable at once, so the synced state is cut too.
void MemoryStore::cut(Object& object, Bytes length) {
  const std::uint64_t end = length.count();
  object.synced_length = std::min(object.synced_length, end);
  if (options_.phantom) used_ -= object.length - end;
  object.length = end;
  const auto first_gone = object.pages.lower_bound((end + kPage - 1) / kPage);
  for (auto page = first_gone; page != object.pages.end(); ++page) used_ -= kPage;
  object.pages.erase(first_gone, object.pages.end());
  const auto last = object.pages.find(end / kPage);
  if (last == object.pages.end()) return;
  const std::uint64_t within = end % kPage;
  std::memset(last->second.bytes.get() + within, 0, kPage - within);
  if (last->second.synced) std::memset(last->second.synced.get() + within, 0, kPage - within);
}

Task<Status> MemoryStore::sync(ObjectId id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) co_return Status();
  Object& object = found->second;
  for (const std::uint64_t index : object.unsynced_pages) {
    const auto page = object.pages.find(index);
    if (page == object.pages.end()) continue;
    page->second.unsynced = 0;
    page->second.fresh = false;
    page->second.synced.reset();
  }
  object.unsynced_pages.clear();
  object.synced_length = object.length;
  object.synced = true;
  co_return Status();
}

Task<Status> MemoryStore::remove(ObjectId id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) co_return Status();
  used_ -= options_.phantom ? found->second.length : found->second.pages.size() * kPage;
  objects_.erase(found);
  co_return Status();
}

Task<Result<std::optional<Bytes>>> MemoryStore::length(ObjectId id) {
  const auto found = objects_.find(id);
  if (found == objects_.end()) co_return std::optional<Bytes>();
  co_return std::optional<Bytes>(Bytes(found->second.length));
}

Task<Result<std::optional<Bytes>>> MemoryStore::locate(ObjectId /*object*/, Bytes /*offset*/) {
  co_return std::optional<Bytes>();
}

Task<Result<std::vector<ObjectId>>> MemoryStore::list() {
  std::vector<ObjectId> ids;
  ids.reserve(objects_.size());
  for (const auto& [id, object] : objects_) ids.push_back(id);
  co_return ids;
}

Result<StoreSpace> MemoryStore::space() {
  StoreSpace space;
  space.total = options_.capacity;
  space.free = options_.capacity - Bytes(std::min(used_, options_.capacity.count()));
  return space;
}

void MemoryStore::crash() {
  for (auto object = objects_.begin(); object != objects_.end();) {
    if (!object->second.synced && random_.chance(0.5)) {
      used_ -= options_.phantom ? object->second.length : object->second.pages.size() * kPage;
      object = objects_.erase(object);
      continue;
    }
    crash(object->second);
    ++object;
  }
}

void MemoryStore::lose_unsynced(ObjectId object) {
  const auto found = objects_.find(object);
  if (found == objects_.end()) return;
  for (const std::uint64_t index : found->second.unsynced_pages) {
    const auto page = found->second.pages.find(index);
    if (page != found->second.pages.end()) revert_some(page->second);
  }
  found->second.unsynced_pages.clear();
}

void MemoryStore::crash(Object& object) {
  for (const std::uint64_t index : object.unsynced_pages) {
    const auto page = object.pages.find(index);
    if (page != object.pages.end()) revert_some(page->second);
  }
  object.unsynced_pages.clear();
  if (object.length > object.synced_length && random_.chance(0.5)) {
    const std::uint64_t synced_length = object.synced_length;
    const std::uint64_t kept = synced_length + random_.below(object.length - synced_length);
    cut(object, Bytes(kept));
  }
  object.synced_length = object.length;
  object.synced = true;
}

void MemoryStore::revert_some(Page& page) {
  const auto revert = [&page](std::uint64_t from, std::uint64_t bytes) {
    if (page.synced) {
      std::memcpy(page.bytes.get() + from, page.synced.get() + from, bytes);
    } else {
      std::memset(page.bytes.get() + from, 0, bytes);
    }
  };
  for (std::uint64_t sector = 0; sector < kSectors; ++sector) {
    if ((page.unsynced & (1U << sector)) == 0) continue;
    const std::uint64_t fate = random_.below(4);
    if (fate == 0) {
      // Torn: what was written first is new, the rest old.
      const std::uint64_t whole = random_.below(kSector / kAtom) * kAtom;
      revert(sector * kSector + whole, kSector - whole);
    } else if (fate == 1) {
      revert(sector * kSector, kSector);
    }
  }
  page.unsynced = 0;
  page.fresh = false;
  page.synced.reset();
}

}  // namespace tutti
