// The part of FaultWorker that cuts a file while it is written.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "env/combine.h"
#include "lab/faults/fault_worker.h"

namespace tutti {
namespace {

constexpr Bytes kCutLength = 24_KiB;

}  // namespace

Task<Status> FaultWorker::cut_soon(OpenFile& file) {
  co_await client_.clock().sleep(random_.exponential(200_us));
  co_return co_await file.truncate(0_B);
}

// A write of several messages to one server, and a cut to nothing at the same time: all of the write is there afterwards
// or none of it.
Task<void> FaultWorker::write_and_cut() {
  const std::string path = fmt::format("/cut{}", lane_);
  OpenOptions options;
  options.write = true;
  options.create = true;
  options.layout.stripe_count = 1;
  const Nanos began = world_.now();
  auto file = co_await client_.files().open(path, options);
  ended("open " + path, began, file.status());
  if (!file.ok()) co_return;
  const std::uint64_t losses = world_.counts.power_losses;
  const auto value = static_cast<FileOracle::OperationId>(++cuts_);
  std::vector<std::byte> bytes(kCutLength.count());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = FileOracle::value(value, Bytes(i));
  const std::string what = fmt::format("write and cut {} [{}]", path, value);
  std::vector<Task<Status>> tasks;
  tasks.push_back((*file)->write(0_B, bytes));
  tasks.push_back(cut_soon(**file));
  const Nanos writing = world_.now();
  const std::vector<Status> both = co_await when_all(std::move(tasks));
  for (const Status& status : both) ended(what, writing, status);
  if (both[0].ok() && both[1].ok()) {
    std::vector<std::byte> buffer(bytes.size());
    const Nanos reading = world_.now();
    const auto got = co_await (*file)->read(0_B, buffer);
    ended("read " + path, reading, got.status());
    const bool judged = got.ok() && world_.counts.power_losses == losses && !world_.store_faults;
    if (judged && got->count() != 0 && (got->count() != bytes.size() || buffer != bytes)) {
      check(what, Status(Code::internal, fmt::format("{} bytes are there, and not all of the write, or zeros",
                                                     got->count())));
    }
  }
  const Nanos closing = world_.now();
  const Status closed = co_await (*file)->close();
  ended("close " + path, closing, closed);
}

}  // namespace tutti
