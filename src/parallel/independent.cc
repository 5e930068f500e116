// Independent access: view or list I/O straight from and to the caller's memory, or data sieving.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "layout/view_range.h"
#include "parallel/collective.h"
#include "parallel/sieved_file.h"
#include "parallel/typed_memory.h"
#include "policy/collective/sieve.h"

namespace tutti {
namespace {

constexpr std::size_t kRunsPerBatch = 16'384;  // of the file or of the memory, in one list
// Memory in runs smaller than this is gathered first: a copy of them costs less than to name each of them to a server.
constexpr std::int64_t kSmallMemoryRun = 1024;
constexpr std::int64_t kGathered = 16 << 20;  // bytes at once

Bytes unsigned_bytes(std::int64_t bytes) { return Bytes(static_cast<std::uint64_t>(bytes)); }

Extent extent_of(const TypeRun& run) { return {unsigned_bytes(run.offset), unsigned_bytes(run.length)}; }

// A part of an access: extents of the file and the memory of the same bytes.
struct Batch {
  std::vector<Extent> file;
  std::vector<std::span<std::byte>> memory;
  std::int64_t begin = 0;  // in the data of the access
  std::int64_t bytes = 0;
};

// Cuts an access into batches, in order.
class Batches {
 public:
  explicit Batches(const FileAccess& access)
      : memory_(access.base, access.type, access.count),
        file_(access.view->cursor(access.data_offset)),
        memory_cursor_(memory_.cursor()),
        bytes_(memory_.bytes()),
        file_start_(access.data_offset),
        gather_(!memory_.contiguous() && memory_.mean_run() < kSmallMemoryRun) {}

  [[nodiscard]] bool done() const { return at_ == bytes_; }
  [[nodiscard]] bool gathers() const { return gather_; }
  [[nodiscard]] const TypedMemory& memory() const { return memory_; }

  // The next batch. If the memory is gathered, it has to be copied from or to batch.memory, which is one buffer.
  void next(Batch& batch) {
    batch.file.clear();
    batch.memory.clear();
    batch.begin = at_;
    const std::int64_t end = gather_ ? std::min(bytes_, at_ + kGathered) : bytes_;
    while (at_ < end && batch.file.size() < kRunsPerBatch && batch.memory.size() < kRunsPerBatch) {
      const TypeRun run = file_.next(end - at_);
      const std::int64_t covered = gather_ ? run.length : take_memory(batch, run.length);
      batch.file.push_back(extent_of({run.offset, covered}));
      at_ += covered;
      if (covered < run.length) file_.seek(file_start_ + at_);
    }
    batch.bytes = at_ - batch.begin;
    if (!gather_) return;
    if (buffer_ == nullptr) {
      buffer_ =
          std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(std::min(bytes_, kGathered)));
    }
    batch.memory.emplace_back(buffer_.get(), static_cast<std::size_t>(batch.bytes));
  }

 private:
  // Appends the memory of up to `bytes` bytes; fewer if the batch is full. Returns how many.
  std::int64_t take_memory(Batch& batch, std::int64_t bytes) {
    std::int64_t taken = 0;
    while (taken < bytes && batch.memory.size() < kRunsPerBatch) {
      const TypeRun run = memory_cursor_.next(bytes - taken);
      std::byte* const place = memory_.at(run.offset);
      if (!batch.memory.empty() && batch.memory.back().data() + batch.memory.back().size() == place) {
        auto& last = batch.memory.back();
        last = {last.data(), last.size() + static_cast<std::size_t>(run.length)};
      } else {
        batch.memory.emplace_back(place, static_cast<std::size_t>(run.length));
      }
      taken += run.length;
    }
    return taken;
  }

  TypedMemory memory_;
  TypeCursor file_;
  TypeCursor memory_cursor_;
  std::int64_t bytes_;
  std::int64_t file_start_;
  std::int64_t at_ = 0;
  bool gather_;
  std::unique_ptr<std::byte[]> buffer_;
};

SieveFacts sieve_facts(const FileAccess& access) {
  SieveFacts facts;
  facts.bytes = unsigned_bytes(access.bytes());
  if (facts.bytes == 0_B || access.view->contiguous() || !access.view->ascending()) return facts;
  const FlatType& type = access.view->filetype;
  facts.runs = static_cast<std::uint64_t>(access.bytes() / (type.size() / type.blocks() + 1) + 1);
  facts.span = access.view->bounds(access.data_offset, access.bytes()).length;
  return facts;
}

// Windows of a sieved access: each is a part of the file that is moved whole, and the runs of the access in it.
class Sieve {
 public:
  Sieve(const FileAccess& access, Bytes buffer)
      : memory_(access.base, access.type, access.count),
        range_(*access.view, access.data_offset, access.bytes()),
        buffer_(
            std::make_unique_for_overwrite<std::byte[]>(std::min(buffer, range_.bounds().length).count())),
        size_(std::max(buffer, 1_B)),
        at_(range_.bounds().offset) {}

