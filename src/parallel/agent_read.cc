#include "parallel/agent_read.h"

#include <algorithm>
#include <utility>

#include "env/combine.h"
#include "policy/collective/sieve.h"

namespace tutti {
namespace {

constexpr std::size_t kRunsAtOnce = 16'384;  // in one list

Extent extent_of(const PlacedRun& run) {
  return {Bytes(static_cast<std::uint64_t>(run.file)), Bytes(static_cast<std::uint64_t>(run.length))};
}

}  // namespace

AgentRead::AgentRead(Group& group, CollectiveFile& file, const Arrangement& arrangement,
                     const TypedMemory& memory, const ViewRange& mine, std::vector<ViewRange> views,
                     const CollectiveOptions& options)
    : group_(group),
      file_(file),
      arrangement_(arrangement),
      memory_(memory),
      mine_(mine),
      views_(std::move(views)),
      options_(options) {
  for (const Aggregator& each : arrangement.aggregators) {
    if (each.rank == group.rank()) own_ = &each;
    rounds_ = std::max(rounds_, each.rounds.size());
  }
}

Task<Status> AgentRead::run() {
  return arrangement_.reading == ReadForm::prefetch ? run_prefetch() : run_reread();
}

PackedRound::Wanted AgentRead::wanted_in(const Round& round) {
  round_.reset(round);
  for (const ViewRange& view : views_) {
    round_.each_run(view, [&](std::uint64_t at, std::size_t length, std::size_t /*in_message*/) {
      round_.want(at, length);
    });
  }
  return round_.wanted(options_.ds_read != Toggle::disable ? kWorthReading : 0_B);
}

// ---- reread ----

Task<Status> AgentRead::run_reread() {
  Turns turns(group_, file_, arrangement_);
  TUTTI_CO_TRY(co_await turns.run(read_parts_of_all(), failure_));
  // All synchronize; where one failed, nobody need wait for the same server once more.
  failure_ = co_await agree(group_, failure_);
  if (failure_.ok()) failure_ = co_await read_own(other_parts());
  co_return Status();
}

Task<Status> AgentRead::read_parts_of_all() {
  if (own_ == nullptr) co_return Status();
  for (const Round& round : own_->rounds) {
    const PackedRound::Wanted wanted = wanted_in(round);
    if (wanted.file.empty()) continue;
    const std::span<std::byte> bytes = buffer_.of(round_.bytes().count());
    std::vector<std::span<std::byte>> memory;
    for (const Extent& place : wanted.buffer)
      memory.push_back(bytes.subspan(place.offset.count(), place.length.count()));
    const auto got = co_await file_.read_list(wanted.file, memory);
    if (!got.ok()) co_return got.status();
    if (*got < wanted.bytes) short_read_ = true;
    if (arrangement_.reading == ReadForm::reread) keep_own(bytes);
  }
  co_return Status();
}

// The view that this rank sent has its data in file order; where in memory that is, the own range knows.
void AgentRead::keep_own(std::span<const std::byte> bytes) {
  round_.each_placed(mine_, [&](std::uint64_t at, const PlacedRun& run) {
    memory_.scatter(bytes.subspan(at, static_cast<std::size_t>(run.length)), run.data);
  });
}

std::vector<Extent> AgentRead::other_parts() const {
  const Extent bounds = mine_.bounds();
  if (own_ == nullptr || arrangement_.reading == ReadForm::reread_all) return {bounds};
  std::vector<Extent> parts;
  Bytes at = bounds.offset;
  for (const Round& round : own_->rounds) {
    for (const Extent& part : round) {
      const Bytes end = std::min(part.offset, bounds.end());
      if (at < end) parts.push_back({at, end - at});
      at = std::max(at, part.end());
    }
  }
  if (at < bounds.end()) parts.push_back({at, bounds.end() - at});
  return parts;
}

Task<Status> AgentRead::read_own(std::vector<Extent> parts) {
  std::vector<PlacedRun> runs;
  for (const Extent& part : parts) mine_.cut(part, runs);
  const bool direct = memory_.contiguous();
  std::vector<Extent> file;
  std::vector<std::span<std::byte>> memory;
  for (std::size_t first = 0; first < runs.size(); first += kRunsAtOnce) {
    const auto some = std::span(runs).subspan(first, std::min(kRunsAtOnce, runs.size() - first));
    file.clear();
    memory.clear();
    std::size_t bytes = 0;
    for (const PlacedRun& run : some) {
      file.push_back(extent_of(run));
      bytes += static_cast<std::size_t>(run.length);
      if (direct)
        memory.push_back(
            memory_.all().subspan(static_cast<std::size_t>(run.data), static_cast<std::size_t>(run.length)));
    }
    std::span<std::byte> room;
    if (!direct) {
      room = buffer_.of(bytes);
      memory.push_back(room);
    }
    const auto got = co_await file_.read_list(file, memory);
    if (!got.ok()) co_return got.status();
    if (*got < Bytes(bytes)) short_read_ = true;
    for (const PlacedRun& run : some) {
      if (direct) break;
      const auto length = static_cast<std::size_t>(run.length);
      memory_.scatter(room.first(length), run.data);
      room = room.subspan(length);
    }
  }
  co_return Status();
}

// ---- prefetch ----

std::vector<Extent> AgentRead::parts_of_round(std::size_t number) const {
  std::vector<Extent> parts;
  for (const Aggregator& each : arrangement_.aggregators) {
    if (number >= each.rounds.size()) continue;
    parts.insert(parts.end(), each.rounds[number].begin(), each.rounds[number].end());
  }
  std::sort(parts.begin(), parts.end());
  std::vector<Extent> joined;
  for (const Extent& part : parts) {
    if (!joined.empty() && joined.back().end() == part.offset) {
      joined.back().length += part.length;
    } else {
      joined.push_back(part);
    }
  }
  return joined;
}

// A hint: what goes wrong shows when the bytes are read.
Task<Status> AgentRead::fetch(std::size_t number) {
  if (own_ == nullptr || number >= own_->rounds.size()) co_return Status();
  const PackedRound::Wanted wanted = wanted_in(own_->rounds[number]);
  if (!wanted.file.empty()) (co_await file_.prefetch(wanted.file)).ignore();
  co_return Status();
}

Task<Status> AgentRead::run_prefetch() {
  Turns turns(group_, file_, arrangement_);
  Status fetched;
  TUTTI_CO_TRY(co_await turns.run(fetch(0), fetched));
  for (std::size_t round = 0; round < rounds_; ++round) {
    TUTTI_CO_TRY(co_await group_.barrier());
    std::vector<Task<Status>> tasks;
    tasks.push_back(fetch(round + 1));
    if (failure_.ok()) tasks.push_back(read_own(parts_of_round(round)));
    const std::vector<Status> ended = co_await when_all(std::move(tasks));
    if (failure_.ok()) failure_ = ended.back();
  }
  co_return Status();
}

}  // namespace tutti
