#include "parallel/collective.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "layout/view_range.h"
#include "parallel/agent_read.h"
#include "parallel/collective_file.h"
#include "parallel/exchange.h"
#include "parallel/slot_bytes.h"
#include "parallel/turns.h"
#include "parallel/typed_memory.h"

namespace tutti {
namespace {

constexpr std::size_t kViewInRecord = 160;      // a view of so many bytes travels with the facts
constexpr std::size_t kLongestView = 64 << 10;  // a longer one is clipped for each aggregator

// What each rank tells all others first.
struct Record {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
  std::uint64_t bytes = 0;
  std::uint64_t runs = 0;
  std::uint64_t view_size = 0;  // 0: none, or too long to be sent whole
  std::uint32_t refused = 0;    // or, afterwards, failed
  std::uint16_t rotational = 0;
  std::uint16_t begun = 0;  // its bytes are moved already
  std::uint64_t call = 0;   // a DirectedCall's; that of rank 0 counts
  std::array<std::byte, kViewInRecord> view{};
};

std::uint64_t runs_of(const FileView& view, std::int64_t bytes) {
  if (bytes == 0) return 0;
  if (view.contiguous()) return 1;
  const double mean = static_cast<double>(view.filetype.size()) / static_cast<double>(view.filetype.blocks());
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / mean) + 1;
}

// One collective call of one rank.
class Call {
 public:
  Call(bool write, Group& group, CollectiveFile& file, FileAccess access, const CollectiveOptions& options,
       const CollectivePlan& plan)
      : write_(write),
        group_(group),
        file_(file),
        access_(std::move(access)),
        options_(options),
        plan_(plan),
        memory_(access_.base, access_.type, access_.refused.ok() ? access_.count : 0) {}

  // The agreed Status.
  Task<Status> run();
  // Of a read, afterwards.
  [[nodiscard]] Bytes got() const { return got_; }

 private:
  [[nodiscard]] Toggle aggregate() const { return write_ ? options_.cb_write : options_.cb_read; }
  [[nodiscard]] Record own_record();
  // `after`: the call has been made, and ended so on this rank. `views`: whether somebody may need the views.
  Task<Status> share_facts(const Status* after, bool views);
  [[nodiscard]] bool anybody_refused() const;
  [[nodiscard]] bool may_assume() const;
  // Whether this rank begins a call that is not assumed to be anything.
  [[nodiscard]] bool guesses_own() const;
  Task<Status> by_habit();
  Task<Status> by_guess();
  Task<Status> as_arranged();
  [[nodiscard]] std::vector<RankFacts> facts_of_ranks() const;
  [[nodiscard]] Arrangement arrange() const;
  void direct();
  Task<Status> alone();
  Task<Status> alone_in_turn(const Arrangement& arrangement);
  Task<Status> together(const Arrangement& arrangement);
  Task<Status> read_together(const Arrangement& arrangement, std::vector<ViewRange> views);
  Task<Result<std::vector<ViewRange>>> gather_views(const Schedule& schedule);
  Task<Result<std::vector<ViewRange>>> gather_long_views(const Schedule& schedule, bool whole);
  Task<Status> count_to_the_end();

