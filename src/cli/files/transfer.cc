#include "cli/files/transfer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
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
    waits_ = ::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) && watch_.add(loop, fd).ok();
  }

  struct Read {
    std::uint64_t offset = 0;
    std::size_t length = 0;
  };
  // The next bytes of the stream, as many as the buffer takes; fewer only at the end.
  Task<Result<Read>> next(std::span<std::byte> buffer) {
    co_await turn_.acquire();
    Read read{offset_, 0};
    Status failure;
    while (read.length < buffer.size() && !ended_ && failure.ok()) {
      if (waits_ && !ready()) {
        watch_.drained();
        co_await watch_.readable();
        continue;
      }
      const ssize_t count = ::read(fd_, buffer.data() + read.length, buffer.size() - read.length);
      if (count < 0 && errno != EINTR) failure = Status::from_errno(errno, fmt::format("read {}", name_));
      ended_ = count == 0;
      if (count > 0) read.length += static_cast<std::size_t>(count);
    }
    offset_ += read.length;
    turn_.release();
    if (!failure.ok()) co_return failure;
    co_return read;
  }
  // After a failure: the other workers find the stream at its end.
  void stop() { ended_ = true; }

 private:
  [[nodiscard]] bool ready() const {
    pollfd waiting{fd_, POLLIN, 0};
    return ::poll(&waiting, 1, 0) > 0;
  }

  Semaphore turn_;
  FdWatch watch_;
  int fd_;
  std::string name_;
  bool waits_ = false;
  bool ended_ = false;
  std::uint64_t offset_ = 0;
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

Task<Status> get_piece(GetJob& job, std::uint64_t offset, std::span<std::byte> place) {
  const auto read = co_await job.from.read(Bytes(offset), place);
  if (!read.ok()) co_return read.status();
  const auto length = static_cast<std::size_t>(read->count());
  TUTTI_CO_TRY(pwrite_all(job.to, place.first(length), offset, job.name));
  job.end = std::max(job.end, offset + length);
  job.progress.advance(*read);
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
  co_return first_failure(ended);
}

Task<Result<Bytes>> copy_out(Client& client, OpenFile& from, int to, std::string name) {
  const auto size = co_await from.size();
  if (!size.ok()) co_return size.status();
  Progress progress(client.loop().clock(), name, *size);
  GetJob job{from, to, name, 0, 0, size->count(), progress};
  std::vector<Task<Status>> workers;
  const std::size_t pieces = std::min(kPiecesUnderWay, static_cast<std::size_t>(size->count()) / kPiece + 1);
  for (std::size_t i = 0; i < pieces; ++i) workers.push_back(get_pieces(job));
  const auto ended = co_await when_all(std::move(workers));
  if (Status failure = first_failure(ended); !failure.ok()) co_return failure;
  co_return Bytes(job.end);
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
