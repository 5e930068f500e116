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

#include "base/extent.h"
#include "base/status.h"
#include "base/units.h"
#include "env/places.h"
#include "env/shared_file.h"
#include "env/store_identity.h"
#include "env/task.h"

namespace tutti {

// The id of the file whose share on this server the object is.
struct ObjectId {
  std::uint64_t value = 0;
  auto operator<=>(const ObjectId&) const = default;
};

// Gives the bytes of a write. Called with consecutive places, several at a time where the store has them; `at` counts
// from the start of the write, through all its extents. The list of places stays until the call has ended.
class Source {
 public:
  virtual ~Source() = default;
  virtual Task<Status> fill(Bytes at, Places places) = 0;
  // Whose bytes they are, for models of what a device sees; 0: not known.
  [[nodiscard]] virtual std::uint64_t origin() const { return 0; }
};

// Takes the bytes of a read. Called with pieces that follow on each other, in ascending order of `at`, which counts from
// the start of the read, through all its extents; what lies past the end of the object is left out.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Task<Status> take(Bytes at, ConstPlaces pieces) = 0;
  // As of a Source.
  [[nodiscard]] virtual std::uint64_t origin() const { return 0; }
};

// Plain memory as Source and Sink.
class MemorySource : public Source {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Task<Status> fill(Bytes at, Places places) override {
    const std::byte* from = bytes_.data() + at.count();
    for (const std::span<std::byte> place : places) {
      if (!place.empty()) std::memcpy(place.data(), from, place.size());
      from += place.size();
    }
    co_return Status();
  }

 private:
  std::span<const std::byte> bytes_;
};

class MemorySink : public Sink {
 public:
  explicit MemorySink(std::span<std::byte> bytes) : bytes_(bytes) {}
  Task<Status> take(Bytes at, ConstPlaces pieces) override {
    std::byte* into = bytes_.data() + at.count();
    for (const std::span<const std::byte> piece : pieces) {
      if (!piece.empty()) std::memcpy(into, piece.data(), piece.size());
      into += piece.size();
    }
    co_return Status();
  }

 private:
  std::span<std::byte> bytes_;
};

// A part of a longer stream as Source and Sink, for stores that pass on one extent at a time. `begin` is where the part
// begins.
class PartSource : public Source {
 public:
  PartSource(Source& whole, Bytes begin) : whole_(whole), begin_(begin) {}
  Task<Status> fill(Bytes at, Places places) override { return whole_.fill(begin_ + at, places); }
  [[nodiscard]] std::uint64_t origin() const override { return whole_.origin(); }

 private:
  Source& whole_;
  Bytes begin_;
};

class PartSink : public Sink {
 public:
  PartSink(Sink& whole, Bytes begin) : whole_(whole), begin_(begin) {}
  Task<Status> take(Bytes at, ConstPlaces pieces) override { return whole_.take(begin_ + at, pieces); }
  [[nodiscard]] std::uint64_t origin() const override { return whole_.origin(); }

 private:
  Sink& whole_;
  Bytes begin_;
};

struct StoreSpace {
  Bytes total;
  Bytes free;
  std::uint64_t disk = 0;  // on this host: stores of the same disk share its space; 0: not known
};

// What a store can do, the same from its opening to its end. A wrapper passes on what it does not change.
struct StoreTraits {
  bool in_memory = false;  // reads and writes never wait for a device
  bool shareable = false;  // objects may be read by others on this host: share() is worth asking
  bool writable = false;   // and written: share_for_writing() is
  bool cold = false;       // objects may be cold: cold() is worth asking
  bool addresses = false;  // bytes have a place on a device: locate() is worth asking
  bool checksums = false;  // bytes that changed on the device are found: Code::corrupt, and verify()
  auto operator<=>(const StoreTraits&) const = default;

  // For a wrapper that has to see every byte.
  void unshare() { shareable = writable = false; }
};

// Part of a device. Length 0: of none, the bytes are in memory.
struct DeviceStretch {
  Bytes address;
  Bytes length;
};

// What a read delivered.
struct ReadResult {
  Bytes bytes;               // in all
  Bytes end = Bytes::max();  // the lowest offset of the object that was asked for and is past its end
};

// What verify() found.
struct Scrubbed {
  Bytes checked;              // bytes that agree with their checksums
  Bytes summed;               // bytes that had none, and have one now
  std::vector<Bytes> rotten;  // where the blocks begin that do not agree, ascending
};

