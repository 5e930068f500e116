#include "parallel/collective.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "parallel/exchange.h"
#include "parallel/typed_memory.h"
#include "layout/view_range.h"

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
  std::uint64_t refused = 0;
  std::array<std::byte, kViewInRecord> view{};
};

// A rank's Status as others get it. A longer message is cut.
struct StatusRecord {
  std::uint16_t code = 0;
  std::uint16_t length = 0;
  std::array<char, 508> message{};
};

template <typename T>
std::span<std::byte> memory_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

std::uint64_t runs_of(const FileView& view, std::int64_t bytes) {
  if (bytes == 0) return 0;
  if (view.contiguous()) return 1;
  const double mean = static_cast<double>(view.filetype.size()) / static_cast<double>(view.filetype.blocks());
  return static_cast<std::uint64_t>(static_cast<double>(bytes) / mean) + 1;
}

// One collective call of one rank.
class Call {
 public:
  Call(bool write, Group& group, OpenFile& file, FileAccess access, const CollectiveOptions& options)
      : write_(write),
        group_(group),
        file_(file),
        access_(std::move(access)),
        options_(options),
        memory_(access_.base, access_.type, access_.refused.ok() ? access_.count : 0) {}

  // The agreed Status.
  Task<Status> run();
  // Of a read, afterwards.
  [[nodiscard]] Bytes got() const { return got_; }

 private:
  [[nodiscard]] Toggle aggregate() const { return write_ ? options_.cb_write : options_.cb_read; }
  Task<Status> share_facts();
  Schedule make_schedule();
  Task<Status> alone();
  Task<Status> together(const Schedule& schedule);
  Task<Result<std::vector<ViewRange>>> gather_views(const Schedule& schedule);
  Task<Result<std::vector<ViewRange>>> gather_long_views(const Schedule& schedule, bool whole);
  Task<Status> count_read(bool short_read);

  bool write_;
  Group& group_;
  OpenFile& file_;
  FileAccess access_;
  const CollectiveOptions& options_;
  TypedMemory memory_;
  ViewRange range_;
  std::vector<std::byte> view_;  // encoded; empty if it is too long
  std::vector<Record> records_;
  Bytes got_;
};

Task<Status> Call::run() {
  if (auto plan = make_collective_plan(options_.plan); !plan.ok()) co_return plan.status();
  if (always_independent(options_.plan, aggregate(), group_.size())) {
    Status status = access_.refused;
    if (status.ok()) status = co_await alone();
    co_return co_await agree(group_, std::move(status));
  }
  TUTTI_CO_TRY(co_await share_facts());
  const bool refused =
      std::any_of(records_.begin(), records_.end(), [](const Record& record) { return record.refused != 0; });
  if (refused) co_return co_await agree(group_, access_.refused);
  const Schedule schedule = make_schedule();
  if (schedule.empty()) {
    Status status = co_await alone();
    co_return co_await agree(group_, std::move(status));
  }
  co_return co_await together(schedule);
}

Task<Status> Call::share_facts() {
  Record mine;
  mine.refused = access_.refused.ok() ? 0 : 1;
  if (access_.refused.ok()) {
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
  }
  records_.resize(static_cast<std::size_t>(group_.size()));
  co_return co_await group_.allgather(memory_of(mine), std::as_writable_bytes(std::span(records_)));
}

Schedule Call::make_schedule() {
  std::vector<RankFacts> ranks;
  ranks.reserve(records_.size());
  for (const Record& record : records_) {
    ranks.push_back({{Bytes(record.first), Bytes(record.length)}, Bytes(record.bytes), record.runs});
  }
  CollectiveFacts facts;
  facts.write = write_;
  facts.layout = file_.layout();
  facts.ranks = ranks;
  facts.aggregate = aggregate();
  facts.cb_nodes = options_.cb_nodes;
  facts.cb_buffer_size = options_.cb_buffer_size;
  facts.aggregators = options_.aggregators;
  return (*make_collective_plan(options_.plan))->schedule(facts);
}

Task<Status> Call::alone() {
  if (write_) co_return co_await write_independent(file_, access_, options_);
  const auto got = co_await read_independent(file_, access_, options_);
  if (got.ok()) got_ = *got;
  co_return got.status();
}

Task<Status> Call::together(const Schedule& schedule) {
  auto views = co_await gather_views(schedule);
  if (!views.ok()) co_return views.status();
  Exchange exchange(group_, file_, schedule, memory_, range_, *std::move(views), options_);
  if (write_) {
    TUTTI_CO_TRY(co_await exchange.write());
    co_return co_await agree(group_, exchange.failure());
  }
  TUTTI_CO_TRY(co_await exchange.read());
  Status status = co_await agree(group_, exchange.failure());
  if (status.ok()) status = co_await count_read(exchange.short_read());
  co_return status;
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

// If any aggregator met the end of the file, all ranks count what lies before it.
Task<Status> Call::count_read(bool short_read) {
  got_ = Bytes(static_cast<std::uint64_t>(memory_.bytes()));
  std::array<std::int64_t, 1> flag{short_read ? 1 : 0};
  TUTTI_CO_TRY(co_await group_.allreduce(Reduce::max, flag));
  if (flag[0] == 0) co_return Status();
  const auto length = co_await file_.size();
  TUTTI_CO_TRY(co_await agree(group_, length.status()));
  std::array<std::int64_t, 1> end{static_cast<std::int64_t>(length->count())};
  TUTTI_CO_TRY(co_await group_.allreduce(Reduce::min, end));
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

Task<Status> agree(Group& group, Status mine) {
  if (group.size() == 1) co_return mine;
  // The lowest failing rank has the largest number.
  std::array<std::int64_t, 1> failing{mine.ok() ? 0 : group.size() - group.rank()};
  TUTTI_CO_TRY(co_await group.allreduce(Reduce::max, failing));
  if (failing[0] == 0) co_return Status();
  const int root = group.size() - static_cast<int>(failing[0]);
  StatusRecord record;
  if (root == group.rank()) {
    record.code = static_cast<std::uint16_t>(mine.code());
    record.length = static_cast<std::uint16_t>(std::min(mine.message().size(), record.message.size()));
    std::memcpy(record.message.data(), mine.message().data(), record.length);
  }
  TUTTI_CO_TRY(co_await group.broadcast(root, memory_of(record)));
  if (record.length > record.message.size()) co_return Status(Code::malformed, "agreement among ranks");
  co_return Status(code_from_wire(record.code), std::string(record.message.data(), record.length));
}

Task<Result<Bytes>> read_collective(Group& group, OpenFile& file, FileAccess access,
                                    const CollectiveOptions& options) {
  Call call(false, group, file, std::move(access), options);
  TUTTI_CO_TRY(co_await call.run());
  co_return call.got();
}

Task<Status> write_collective(Group& group, OpenFile& file, FileAccess access,
                              const CollectiveOptions& options) {
  Call call(true, group, file, std::move(access), options);
  co_return co_await call.run();
}

Status check_collective_plan(std::string_view name) { return make_collective_plan(name).status(); }

}  // namespace tutti
