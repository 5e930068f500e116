#include "parallel/exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>
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

Exchange::Exchange(Group& group, CollectiveFile& file, const Arrangement& arrangement,
                   const TypedMemory& memory, const ViewRange& mine, std::vector<ViewRange> views,
                   const CollectiveOptions& options)
    : group_(group),
      file_(file),
      arrangement_(arrangement),
      schedule_(arrangement.aggregators),
      memory_(memory),
      mine_(mine),
      views_(std::move(views)),
      options_(options) {
  const auto own = std::find_if(schedule_.begin(), schedule_.end(),
                                [&](const Aggregator& each) { return each.rank == group.rank(); });
  own_ = static_cast<std::size_t>(own - schedule_.begin());
  for (const Aggregator& aggregator : schedule_) rounds_ = std::max(rounds_, aggregator.rounds.size());
}

const Round* Exchange::round_of(std::size_t aggregator, std::size_t round) const {
  if (aggregator >= schedule_.size()) return nullptr;
  const auto& rounds = schedule_[aggregator].rounds;
  return round < rounds.size() ? &rounds[round] : nullptr;
}

Bytes Exchange::round_memory() const {
  return Bytes(std::max(slots_[0].buffer.size(), slots_[1].buffer.size()));
}

std::size_t Exchange::cut(const Round& round, std::vector<PlacedRun>& runs) const {
  std::size_t bytes = 0;
  for (const Extent& part : round) {
    if (!mine_.ascending()) {
      mine_.cut(part, runs);
      continue;
    }
    // All that lies in a part is one stretch of the data, and goes on where the last one ended unless others
    // lie between.
    const std::int64_t length = mine_.bytes_in(part);
    if (length == 0) continue;
    const std::int64_t data = mine_.bytes_in({0_B, part.offset});
    if (!runs.empty() && runs.back().data + runs.back().length == data) {
      runs.back().length += length;
    } else {
      runs.push_back({0, length, data});
    }
  }
  for (const PlacedRun& run : runs) bytes += static_cast<std::size_t>(run.length);
  return bytes;
}

// Messages in the caller's memory have their place already; the lengths of the others are noted.
void Exchange::find_messages(std::size_t number, Slot& slot, std::vector<std::size_t>& lengths) const {
  slot.messages.clear();
  for (std::size_t i = 0; i < schedule_.size(); ++i) {
    const Round* round = round_of(i, number);
    if (round == nullptr) continue;
    Message message;
    message.aggregator = i;
    const std::size_t bytes = cut(*round, message.runs);
    if (bytes == 0) continue;
    message.direct = message.runs.size() == 1 && memory_.contiguous();
    if (message.direct) {
      message.bytes = memory_.all().subspan(static_cast<std::size_t>(message.runs[0].data), bytes);
    } else {
      lengths.push_back(bytes);
    }
    slot.messages.push_back(std::move(message));
  }
}

void Exchange::find_parcels(std::size_t number, Slot& slot, std::vector<std::size_t>& lengths) const {
  slot.parcels.clear();
  const Round* own = round_of(own_, number);
  if (own == nullptr) return;
  for (int rank = 0; rank < group_.size(); ++rank) {
    if (rank == group_.rank()) continue;
    std::int64_t bytes = 0;
    for (const Extent& part : *own) bytes += view_of(rank).bytes_in(part);
    if (bytes == 0) continue;
    slot.parcels.push_back({rank, {}});
    lengths.push_back(static_cast<std::size_t>(bytes));
  }
}

void Exchange::address(std::size_t number, Slot& slot) const {
  slot.send.clear();
  slot.receive.clear();
  std::vector<std::size_t> lengths;
  find_messages(number, slot, lengths);
  find_parcels(number, slot, lengths);
  std::span<std::byte> left = slot.room.of(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}));
  auto length = lengths.begin();
  const auto take = [&] {
    const auto place = left.first(*length);
    left = left.subspan(*length++);
    return place;
  };
  for (Message& message : slot.messages) {
    if (!message.direct) message.bytes = take();
  }
  for (Parcel& parcel : slot.parcels) parcel.bytes = take();
}

void Exchange::open(const Round& round, Slot& slot) const {
  slot.round.reset(round);
  slot.bytes = slot.buffer.of(slot.round.bytes().count());
}

// ---- writing ----

Task<Status> Exchange::exchange_for_write(std::size_t number, Slot& slot) {
  address(number, slot);
  std::span<const std::byte> to_myself;
  for (const Message& message : slot.messages) {
    std::byte* to = message.bytes.data();
    for (const PlacedRun& run : message.runs) {
      if (message.direct) break;
      memory_.gather(run.data, {to, static_cast<std::size_t>(run.length)});
      to += run.length;
    }
    if (message.aggregator == own_) {
      to_myself = message.bytes;
    } else {
      slot.send.push_back({schedule_[message.aggregator].rank, message.bytes});
    }
  }
  for (const Parcel& parcel : slot.parcels) slot.receive.push_back({parcel.rank, parcel.bytes});
  if (!slot.send.empty() || !slot.receive.empty()) {
    TUTTI_CO_TRY(co_await group_.exchange(slot.send, slot.receive));
  }
  const Round* own = round_of(own_, number);
  if (own == nullptr) co_return Status();
  open(*own, slot);
  const auto place = [&slot](const ViewRange& view, std::span<const std::byte> bytes) {
    slot.round.each_run(view, [&](std::uint64_t at, std::size_t length, std::size_t in_message) {
      std::memcpy(slot.bytes.data() + at, bytes.data() + in_message, length);
      slot.round.want(at, length);
    });
  };
  if (!to_myself.empty()) place(view_of(group_.rank()), to_myself);
  for (const Parcel& parcel : slot.parcels) place(view_of(parcel.rank), parcel.bytes);
  co_return Status();
}