class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  [[nodiscard]] virtual StoreTraits traits() const = 0;

  // The bytes of the extents, one behind the other, are one stream. Extents may come in any order, touch each other or
  // be empty; the list stays until the operation has ended.
  //
  // Delivers less at the end of the object, nothing if there is none. Holes read as zeros. An error of the sink ends the
  // read and is returned. Code::corrupt if the device gave other bytes than were written.
  virtual Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) = 0;
  // All or an error; after an error any part of the extents may hold old or new bytes, or zeros if it was past the
  // end. An error of the source ends the write and is returned. Where extents overlap the later one wins.
  virtual Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) = 0;
  // The same with one extent; a read tells how many bytes were delivered.
  Task<Result<Bytes>> read(ObjectId object, Bytes offset, Bytes length, Sink& sink) {
    const Extent extent{offset, length};
    const Result<ReadResult> got = co_await read(object, only(extent), sink);
    if (!got.ok()) co_return got.status();
    co_return got->bytes;
  }
  Task<Status> write(ObjectId object, Bytes offset, Bytes length, Source& source) {
    const Extent extent{offset, length};
    co_return co_await write(object, only(extent), source);
  }

  // Sets the length, with zeros where it grows. Creates the object, even with length 0.
  virtual Task<Status> truncate(ObjectId object, Bytes length) = 0;
  // Success if the object does not exist. After a failure what was written and not synced may be lost, whatever later
  // syncs say: losses() tells.
  virtual Task<Status> sync(ObjectId object) = 0;
  // How often a sync of the object failed. Never falls, also when the store is opened anew.
  [[nodiscard]] virtual std::uint64_t losses(ObjectId object) const = 0;
  // Success if the object does not exist. Survives loss of power.
  virtual Task<Status> remove(ObjectId object) = 0;
  // Nothing if the object does not exist.
  virtual Task<Result<std::optional<Bytes>>> length(ObjectId object) = 0;
  // The first byte at or after `offset` that may not be in a hole; nothing if there is none. A store that cannot tell
  // calls all of an object data.
  virtual Task<Result<std::optional<Bytes>>> next_data(ObjectId object, Bytes offset) {
    const Result<std::optional<Bytes>> end = co_await length(object);
    if (!end.ok()) co_return end.status();
    if (!end->has_value() || **end <= offset) co_return std::optional<Bytes>();
    co_return std::optional(offset);
  }
  // Compares a range of the object with its checksums, where the store keeps some.
  virtual Task<Result<Scrubbed>> verify(ObjectId /*object*/, Extent /*range*/) { co_return Scrubbed(); }
  // In ascending order.
  virtual Task<Result<std::vector<ObjectId>>> list() = 0;
  virtual Result<StoreSpace> space() = 0;

  // Where the byte lies on the device, for policies that keep heads still; nothing if the store cannot tell.
  virtual Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) = 0;
  // The same without waiting, for statistics: where the device would have to go first if these bytes were asked for now; a stretch of
  // no length: nowhere, they are in memory, or it takes what is written. What
  // is known from an earlier question is told again without asking the device. Nothing if the store cannot tell.
  virtual std::optional<DeviceStretch> probe(ObjectId /*object*/, Extent /*extent*/, bool /*write*/) {
    return {};
  }
  // Whether the device has to be asked for the way to the object's bytes before it can be asked for them (on a disk, for
  // the inode: a seek of its own), and asking it. Reads and writes do it by themselves; a caller that does it first can
  // think again in between. A guess either way does no harm.
  [[nodiscard]] virtual bool cold(ObjectId object) const = 0;
  virtual Task<void> warm(ObjectId object) = 0;
  // Brings bytes from the device into memory, so that reads that follow soon need not wait for it. Ends when they are
  // there, as far as the store can tell. A hint: what is not there is left out, and nothing fails.
  virtual Task<void> prefetch(ObjectId /*object*/, std::span<const Extent> /*extents*/) { co_return; }
  // The object in a form that others on this host may read, if its bytes are in memory for good: a reader never waits
  // for a device. No file: it is not shared.
  virtual SharedObject share(ObjectId object) = 0;
  // The same for writing, of an object that exists. What others write counts as written, its length too.
  virtual WritableObject share_for_writing(ObjectId /*object*/) { return {}; }

  // Who the store is: fixed when it was made, but for bind().
  [[nodiscard]] virtual const StoreIdentity& identity() const = 0;
  // From now on it holds objects of the files of this metadata store. Durable.
  virtual Status bind(const Uuid& metadata) = 0;
  // The highest id of all objects that were ever made here; 0 if there was none.
  [[nodiscard]] virtual ObjectId newest() const = 0;
};

}  // namespace tutti
