// MeterStore: a Store that notes, for each object, what passed through it and when. Wraps another.
#pragma once

#include <cstdint>
#include <map>

#include "env/clock.h"
#include "env/store.h"

namespace tutti {

struct ObjectMeter {
  Bytes bytes_read;
  Bytes bytes_written;
  Nanos first;  // when the first transfer began
  Nanos last;   // when the last one ended
};

class MeterStore final : public Store {
 public:
  MeterStore(Clock& clock, Store& inner) : clock_(clock), inner_(inner) {}

  // Not shared: what somebody reads for himself could not be noted.
  [[nodiscard]] StoreTraits traits() const override {
    StoreTraits traits = inner_.traits();
    traits.unshare();
    return traits;
  }
  using Store::read;
  using Store::write;
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) override;
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) override;
  Task<Status> truncate(ObjectId object, Bytes length) override { return inner_.truncate(object, length); }
  Task<Status> sync(ObjectId object) override { return inner_.sync(object); }
  [[nodiscard]] std::uint64_t losses(ObjectId object) const override { return inner_.losses(object); }
  Task<Status> remove(ObjectId object) override { return inner_.remove(object); }
  Task<Result<std::optional<Bytes>>> length(ObjectId object) override { return inner_.length(object); }
  Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) override {
    return inner_.locate(object, offset);
  }
  std::optional<DeviceStretch> probe(ObjectId object, Extent extent, bool write) override {
    return inner_.probe(object, extent, write);
  }
  [[nodiscard]] bool cold(ObjectId object) const override { return inner_.cold(object); }
  Task<void> warm(ObjectId object) override { return inner_.warm(object); }
  Task<void> prefetch(ObjectId object, std::span<const Extent> extents) override {
    return inner_.prefetch(object, extents);
  }
  SharedObject share(ObjectId /*object*/) override { return {}; }
  [[nodiscard]] const StoreIdentity& identity() const override { return inner_.identity(); }
  Status bind(const Uuid& metadata) override { return inner_.bind(metadata); }
  [[nodiscard]] ObjectId newest() const override { return inner_.newest(); }
  Task<Result<Scrubbed>> verify(ObjectId object, Extent range) override {
    return inner_.verify(object, range);
  }
  Task<Result<std::vector<ObjectId>>> list() override { return inner_.list(); }
  Result<StoreSpace> space() override { return inner_.space(); }

  [[nodiscard]] const std::map<ObjectId, ObjectMeter>& meters() const { return meters_; }
  void reset() { meters_.clear(); }

 private:
  ObjectMeter& meter(ObjectId object);

  Clock& clock_;
  Store& inner_;
  std::map<ObjectId, ObjectMeter> meters_;
};

}  // namespace tutti
