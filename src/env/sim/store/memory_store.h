// MemoryStore: a Store in memory, for tests and for the simulated world. Takes no time by itself.
//
// Keeps what was synced apart from what was only written: crash() is a loss of power. Death of a process
// needs no call, everything stays. Operations run to their end without waiting unless the source or sink
// waits.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "base/random.h"
#include "env/store.h"

namespace tutti {

struct MemoryStoreOptions {
  Bytes capacity =
      Bytes(std::uint64_t{1} << 40U);  // writes beyond fail with Code::no_space; in steps of 64 KiB
  // Keeps only lengths: sources are asked and sinks are fed as ever, but nothing is stored, and reads give
  // zeros.
  bool phantom = false;
  StoreIdentity identity;
};

class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const MemoryStoreOptions& options = {}, Random random = Random(1));
  ~MemoryStore() override;

  // In memory; nobody outside the process can read it, and it has no device.
  [[nodiscard]] StoreTraits traits() const override {
    StoreTraits traits;
    traits.in_memory = true;
    return traits;
  }
  using Store::read;
  using Store::write;
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) override;
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) override;
  Task<Status> truncate(ObjectId object, Bytes length) override;
  Task<Status> sync(ObjectId object) override;
  // Syncs never fail.
  [[nodiscard]] std::uint64_t losses(ObjectId /*object*/) const override { return 0; }
  Task<Status> remove(ObjectId object) override;
  Task<Result<std::optional<Bytes>>> length(ObjectId object) override;
  // Objects have no place in memory: always nothing.
  Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) override;
  [[nodiscard]] bool cold(ObjectId /*object*/) const override { return false; }
  Task<void> warm(ObjectId /*object*/) override { co_return; }
  SharedObject share(ObjectId /*object*/) override { return {}; }
  [[nodiscard]] const StoreIdentity& identity() const override { return options_.identity; }
  Status bind(const Uuid& metadata) override {
    options_.identity.metadata = metadata;
    options_.identity.replaces = false;
    return {};
  }
  [[nodiscard]] ObjectId newest() const override { return newest_; }
  Task<Result<std::vector<ObjectId>>> list() override;
  Result<StoreSpace> space() override;

  // Loss of power: of each object's unsynced changes any part stays, by chance: sectors of 4 KiB are old or
  // new, one may be torn at 512 bytes, growth may be undone, an object that never was synced may vanish.
  // Removals and cuts are durable at once. No operation may be under way.
  void crash();
  // As after a failed sync: of the object's unsynced bytes any are old or new, and all count as synced. Its length and
  // its name stay as they are.
  void lose_unsynced(ObjectId object);

 private:
  struct Page;
  struct Object;

  Status write_piece(ObjectId object, Bytes offset, std::span<const std::byte> bytes);
  Page* page_for_write(Object& object, std::uint64_t index);
  void read_piece(const Object& object, Bytes offset, std::span<std::byte> bytes) const;
  void cut(Object& object, Bytes length);
  void crash(Object& object);
  void revert_some(Page& page);
  Status reserve(Object& object, Bytes end);
  Object& made(ObjectId object);

  MemoryStoreOptions options_;
  Random random_;
  std::map<ObjectId, Object> objects_;
  ObjectId newest_;
  std::uint64_t used_ = 0;
  std::unique_ptr<std::byte[]> scratch_;  // zeros to read from and a place to write to when phantom
};

}  // namespace tutti
