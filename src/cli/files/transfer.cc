#include "cli/files/transfer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cli/progress.h"
#include "env/combine.h"
#include "env/sync.h"

namespace tutti::cli {
namespace {

// A page-aligned buffer that is not filled with zeros first.
struct Piece {
  std::unique_ptr<std::byte[]> memory = std::make_unique_for_overwrite<std::byte[]>(kPiece);
  [[nodiscard]] std::span<std::byte> span() const { return {memory.get(), kPiece}; }
};

// Reads a descriptor in order for several workers.
class InOrder {
 public:
  InOrder(Loop& loop, int fd, std::string name) : turn_(loop.executor(), 1), fd_(fd), name_(std::move(name)) {
    struct stat info {};
    if (::fstat(fd, &info) != 0) return;
    // As cp sees that a file has holes: it takes less space than it is long.
    constexpr off_t kUnit = 512;
    if (!S_ISREG(info.st_mode)) {
      waits_ = watch_.add(loop, fd).ok();
    } else if (info.st_blocks < info.st_size / kUnit) {
      start_ = ::lseek(fd, 0, SEEK_CUR);
    }
  }

  struct Read {
    std::uint64_t offset = 0;
    std::size_t length = 0;
  };
  // The next bytes of the stream, as many as the buffer takes; fewer only at the end.
  Task<Result<Read>> next(std::span<std::byte> buffer) {
    co_await turn_.acquire();
    std::size_t wanted = buffer.size();
    if (start_ >= 0) wanted = skip_hole(wanted);
    Read read{offset_, 0};
    Status failure;
    while (read.length < wanted && !ended_ && failure.ok()) {
      if (waits_ && !ready()) {
        watch_.drained();
        co_await watch_.readable();
        continue;
      }
      const ssize_t count = ::read(fd_, buffer.data() + read.length, wanted - read.length);
      if (count < 0 && errno != EINTR) failure = Status::from_errno(errno, fmt::format("read {}", name_));
      ended_ = count == 0;
      if (count > 0) read.length += static_cast<std::size_t>(count);
    }
    offset_ += read.length;
    if (read.length > 0) data_end_ = offset_;
    turn_.release();
    if (!failure.ok()) co_return failure;
    co_return read;
  }
  // After a failure: the other workers find the stream at its end.
  void stop() { ended_ = true; }
  [[nodiscard]] std::uint64_t data_end() const { return data_end_; }
  // Of the stream, at its end: also the hole that it may end with.
  [[nodiscard]] std::uint64_t length() const {
    struct stat info {};
    if (start_ < 0 || ::fstat(fd_, &info) != 0 || info.st_size < start_) return offset_;
    return std::max(offset_, static_cast<std::uint64_t>(info.st_size - start_));
  }

