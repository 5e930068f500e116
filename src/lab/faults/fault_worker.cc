#include "lab/faults/fault_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

// No operation may last longer after the faults around it have ended.
constexpr Nanos kBound = 60_s;

std::string text(const std::vector<Extent>& extents) {
  std::string line;
  for (const Extent& extent : extents)
    line += fmt::format(" {}+{}", extent.offset.count(), extent.length.count());
  return line;
}

Bytes total(const std::vector<Extent>& extents) {
  Bytes sum;
  for (const Extent& extent : extents) sum += extent.length;
  return sum;
}

// Cuts a buffer into a few segments of uneven length.
template <typename Byte>
std::vector<std::span<Byte>> cut_memory(std::span<Byte> buffer, Random& random) {
  std::vector<std::span<Byte>> segments;
  while (!buffer.empty()) {
    const std::size_t most = std::min<std::size_t>(buffer.size(), 3000);
    const auto length = static_cast<std::size_t>(random.between(1, most));
    segments.push_back(buffer.first(length));
    buffer = buffer.subspan(length);
  }
  return segments;
}

}  // namespace

// Ends an operation in the oracle; leaves it in doubt if the frame is destroyed before it is told the outcome: its client died.
class FaultWorker::Doubt {
 public:
  Doubt(const FaultWorker& worker, FileOracle& oracle, FileOracle::OperationId id, bool read = false)
      : worker_(worker), oracle_(oracle), id_(id), read_(read) {}
  Doubt(const Doubt&) = delete;
  Doubt& operator=(const Doubt&) = delete;
  ~Doubt() {
    if (settled_) return;
    if (read_) {
      oracle_.abandon_read(id_);
    } else {
      worker_.world_.leave_in_doubt(oracle_, id_, worker_.client_.node());
    }
  }
  void settle(bool ok) {
    settled_ = true;
    oracle_.end(id_, ok);
  }
  Status settle_read(std::span<const std::byte> bytes) {
    settled_ = true;
    return oracle_.end_read(id_, bytes);
  }

 private:
  const FaultWorker& worker_;
  FileOracle& oracle_;
  FileOracle::OperationId id_;
  bool read_;
  bool settled_ = false;
};

FaultWorker::FaultWorker(FaultWorld& world, SimClient& client, std::size_t lane, std::uint64_t& left,
                         Random random)
    : world_(world),
      client_(client),
      lane_(lane),
      left_(left),
      random_(random),
      open_(world.files.size()),
      shown_(world.files.size()),
      logs_(world.logs.size()),
      unsynced_(world.files.size()) {}

void FaultWorker::check(const std::string& what, const Status& verdict) {
  if (!verdict.ok()) world_.violation(fmt::format("lane {}: {}: {}", lane_, what, verdict.message()));
}

void FaultWorker::ended(const std::string& what, Nanos began, const Status& status, bool plain_errors) {
  const Nanos now = world_.now();
  ++(status.ok() || plain_errors ? world_.counts.succeeded : world_.counts.failed);
  world_.journal.add(fmt::format("lane {}: {} -> {} ({})", lane_, what,
                                 status.ok() ? "ok" : status.to_string(), to_string(now - began)));
  const Code code = status.code();
  const bool store_error = code == Code::io_error || code == Code::no_space;
  const bool known = code == Code::ok || code == Code::unavailable || code == Code::timed_out ||
                     (store_error && world_.store_faults) || plain_errors;
  if (!known) check(what, Status(Code::internal, "unexpected error " + status.to_string()));
  if (world_.faults_under_way == 0 && now - std::max(began, world_.healed_at) > kBound) {
    check(what, Status(Code::internal, "took " + to_string(now - began)));
  }
}

Task<void> FaultWorker::run() {
  while (left_ > 0 && world_.outcome.ok()) {
    --left_;
    co_await step();
    co_await client_.clock().sleep(random_.chance(0.2) ? random_.exponential(200_ms)
                                                       : random_.exponential(5_ms));
  }
  for (std::size_t file = 0; file < open_.size(); ++file) co_await close(file);
}