  bool write_;
  Group& group_;
  CollectiveFile& file_;
  FileAccess access_;
  const CollectiveOptions& options_;
  const CollectivePlan& plan_;
  TypedMemory memory_;
  ViewRange range_;
  std::vector<std::byte> view_;  // encoded; empty if it is too long
  std::vector<Record> records_;  // of all ranks
  std::vector<std::uint64_t>
      by_slot_;  // of all ranks: bytes on each of the file's servers, if the plan wants it
  DirectedCall call_;
  Bytes got_;
};

Task<Status> Call::run() {
  if (plan_.always_independent() || aggregate() == Toggle::disable || group_.size() == 1) {
    Status status = access_.refused;
    if (status.ok()) status = co_await alone();
    co_return co_await agree(group_, std::move(status));
  }
  if (!may_assume()) {
    TUTTI_CO_TRY(co_await share_facts(nullptr, true));
    if (anybody_refused()) co_return co_await agree(group_, access_.refused);
    co_return co_await as_arranged();
  }
  if (access_.habit->assumes_own(write_)) co_return co_await by_habit();
  co_return co_await by_guess();
}

Task<Status> Call::as_arranged() {
  const Arrangement arrangement = arrange();
  if (may_assume()) access_.habit->saw(write_, arrangement.own(), false);
  if (!arrangement.aggregators.empty()) co_return co_await together(arrangement);
  if (plan_.directed()) direct();
  co_return co_await alone_in_turn(arrangement);
}

bool Call::anybody_refused() const {
  return std::any_of(records_.begin(), records_.end(),
                     [](const Record& record) { return record.refused != 0; });
}

// Hints that ask for aggregation get it from the first call on.
bool Call::may_assume() const {
  return access_.habit != nullptr && plan_.has_habits() && aggregate() == Toggle::automatic;
}

bool Call::guesses_own() const {
  if (!access_.refused.ok() || !access_.habit->may_guess(write_) || !file_.solid()) return false;
  RankFacts mine;
  mine.bytes = Bytes(static_cast<std::uint64_t>(memory_.bytes()));
  mine.runs = runs_of(*access_.view, memory_.bytes());
  return plan_.would_be_own(mine);
}

Task<Status> Call::by_habit() {
  Status status = access_.refused;
  if (status.ok()) status = co_await alone();
  TUTTI_CO_TRY(co_await share_facts(&status, false));
  if (anybody_refused()) co_return co_await agree(group_, std::move(status));
  access_.habit->saw(write_, arrange().own(), true);
  co_return Status();
}

// Each rank guesses for itself. Where some have begun, the others do as they did.
Task<Status> Call::by_guess() {
  const bool begin = guesses_own();
  Status status = access_.refused;
  if (begin) status = co_await alone();
  TUTTI_CO_TRY(co_await share_facts(begin ? &status : nullptr, true));
  if (anybody_refused()) co_return co_await agree(group_, std::move(status));
  const auto begun =
      std::count_if(records_.begin(), records_.end(), [](const Record& record) { return record.begun != 0; });
  if (begun == 0) co_return co_await as_arranged();
  access_.habit->saw(write_, arrange().own(), true);
  if (begun == group_.size()) co_return Status();
  if (!begin) status = co_await alone();
  co_return co_await agree(group_, std::move(status));
}

Record Call::own_record() {
  Record mine;
  mine.refused = access_.refused.ok() ? 0 : 1;
  mine.rotational = file_.rotational() ? 1 : 0;
  if (plan_.directed()) mine.call = file_.new_call();
  if (!access_.refused.ok()) return mine;
  range_ = ViewRange(*access_.view, access_.data_offset, memory_.bytes());
  mine.first = range_.bounds().offset.count();
  mine.length = range_.bounds().length.count();
  mine.bytes = static_cast<std::uint64_t>(memory_.bytes());
  mine.runs = runs_of(*access_.view, memory_.bytes());
  if (mine.bytes > 0) {
    if (auto encoded = range_.encode(kLongestView)) view_ = std::move(*encoded);
  }
  mine.view_size = view_.size();
  if (view_.size() <= kViewInRecord) std::copy(view_.begin(), view_.end(), mine.view.begin());
  return mine;
}

// One message from each rank: its record and, if the plan wants it, its bytes by slot.
Task<Status> Call::share_facts(const Status* after, bool views) {
  const auto ranks = static_cast<std::size_t>(group_.size());
  Record record = own_record();
  if (after != nullptr) record.refused = after->ok() ? 0 : 1;
  record.begun = after != nullptr ? 1 : 0;
  const std::size_t size = views ? sizeof(record) : offsetof(Record, view);
  std::vector<std::uint64_t> slots;
  if (plan_.wants_bytes_by_slot()) {
    for (const Bytes bytes : bytes_by_slot(range_, record.runs, file_.layout()))
      slots.push_back(bytes.count());
  }
  const auto told = std::as_bytes(std::span(slots));
  std::vector<std::byte> mine(size + told.size());
  std::memcpy(mine.data(), &record, size);
  std::copy(told.begin(), told.end(), mine.begin() + static_cast<std::ptrdiff_t>(size));
  std::vector<std::byte> all(ranks * mine.size());
  TUTTI_CO_TRY(co_await group_.allgather(mine, all));
  records_.resize(ranks);
  by_slot_.resize(ranks * slots.size());
  auto numbers = std::as_writable_bytes(std::span(by_slot_)).begin();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto from = std::span(all).subspan(rank * mine.size(), mine.size());
    std::memcpy(&records_[rank], from.data(), size);
    numbers = std::copy(from.begin() + static_cast<std::ptrdiff_t>(size), from.end(), numbers);
  }
  co_return Status();
}

std::vector<RankFacts> Call::facts_of_ranks() const {
  std::vector<RankFacts> ranks;
  ranks.reserve(records_.size());
  const std::size_t slots = by_slot_.size() / records_.size();
  for (std::size_t rank = 0; rank < records_.size(); ++rank) {
    const Record& record = records_[rank];
    RankFacts facts;
    facts.bounds = {Bytes(record.first), Bytes(record.length)};
    facts.bytes = Bytes(record.bytes);
    facts.runs = record.runs;
    for (std::size_t slot = 0; slot < slots; ++slot)
      facts.bytes_by_slot.emplace_back(by_slot_[rank * slots + slot]);
    ranks.push_back(std::move(facts));
  }
  return ranks;
}

