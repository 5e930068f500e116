#include "lab/sim/cpu_store.h"

namespace tutti {

Task<Result<ReadResult>> CpuStore::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  co_await work(extents, model_.picoseconds_per_read_byte);
  co_return co_await inner_.read(object, extents, sink);
}

Task<Status> CpuStore::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  TUTTI_CO_TRY(co_await inner_.write(object, extents, source));
  co_await work(extents, model_.picoseconds_per_written_byte);
  co_return Status();
}

Task<void> CpuStore::work(std::span<const Extent> extents, std::int64_t picoseconds_per_byte) {
  Bytes bytes;
  for (const Extent& extent : extents) bytes += extent.length;
  const auto runs = static_cast<std::int64_t>(extents.size()) - 1;
  const Nanos time = model_.per_block + model_.per_run * runs +
                     Nanos(static_cast<std::int64_t>(bytes.count()) * picoseconds_per_byte / 1000);
  co_await processor_.acquire();
  co_await clock_.sleep(time);
  busy_ += time;
  processor_.release();
}

}  // namespace tutti
