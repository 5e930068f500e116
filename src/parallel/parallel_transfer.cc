// The transfers of ParallelFile.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "layout/external32.h"
#include "parallel/parallel_file.h"

namespace tutti {
namespace {

std::int64_t bytes_in_file(const ParallelTransfer& transfer, Representation representation) {
  const FlatType& type = transfer.type;
  return transfer.count * (representation == Representation::native ? type.size() : type.external_size());
}

struct Release {
  Semaphore& semaphore;
  ~Release() { semaphore.release(); }
};

}  // namespace

Status ParallelFile::check(const ParallelTransfer& transfer, std::int64_t file_bytes) const {
  if (!transfer.refused.ok()) return transfer.refused;
  if (transfer.write && !options_.write) return {Code::read_only, "write: the file is open for reading only"};
  if (!transfer.write && !options_.read) return {Code::permission, "read: the file is open for writing only"};
  if (transfer.pointer != FilePointer::shared) TUTTI_TRY(random_access());
  if (transfer.pointer == FilePointer::given && transfer.offset < 0)
    return {Code::invalid, fmt::format("the offset {} is negative", transfer.offset)};
  if (file_bytes % view().etype_size != 0)
    return {Code::io_error, fmt::format("{} bytes are not a whole number of etypes of {} bytes", file_bytes,
                                        view().etype_size)};
  if (file_bytes > 0 && terms_->empty_view)
    return {Code::io_error, "the view's filetype has no bytes: nothing can be moved through it"};
  return {};
}

Task<Result<Bytes>> ParallelFile::transfer(ParallelTransfer transfer) {
  const std::int64_t file_bytes = bytes_in_file(transfer, terms_->representation);
  transfer.refused = check(transfer, file_bytes);
  if (!transfer.refused.ok()) transfer.count = 0;
  Begun begun;
  begun.etypes = transfer.refused.ok() ? file_bytes / view().etype_size : 0;
  begun.offset = transfer.offset;
  if (transfer.pointer == FilePointer::individual) {
    begun.offset = individual_;
    individual_ += begun.etypes;
  }
  const bool collective = transfer.collective;
  begun.transfer = std::move(transfer);
  begun.terms = terms_;
  return collective ? run_in_turn(std::move(begun)) : run(std::move(begun));
}

Task<Result<Bytes>> ParallelFile::run_in_turn(Begun begun) {
  co_await turn_.acquire();
  const Release release{turn_};
  co_return co_await run(std::move(begun));
}

Task<Result<Bytes>> ParallelFile::run(Begun begun) {
  const ParallelTransfer& transfer = begun.transfer;
  if (!transfer.refused.ok() && !transfer.collective) co_return transfer.refused;
  if (transfer.pointer == FilePointer::shared) {
    Result<std::int64_t> claimed(0);
    if (transfer.collective) {
      claimed = co_await claim_ordered(begun.etypes);
    } else {
      claimed = co_await use_shared(CounterOp::fetch_add, begun.etypes);
    }
    if (!claimed.ok()) co_return claimed.status();
    begun.offset = *claimed;
  }
  FileAccess access;
  access.base = transfer.base;
  access.type = transfer.type;
  access.count = transfer.count;
  access.view = &begun.terms->view;
  access.declared = begun.terms->declared;
  access.data_offset = begun.offset * begun.terms->view.etype_size;
  access.refused = transfer.refused;
  access.habit = &habit_;
  if (transfer.write) dirty_ = true;
  co_return co_await move(begun, std::move(access));
}

// Each rank's place behind those of lower ranks.
Task<Result<std::int64_t>> ParallelFile::claim_ordered(std::int64_t etypes) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(group_.size()));
  const std::array<std::int64_t, 1> mine = {etypes};
  const Status gathered =
      co_await group_.allgather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(all)));
  if (!gathered.ok()) co_return gathered;
  std::int64_t before = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < static_cast<std::size_t>(group_.rank())) before += all[i];
    total += all[i];
  }
  Result<std::int64_t> claimed(0);
  if (group_.rank() == 0) claimed = co_await use_shared(CounterOp::fetch_add, total);
  std::array<std::int64_t, 1> base = {claimed.ok() ? *claimed : 0};
  if (Status agreed = co_await agree(group_, claimed.status(), base); !agreed.ok()) co_return agreed;
  co_return base[0] + before;
}

