#include "parallel/exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "env/combine.h"
#include "policy/collective/sieve.h"

namespace tutti {
namespace {

Task<Status> nothing() { co_return Status(); }

Task<Status> both(Task<Status> first, Task<Status> second) {
  std::vector<Task<Status>> tasks;
  tasks.push_back(std::move(first));
  tasks.push_back(std::move(second));
  for (Status& status : co_await when_all(std::move(tasks))) {
    if (!status.ok()) co_return std::move(status);
  }
  co_return Status();
}

}  // namespace

Exchange::Exchange(Group& group, OpenFile& file, const Schedule& schedule, const TypedMemory& memory,
                   const ViewRange& mine, std::vector<ViewRange> views, const CollectiveOptions& options)
    : group_(group),
      file_(file),
      schedule_(schedule),
      memory_(memory),
      mine_(mine),
      views_(std::move(views)),
      options_(options) {
  const auto own = std::find_if(schedule.begin(), schedule.end(),
                                [&](const Aggregator& each) { return each.rank == group.rank(); });
  own_ = static_cast<std::size_t>(own - schedule.begin());
  for (const Aggregator& aggregator : schedule) rounds_ = std::max(rounds_, aggregator.rounds.size());
}

const Round* Exchange::round_of(std::size_t aggregator, std::size_t round) const {
  if (aggregator >= schedule_.size()) return nullptr;
  const auto& rounds = schedule_[aggregator].rounds;
  return round < rounds.size() ? &rounds[round] : nullptr;
}

std::int64_t Exchange::bytes_in(const ViewRange& range, const Round& round) {
  std::int64_t bytes = 0;
  for (const Extent& part : round) bytes += range.bytes_in(part);
  return bytes;
}

std::span<std::byte> Exchange::message(Slot& slot, std::size_t aggregator, const Round& round) {
  std::vector<PlacedRun>& runs = slot.mine[aggregator];
  runs.clear();
  if (mine_.ascending() && round.size() == 1) {
    // All of it is one stretch of the data.
    const std::int64_t bytes = mine_.bytes_in(round[0]);
    if (bytes == 0) return {};
    const std::int64_t before = mine_.bytes_in({0_B, round[0].offset});
    runs.push_back({0, bytes, before});
  } else {
    for (const Extent& part : round) mine_.cut(part, runs);
    if (runs.empty()) return {};
  }
  if (runs.size() == 1 && memory_.contiguous()) {
    return memory_.all().subspan(static_cast<std::size_t>(runs[0].data),
                                 static_cast<std::size_t>(runs[0].length));
  }
  std::size_t bytes = 0;
  for (const PlacedRun& run : runs) bytes += static_cast<std::size_t>(run.length);
  slot.packed.emplace_back(bytes);
  return slot.packed.back();
}

// Makes room for the round's part of the file, from its first to its last wanted byte at most.
void Exchange::open_window(Slot& slot, const Round& round) {
  slot.span = {round.front().offset, round.back().end() - round.front().offset};
  if (slot.room < slot.span.length.count()) {
    slot.room = slot.span.length.count();
    slot.window = std::make_unique_for_overwrite<std::byte[]>(slot.room);
  }
  slot.coverage.reset(slot.span.length);
}

// Calls visit(place in the window, length, place in the message) for each run of a rank in the round.
template <typename Visit>
void Exchange::each_run(int rank, const Round& round, Slot& slot, Visit visit) {
  runs_.clear();
  for (const Extent& part : round) views_[static_cast<std::size_t>(rank)].cut(part, runs_);
  std::size_t at = 0;
  for (const PlacedRun& run : runs_) {
    const std::uint64_t offset = static_cast<std::uint64_t>(run.file) - slot.span.offset.count();
    visit(offset, static_cast<std::size_t>(run.length), at);
    at += static_cast<std::size_t>(run.length);
  }
}

// ---- writing ----

Task<Status> Exchange::exchange_for_write(std::size_t number, Slot& slot) {
  slot.packed.clear();
  slot.packed.reserve(schedule_.size() + static_cast<std::size_t>(group_.size()));
  slot.send.clear();
  slot.receive.clear();
  slot.mine.resize(schedule_.size());
  for (std::size_t i = 0; i < schedule_.size(); ++i) {
    const Round* round = round_of(i, number);
    if (round == nullptr) continue;
    const std::size_t before = slot.packed.size();
    const std::span<std::byte> bytes = message(slot, i, *round);
    if (bytes.empty()) continue;
    if (slot.packed.size() > before) {
      std::size_t at = 0;
      for (const PlacedRun& run : slot.mine[i]) {
        memory_.gather(run.data, bytes.subspan(at, static_cast<std::size_t>(run.length)));
        at += static_cast<std::size_t>(run.length);
      }
    }
    slot.send.push_back({schedule_[i].rank, bytes});
  }
  const Round* own = round_of(own_, number);
  std::span<const std::byte> to_myself;
  std::erase_if(slot.send, [&](const Outgoing& out) {
    if (out.to != group_.rank()) return false;
    to_myself = out.bytes;
    return true;
  });
  if (own != nullptr) {
    for (int rank = 0; rank < group_.size(); ++rank) {
      if (rank == group_.rank()) continue;
      const std::int64_t bytes = bytes_in(views_[static_cast<std::size_t>(rank)], *own);
      if (bytes == 0) continue;
      slot.packed.emplace_back(static_cast<std::size_t>(bytes));
      slot.receive.push_back({rank, slot.packed.back()});
    }
  }
  if (!slot.send.empty() || !slot.receive.empty()) {
    TUTTI_CO_TRY(co_await group_.exchange(slot.send, slot.receive));
  }
  if (own == nullptr) co_return Status();
  open_window(slot, *own);
  const auto place = [&](int rank, std::span<const std::byte> bytes) {
    each_run(rank, *own, slot, [&](std::uint64_t offset, std::size_t length, std::size_t at) {
      std::memcpy(slot.window.get() + offset, bytes.data() + at, length);
      slot.coverage.add(offset, offset + length);
    });
  };
  if (!to_myself.empty()) place(group_.rank(), to_myself);
  for (const Incoming& in : slot.receive) place(in.from, in.bytes);
  co_return Status();
}

Task<Status> Exchange::write_window(std::size_t number, Slot& slot) {
  if (round_of(own_, number) == nullptr || !failure_.ok()) co_return Status();
  const std::vector<Extent> extents = slot.coverage.extents(slot.span.offset);
  if (extents.empty()) co_return Status();
  std::vector<std::span<const std::byte>> memory;
  memory.reserve(extents.size());
  for (const Extent& extent : extents) {
    memory.emplace_back(slot.window.get() + (extent.offset - slot.span.offset).count(),
                        extent.length.count());
  }
  failure_ = co_await file_.write_list(extents, memory);
  co_return Status();
}

Task<Status> Exchange::write() {
  for (std::size_t round = 0; round <= rounds_; ++round) {
    Task<Status> next = round < rounds_ ? exchange_for_write(round, slots_[round % 2]) : nothing();
    Task<Status> last = round > 0 ? write_window(round - 1, slots_[(round - 1) % 2]) : nothing();
    TUTTI_CO_TRY(co_await both(std::move(next), std::move(last)));
  }
  co_return Status();
}

// ---- reading ----

Task<Status> Exchange::read_window(std::size_t number, Slot& slot) {
  const Round* own = round_of(own_, number);
  if (own == nullptr) co_return Status();
  open_window(slot, *own);
  if (!failure_.ok()) co_return Status();
  for (int rank = 0; rank < group_.size(); ++rank) {
    each_run(rank, *own, slot, [&](std::uint64_t offset, std::size_t length, std::size_t /*at*/) {
      slot.coverage.add(offset, offset + length);
    });
  }
  std::vector<Extent> extents = slot.coverage.extents(slot.span.offset);
  if (extents.empty()) co_return Status();
  if (options_.ds_read != Toggle::disable)
    extents = join_over_holes(extents, kWorthReading, slot.span.length);
  std::vector<std::span<std::byte>> memory;
  memory.reserve(extents.size());
  Bytes wanted;
  for (const Extent& extent : extents) {
    memory.emplace_back(slot.window.get() + (extent.offset - slot.span.offset).count(),
                        extent.length.count());
    wanted += extent.length;
  }
  const auto got = co_await file_.read_list(extents, memory);
  failure_ = got.status();
  if (got.ok() && *got < wanted) short_read_ = true;
  co_return Status();
}

Task<Status> Exchange::exchange_after_read(std::size_t number, Slot& slot) {
  slot.packed.clear();
  slot.packed.reserve(schedule_.size() + static_cast<std::size_t>(group_.size()));
  slot.send.clear();
  slot.receive.clear();
  slot.mine.resize(schedule_.size());
  struct Arrival {
    std::size_t aggregator;
    std::span<std::byte> bytes;
    bool packed;
  };
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i < schedule_.size(); ++i) {
    const Round* round = round_of(i, number);
    if (round == nullptr) continue;
    const std::size_t before = slot.packed.size();
    const std::span<std::byte> bytes = message(slot, i, *round);
    if (bytes.empty()) continue;
    arrivals.push_back({i, bytes, slot.packed.size() > before});
    if (i != own_) slot.receive.push_back({schedule_[i].rank, bytes});
  }
  if (const Round* own = round_of(own_, number)) {
    for (int rank = 0; rank < group_.size(); ++rank) {
      std::span<std::byte> bytes;
      if (rank == group_.rank()) {
        for (const Arrival& arrival : arrivals) {
          if (arrival.aggregator == own_) bytes = arrival.bytes;
        }
      } else {
        const std::int64_t count = bytes_in(views_[static_cast<std::size_t>(rank)], *own);
        if (count == 0) continue;
        slot.packed.emplace_back(static_cast<std::size_t>(count));
        bytes = slot.packed.back();
        slot.send.push_back({rank, bytes});
      }
      if (bytes.empty()) continue;
      each_run(rank, *own, slot, [&](std::uint64_t offset, std::size_t length, std::size_t at) {
        std::memcpy(bytes.data() + at, slot.window.get() + offset, length);
      });
    }
  }
  if (!slot.send.empty() || !slot.receive.empty()) {
    TUTTI_CO_TRY(co_await group_.exchange(slot.send, slot.receive));
  }
  for (const Arrival& arrival : arrivals) {
    if (!arrival.packed) continue;
    std::size_t at = 0;
    for (const PlacedRun& run : slot.mine[arrival.aggregator]) {
      memory_.scatter(arrival.bytes.subspan(at, static_cast<std::size_t>(run.length)), run.data);
      at += static_cast<std::size_t>(run.length);
    }
  }
  co_return Status();
}

Task<Status> Exchange::read() {
  for (std::size_t round = 0; round <= rounds_; ++round) {
    Task<Status> next = round < rounds_ ? read_window(round, slots_[round % 2]) : nothing();
    Task<Status> last = round > 0 ? exchange_after_read(round - 1, slots_[(round - 1) % 2]) : nothing();
    TUTTI_CO_TRY(co_await both(std::move(next), std::move(last)));
  }
  co_return Status();
}

}  // namespace tutti
