// CpuStore: a Store on a node whose processor has to handle what passes: a cost for each operation, byte and run (extent).
// Wraps another.
//
// One processor for all operations of the node, in order of coming. What is read is handled before it is sent, what is
// written after it has come.
#pragma once

#include <cstdint>

#include "env/clock.h"
#include "env/store.h"
#include "env/sync.h"

namespace tutti {

struct CpuModel {
  Nanos per_block;  // each read or write, of any length
  std::int64_t picoseconds_per_read_byte = 0;
  std::int64_t picoseconds_per_written_byte = 0;
  Nanos per_run;  // each extent of it but the first
  [[nodiscard]] bool free() const { return *this == CpuModel(); }
  auto operator<=>(const CpuModel&) const = default;
};

class CpuStore final : public Store {
 public:
  CpuStore(Clock& clock, Store& inner, const CpuModel& model)
      : clock_(clock), inner_(inner), model_(model), processor_(clock.executor(), 1) {}

  // It takes time, but waits for no device.
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
  [[nodiscard]] bool cold(ObjectId object) const override { return inner_.cold(object); }
  Task<void> warm(ObjectId object) override { return inner_.warm(object); }
  std::optional<DeviceStretch> probe(ObjectId object, Extent extent, bool write) override {
    return inner_.probe(object, extent, write);
  }
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

  // How long the processor was busy.
  [[nodiscard]] Nanos busy() const { return busy_; }

 private:
  Task<void> work(std::span<const Extent> extents, std::int64_t picoseconds_per_byte);

  Clock& clock_;
  Store& inner_;
  CpuModel model_;
  Semaphore processor_;
  Nanos busy_;
};

}  // namespace tutti
