// The part of FaultWorker that appends to files, and reads at their ends.
#include <fmt/format.h>

#include <algorithm>

#include "lab/faults/fault_worker.h"

namespace tutti {
namespace {

std::byte value_at(std::size_t lane, Bytes offset) {
  return FileOracle::value(static_cast<FileOracle::OperationId>(lane + 1), offset);
}

}  // namespace

Task<OpenFile*> FaultWorker::open_log(std::size_t lane) {
  if (logs_[lane]) co_return logs_[lane].get();
  const std::string path = world_.logs[lane].path;
  const Nanos began = world_.now();
  OpenOptions options;
  options.write = true;
  auto opened = co_await client_.files().open(path, options);
  ended("open " + path, began, opened.status());
  if (!opened.ok()) co_return nullptr;
  logs_[lane] = std::move(*opened);
  co_return logs_[lane].get();
}

Task<void> FaultWorker::append() {
  OpenFile* handle = co_await open_log(lane_);
  if (handle == nullptr) co_return;
  AppendLog& log = world_.logs[lane_];
  const std::uint64_t block = log.acknowledged;
  const Bytes offset = AppendLog::kBlock * block;
  log.begun = std::max(log.begun, block + 1);
  std::vector<std::byte> bytes;
  for (Bytes at; at < AppendLog::kBlock; at += 1_B) bytes.push_back(value_at(lane_, offset + at));
  const Nanos began = world_.now();
  const Status status = co_await handle->write(offset, bytes);
  if (status.ok()) log.acknowledged = block + 1;
  ended(fmt::format("append block {} to {}", block, log.path), began, status);
}

Task<void> FaultWorker::read_log(std::size_t lane) {
  OpenFile* handle = co_await open_log(lane);
  if (handle == nullptr) co_return;
  const AppendLog& log = world_.logs[lane];
  const Bytes least = AppendLog::kBlock * log.acknowledged;
  const Bytes offset = AppendLog::kBlock * (log.acknowledged - std::min(log.acknowledged, random_.below(4)));
  std::vector<std::byte> buffer(8 * AppendLog::kBlock.count(), std::byte{0xee});
  const Nanos began = world_.now();
  const auto got = co_await handle->read(offset, buffer);
  const std::string what = fmt::format("read the end of {} from {}", log.path, offset.count());
  ended(what, began, got.status());
  if (got.ok()) check_log(lane, what, offset, least, std::span(buffer).first(got->count()));
}

void FaultWorker::check_log(std::size_t lane, const std::string& what, Bytes offset, Bytes least,
                            std::span<const std::byte> bytes) {
  if (world_.counts.power_losses > 0 || world_.store_faults) return;
  const Bytes end = offset + Bytes(bytes.size());
  const Bytes greatest = AppendLog::kBlock * world_.logs[lane].begun;
  if (end < std::min(least, offset + AppendLog::kBlock * 8) || end > greatest) {
    check(what, Status(Code::internal, fmt::format("it ends at {} where {} to {} are possible", end.count(),
                                                   least.count(), greatest.count())));
  }
  world_.counts.bytes_checked += bytes.size();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (bytes[at] == value_at(lane, offset + Bytes(at))) continue;
    return check(
        what, Status(Code::internal, fmt::format("byte {} is {:#04x}, which nobody wrote there",
                                                 (offset + Bytes(at)).count(), static_cast<int>(bytes[at]))));
  }
}

}  // namespace tutti
