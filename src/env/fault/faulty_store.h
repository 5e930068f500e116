// FaultyStore: any Store, with errors by script and by chance.
//
// By script: the next operations of a kind fail. By chance: each does with a probability. A torn write writes
// a part of its range and fails. A failed sync is remembered (losses()); what it
// loses is up to whom on_failed_sync() tells. Chance is seeded, so a run repeats. The wrapped store must outlive this.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>

#include "base/random.h"
#include "env/store.h"

namespace tutti {

struct StoreFaults {
  double read_error = 0;   // probability of Code::io_error
  double write_error = 0;  // before anything is written
  double torn_write = 0;   // after a part was written; Code::io_error
  double no_space = 0;     // on write
  double sync_error = 0;   // what was not synced is lost, and later syncs succeed
};

enum class StoreOperation : std::uint8_t { read, write, truncate, sync, remove, length, list };

class FaultyStore final : public Store {
 public:
  explicit FaultyStore(Store& inner, const StoreFaults& faults = {}, Random random = Random(1))
      : inner_(inner), faults_(faults), random_(random) {}

  void set_faults(const StoreFaults& faults) { faults_ = faults; }
  // After `skip` more operations of this kind, the next `count` fail with `code`. Scripts of a kind follow on
  // each other.
  void fail(StoreOperation operation, Code code, std::uint64_t count = 1, std::uint64_t skip = 0);
  // The next write after `skip` others writes only its first `written` bytes, then fails with Code::io_error.
  void tear(Bytes written, std::uint64_t skip = 0);
  // Called when a sync fails here, before anybody hears of it.
  void on_failed_sync(std::function<void(ObjectId)> lose) { lose_ = std::move(lose); }
  // Errors given so far.
  [[nodiscard]] std::uint64_t injected() const { return injected_; }

  // Not shared: who reads for himself meets no faults.
  [[nodiscard]] StoreTraits traits() const override {
    StoreTraits traits = inner_.traits();
    traits.unshare();
    return traits;
  }
  using Store::read;
  using Store::write;
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) override;
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) override;
  Task<Status> truncate(ObjectId object, Bytes length) override;
  Task<Status> sync(ObjectId object) override;
  [[nodiscard]] std::uint64_t losses(ObjectId object) const override;
  Task<Status> remove(ObjectId object) override;
  Task<Result<std::optional<Bytes>>> length(ObjectId object) override;
  Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) override;
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
  Task<Result<std::vector<ObjectId>>> list() override;
  Result<StoreSpace> space() override { return inner_.space(); }

 private:
  struct Script {
    Code code = Code::io_error;
    std::uint64_t skip = 0;
    std::uint64_t count = 0;
    std::optional<Bytes> torn;
  };
  struct Fault {
    Status status;
    std::optional<Bytes> torn;  // write so much first
  };
  Fault next(StoreOperation operation, ObjectId object);
  Status by_chance(double probability, Code code, const char* what, ObjectId object);

  Store& inner_;
  StoreFaults faults_;
  Random random_;
  std::map<StoreOperation, std::deque<Script>> scripts_;
  std::uint64_t injected_ = 0;
  std::function<void(ObjectId)> lose_;
  std::map<ObjectId, std::uint64_t> losses_;
};

}  // namespace tutti