Task<Status> Exchange::write_round(std::size_t number, Slot& slot) {
  if (round_of(own_, number) == nullptr || !failure_.ok()) co_return Status();
  const PackedRound::Wanted wanted = slot.round.wanted(0_B);
  if (wanted.file.empty()) co_return Status();
  std::vector<std::span<const std::byte>> memory;
  memory.reserve(wanted.buffer.size());
  for (const Extent& place : wanted.buffer)
    memory.push_back(slot.bytes.subspan(place.offset.count(), place.length.count()));
  failure_ = co_await file_.write_list(wanted.file, memory, options_);
  co_return Status();
}

Task<Status> Exchange::write() {
  for (std::size_t round = 0; round <= rounds_; ++round) {
    Task<Status> next = round < rounds_ ? exchange_for_write(round, slots_[round % 2]) : nothing();
    Task<Status> last = round > 0 ? write_round(round - 1, slots_[(round - 1) % 2]) : nothing();
    TUTTI_CO_TRY(co_await both(std::move(next), std::move(last)));
  }
  co_return Status();
}

// ---- reading ----

Task<Status> Exchange::read_round(std::size_t number, Slot& slot) {
  const Round* own = round_of(own_, number);
  if (own == nullptr) co_return Status();
  open(*own, slot);
  if (!failure_.ok()) co_return Status();
  for (const ViewRange& view : views_) {
    slot.round.each_run(view, [&](std::uint64_t at, std::size_t length, std::size_t /*in_message*/) {
      slot.round.want(at, length);
    });
  }
  const PackedRound::Wanted wanted =
      slot.round.wanted(options_.ds_read != Toggle::disable ? kWorthReading : 0_B);
  if (wanted.file.empty()) co_return Status();
  std::vector<std::span<std::byte>> memory;
  memory.reserve(wanted.buffer.size());
  for (const Extent& place : wanted.buffer)
    memory.push_back(slot.bytes.subspan(place.offset.count(), place.length.count()));
  const auto got = co_await file_.read_list(wanted.file, memory);
  failure_ = got.status();
  if (got.ok() && *got < wanted.bytes) short_read_ = true;
  co_return Status();
}

Task<Status> Exchange::exchange_after_read(std::size_t number, Slot& slot) {
  address(number, slot);
  const auto fill = [&slot](const ViewRange& view, std::span<std::byte> bytes) {
    slot.round.each_run(view, [&](std::uint64_t at, std::size_t length, std::size_t in_message) {
      std::memcpy(bytes.data() + in_message, slot.bytes.data() + at, length);
    });
  };
  for (const Message& message : slot.messages) {
    if (message.aggregator == own_) {
      fill(view_of(group_.rank()), message.bytes);
    } else {
      slot.receive.push_back({schedule_[message.aggregator].rank, message.bytes});
    }
  }
  for (const Parcel& parcel : slot.parcels) {
    fill(view_of(parcel.rank), parcel.bytes);
    slot.send.push_back({parcel.rank, parcel.bytes});
  }
  if (!slot.send.empty() || !slot.receive.empty()) {
    TUTTI_CO_TRY(co_await group_.exchange(slot.send, slot.receive));
  }
  for (const Message& message : slot.messages) {
    const std::byte* from = message.bytes.data();
    for (const PlacedRun& run : message.runs) {
      if (message.direct) break;
      memory_.scatter({from, static_cast<std::size_t>(run.length)}, run.data);
      from += run.length;
    }
  }
  co_return Status();
}

// Nothing is exchanged meanwhile, so that the group is free for the words between those who take turns.
Task<Status> Exchange::read_first() {
  Turns turns(group_, file_, arrangement_);
  Status outcome;
  TUTTI_CO_TRY(co_await turns.run(read_round(0, slots_[0]), outcome));
  co_return outcome;
}

Task<Status> Exchange::read() {
  if (rounds_ > 0) TUTTI_CO_TRY(co_await read_first());
  for (std::size_t round = 1; round <= rounds_; ++round) {
    Task<Status> next = round < rounds_ ? read_round(round, slots_[round % 2]) : nothing();
    Task<Status> last = exchange_after_read(round - 1, slots_[(round - 1) % 2]);
    TUTTI_CO_TRY(co_await both(std::move(next), std::move(last)));
  }
  co_return Status();
}

}  // namespace tutti