Arrangement Call::arrange() const {
  const std::vector<RankFacts> ranks = facts_of_ranks();
  CollectiveFacts facts;
  facts.write = write_;
  facts.layout = file_.layout();
  facts.ranks = ranks;
  facts.aggregate = aggregate();
  facts.cb_nodes = options_.cb_nodes;
  facts.cb_buffer_size = options_.cb_buffer_size;
  facts.aggregators = options_.aggregators;
  facts.rotational = std::any_of(records_.begin(), records_.end(),
                                 [](const Record& record) { return record.rotational != 0; });
  Arrangement arrangement = plan_.arrange(facts);
  if (group_.rank() == 0 && !arrangement.reason.empty())
    file_.log().debug("collective {}: {}", write_ ? "write" : "read", arrangement.reason);
  return arrangement;
}

// All ranks come to the same call.
void Call::direct() {
  call_.id = records_.front().call;
  const std::size_t slots = by_slot_.size() / records_.size();
  call_.members.assign(slots, 0);
  for (std::size_t i = 0; i < by_slot_.size(); ++i) {
    if (by_slot_[i] > 0) ++call_.members[i % slots];
  }
  access_.call = &call_;
}

Task<Status> Call::alone() {
  if (write_) co_return co_await file_.write_own(access_, options_);
  const auto got = co_await file_.read_own(access_, options_);
  if (got.ok()) got_ = *got;
  co_return got.status();
}

Task<Status> Call::alone_in_turn(const Arrangement& arrangement) {
  Status status;
  if (arrangement.turns.empty()) {
    status = co_await alone();
  } else {
    Turns turns(group_, file_, arrangement);
    TUTTI_CO_TRY(co_await turns.run(alone(), status));
  }
  co_return co_await agree(group_, std::move(status));
}

Task<Status> Call::together(const Arrangement& arrangement) {
  auto views = co_await gather_views(arrangement.aggregators);
  if (!views.ok()) co_return views.status();
  if (!write_) co_return co_await read_together(arrangement, *std::move(views));
  Exchange exchange(group_, file_, arrangement, memory_, range_, *std::move(views), options_);
  TUTTI_CO_TRY(co_await exchange.write());
  co_return co_await agree(group_, exchange.failure());
}

Task<Status> Call::read_together(const Arrangement& arrangement, std::vector<ViewRange> views) {
  Status failure;
  bool met_end = false;
  if (arrangement.reading == ReadForm::exchange) {
    Exchange exchange(group_, file_, arrangement, memory_, range_, std::move(views), options_);
    TUTTI_CO_TRY(co_await exchange.read());
    failure = exchange.failure();
    met_end = exchange.short_read();
  } else {
    AgentRead read(group_, file_, arrangement, memory_, range_, std::move(views), options_);
    TUTTI_CO_TRY(co_await read.run());
    failure = read.failure();
    met_end = read.short_read();
  }
  std::array<std::int64_t, 1> short_read{met_end ? 1 : 0};
  TUTTI_CO_TRY(co_await agree(group_, failure, short_read));
  got_ = Bytes(static_cast<std::uint64_t>(memory_.bytes()));
  if (short_read[0] != 0) co_return co_await count_to_the_end();
  co_return Status();
}

// The views of all ranks for an aggregator; nothing for the others.
Task<Result<std::vector<ViewRange>>> Call::gather_views(const Schedule& schedule) {
  bool in_records = true;
  bool whole = true;
  for (const Record& record : records_) {
    if (record.bytes == 0) continue;
    in_records = in_records && record.view_size > 0 && record.view_size <= kViewInRecord;
    whole = whole && record.view_size > 0;
  }
  if (!in_records) co_return co_await gather_long_views(schedule, whole);
  std::vector<ViewRange> views;
  const bool aggregator = std::any_of(schedule.begin(), schedule.end(),
                                      [&](const Aggregator& each) { return each.rank == group_.rank(); });
  if (!aggregator) co_return views;
  for (const Record& record : records_) {
    if (record.bytes == 0) {
      views.emplace_back();
      continue;
    }
    auto view = ViewRange::decode(std::span(record.view).first(record.view_size));
    if (!view.ok()) co_return view.status();
    views.push_back(*std::move(view));
  }
  co_return views;
}

