#include "lab/sim/meter_store.h"

namespace tutti {

ObjectMeter& MeterStore::meter(ObjectId object) {
  const auto [place, fresh] = meters_.try_emplace(object);
  if (fresh) place->second.first = clock_.now();
  return place->second;
}

Task<Result<Bytes>> MeterStore::read(ObjectId object, Bytes offset, Bytes length, Sink& sink) {
  meter(object);
  Result<Bytes> got = co_await inner_.read(object, offset, length, sink);
  if (got.ok()) {
    ObjectMeter& noted = meter(object);
    ++noted.reads;
    noted.bytes_read += *got;
    noted.last = clock_.now();
  }
  co_return got;
}

Task<Status> MeterStore::write(ObjectId object, Bytes offset, Bytes length, Source& source) {
  meter(object);
  Status status = co_await inner_.write(object, offset, length, source);
  if (status.ok()) {
    ObjectMeter& noted = meter(object);
    ++noted.writes;
    noted.bytes_written += length;
    noted.last = clock_.now();
  }
  co_return status;
}

}  // namespace tutti