  // The next window in which something is wanted; false at the end. It begins and ends with wanted bytes.
  bool next() {
    runs_.clear();
    while (runs_.empty()) {
      if (at_ >= range_.bounds().end()) return false;
      const Extent part{at_, std::min(size_, range_.bounds().end() - at_)};
      range_.cut(part, runs_);
      at_ = part.end();
    }
    const std::int64_t begin = runs_.front().file;
    window_ = {unsigned_bytes(begin), unsigned_bytes(runs_.back().file + runs_.back().length - begin)};
    return true;
  }
  [[nodiscard]] Extent window() const { return window_; }
  [[nodiscard]] const ViewRange& range() const { return range_; }
  // One run that fills the window: nothing to read over.
  [[nodiscard]] bool dense() const {
    std::int64_t wanted = 0;
    for (const PlacedRun& run : runs_) wanted += run.length;
    return unsigned_bytes(wanted) == window_.length;
  }
  [[nodiscard]] std::span<std::byte> buffer() { return {buffer_.get(), window_.length.count()}; }
  void to_memory() {
    for (const PlacedRun& run : runs_) memory_.scatter(place(run), run.data);
  }
  void from_memory() {
    for (const PlacedRun& run : runs_) memory_.gather(run.data, place(run));
  }
  // How many bytes of the access lie before an end of the file inside or behind this window.
  [[nodiscard]] std::int64_t data_before(Bytes end) const {
    std::int64_t last = 0;
    for (const PlacedRun& run : runs_) {
      const auto file = static_cast<std::uint64_t>(run.file);
      if (file < end.count()) {
        const std::uint64_t length = std::min(static_cast<std::uint64_t>(run.length), end.count() - file);
        last = std::max(last, run.data + static_cast<std::int64_t>(length));
      }
    }
    return last;
  }

 private:
  std::span<std::byte> place(const PlacedRun& run) {
    return {buffer_.get() + (static_cast<std::uint64_t>(run.file) - window_.offset.count()),
            static_cast<std::size_t>(run.length)};
  }

  TypedMemory memory_;
  ViewRange range_;
  std::unique_ptr<std::byte[]> buffer_;
  Bytes size_;
  Bytes at_;
  Extent window_;
  std::vector<PlacedRun> runs_;
};

Task<Result<Bytes>> read_sieved(OpenFile& file, const FileAccess& access, Bytes buffer) {
  Sieve sieve(access, buffer);
  std::int64_t got = 0;
  while (sieve.next()) {
    const auto read = co_await file.read(sieve.window().offset, sieve.buffer());
    if (!read.ok()) co_return read.status();
    sieve.to_memory();
    got = std::max(got, sieve.data_before(sieve.window().offset + *read));
    if (*read < sieve.window().length) break;
  }
  co_return unsigned_bytes(got);
}

// One window: read, changed and written back under a lock.
Task<Status> write_window(OpenFile& file, Sieve& sieve) {
  if (!sieve.dense()) {
    const auto read = co_await file.read(sieve.window().offset, sieve.buffer());
    if (!read.ok()) co_return read.status();
  }
  sieve.from_memory();
  co_return co_await file.write(sieve.window().offset, sieve.buffer());
}

Task<Status> write_sieved(OpenFile& file, const FileAccess& access, Bytes buffer) {
  Sieve sieve(access, buffer);
  while (sieve.next()) {
    const auto lock = co_await file.lock(sieve.window(), true);
    if (!lock.ok()) co_return lock.status();
    Status status = co_await write_window(file, sieve);
    const Status unlocked = co_await file.unlock(*lock);
    TUTTI_CO_TRY(status);
    TUTTI_CO_TRY(unlocked);
  }
  co_return Status();
}

// Whether the servers are told the view and then ranges of it: where it has blocks and the memory is one buffer, or is
// made one.
bool by_view(const FileAccess& access, const TypedMemory& memory, const CollectiveOptions& options) {
  return access.declared != nullptr && options.views != Toggle::disable && memory.bytes() > 0 &&
         (memory.contiguous() || memory.mean_run() < kSmallMemoryRun);
}

// The parts in which memory that is not contiguous goes through a buffer.
class Gathered {
 public:
  explicit Gathered(const TypedMemory& memory)
      : memory_(memory),
        buffer_(std::make_unique_for_overwrite<std::byte[]>(
            static_cast<std::size_t>(std::min(memory.bytes(), kGathered)))) {}

