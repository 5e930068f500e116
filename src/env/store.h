// Store: the port for the objects of one data server. An object is a sparse array of bytes.
//
// The store says where bytes go: it hands a Source the place to fill, or a Sink the bytes to take, so that one
// copy suffices where the store can expose the page cache. Objects come into being with the first write or
// truncate. A completed write survives the death of the process; after sync() it survives loss of power.
// Operations on different objects, and on disjoint ranges of one, may run at the same time; ordering others is
// the caller's business. Destroying a waiting operation cancels it; the memory involved is free afterwards.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "env/shared_file.h"
#include "env/task.h"

namespace tutti {

// The id of the file whose share on this server the object is.
struct ObjectId {
  std::uint64_t value = 0;
  auto operator<=>(const ObjectId&) const = default;
};

// Gives the bytes of a write. Called with consecutive places; `at` counts from the start of the write.
class Source {
 public:
  virtual ~Source() = default;
  virtual Task<Status> fill(Bytes at, std::span<std::byte> place) = 0;
};

// Takes the bytes of a read. Called with consecutive pieces; `at` counts from the start of the read.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Task<Status> take(Bytes at, std::span<const std::byte> piece) = 0;
};

// Plain memory as Source and Sink.
class MemorySource : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Task<Status> fill(Bytes at, std::span<std::byte> place) override {
    std::memcpy(place.data(), bytes_.data() + at.count(), place.size());
    co_return Status();
  }

 private:
  std::span<const std::byte> bytes_;
};

class MemorySink : public Sink {
 public:
  explicit MemorySink(std::span<std::byte> bytes) : bytes_(bytes) {}
  Task<Status> take(Bytes at, std::span<const std::byte> piece) override {
    std::memcpy(bytes_.data() + at.count(), piece.data(), piece.size());
    co_return Status();
  }

 private:
  std::span<std::byte> bytes_;
};

struct StoreSpace {
  Bytes total;
  Bytes free;
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Returns how many bytes were delivered: fewer than `length` at the end of the object, 0 if there is none.
  // Holes read as zeros. An error of the sink ends the read and is returned.
  virtual Task<Result<Bytes>> read(ObjectId object, Bytes offset, Bytes length, Sink& sink) = 0;
  // All or an error; after an error any part of the range may hold old or new bytes, or zeros if it was past the
  // end. An error of the source ends the write and is returned.
  virtual Task<Status> write(ObjectId object, Bytes offset, Bytes length, Source& source) = 0;
  // Sets the length, with zeros where it grows. Creates the object, even with length 0.
  virtual Task<Status> truncate(ObjectId object, Bytes length) = 0;
  // Success if the object does not exist.
  virtual Task<Status> sync(ObjectId object) = 0;
  // Success if the object does not exist.
  virtual Task<Status> remove(ObjectId object) = 0;
  // Nothing if the object does not exist.
  virtual Task<Result<std::optional<Bytes>>> length(ObjectId object) = 0;
  // Where the byte lies on the device, for policies that keep heads still; nothing if the store cannot tell.
  virtual Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) = 0;
  // Objects are in memory: reads and writes never wait for a device.
  [[nodiscard]] virtual bool in_memory() const { return false; }
  // Whether the device has to be asked for the way to the object's bytes before it can be asked for them (on a disk, for
  // the inode: a seek of its own), and asking it. Reads and writes do it by themselves; a caller that does it first can
  // think again in between. A guess either way does no harm.
  [[nodiscard]] virtual bool cold(ObjectId /*object*/) const { return false; }
  virtual Task<void> warm(ObjectId /*object*/) { co_return; }
  // In ascending order.
  virtual Task<Result<std::vector<ObjectId>>> list() = 0;
  virtual Result<StoreSpace> space() = 0;
  // The object as a file that others may read, if its bytes are in memory for good: a reader never waits for a
  // device.
  virtual SharedObject share(ObjectId /*object*/) { return {}; }
};

}  // namespace tutti
