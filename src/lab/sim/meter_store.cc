#include "lab/sim/meter_store.h"

namespace tutti {

ObjectMeter& MeterStore::meter(ObjectId object) {
  const auto [place, fresh] = meters_.try_emplace(object);
  if (fresh) place->second.first = clock_.now();
  return place->second;
}

Task<Result<ReadResult>> MeterStore::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  meter(object);
  Result<ReadResult> got = co_await inner_.read(object, extents, sink);
  if (got.ok()) {
    ObjectMeter& noted = meter(object);
    noted.bytes_read += got->bytes;
    noted.last = clock_.now();
  }
  co_return got;
}

Task<Status> MeterStore::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  meter(object);
  Status status = co_await inner_.write(object, extents, source);
  if (status.ok()) {
    ObjectMeter& noted = meter(object);
    for (const Extent& extent : extents) noted.bytes_written += extent.length;
    noted.last = clock_.now();
  }
  co_return status;
}

}  // namespace tutti