  // The next part; false at the end.
  bool next() {
    begin_ += static_cast<std::int64_t>(part_.size());
    const std::int64_t left = memory_.bytes() - begin_;
    part_ = {buffer_.get(), static_cast<std::size_t>(std::min(left, kGathered))};
    return left > 0;
  }
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] std::span<std::byte> part() const { return part_; }
  void from_memory() const { memory_.gather(begin_, part_); }
  void to_memory(std::size_t bytes) const { memory_.scatter(part_.first(bytes), begin_); }

 private:
  const TypedMemory& memory_;
  std::unique_ptr<std::byte[]> buffer_;
  std::int64_t begin_ = 0;
  std::span<std::byte> part_;
};

Task<Result<Bytes>> read_by_view(OpenFile& file, const FileAccess& access, const TypedMemory& memory) {
  const Bytes offset = unsigned_bytes(access.data_offset);
  if (memory.contiguous())
    co_return co_await file.read_view(access.declared, offset, memory.all(), access.call);
  Bytes got;
  for (Gathered gathered(memory); gathered.next();) {
    const Bytes begin = unsigned_bytes(gathered.begin());
    const auto read = co_await file.read_view(access.declared, offset + begin, gathered.part());
    if (!read.ok()) co_return read.status();
    gathered.to_memory(read->count());
    if (*read > 0_B) got = begin + *read;
    if (read->count() < gathered.part().size() && access.view->ascending()) break;
  }
  co_return got;
}

Task<Status> write_by_view(OpenFile& file, const FileAccess& access, const TypedMemory& memory) {
  const Bytes offset = unsigned_bytes(access.data_offset);
  if (memory.contiguous())
    co_return co_await file.write_view(access.declared, offset, memory.all(), access.call);
  for (Gathered gathered(memory); gathered.next();) {
    gathered.from_memory();
    TUTTI_CO_TRY(co_await file.write_view(access.declared, offset + unsigned_bytes(gathered.begin()),
                                          gathered.part()));
  }
  co_return Status();
}

}  // namespace

Task<Result<Bytes>> read_independent(OpenFile& file, FileAccess access, const CollectiveOptions& options) {
  if (sieve_read(sieve_facts(access), options.ds_read)) {
    co_return co_await read_sieved(file, access, options.ind_rd_buffer_size);
  }
  const TypedMemory memory(access.base, access.type, access.count);
  if (by_view(access, memory, options)) co_return co_await read_by_view(file, access, memory);
  Batches batches(access);
  Batch batch;
  std::int64_t got = 0;
  while (!batches.done()) {
    batches.next(batch);
    const auto read =
        co_await file.read_list(batch.file, batch.memory, batches.done() ? access.call : nullptr);
    if (!read.ok()) co_return read.status();
    const auto bytes = static_cast<std::int64_t>(read->count());
    if (batches.gathers()) batches.memory().scatter(batch.memory[0].first(read->count()), batch.begin);
    if (bytes > 0) got = batch.begin + bytes;
    if (bytes < batch.bytes && access.view->ascending()) break;
  }
  co_return unsigned_bytes(got);
}

Task<Status> write_independent(OpenFile& file, FileAccess access, const CollectiveOptions& options) {
  if (sieve_write(sieve_facts(access), options.ds_write)) {
    co_return co_await write_sieved(file, access, options.ind_wr_buffer_size);
  }
  const TypedMemory memory(access.base, access.type, access.count);
  const bool beside_sieves = options.ds_write == Toggle::enable;
  if (!beside_sieves && by_view(access, memory, options))
    co_return co_await write_by_view(file, access, memory);
  Batches batches(access);
  Batch batch;
  std::vector<std::span<const std::byte>> parts;
  while (!batches.done()) {
    batches.next(batch);
    if (batches.gathers()) batches.memory().gather(batch.begin, batch.memory[0]);
    parts.assign(batch.memory.begin(), batch.memory.end());
    Task<Status> write = beside_sieves
                             ? write_beside_sieves(file, batch.file, parts, options)
                             : file.write_list(batch.file, parts, batches.done() ? access.call : nullptr);
    TUTTI_CO_TRY(co_await std::move(write));
  }
  co_return Status();
}

}  // namespace tutti
