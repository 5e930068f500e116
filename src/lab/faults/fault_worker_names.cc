// The operations of a FaultWorker in its private directory.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "lab/faults/fault_worker.h"

namespace tutti {
namespace {

constexpr Bytes kPrivateLength = 700_B;
constexpr Bytes kPrivateReach = 8_KiB;

// Puts the names in doubt if the frame is destroyed before the outcome is known.
template <typename Widen>
class UnlessTold {
 public:
  explicit UnlessTold(Widen widen) : widen_(std::move(widen)) {}
  UnlessTold(const UnlessTold&) = delete;
  UnlessTold& operator=(const UnlessTold&) = delete;
  ~UnlessTold() {
    if (!told_) widen_();
  }
  void told() { told_ = true; }

 private:
  Widen widen_;
  bool told_ = false;
};

// The content of private files tells whose they are.
std::byte private_value(std::uint64_t inode, Bytes offset) {
  return FileOracle::value(static_cast<FileOracle::OperationId>(inode), offset);
}

}  // namespace

Task<void> FaultWorker::create(std::string name) {
  OpenOptions options;
  options.write = true;
  options.create = true;
  options.exclusive = random_.chance(0.5);
  UnlessTold doubt([this, &name] { names().create_in_doubt(name); });
  const Nanos began = world_.now();
  auto file = co_await client_.files().open(path(name), options);
  doubt.told();
  const std::uint64_t inode = file.ok() ? (*file)->attributes().inode : 0;
  const std::string what =
      fmt::format("create{} {} -> inode {}", options.exclusive ? "!" : "", path(name), inode);
  ended(what, began, file.status(), file.code() == Code::exists);
  check(what, names().created(name, options.exclusive, file.code(), inode));
  if (!file.ok()) co_return;
  if (random_.chance(0.5)) co_await write_private(**file, name, choose_private_offset());
  const Nanos closing = world_.now();
  const Status closed = co_await (*file)->close();
  ended("close " + path(name), closing, closed);
}

Bytes FaultWorker::choose_private_offset() {
  return Bytes(random_.below((kPrivateReach - kPrivateLength).count()));
}

Task<bool> FaultWorker::write_private(OpenFile& file, std::string name, Bytes offset) {
  const std::uint64_t inode = file.attributes().inode;
  std::vector<std::byte> buffer(kPrivateLength.count());
  for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = private_value(inode, offset + Bytes(i));
  const Nanos began = world_.now();
  const Status status = co_await file.write(offset, buffer);
  ended("write " + path(name), began, status);
  co_return status.ok();
}

Task<void> FaultWorker::use_removed(std::string name, std::string other) {
  OpenOptions options;
  options.write = true;
  options.create = true;
  options.exclusive = true;
  UnlessTold doubt([this, &name] { names().create_in_doubt(name); });
  const Nanos began = world_.now();
  auto file = co_await client_.files().open(path(name), options);
  doubt.told();
  const std::uint64_t inode = file.ok() ? (*file)->attributes().inode : 0;
  const std::string what = fmt::format("create! {} -> inode {}", path(name), inode);
  ended(what, began, file.status(), file.code() == Code::exists);
  check(what, names().created(name, true, file.code(), inode));
  if (!file.ok()) co_return;
  const bool gone = co_await take_name(name, std::move(other));
  const std::uint64_t losses = world_.counts.power_losses;
  std::vector<bool> written(kPrivateReach.count());
  for (std::uint64_t turn = random_.between(1, 4); turn > 0; --turn) {
    const Bytes offset = choose_private_offset();
    const bool ok = co_await write_private(**file, name, offset);
    for (std::size_t i = 0; ok && i < kPrivateLength.count(); ++i) written[offset.count() + i] = true;
    co_await client_.clock().sleep(random_.exponential(500_ms));
    // Bytes that were not synced may go with the power.
    if (world_.counts.power_losses != losses) written.assign(written.size(), false);
    if (gone) co_await read_removed(**file, written);
  }
  const Nanos closing = world_.now();
  const Status closed = co_await (*file)->close();
  ended("close what was " + path(name), closing, closed);
}

Task<bool> FaultWorker::take_name(std::string name, std::string other) {
  if (name == other || random_.chance(0.5)) {
    co_await remove(name);
  } else {
    co_await rename(std::move(other), name);
  }
  const auto there = co_await client_.files().stat(path(name));
  co_return there.code() == Code::not_found;
}

Task<void> FaultWorker::read_removed(OpenFile& file, const std::vector<bool>& written) {
  const std::uint64_t inode = file.attributes().inode;
  const std::uint64_t losses = world_.counts.power_losses;
  std::vector<std::byte> buffer(kPrivateReach.count());
  const Nanos began = world_.now();
  const auto got = co_await file.read(0_B, buffer);
  const std::string what = fmt::format("read the removed inode {}", inode);
  ended(what, began, got.status());
  if (!got.ok() || world_.counts.power_losses != losses) co_return;
  for (std::size_t i = 0; i < buffer.size(); ++i) {
    const bool ours = i < got->count() && buffer[i] == private_value(inode, Bytes(i));
    const bool hole = i >= got->count() || buffer[i] == std::byte{0};
    if (ours || (hole && !written[i])) continue;
    co_return check(what, Status(Code::internal, fmt::format("byte {} is lost or foreign", i)));
  }
}

Task<void> FaultWorker::read_private(std::string name) {
  const Nanos began = world_.now();
  OpenOptions options;
  auto file = co_await client_.files().open(path(name), options);
  const std::uint64_t inode = file.ok() ? (*file)->attributes().inode : 0;
  const std::string what = fmt::format("open {} -> inode {}", path(name), inode);
  ended(what, began, file.status(), file.code() == Code::not_found);
  check(what, names().looked_up(name, file.code(), inode));
  if (!file.ok()) co_return;
  std::vector<std::byte> buffer(kPrivateReach.count());
  const Nanos reading = world_.now();
  const auto got = co_await (*file)->read(0_B, buffer);
  ended("read " + path(name), reading, got.status());
  if (!got.ok()) co_return;
  for (std::size_t i = 0; i < got->count(); ++i) {
    if (buffer[i] == std::byte{0} || buffer[i] == private_value(inode, Bytes(i))) continue;
    co_return check("read " + path(name),
                    Status(Code::internal, fmt::format("byte {} is not of inode {}", i, inode)));
  }
}

Task<void> FaultWorker::remove(std::string name) {
  UnlessTold doubt([this, &name] { names().remove_in_doubt(name); });
  const Nanos began = world_.now();
  const Status status = co_await client_.files().unlink(path(name));
  doubt.told();
  ended("remove " + path(name), began, status, status.code() == Code::not_found);
  check("remove " + path(name), names().removed(name, status.code()));
}

Task<void> FaultWorker::rename(std::string from, std::string to) {
  UnlessTold doubt([this, &from, &to] { names().rename_in_doubt(from, to); });
  const Nanos began = world_.now();
  const Status status = co_await client_.files().rename(path(from), path(to));
  doubt.told();
  const std::string what = fmt::format("rename {} to {}", path(from), path(to));
  ended(what, began, status, status.code() == Code::not_found);
  check(what, names().renamed(from, to, status.code()));
}

Task<void> FaultWorker::look_up(std::string name) {
  const Nanos began = world_.now();
  const auto attributes = co_await client_.files().stat(path(name));
  const std::uint64_t inode = attributes.ok() ? attributes->inode : 0;
  const std::string what = fmt::format("stat {} -> inode {}", path(name), inode);
  ended(what, began, attributes.status(), attributes.code() == Code::not_found);
  check(what, names().looked_up(name, attributes.code(), inode));
}

Task<void> FaultWorker::list() {
  const Nanos began = world_.now();
  const std::string directory = fmt::format("/lane{}", lane_);
  const auto entries = co_await client_.files().list(directory, random_.chance(0.3));
  ended("list " + directory, began, entries.status());
  if (!entries.ok()) co_return;
  std::map<std::string, std::uint64_t> found;
  for (const DirectoryEntry& entry : *entries) found[entry.name] = entry.inode;
  check("list " + directory, names().listed(found));
}

}  // namespace tutti