Task<void> FaultWorker::step() {
  world_.end_doubts();
  const auto file = static_cast<std::size_t>(random_.below(world_.files.size()));
  if (random_.chance(0.1)) co_return co_await append();
  if (random_.chance(0.1)) {
    co_return co_await read_log(static_cast<std::size_t>(random_.below(world_.logs.size())));
  }
  if (random_.chance(0.08)) co_return co_await change_guarded();
  if (random_.chance(0.04)) co_return co_await write_and_cut();
  const std::uint64_t dice = random_.below(100);
  if (dice < 32) {
    co_await write(file);
  } else if (dice < 62) {
    co_await read(file);
  } else if (dice < 65) {
    co_await truncate(file);
  } else if (dice < 73) {
    co_await sync(file);
  } else if (dice < 75) {
    co_await ask_size(file);
  } else if (dice < 77) {
    co_await stat_size(file);
  } else if (dice < 79) {
    co_await close(file);
  } else if (dice < 85) {
    co_await create(choose_name());
  } else if (dice < 87) {
    co_await remove(choose_name());
  } else if (dice < 88) {
    std::string name = choose_name();
    co_await use_removed(std::move(name), choose_name());
  } else if (dice < 92) {
    std::string from = choose_name();
    co_await rename(std::move(from), choose_name());
  } else if (dice < 95) {
    co_await look_up(choose_name());
  } else if (dice < 98) {
    co_await read_private(choose_name());
  } else {
    co_await list();
  }
}

std::string FaultWorker::choose_name() { return fmt::format("f{}", random_.below(5)); }
std::string FaultWorker::path(const std::string& name) const {
  return fmt::format("/lane{}/{}", lane_, name);
}

std::vector<Extent> FaultWorker::choose_extents(const WatchedFile& file, bool list) {
  std::vector<Extent> extents;
  const std::uint64_t reach = file.reach.count();
  const std::uint64_t count = list ? random_.between(2, 12) : 1;
  std::uint64_t at = random_.below(reach);
  for (std::uint64_t i = 0; i < count && at < reach; ++i) {
    const std::uint64_t longest = std::min(reach - at, list ? std::uint64_t{2000} : reach / 2 + 1);
    const std::uint64_t length = random_.between(1, std::max<std::uint64_t>(1, longest));
    extents.push_back(Extent{Bytes(at), Bytes(length)});
    at += length + random_.below(3000);
  }
  return extents;
}

FaultWorker::Target FaultWorker::choose_target(std::size_t file, OpenFile& handle) {
  constexpr double kViews = 0.2;
  constexpr double kLists = 0.25;
  if (random_.chance(kViews)) return choose_range(file, handle);
  Target target;
  target.list = random_.chance(kLists);
  target.extents = choose_extents(world_.files[file], target.list);
  return target;
}

