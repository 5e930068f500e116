// How the ranks of a group open a file together: rank 0 asks the metadata server, and the others take over what it got.
#include "parallel/opening.h"

#include <array>
#include <cstring>
#include <utility>

#include "parallel/parallel_file.h"

namespace tutti {
namespace {

// A server that is away must not hold up the opening for long; transfers have more patience.
constexpr Nanos kSessionPatience = 1_s;

struct Head {
  std::uint64_t counter_key = 0;
  std::int64_t position = 0;
  std::uint32_t code = 0;
  std::uint32_t message_length = 0;  // it follows, and then what is shared
};

}  // namespace

std::string encode_opening(const Opening& opening) {
  Head head;
  head.counter_key = opening.counter_key;
  head.position = opening.position;
  head.code = static_cast<std::uint32_t>(opening.status.code());
  const std::string_view message = opening.status.message();
  head.message_length = static_cast<std::uint32_t>(message.size());
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof(head));
  bytes.append(message).append(opening.shared);
  return bytes;
}

Result<Opening> decode_opening(std::string_view bytes) {
  const Status malformed(Code::malformed, "open: what rank 0 told does not parse");
  Head head;
  if (bytes.size() < sizeof(head)) return malformed;
  std::memcpy(&head, bytes.data(), sizeof(head));
  bytes.remove_prefix(sizeof(head));
  if (head.message_length > bytes.size()) return malformed;
  Opening opening;
  const Code code = code_from_wire(static_cast<std::uint16_t>(head.code));
  if (code != Code::ok) opening.status = Status(code, std::string(bytes.substr(0, head.message_length)));
  opening.counter_key = head.counter_key;
  opening.position = head.position;
  opening.shared = bytes.substr(head.message_length);
  return opening;
}

Task<Result<std::unique_ptr<ParallelFile>>> ParallelFile::open(Executor& executor, Result<FileSystem*> system,
                                                               Group& group, ParallelOpen options,
                                                               std::uint64_t counter_key) {
  FileSystem* files = system.ok() ? *system : nullptr;
  std::unique_ptr<ParallelFile> file(
      new ParallelFile(executor, files, group, std::move(options), counter_key));
  if (Status opened = co_await file->open_on_all(system.status()); !opened.ok()) co_return opened;
  co_return file;
}

Task<Status> ParallelFile::open_on_all(Status mine) {
  Opening opening;
  if (group_.rank() == 0) {
    if (mine.ok()) mine = co_await open_first();
    opening = {mine, counter_key_, individual_, {}};
    if (mine.ok() && options_.same_user) {
      const std::vector<std::byte> shared = file_->share();
      opening.shared.assign(reinterpret_cast<const char*>(shared.data()), shared.size());
    }
  }
  const auto told = co_await broadcast_text(group_, 0, encode_opening(opening));
  if (!told.ok()) co_return told.status();
  if (group_.rank() != 0) {
    auto first = decode_opening(*told);
    if (!first.ok()) co_return first.status();
    opening = *std::move(first);
    if (mine.ok() && opening.status.ok()) mine = co_await follow(opening);
  }
  if (!opening.status.ok()) co_return opening.status;  // the same on all ranks
  if (mine.ok()) {
    file_->set_rank(static_cast<std::uint32_t>(group_.rank()), static_cast<std::uint32_t>(group_.size()));
    mine = file_->set_visit(options_.hints.visit);
  }
  if (mine.ok()) co_await file_->connect(kSessionPatience);
  if (options_.same_user && options_.all_ready) co_return mine;
  co_return co_await agree(group_, std::move(mine));
}

// Rank 0: creates the file if that is wanted, and finds where the file pointers begin.
Task<Status> ParallelFile::open_first() {
  TUTTI_CO_TRY(co_await open_here(true));
  if (!options_.append) co_return Status();
  const auto length = co_await file_->size();
  if (!length.ok()) co_return length.status();
  individual_ = shared_start_ = static_cast<std::int64_t>(length->count());
  co_return Status();
}

Task<Status> ParallelFile::follow(const Opening& first) {
  counter_key_ = first.counter_key;
  individual_ = shared_start_ = first.position;
  if (first.shared.empty()) co_return co_await open_here(false);
  // The message is verified where it lies, which must be aligned.
  const auto* begin = reinterpret_cast<const std::byte*>(first.shared.data());
  const std::vector<std::byte> shared(begin, begin + first.shared.size());
  auto adopted = system_->adopt(options_.path, shared);
  if (!adopted.ok()) co_return adopted.status();
  file_ = *std::move(adopted);
  co_return Status();
}

Task<Status> ParallelFile::open_here(bool first) {
  OpenOptions wanted;
  wanted.read = options_.read;
  wanted.write = options_.write;
  wanted.create = first && options_.create;
  wanted.exclusive = first && options_.exclusive;
  wanted.mode = options_.hints.permissions.value_or(options_.mode);
  wanted.layout = options_.hints.layout;
  auto opened = co_await system_->open(options_.path, wanted);
  if (!opened.ok()) co_return opened.status();
  file_ = *std::move(opened);
  co_return Status();
}

}  // namespace tutti