// Views that do not fit the records go to the aggregators only: whole, or each aggregator's part.
Task<Result<std::vector<ViewRange>>> Call::gather_long_views(const Schedule& schedule, bool whole) {
  const auto ranks = static_cast<std::size_t>(group_.size());
  std::vector<std::vector<std::byte>> parts(schedule.size());
  std::vector<std::uint64_t> lengths(schedule.size());
  bool aggregator = false;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    aggregator = aggregator || schedule[i].rank == group_.rank();
    if (memory_.bytes() == 0) continue;
    if (whole) {
      parts[i] = view_;
    } else {
      std::vector<Extent> wanted;
      for (const Round& round : schedule[i].rounds) wanted.insert(wanted.end(), round.begin(), round.end());
      std::sort(wanted.begin(), wanted.end());
      parts[i] = range_.encode_clipped(wanted);
    }
    lengths[i] = parts[i].size();
  }
  std::vector<std::uint64_t> all(ranks * schedule.size());
  TUTTI_CO_TRY(
      co_await group_.allgather(std::as_bytes(std::span(lengths)), std::as_writable_bytes(std::span(all))));
  std::vector<Outgoing> send;
  std::vector<Incoming> receive;
  std::vector<std::vector<std::byte>> arrived(ranks);
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    if (schedule[i].rank != group_.rank()) {
      if (!parts[i].empty()) send.push_back({schedule[i].rank, parts[i]});
      continue;
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (static_cast<int>(rank) == group_.rank()) {
        arrived[rank] = parts[i];
        continue;
      }
      arrived[rank].resize(all[rank * schedule.size() + i]);
      if (!arrived[rank].empty()) receive.push_back({static_cast<int>(rank), arrived[rank]});
    }
  }
  if (!send.empty() || !receive.empty()) TUTTI_CO_TRY(co_await group_.exchange(send, receive));
  std::vector<ViewRange> views;
  if (!aggregator) co_return views;
  for (const auto& bytes : arrived) {
    if (bytes.empty()) {
      views.emplace_back();
      continue;
    }
    auto view = ViewRange::decode(bytes);
    if (!view.ok()) co_return view.status();
    views.push_back(*std::move(view));
  }
  co_return views;
}

// Some aggregator met the end of the file: all ranks count what lies before it. One of them asks where it is.
Task<Status> Call::count_to_the_end() {
  Status asked;
  std::array<std::int64_t, 1> end{0};
  if (group_.rank() == 0) {
    const auto length = co_await file_.size();
    asked = length.status();
    if (length.ok()) end[0] = static_cast<std::int64_t>(length->count());
  }
  TUTTI_CO_TRY(co_await agree(group_, asked, end));
  std::vector<PlacedRun> runs;
  const Extent before{0_B, Bytes(static_cast<std::uint64_t>(end[0]))};
  if (range_.ascending()) {
    got_ = Bytes(static_cast<std::uint64_t>(range_.bytes_in(before)));
    co_return Status();
  }
  range_.cut(before, runs);
  std::int64_t last = 0;
  for (const PlacedRun& run : runs) last = std::max(last, run.data + run.length);
  got_ = Bytes(static_cast<std::uint64_t>(last));
  co_return Status();
}

}  // namespace

Task<Result<Bytes>> read_collective(Group& group, CollectiveFile& file, FileAccess access,
                                    const CollectiveOptions& options) {
  const auto plan = make_collective_plan(options.plan);
  if (!plan.ok()) co_return plan.status();
  Call call(false, group, file, std::move(access), options, **plan);
  TUTTI_CO_TRY(co_await call.run());
  co_return call.got();
}

Task<Status> write_collective(Group& group, CollectiveFile& file, FileAccess access,
                              const CollectiveOptions& options) {
  const auto plan = make_collective_plan(options.plan);
  if (!plan.ok()) co_return plan.status();
  Call call(true, group, file, std::move(access), options, **plan);
  co_return co_await call.run();
}

Task<Result<Bytes>> read_collective(Group& group, OpenFile& file, FileAccess access,
                                    const CollectiveOptions& options, const CollectivePlan& plan) {
  TuttiFile tutti(file);
  Call call(false, group, tutti, std::move(access), options, plan);
  TUTTI_CO_TRY(co_await call.run());
  co_return call.got();
}

Task<Status> write_collective(Group& group, OpenFile& file, FileAccess access,
                              const CollectiveOptions& options, const CollectivePlan& plan) {
  TuttiFile tutti(file);
  Call call(true, group, tutti, std::move(access), options, plan);
  co_return co_await call.run();
}

Task<Result<Bytes>> read_collective(Group& group, OpenFile& file, FileAccess access,
                                    const CollectiveOptions& options) {
  TuttiFile tutti(file);
  co_return co_await read_collective(group, tutti, std::move(access), options);
}

Task<Status> write_collective(Group& group, OpenFile& file, FileAccess access,
                              const CollectiveOptions& options) {
  TuttiFile tutti(file);
  co_return co_await write_collective(group, tutti, std::move(access), options);
}

Status check_collective_plan(std::string_view text) { return make_collective_plan(text).status(); }

}  // namespace tutti
