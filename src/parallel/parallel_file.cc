#include "parallel/parallel_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

namespace tutti {
namespace {

constexpr std::size_t kHostName = 256;
constexpr std::int64_t kMostText = 64 << 20;

// Holds the turn of collective calls until it is destroyed.
class Turn {
 public:
  explicit Turn(Semaphore& semaphore) : semaphore_(semaphore) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { semaphore_.release(); }

 private:
  Semaphore& semaphore_;
};

}  // namespace

ParallelFile::ParallelFile(Executor& executor, FileSystem* system, Group& group, ParallelOpen options,
                           std::uint64_t counter_key)
    : system_(system),
      group_(group),
      options_(std::move(options)),
      counter_key_(counter_key),
      turn_(executor, 1) {
  Terms terms;
  terms.options = options_.hints.options();
  terms_ = std::make_shared<const Terms>(std::move(terms));
}

Task<Status> ParallelFile::rank_0_does(Task<Status> task) {
  Status mine;
  if (group_.rank() == 0) mine = co_await std::move(task);
  co_return co_await agree(group_, std::move(mine));
}

Task<Status> ParallelFile::close() {
  co_await turn_.acquire();
  const Turn turn(turn_);
  // After a failure nobody knows whether the counter was made: to remove none is no harm.
  std::array<std::int64_t, 1> counter_made = {shared_used_ ? 1 : 0};
  const Status all = co_await agree(group_, co_await flush_and_close(), counter_made);
  if (!all.ok()) counter_made[0] = 1;
  if (counter_made[0] == 0 && !options_.delete_on_close) co_return all;
  const Status tidy = co_await rank_0_does(tidy_up(counter_made[0] != 0));
  co_return all.ok() ? tidy : all;
}

Task<Status> ParallelFile::flush_and_close() {
  Status flushed;
  if (dirty_) flushed = co_await file_->sync();
  const Status closed = co_await file_->close();
  co_return flushed.ok() ? closed : flushed;
}

Task<Status> ParallelFile::tidy_up(bool counter_made) {
  if (counter_made) {
    // One that is left over is removed by the server in time.
    const auto removed = co_await system_->counter(counter_key_, CounterOp::remove, 0);
    removed.status().ignore();
  }
  if (!options_.delete_on_close) co_return Status();
  const Status gone = co_await system_->unlink(options_.path);
  co_return gone.code() == Code::not_found ? Status() : gone;
}

Task<Status> ParallelFile::set_view(ViewChange change, HintReport& report) {
  co_await turn_.acquire();
  const Turn turn(turn_);
  Terms next = *terms_;
  next.empty_view = change.refused.ok() && change.view.filetype.size() == 0;
  if (next.empty_view) {
    change.view.etype_size = std::max<std::int64_t>(change.view.etype_size, 1);
    change.view.filetype = FlatType::bytes(change.view.etype_size);
  }
  // After this all ranks are here: nobody is still about to use the shared file pointer under the view before.
  std::array<std::int64_t, 2> any = {shared_used_ ? 1 : 0, change.hints ? 1 : 0};
  TUTTI_CO_TRY(co_await group_.allreduce(Reduce::max, any));
  const auto begin = co_await agree_on_view(change, any[0] != 0);
  if (!begin.ok()) co_return begin.status();
  if (change.at_shared_pointer)
    change.view.displacement += terms_->view.file_offset(*begin * terms_->view.etype_size);
  next.view = std::move(change.view);
  next.declared = next.view.contiguous() ? nullptr : file_->declare(next.view);
  next.representation = change.representation;
  terms_ = std::make_shared<const Terms>(std::move(next));
  individual_ = shared_start_ = 0;
  if (any[1] == 0) co_return Status();
  co_return co_await take_hints(std::move(change.hints).value_or(HintList()), report);
}

// Whether all ranks can have the views they ask for; then the shared file pointer goes to 0. Returns where it was.
Task<Result<std::int64_t>> ParallelFile::agree_on_view(const ViewChange& change, bool shared_used) {
  Status mine = change.refused.ok() ? change.view.validate(options_.write) : change.refused;
  std::array<std::int64_t, 1> position = {0};
  if (mine.ok() && change.at_shared_pointer && group_.rank() == 0) {
    Result<std::int64_t> current(shared_start_);
    if (shared_used) current = co_await use_shared(CounterOp::get, 0);
    mine = current.status();
    if (current.ok()) position[0] = *current;
  }
  TUTTI_CO_TRY(co_await agree(group_, std::move(mine), position));
  if (!shared_used) co_return position[0];
  Status reset;
  if (group_.rank() == 0) reset = (co_await use_shared(CounterOp::set, 0)).status();
  TUTTI_CO_TRY(co_await agree(group_, std::move(reset)));
  co_return position[0];
}

Status ParallelFile::random_access() const {
  if (!options_.sequential) return {};
  return {Code::unsupported, "only the shared file pointer may be used in sequential mode"};
}

Task<Result<std::int64_t>> ParallelFile::place(std::int64_t offset, SeekFrom from, std::int64_t current) {
  std::int64_t base = from == SeekFrom::current ? current : 0;
  if (from == SeekFrom::end && !terms_->empty_view) {
    const auto length = co_await file_->size();
    if (!length.ok()) co_return length.status();
    base = view().end_in_etypes(static_cast<std::int64_t>(length->count()));
  }
  if (base + offset < 0) co_return Status(Code::invalid, "seek to before the begin of the file");
  co_return base + offset;
}

Task<Status> ParallelFile::seek(std::int64_t offset, SeekFrom from) {
  const auto target = co_await place(offset, from, individual_);
  if (!target.ok()) co_return target.status();
  individual_ = *target;
  co_return Status();
}

Task<Status> ParallelFile::seek_shared(std::int64_t offset, SeekFrom from) {
  co_await turn_.acquire();
  const Turn turn(turn_);
  const auto origin = static_cast<std::int64_t>(from);
  std::array<std::int64_t, 4> asked = {offset, -offset, origin, -origin};
  TUTTI_CO_TRY(co_await group_.allreduce(Reduce::max, asked));
  if (asked[0] != -asked[1] || asked[2] != -asked[3])
    co_return Status(Code::invalid, "seek of the shared file pointer: not the same on all ranks");
  Status mine;
  if (group_.rank() == 0) {
    Result<std::int64_t> current(0);
    if (from == SeekFrom::current) current = co_await position_shared();
    Result<std::int64_t> target = current;
    if (current.ok()) target = co_await place(offset, from, *current);
    if (target.ok()) target = co_await use_shared(CounterOp::set, *target);
    mine = target.status();
  }
  co_return co_await agree(group_, std::move(mine));
}

Task<Result<std::int64_t>> ParallelFile::position_shared() { return use_shared(CounterOp::get, 0); }

Task<Result<std::int64_t>> ParallelFile::use_shared(CounterOp op, std::int64_t value) {
  shared_used_ = true;
  if (!counter_made_) {
    const auto made = co_await system_->counter(counter_key_, CounterOp::make, shared_start_);
    if (!made.ok()) co_return made;
    counter_made_ = true;
  }
  co_return co_await system_->counter(counter_key_, op, value);
}

Task<Status> ParallelFile::set_size(std::int64_t bytes) {
  co_await turn_.acquire();
  const Turn turn(turn_);
  std::array<std::int64_t, 2> asked = {bytes, -bytes};
  TUTTI_CO_TRY(co_await group_.allreduce(Reduce::max, asked));
  if (asked[0] != -asked[1]) co_return Status(Code::invalid, "set size: not the same on all ranks");
  if (bytes < 0) co_return Status(Code::invalid, "set size: the size is negative");
  if (!options_.write) co_return Status(Code::read_only, "set size: the file is open for reading only");
  if (group_.rank() == 0) dirty_ = true;
  co_return co_await rank_0_does(file_->truncate(Bytes(static_cast<std::uint64_t>(bytes))));
}

Task<Status> ParallelFile::make_room(Bytes bytes) {
  const auto length = co_await file_->size();
  if (!length.ok()) co_return length.status();
  if (*length >= bytes) co_return Status();
  const auto space = co_await system_->space();
  if (!space.ok()) co_return space.status();
  if (space->free < bytes - *length)
    co_return Status(Code::no_space, "preallocate: the servers are too full");
  dirty_ = true;
  co_return co_await file_->truncate(bytes);
}

Task<Status> ParallelFile::preallocate(std::int64_t bytes) {
  co_await turn_.acquire();
  const Turn turn(turn_);
  std::array<std::int64_t, 2> asked = {bytes, -bytes};
  TUTTI_CO_TRY(co_await group_.allreduce(Reduce::max, asked));
  if (asked[0] != -asked[1]) co_return Status(Code::invalid, "preallocate: not the same on all ranks");
  if (bytes < 0) co_return Status(Code::invalid, "preallocate: the size is negative");
  if (!options_.write) co_return Status(Code::read_only, "preallocate: the file is open for reading only");
  co_return co_await rank_0_does(make_room(Bytes(static_cast<std::uint64_t>(bytes))));
}

Task<Status> ParallelFile::sync() {
  co_await turn_.acquire();
  const Turn turn(turn_);
  Status mine;
  if (dirty_) mine = co_await file_->sync();
  if (mine.ok()) dirty_ = false;
  co_return co_await agree(group_, std::move(mine));
}

Task<Status> ParallelFile::set_atomic(bool atomic) {
  co_await turn_.acquire();
  const Turn turn(turn_);
  std::array<std::int64_t, 2> asked = {atomic ? 1 : 0, atomic ? -1 : 0};
  TUTTI_CO_TRY(co_await group_.allreduce(Reduce::max, asked));
  if (asked[0] != -asked[1]) co_return Status(Code::invalid, "set atomicity: not the same on all ranks");
  Terms next = *terms_;
  next.atomic = atomic;
  terms_ = std::make_shared<const Terms>(std::move(next));
  co_return Status();
}

Task<Result<std::int64_t>> ParallelFile::largest(std::int64_t mine) {
  co_await turn_.acquire();
  const Turn turn(turn_);
  std::array<std::int64_t, 1> value = {mine};
  const Status reduced = co_await group_.allreduce(Reduce::max, value);
  if (!reduced.ok()) co_return reduced;
  co_return value[0];
}

Task<Status> ParallelFile::change_hints(HintList list, HintReport& report) {
  co_await turn_.acquire();
  const Turn turn(turn_);
  co_return co_await take_hints(std::move(list), report);
}

Task<Status> ParallelFile::take_hints(HintList list, HintReport& report) {
  const auto text = co_await broadcast_text(group_, 0, encode_hints(list));
  if (!text.ok()) co_return text.status();
  report = apply_hints(decode_hints(*text), options_.hints);
  Terms next = *terms_;
  next.options = options_.hints.options();
  next.options.aggregators = terms_->options.aggregators;
  terms_ = std::make_shared<const Terms>(std::move(next));
  co_return file_->set_visit(options_.hints.visit);
}

HintList ParallelFile::hints() const {
  return effective_hints(options_.hints, layout(), system_->application(), group_.size());
}

Task<Result<std::string>> broadcast_text(Group& group, int root, std::string text) {
  // The length and the begin of the text in one message: most texts are short.
  struct First {
    std::int64_t length = 0;
    std::array<char, 2040> begin{};
  };
  First first;
  first.length = static_cast<std::int64_t>(text.size());
  std::memcpy(first.begin.data(), text.data(), std::min(text.size(), first.begin.size()));
  Status sent = co_await group.broadcast(root, std::as_writable_bytes(std::span(&first, 1)));
  if (!sent.ok()) co_return sent;
  if (first.length < 0 || first.length > kMostText)
    co_return Status(Code::too_large, "broadcast of a text: too long");
  text.resize(static_cast<std::size_t>(first.length));
  const std::size_t begin = std::min(text.size(), first.begin.size());
  std::memcpy(text.data(), first.begin.data(), begin);
  if (begin == text.size()) co_return text;
  sent = co_await group.broadcast(root, std::as_writable_bytes(std::span(text).subspan(begin)));
  if (!sent.ok()) co_return sent;
  co_return text;
}

Task<Result<std::vector<int>>> choose_aggregators(Group& group, const FileHints& hints, std::string host) {
  if (hints.cb_config_list.empty()) co_return std::vector<int>();
  std::array<char, kHostName> mine{};
  std::memcpy(mine.data(), host.data(), std::min(host.size(), kHostName - 1));
  std::vector<char> all(kHostName * static_cast<std::size_t>(group.size()));
  const Status gathered =
      co_await group.allgather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  if (!gathered.ok()) co_return gathered;
  std::vector<std::string> hosts;
  for (std::size_t at = 0; at < all.size(); at += kHostName) hosts.emplace_back(&all[at]);
  co_return aggregators_by_host(hints.cb_config_list, hosts, hints.collective.cb_nodes);
}

}  // namespace tutti
