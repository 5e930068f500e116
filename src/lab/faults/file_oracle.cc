#include "lab/faults/file_oracle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/random.h"

namespace tutti {
namespace {

constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

void insert(std::vector<std::uint32_t>& candidates, std::uint32_t id) {
  const auto place = std::lower_bound(candidates.begin(), candidates.end(), id);
  if (place == candidates.end() || *place != id) candidates.insert(place, id);
}

void merge(std::vector<std::uint32_t>& into, const std::vector<std::uint32_t>& from) {
  for (const std::uint32_t id : from) insert(into, id);
}

}  // namespace

void FileOracle::Size::widen(Bytes size) {
  least = std::min(least, size);
  greatest = std::max(greatest, size);
}

FileOracle::FileOracle(const Layout& layout) : layout_(layout), lost_at_(layout.server_total, 0) {
  operations_.push_back(Operation{Kind::write, 0, 0, {}});
  cells_[0] = Cell{{0}, {0}};
}

std::byte FileOracle::value(OperationId write, Bytes offset) {
  return static_cast<std::byte>(1 + mix64((std::uint64_t{write} << 40U) ^ offset.count()) % 255);
}

FileOracle::OperationId FileOracle::begin(Kind kind, std::vector<Extent> extents) {
  operations_.push_back(Operation{kind, tick_++, kRunning, std::move(extents)});
  return static_cast<OperationId>(operations_.size() - 1);
}

FileOracle::OperationId FileOracle::begin_write(std::vector<Extent> extents) {
  const OperationId id = begin(Kind::write, std::move(extents));
  running_.insert(id);
  for (const Extent& extent : operations_[id].extents) {
    split(extent.offset.count());
    split(extent.end().count());
    for (auto cell = cells_.find(extent.offset.count());
         cell != cells_.end() && cell->first < extent.end().count(); ++cell) {
      insert(cell->second.now, id);
      insert(cell->second.durable, id);
    }
    for (Size* size : {&now_, &durable_}) size->greatest = std::max(size->greatest, extent.end());
    for (auto& [other, seen] : reads_) seen.size.greatest = std::max(seen.size.greatest, extent.end());
    for (auto& [other, seen] : syncs_) seen.size.greatest = std::max(seen.size.greatest, extent.end());
  }
  return id;
}

FileOracle::OperationId FileOracle::begin_truncate(Bytes length) {
  const OperationId id = begin(Kind::truncate, {Extent{length, Bytes(kEnd - length.count())}});
  running_.insert(id);
  split(length.count());
  for (auto cell = cells_.find(length.count()); cell != cells_.end(); ++cell) {
    insert(cell->second.now, id);
    insert(cell->second.durable, id);
  }
  for (Size* size : {&now_, &durable_}) size->widen(length);
  for (auto& [other, seen] : reads_) seen.size.widen(length);
  // A loss of power may keep the cut on one server and lose the growth on another: then the data that is left
  // decides.
  durable_.least = std::min(durable_.least, durable_data_end(length));
  for (auto& [other, seen] : syncs_) {
    seen.size.widen(length);
    seen.size.least = std::min(seen.size.least, durable_.least);
  }
  return id;
}

// The end of the last bytes before `limit` that hold written data even after a loss of power.
Bytes FileOracle::durable_data_end(Bytes limit) const {
  auto end = cells_.lower_bound(limit.count());
  while (end != cells_.begin()) {
    const auto cell = std::prev(end);
    const Candidates& candidates = cell->second.durable;
    const bool data = std::all_of(candidates.begin(), candidates.end(), [this](OperationId id) {
      return id != 0 && operations_[id].kind == Kind::write;
    });
    if (data) return Bytes(std::min(limit.count(), end == cells_.end() ? limit.count() : end->first));
    end = cell;
  }
  return {};
}

FileOracle::OperationId FileOracle::begin_sync() {
  const OperationId id = begin(Kind::sync, {});
  const Extent all{0_B, Bytes(kEnd)};
  syncs_[id] = view({&all, 1});
  return id;
}

FileOracle::OperationId FileOracle::begin_read(std::vector<Extent> extents) {
  const OperationId id = begin(Kind::read, std::move(extents));
  reads_[id] = view(operations_[id].extents);
  return id;
}

FileOracle::View FileOracle::view(std::span<const Extent> extents) {
  View seen;
  seen.size = now_;
  for (const Extent& extent : extents) {
    split(extent.offset.count());
    split(extent.end().count());
    for (auto cell = cells_.find(extent.offset.count());
         cell != cells_.end() && cell->first < extent.end().count(); ++cell) {
      seen.cells[cell->first] = cell->second.now;
    }
  }
  return seen;
}

void FileOracle::split(std::uint64_t at) {
  if (at == kEnd) return;
  const auto after = cells_.upper_bound(at);
  const auto cell = std::prev(after);
  if (cell->first != at) cells_.emplace_hint(after, at, cell->second);
}

void FileOracle::end(OperationId id, bool ok) {
  Operation& operation = operations_[id];
  if (operation.kind == Kind::sync) {
    if (ok) settle_durable(id);
    syncs_.erase(id);
  } else {
    if (ok) {
      replace(id);
      settle_size(id);
    }
    running_.erase(id);
  }
  operation.end = tick_++;
}

// What had ended before the operation began is gone where it wrote.
void FileOracle::replace(OperationId id) {
  const std::uint64_t begun = operations_[id].begin;
  for (const Extent& extent : operations_[id].extents) {
    on_kept(begun, extent, [&](std::uint64_t from, std::uint64_t to) {
      split(from);
      split(to);
      for (auto cell = cells_.find(from); cell != cells_.end() && cell->first < to; ++cell) {
        std::erase_if(cell->second.now,
                      [&](OperationId other) { return other != id && operations_[other].end < begun; });
      }
    });
  }
}

void FileOracle::settle_size(OperationId id) {
  const Operation& operation = operations_[id];
  if (lost_since(operation.begin)) return;
  if (operation.kind == Kind::truncate) {
    if (!contended(id, [](Kind) { return true; }))
      now_ = Size{operation.extents[0].offset, operation.extents[0].offset};
  } else if (!contended(id, [](Kind kind) { return kind == Kind::truncate; }) && !operation.extents.empty()) {
    now_.least = std::max(now_.least, operation.extents.back().end());
  }
}

// A sync makes durable some state that the file had between its begin and its end.
void FileOracle::settle_durable(OperationId id) {
  const std::uint64_t begun = operations_[id].begin;
  const View& seen = syncs_[id];
  for (auto each = seen.cells.begin(); each != seen.cells.end(); ++each) {
    const auto next = std::next(each);
    const std::uint64_t end = next == seen.cells.end() ? kEnd : next->first;
    on_kept(begun, Extent{Bytes(each->first), Bytes(end - each->first)},
            [&](std::uint64_t from, std::uint64_t to) {
              split(from);
              split(to);
              for (auto cell = cells_.find(from); cell != cells_.end() && cell->first < to; ++cell) {
                std::erase_if(cell->second.durable, [&](OperationId other) {
                  return other < id && !std::binary_search(each->second.begin(), each->second.end(), other);
                });
              }
            });
  }
  if (!lost_since(begun)) durable_ = seen.size;
}

void FileOracle::power_lost(std::uint32_t server) {
  lost_at_.at(server) = tick_++;
  // A range in which only this server's bytes change: those that did not keep their power since this tick.
  const std::uint64_t stripe = layout_.stripe_size.count();
  const std::uint64_t last = std::max(cells_.rbegin()->first, now_.greatest.count());
  for (std::uint64_t at = 0; at <= last; at += stripe) {
    if (layout_.server_of_slot(layout_.slot_of(Bytes(at))) != server) continue;
    split(at);
    split(at + stripe);
    for (auto cell = cells_.find(at); cell->first < at + stripe; ++cell) {
      cell->second.now = cell->second.durable;
      for (auto& [id, seen] : reads_) {
        auto after = seen.cells.upper_bound(cell->first);
        if (after == seen.cells.begin()) continue;
        const auto own = std::prev(after);
        // A copy under the cell's own start: the view may hold a longer run.
        Candidates joined = own->second;
        merge(joined, cell->second.durable);
        if (own->first != cell->first) {
          seen.cells[cell->first] = joined;
        } else {
          own->second = joined;
        }
      }
    }
  }
  now_.least = std::min(now_.least, durable_.least);
  now_.greatest = std::max(now_.greatest, durable_.greatest);
  for (auto& [id, seen] : reads_) {
    seen.size.least = std::min(seen.size.least, durable_.least);
    seen.size.greatest = std::max(seen.size.greatest, durable_.greatest);
  }
}

template <typename Counts>
bool FileOracle::contended(OperationId id, Counts counts) const {
  const std::uint64_t begun = operations_[id].begin;
  for (const OperationId other : running_) {
    if (other != id && counts(operations_[other].kind)) return true;
  }
  for (OperationId other = static_cast<OperationId>(operations_.size() - 1); other > 0; --other) {
    const Operation& each = operations_[other];
    const bool changes = each.kind == Kind::write || each.kind == Kind::truncate;
    if (changes && other != id && each.end > begun && counts(each.kind)) return true;
  }
  return false;
}

bool FileOracle::lost_since(std::uint64_t tick) const {
  return std::any_of(lost_at_.begin(), lost_at_.end(), [tick](std::uint64_t at) { return at > tick; });
}

template <typename Visit>
void FileOracle::on_kept(std::uint64_t tick, Extent extent, Visit visit) const {
  if (!lost_since(tick)) return visit(extent.offset.count(), extent.end().count());
  const std::uint64_t stripe = layout_.stripe_size.count();
  // Past the last cell all is alike, and nothing that any operation named.
  const std::uint64_t end = std::min(extent.end().count(), cells_.rbegin()->first);
  for (std::uint64_t at = extent.offset.count(); at < end;) {
    const std::uint64_t to = std::min(end, (at / stripe + 1) * stripe);
    if (lost_at_[layout_.server_of_slot(layout_.slot_of(Bytes(at)))] <= tick) visit(at, to);
    at = to;
  }
}

std::uint64_t FileOracle::returned(std::span<const Extent> extents, Bytes size) {
  std::uint64_t before = 0;
  std::uint64_t count = 0;
  for (const Extent& extent : extents) {
    if (extent.offset >= size) break;
    count = before + std::min(extent.length, size - extent.offset).count();
    before += extent.length.count();
  }
  return count;
}

Status FileOracle::end_read(OperationId id, std::span<const std::byte> bytes) {
  const View seen = std::move(reads_.at(id));
  reads_.erase(id);
  const std::vector<Extent>& extents = operations_[id].extents;
  operations_[id].end = tick_++;
  const std::uint64_t least = returned(extents, seen.size.least);
  const std::uint64_t greatest = returned(extents, seen.size.greatest);
  if (bytes.size() < least || bytes.size() > greatest) {
    return {Code::internal,
            fmt::format("read returned {} bytes where {} to {} are possible (file size {} to {})",
                        bytes.size(), least, greatest, seen.size.least.count(), seen.size.greatest.count())};
  }
  // Operations that began during the read may be seen too.
  std::vector<OperationId> since;
  for (OperationId other = id + 1; other < operations_.size(); ++other) {
    const Kind kind = operations_[other].kind;
    if (kind == Kind::write || kind == Kind::truncate) since.push_back(other);
  }
  std::uint64_t position = 0;
  for (const Extent& extent : extents) {
    for (std::uint64_t at = 0; at < extent.length.count() && position < bytes.size(); ++at, ++position) {
      const Bytes offset = extent.offset + Bytes(at);
      const Candidates& candidates = std::prev(seen.cells.upper_bound(offset.count()))->second;
      const std::byte byte = bytes[position];
      if (allowed(byte, offset, candidates)) continue;
      Candidates more;
      for (const OperationId other : since) {
        for (const Extent& touched : operations_[other].extents) {
          if (touched.offset <= offset && offset < touched.end()) more.push_back(other);
        }
      }
      if (allowed(byte, offset, more)) continue;
      merge(more, candidates);
      return {Code::internal, describe(offset, byte, more)};
    }
  }
  return {};
}

Status FileOracle::check_size(OperationId read, Bytes size) const {
  const Size& possible = reads_.at(read).size;
  if (size >= possible.least && size <= possible.greatest) return {};
  return {Code::internal, fmt::format("size is {} where {} to {} are possible", size.count(),
                                      possible.least.count(), possible.greatest.count())};
}

bool FileOracle::allowed(std::byte byte, Bytes offset, const Candidates& candidates) const {
  return std::any_of(candidates.begin(), candidates.end(), [&](OperationId id) {
    const bool zero = id == 0 || operations_[id].kind == Kind::truncate;
    return byte == (zero ? std::byte{0} : value(id, offset));
  });
}

std::string FileOracle::describe(Bytes offset, std::byte byte, const Candidates& candidates) const {
  std::vector<OperationId> writers;
  for (OperationId id = 1; id < operations_.size(); ++id) {
    if (operations_[id].kind != Kind::write || value(id, offset) != byte) continue;
    for (const Extent& extent : operations_[id].extents) {
      if (extent.offset <= offset && offset < extent.end()) writers.push_back(id);
    }
  }
  return fmt::format(
      "byte {} (server {}) is {:#04x}; operations {} may be there; that value was written by {}",
      offset.count(), layout_.server_of_slot(layout_.slot_of(offset)), static_cast<int>(byte),
      fmt::join(candidates, ","),
      byte == std::byte{0} ? "nobody (a hole)" : fmt::format("operations [{}]", fmt::join(writers, ",")));
}

}  // namespace tutti
