#include "env/checksum/suspect_record.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/crc32c.h"

namespace tutti {
namespace {

constexpr std::array<ObjectId, 2> kSlots = {ObjectId{~std::uint64_t{0}}, ObjectId{~std::uint64_t{0} - 1}};
constexpr std::uint64_t kMagic = 0x3173746365707375;
constexpr std::uint64_t kEverything = ~std::uint64_t{0};

struct Header {
  std::uint64_t magic = kMagic;
  std::uint64_t sequence = 0;
  std::uint64_t count = 0;
  std::uint64_t sum = 0;  // of the rest, with this one 0
};
struct Row {
  std::uint64_t object = 0;
  std::uint64_t first = 0;
  std::uint64_t end = 0;
};
constexpr std::size_t kSlotSize = sizeof(Header) + SuspectRecord::kMostRanges * sizeof(Row);

std::vector<std::byte> encode(Header header, std::span<const Row> rows) {
  header.count = rows.size();
  header.sum = 0;
  std::vector<std::byte> bytes(sizeof(header) + rows.size_bytes());
  std::memcpy(bytes.data(), &header, sizeof(header));
  if (!rows.empty()) std::memcpy(bytes.data() + sizeof(header), rows.data(), rows.size_bytes());
  header.sum = crc32c(bytes, ~std::uint32_t{0});
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

// Nothing if it was not written to its end.
std::optional<Header> header_of(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.magic != kMagic || header.count > SuspectRecord::kMostRanges ||
      bytes.size() < sizeof(header) + header.count * sizeof(Row)) {
    return std::nullopt;
  }
  std::vector<Row> rows(header.count);
  if (!rows.empty()) std::memcpy(rows.data(), bytes.data() + sizeof(header), rows.size() * sizeof(Row));
  const std::vector<std::byte> again = encode(header, rows);
  return std::memcmp(again.data(), bytes.data(), sizeof(header)) == 0 ? std::optional(header) : std::nullopt;
}

}  // namespace

bool SuspectRecord::reserved(ObjectId object) {
  return std::find(kSlots.begin(), kSlots.end(), object) != kSlots.end();
}

bool SuspectRecord::List::covers(const Range& range) const {
  if (all) return true;
  const auto found = ranges.find(range.object);
  if (found == ranges.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(),
                     [&](const auto& each) { return each.first <= range.first && range.end <= each.second; });
}

void SuspectRecord::List::add(const Range& range) {
  if (covers(range)) return;
  auto& of_object = ranges[range.object];
  of_object.emplace_back(range.first, range.end);
  if (of_object.size() > kMostOfObject) {
    std::pair<std::uint64_t, std::uint64_t> hull = of_object.front();
    for (const auto& each : of_object)
      hull = {std::min(hull.first, each.first), std::max(hull.second, each.second)};
    of_object = {hull};
  }
  std::size_t count = 0;
  for (const auto& [object, list] : ranges) count += list.size();
  if (count <= kMostRanges) return;
  all = true;
  ranges.clear();
}

bool SuspectRecord::listed(const Range& range) const {
  return now_.covers(range) && durable_.covers(range) && (!writing_ || writing_->covers(range));
}

Task<Status> SuspectRecord::list(Range range) {
  now_.add(range);
  if (listed(range)) co_return Status();
  Rounds::Work work = [this] { return write(); };
  co_return co_await Rounds::join(rounds_, scope_, std::move(work));
}

Task<Status> SuspectRecord::clear() {
  now_ = {};
  co_return co_await flush();
}

Task<Status> SuspectRecord::flush() {
  if (now_ == durable_ && !writing_) co_return Status();
  Rounds::Work work = [this] { return write(); };
  co_return co_await Rounds::join(rounds_, scope_, std::move(work));
}

Task<Status> SuspectRecord::write() {
  writing_ = now_;
  std::vector<Row> rows;
  if (writing_->all) rows.push_back({kAll.value, 0, kEverything});
  for (const auto& [object, list] : writing_->ranges) {
    for (const auto& [first, end] : list) rows.push_back({object.value, first, end});
  }
  Header header;
  header.sequence = sequence_ + 1;
  const std::vector<std::byte> bytes = encode(header, rows);
  const ObjectId slot = kSlots[header.sequence % kSlots.size()];
  MemorySource source(bytes);
  Status status = co_await sums_.write(slot, Bytes(), Bytes(bytes.size()), source);
  if (status.ok()) status = co_await sums_.sync(slot);
  if (status.ok()) {
    sequence_ = header.sequence;
    durable_ = *std::move(writing_);
  }
  writing_.reset();
  co_return status;
}

Task<Result<std::optional<std::vector<std::byte>>>> SuspectRecord::read(ObjectId slot) {
  std::vector<std::byte> bytes(kSlotSize);
  MemorySink sink(bytes);
  const Result<Bytes> got = co_await sums_.read(slot, Bytes(), Bytes(kSlotSize), sink);
  if (!got.ok()) co_return got.status();
  if (*got == Bytes()) co_return std::optional<std::vector<std::byte>>();
  bytes.resize(got->count());
  co_return std::optional(std::move(bytes));
}

Task<Result<std::vector<SuspectRecord::Range>>> SuspectRecord::open() {
  std::vector<std::byte> newest;
  std::size_t there = 0;
  for (const ObjectId slot : kSlots) {
    auto bytes = co_await read(slot);
    if (!bytes.ok()) co_return bytes.status();
    if (!bytes->has_value()) {
      const std::vector<std::byte> zeros(kSlotSize);
      MemorySource source(zeros);
      TUTTI_CO_TRY(co_await sums_.write(slot, Bytes(), Bytes(kSlotSize), source));
      continue;
    }
    const std::optional<Header> header = header_of(**bytes);
    // One that nothing was ever written to is all zeros.
    const bool blank =
        std::all_of((*bytes)->begin(), (*bytes)->end(), [](std::byte b) { return b == std::byte{}; });
    there += blank ? 0 : 1;
    if (!header || header->sequence <= sequence_) continue;
    sequence_ = header->sequence;
    newest = **std::move(bytes);
  }
  if (newest.empty() && there > 0) now_.all = true;  // not one of them is whole: that is no crash
  if (!newest.empty()) {
    const Header header = *header_of(newest);
    for (std::size_t i = 0; i < header.count; ++i) {
      Row row;
      std::memcpy(&row, newest.data() + sizeof(Header) + i * sizeof(Row), sizeof(row));
      if (row.object == kAll.value) now_.all = true;
      now_.add({ObjectId{row.object}, row.first, row.end});
    }
  }
  durable_ = now_;
  if (newest.empty() && there == 0) TUTTI_CO_TRY(co_await write());  // from now on one of them is whole
  std::vector<Range> ranges;
  if (now_.all) ranges.push_back({kAll, 0, kEverything});
  for (const auto& [object, list] : now_.ranges) {
    for (const auto& [first, end] : list) ranges.push_back({object, first, end});
  }
  co_return ranges;
}

}  // namespace tutti