FaultWorker::Target FaultWorker::choose_range(std::size_t file, OpenFile& handle) {
  constexpr double kNew = 0.1;
  Shown& shown = shown_[file];
  if (shown.view == nullptr || random_.chance(kNew)) {
    const std::uint64_t reach = world_.files[file].reach.count();
    const auto block = static_cast<std::int64_t>(random_.between(1, 500));
    const auto stride = block + static_cast<std::int64_t>(random_.between(1, 1500));
    const auto begin = static_cast<std::int64_t>(random_.below(reach / 4 + 1));
    shown.bytes = {begin, 1, FlatType::resized(0, stride, FlatType::contiguous(block, FlatType::bytes(1)))};
    const auto blocks = (static_cast<std::int64_t>(reach) - begin) / stride;
    shown.length = static_cast<std::uint64_t>(std::max<std::int64_t>(1, blocks) * block);
    shown.view = handle.declare(shown.bytes);
  }
  Target target;
  target.view = shown.view;
  target.offset = Bytes(random_.below(shown.length));
  const std::uint64_t most = std::min<std::uint64_t>(shown.length - target.offset.count(), 20'000);
  auto left = static_cast<std::int64_t>(random_.between(1, most));
  for (TypeCursor walk = shown.bytes.cursor(static_cast<std::int64_t>(target.offset.count())); left > 0;) {
    const TypeRun run = walk.next(left);
    target.extents.push_back(
        {Bytes(static_cast<std::uint64_t>(run.offset)), Bytes(static_cast<std::uint64_t>(run.length))});
    left -= run.length;
  }
  return target;
}

Task<OpenFile*> FaultWorker::open(std::size_t file) {
  if (open_[file]) co_return open_[file].get();
  const WatchedFile& watched = world_.files[file];
  const Nanos began = world_.now();
  OpenOptions options;
  options.write = true;
  auto opened = co_await client_.files().open(watched.path, options);
  ended("open " + watched.path, began, opened.status());
  if (!opened.ok()) co_return nullptr;
  open_[file] = std::move(*opened);
  co_return open_[file].get();
}

Task<void> FaultWorker::write(std::size_t file) {
  OpenFile* handle = co_await open(file);
  if (handle == nullptr) co_return;
  const WatchedFile& watched = world_.files[file];
  const Target target = choose_target(file, *handle);
  const std::vector<Extent>& extents = target.extents;
  const auto id = watched.oracle->begin_write(extents);
  Doubt doubt(*this, *watched.oracle, id);
  std::vector<std::byte> buffer;
  buffer.reserve(total(extents).count());
  for (const Extent& extent : extents) {
    for (std::uint64_t at = 0; at < extent.length.count(); ++at) {
      buffer.push_back(FileOracle::value(id, extent.offset + Bytes(at)));
    }
  }
  const std::string what = fmt::format("write {} [{}]{}", watched.path, id, text(extents));
  world_.journal.add(fmt::format("lane {}: {}", lane_, what));
  const Nanos began = world_.now();
  Status status;
  if (target.view != nullptr) {
    status = co_await handle->write_view(target.view, target.offset, buffer);
  } else if (target.list) {
    const auto memory = cut_memory(std::span<const std::byte>(buffer), random_);
    status = co_await handle->write_list(extents, memory);
  } else {
    status = co_await handle->write(extents[0].offset, buffer);
  }
  doubt.settle(status.ok());
  forget_told(file);
  if (status.ok()) note_written(file, extents);
  ended(what, began, status);
}

// The losses of each server when it had acknowledged the first bytes since the last sync.
void FaultWorker::note_written(std::size_t file, const std::vector<Extent>& extents) {
  const Layout& layout = world_.files[file].oracle->layout();
  const std::uint64_t stripe = layout.stripe_size.count();
  for (const Extent& extent : extents) {
    for (std::uint64_t at = extent.offset.count() / stripe * stripe; at < extent.end().count();
         at += stripe) {
      const std::uint32_t server = layout.server_of_slot(layout.slot_of(Bytes(at)));
      unsynced_[file].emplace(server, Unsynced{world_.files[file].losses.at(server), false});
    }
  }
}

void FaultWorker::forget_told(std::size_t file) {
  std::erase_if(unsynced_[file], [](const auto& each) { return each.second.told; });
}

// A sync must not succeed for who wrote before the bytes were lost, until he has written again.
void FaultWorker::check_sync(std::size_t file, const std::string& what, const Status& status,
                             const std::vector<std::uint64_t>& losses) {
  for (auto& [server, unsynced] : unsynced_[file]) {
    unsynced.told = losses.at(server) != unsynced.losses;
    if (status.ok() && unsynced.told)
      check(what,
            Status(Code::internal, fmt::format("succeeded after data server {} lost its bytes", server)));
  }
  // Of the others it is not known any more whether they are synced.
  std::erase_if(unsynced_[file], [](const auto& each) { return !each.second.told; });
}

Task<void> FaultWorker::read(std::size_t file) {
  OpenFile* handle = co_await open(file);
  if (handle == nullptr) co_return;
  const WatchedFile& watched = world_.files[file];
  const Target target = choose_target(file, *handle);
  const std::vector<Extent>& extents = target.extents;
  std::vector<std::byte> buffer(total(extents).count(), std::byte{0xee});
  const auto id = watched.oracle->begin_read(extents);
  Doubt doubt(*this, *watched.oracle, id, true);
  const std::string what = fmt::format("read {} [{}]{}", watched.path, id, text(extents));
  const Nanos began = world_.now();
  Result<Bytes> got = 0_B;
  if (target.view != nullptr) {
    got = co_await handle->read_view(target.view, target.offset, buffer);
  } else if (target.list) {
    const auto memory = cut_memory(std::span<std::byte>(buffer), random_);
    got = co_await handle->read_list(extents, memory);
  } else {
    got = co_await handle->read(extents[0].offset, buffer);
  }
  ended(what, began, got.status());
  if (!got.ok()) co_return;
  if (got->count() > buffer.size())
    co_return check(what, Status(Code::internal, "returned more than was asked for"));
  world_.counts.bytes_checked += got->count();
  check(what, doubt.settle_read(std::span(buffer).first(got->count())));
}

Task<void> FaultWorker::truncate(std::size_t file) {
  OpenFile* handle = co_await open(file);
  if (handle == nullptr) co_return;
  const WatchedFile& watched = world_.files[file];
  const Bytes length(random_.below(watched.reach.count()));
  const auto id = watched.oracle->begin_truncate(length);
  Doubt doubt(*this, *watched.oracle, id);
  const Nanos began = world_.now();
  const std::string what = fmt::format("truncate {} [{}] to {}", watched.path, id, length.count());
  world_.journal.add(fmt::format("lane {}: {}", lane_, what));
  const Status status = co_await handle->truncate(length);
  doubt.settle(status.ok());
  forget_told(file);
  ended(what, began, status);
}

Task<void> FaultWorker::sync(std::size_t file) {
  OpenFile* handle = co_await open(file);
  if (handle == nullptr) co_return;
  const WatchedFile& watched = world_.files[file];
  const std::vector<std::uint64_t> losses = watched.losses;
  const auto id = watched.oracle->begin_sync();
  Doubt doubt(*this, *watched.oracle, id);
  const Nanos began = world_.now();
  const Status status = co_await handle->sync();
  doubt.settle(status.ok());
  check_sync(file, fmt::format("sync {} [{}]", watched.path, id), status, losses);
  // A server that has lost power since the last sync makes this one fail, as it must.
  const bool after_loss = status.code() == Code::io_error && world_.counts.power_losses > 0;
  ended(fmt::format("sync {} [{}]", watched.path, id), began, status, after_loss);
}

Task<void> FaultWorker::ask_size(std::size_t file) {
  OpenFile* handle = co_await open(file);
  if (handle == nullptr) co_return;
  const WatchedFile& watched = world_.files[file];
  const auto id = watched.oracle->begin_read({});
  const Doubt doubt(*this, *watched.oracle, id, true);
  const Nanos began = world_.now();
  const auto size = co_await handle->size();
  const std::string what = "size of " + watched.path;
  ended(what, began, size.status());
  if (size.ok()) check(what, watched.oracle->check_size(id, *size));
}

Task<void> FaultWorker::stat_size(std::size_t file) {
  const WatchedFile& watched = world_.files[file];
  const auto id = watched.oracle->begin_read({});
  const Doubt doubt(*this, *watched.oracle, id, true);
  const Nanos began = world_.now();
  const auto found = co_await client_.files().stat(watched.path);
  const Status status = found.ok() ? found->size_unknown : found.status();
  const std::string what = "stat " + watched.path;
  ended(what, began, status);
  if (status.ok()) check(what, watched.oracle->check_size(id, found->size));
}

Task<void> FaultWorker::close(std::size_t file) {
  if (!open_[file]) co_return;
  const std::unique_ptr<OpenFile> handle = std::move(open_[file]);
  shown_[file] = {};
  unsynced_[file].clear();
  const Nanos began = world_.now();
  const Status status = co_await handle->close();
  ended("close " + world_.files[file].path, began, status);
}

}  // namespace tutti