 private:
  // Goes to the next data of a file with holes; at most `wanted` bytes before the next hole.
  std::size_t skip_hole(std::size_t wanted) {
    const off_t here = start_ + static_cast<off_t>(offset_);
    const off_t data = ::lseek(fd_, here, SEEK_DATA);
    if (data < 0) {
      if (errno == ENXIO)
        ended_ = true;  // a hole up to the end; any other failure: the file system cannot tell
      ::lseek(fd_, here, SEEK_SET);
      return wanted;
    }
    const off_t hole = ::lseek(fd_, data, SEEK_HOLE);
    ::lseek(fd_, data, SEEK_SET);
    offset_ = static_cast<std::uint64_t>(data - start_);
    return hole > data ? std::min(wanted, static_cast<std::size_t>(hole - data)) : wanted;
  }
  [[nodiscard]] bool ready() const {
    pollfd waiting{fd_, POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  }

  Semaphore turn_;
  FdWatch watch_;
  int fd_;
  std::string name_;
  off_t start_ = -1;  // where a file with holes is read from; -1: it has none
  bool waits_ = false;
  bool ended_ = false;
  std::uint64_t offset_ = 0;
  std::uint64_t data_end_ = 0;
};

Task<Status> put_pieces(InOrder& from, OpenFile& to, Progress& progress) {
  const Piece piece;
  while (true) {
    const auto read = co_await from.next(piece.span());
    if (!read.ok()) co_return read.status();
    if (read->length == 0) co_return Status();
    const Status written = co_await to.write(Bytes(read->offset), piece.span().first(read->length));
    if (!written.ok()) {
      from.stop();
      co_return written;
    }
    progress.advance(Bytes(read->length));
  }
}

struct GetJob {
  OpenFile& from;
  int to;
  std::string name;
  std::uint64_t next = 0;  // where the next piece begins
  std::uint64_t end = 0;   // of what has come
  std::uint64_t size = 0;
  Progress& progress;
};

constexpr std::size_t kBlock = 64U << 10U;  // of which zeros become a hole

bool is_zero(std::span<const std::byte> bytes) {
  return bytes.empty() || (bytes.front() == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

// Writes what is not zero, blocks that follow on each other at once. Whether there was anything.
Result<bool> write_data(const GetJob& job, std::span<const std::byte> bytes, std::uint64_t offset) {
  bool any = false;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t end = at;
    while (end < bytes.size() && !is_zero(bytes.subspan(end, std::min(kBlock, bytes.size() - end))))
      end = std::min(end + kBlock, bytes.size());
    if (end > at) {
      any = true;
      TUTTI_TRY(pwrite_all(job.to, bytes.subspan(at, end - at), offset + at, job.name));
    }
    at = std::min(end + kBlock, bytes.size());
  }
  return any;
}

// After a piece of zeros: the next one begins where there is data.
Task<Status> skip_hole(GetJob& job) {
  const std::uint64_t from = job.next;
  const auto data = co_await job.from.next_data(Bytes(from));
  if (!data.ok()) co_return data.status();
  const std::uint64_t found = std::min(data->count(), job.size);
  if (found < job.next + kPiece) co_return Status();
  job.progress.advance(Bytes(found - job.next));
  job.end = std::max(job.end, found);
  job.next = found / kBlock * kBlock;
  co_return Status();
}

Task<Status> get_piece(GetJob& job, std::uint64_t offset, std::span<std::byte> place) {
  const auto read = co_await job.from.read(Bytes(offset), place);
  if (!read.ok()) co_return read.status();
  const auto length = static_cast<std::size_t>(read->count());
  const auto any = write_data(job, place.first(length), offset);
  if (!any.ok()) co_return any.status();
  job.end = std::max(job.end, offset + length);
  job.progress.advance(*read);
  if (!*any && job.next < job.size) co_return co_await skip_hole(job);
  co_return Status();
}

Task<Status> get_pieces(GetJob& job) {
  const Piece piece;
  Status failure;
  while (failure.ok() && job.next < job.size) {
    const std::uint64_t offset = job.next;
    job.next += kPiece;
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, job.size - offset));
    failure = co_await get_piece(job, offset, piece.span().first(wanted));
    if (!failure.ok()) job.size = 0;  // the other workers end too
  }
  co_return failure;
}

Status first_failure(const std::vector<Status>& all) {
  for (const Status& status : all) {
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Task<Status> copy_in(Client& client, int from, std::string name, OpenFile& to) {
  struct stat info {};
  const bool sized = ::fstat(from, &info) == 0 && S_ISREG(info.st_mode);
  const auto total = sized ? static_cast<std::uint64_t>(info.st_size) : 0;
  Progress progress(client.loop().clock(), name, Bytes(total));
  InOrder source(client.loop(), from, name);
  const std::size_t pieces =
      sized ? std::min(kPiecesUnderWay, static_cast<std::size_t>(total) / kPiece + 1) : kPiecesUnderWay;
  std::vector<Task<Status>> workers;
  for (std::size_t i = 0; i < pieces; ++i) workers.push_back(put_pieces(source, to, progress));
  const auto ended = co_await when_all(std::move(workers));
  TUTTI_CO_TRY(first_failure(ended));
  if (source.length() > source.data_end()) co_return co_await to.truncate(Bytes(source.length()));
  co_return Status();
}

Task<Status> copy_out(Client& client, OpenFile& from, int to, std::string name) {
  const auto size = co_await from.size();
  if (!size.ok()) co_return size.status();
  Progress progress(client.loop().clock(), name, *size);
  GetJob job{from, to, name, 0, 0, size->count(), progress};
  std::vector<Task<Status>> workers;
  const std::size_t pieces = std::min(kPiecesUnderWay, static_cast<std::size_t>(size->count()) / kPiece + 1);
  for (std::size_t i = 0; i < pieces; ++i) workers.push_back(get_pieces(job));
  const auto ended = co_await when_all(std::move(workers));
  TUTTI_CO_TRY(first_failure(ended));
  // What ends in a hole gets its length so.
  if (::ftruncate(to, static_cast<off_t>(job.end)) != 0)
    co_return Status::from_errno(errno, "set the length of " + name);
  co_return Status();
}

Task<Status> copy_to_stream(OpenFile& from, int to, std::string name) {
  const Piece piece;
  std::uint64_t offset = 0;
  while (true) {
    const auto read = co_await from.read(Bytes(offset), piece.span());
    if (!read.ok()) co_return read.status();
    const auto length = static_cast<std::size_t>(read->count());
    TUTTI_CO_TRY(write_all(to, piece.span().first(length), name));
    offset += length;
    if (length < kPiece) co_return Status();
  }
}

}  // namespace tutti::cli