Task<Result<Bytes>> ParallelFile::move(const Begun& begun, FileAccess access) {
  if (begun.terms->representation == Representation::external32)
    return move_external(begun, std::move(access));
  return move_native(begun, std::move(access));
}

// Through a buffer that holds the data as they are in the file.
Task<Result<Bytes>> ParallelFile::move_external(const Begun& begun, FileAccess access) {
  const ParallelTransfer& transfer = begun.transfer;
  const FlatType type = access.type;
  std::vector<std::byte> packed(static_cast<std::size_t>(access.count * type.external_size()));
  if (transfer.write && access.refused.ok())
    access.refused = pack_external32(access.base, type, access.count, packed);
  if (!access.refused.ok() && !transfer.collective) co_return access.refused;
  access.base = packed.data();
  access.type = FlatType();
  access.count = access.refused.ok() ? static_cast<std::int64_t>(packed.size()) : 0;
  const auto moved = co_await move_native(begun, std::move(access));
  if (!moved.ok()) co_return moved.status();
  const auto external = static_cast<std::int64_t>(moved->count());
  if (!transfer.write) {
    const auto came = std::span<const std::byte>(packed).first(moved->count());
    if (Status stored = unpack_external32(came, transfer.base, type, transfer.count); !stored.ok())
      co_return stored;
  }
  co_return Bytes(static_cast<std::uint64_t>(from_external_bytes(type, external)));
}

Task<Result<Bytes>> ParallelFile::move_native(const Begun& begun, FileAccess access) {
  const ParallelTransfer& transfer = begun.transfer;
  const CollectiveOptions& options = begun.terms->options;
  if (begun.terms->atomic) {
    auto moved = co_await move_atomically(begun, std::move(access));
    if (!transfer.collective) co_return moved;
    if (Status agreed = co_await agree(group_, moved.status()); !agreed.ok()) co_return agreed;
    co_return moved;
  }
  const Bytes wanted(static_cast<std::uint64_t>(access.bytes()));
  if (transfer.write) {
    Status written;
    if (transfer.collective) {
      written = co_await write_collective(group_, *file_, std::move(access), options);
    } else {
      written = co_await write_independent(*file_, std::move(access), options);
    }
    if (!written.ok()) co_return written;
    co_return wanted;
  }
  if (transfer.collective) co_return co_await read_collective(group_, *file_, std::move(access), options);
  co_return co_await read_independent(*file_, std::move(access), options);
}

// Each rank by itself and under a lock over all that it touches: the bytes of one call are never seen in part, and calls
// that overlap come one after the other.
Task<Result<Bytes>> ParallelFile::move_atomically(const Begun& begun, FileAccess access) {
  const ParallelTransfer& transfer = begun.transfer;
  if (!access.refused.ok()) co_return access.refused;
  const Bytes wanted(static_cast<std::uint64_t>(access.bytes()));
  if (wanted == Bytes(0)) co_return wanted;
  const Extent range = access.view->bounds(access.data_offset, access.bytes());
  const auto lock = co_await file_->lock(range, transfer.write);
  if (!lock.ok()) co_return lock.status();
  CollectiveOptions options = begun.terms->options;
  options.ds_write = Toggle::disable;  // it would wait for our own lock
  Result<Bytes> moved(wanted);
  if (transfer.write) {
    const Status written = co_await write_independent(*file_, std::move(access), options);
    if (!written.ok()) moved = written;
  } else {
    moved = co_await read_independent(*file_, std::move(access), options);
  }
  const Status unlocked = co_await file_->unlock(*lock);
  if (moved.ok() && !unlocked.ok()) co_return unlocked;
  co_return moved;
}

}  // namespace tutti
