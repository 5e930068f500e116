// ChecksumStore: any Store, with a checksum (crc32c.h) for every 64 KiB block of its objects.
//
// Where the sums are. In a store of their own, beside that of the data: the object with the same id holds 8 bytes for each
// block (object_sums.h). In memory they are as new as the data; to their store they go half a minute after the last write
// of an object (*settling*), when its bytes have been synced: a stored sum is always one of durable bytes. A block without
// a sum is not checked: it gets one when it is written or read as a whole, or verified.
//
// Reading. The sum of a block is compared before its bytes are given to the sink. Of a block that is read in part the
// rest is read too, unless it was found good within the last 10 s (a disk that changes a byte does not do it while the
// block is in memory, where it was read from). What does not agree is read again when no write touches it, so that only
// bytes at rest are called rotten: Code::corrupt, with object and offset.
//
// Writing. Sums are linear: a write adds what its bytes contribute and takes off what the bytes that it replaces did.
// Whole blocks, appends and holes need no reading for that; a part of a block that exists is read before it is replaced.
// Rot in the rest of the block stays visible: the old sum goes into the new one. After a write that failed nothing is
// known of its blocks.
//
// Cutting takes off what is cut away. Objects that grow, and holes, need nothing: zeros do not count in a sum.
//
// Stops. A block with a stored sum is listed durably before it changes (suspect_record.h): one sync when an object at
// rest is overwritten for the first time, none for new data. After an unclean stop the stored sums of listed blocks are
// thrown away, and the blocks summed anew in the background; nothing of that is taken for rot. What was written and not
// settled has no stored sum, and is not protected until it is read or verified.
//
// Bytes that others read for themselves cannot be checked here: objects are not shared.
//
// Both stores must outlive this; nobody else may change them. Belongs to the thread of its clock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "env/checksum/object_sums.h"
#include "env/checksum/suspect_record.h"
#include "env/clock.h"
#include "env/scope.h"
#include "env/store.h"

namespace tutti {

struct ChecksumOptions {
  // An object settles when nobody has written it for so long, when the kernel has begun to write it back too, or after
  // `oldest` at the latest.
  Nanos quiet = 30_s;
  Nanos oldest = 120_s;
  Nanos trusted = 10_s;  // how long a block that was checked counts as good for those who read parts of it
  std::size_t regions = 8'192;  // of sums kept in memory while nobody uses them, 4 KiB each
  Log log;
};

class ChecksumStore final : public Store {
 public:
  ChecksumStore(Clock& clock, Store& data, Store& sums, ChecksumOptions options = {});

  // Once, before anything else: throws away the sums that the last stop has made doubtful.
  Task<Status> open();
  // Stores all sums that are only in memory; before a clean stop.
  Task<Status> settle();

  [[nodiscard]] StoreTraits traits() const override;
  using Store::read;
  using Store::write;
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) override;
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) override;
  Task<Status> truncate(ObjectId object, Bytes length) override;
  Task<Status> sync(ObjectId object) override { return data_.sync(object); }
  [[nodiscard]] std::uint64_t losses(ObjectId object) const override { return data_.losses(object); }
  Task<Status> remove(ObjectId object) override;
  Task<Result<std::optional<Bytes>>> length(ObjectId object) override { return data_.length(object); }
  Task<Result<std::optional<Bytes>>> next_data(ObjectId object, Bytes offset) override {
    return data_.next_data(object, offset);
  }
  Task<Result<Scrubbed>> verify(ObjectId object, Extent range) override;
  Task<Result<std::vector<ObjectId>>> list() override { return data_.list(); }
  Result<StoreSpace> space() override { return data_.space(); }
  Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) override {
    return data_.locate(object, offset);
  }
  std::optional<DeviceStretch> probe(ObjectId object, Extent extent, bool write) override {
    return data_.probe(object, extent, write);
  }
  [[nodiscard]] bool cold(ObjectId object) const override { return data_.cold(object); }
  Task<void> warm(ObjectId object) override { return data_.warm(object); }
  // Whole blocks: they are checked as such.
  Task<void> prefetch(ObjectId object, std::span<const Extent> extents) override;
  SharedObject share(ObjectId /*object*/) override { return {}; }
  [[nodiscard]] const StoreIdentity& identity() const override { return data_.identity(); }
  Status bind(const Uuid& metadata) override { return data_.bind(metadata); }
  [[nodiscard]] ObjectId newest() const override { return data_.newest(); }

 private:
  using Sums = std::shared_ptr<ObjectSums>;
  class CheckingSink;
  struct WritePlan;

  Sums sums_of(ObjectId object);
  // The sums of all blocks that the extents touch.
  Task<Status> load(Sums sums, std::span<const Extent> extents);
  Task<Status> load_region(Sums sums, std::uint64_t region);
  void trim();

  // What of the blocks that are read in part, and that have a sum, is not asked for.
  [[nodiscard]] std::vector<Extent> missing(ObjectSums& sums, std::span<const Extent> extents,
                                            Bytes length) const;
  Task<Result<std::vector<BlockPart>>> sum_up(ObjectId object, std::span<const Extent> extents);
  // Whether the block at rest is as its sum says; true if that cannot be told.
  Task<Result<bool>> whole(Sums sums, std::uint64_t block);
  [[nodiscard]] Status rot(ObjectId object, std::uint64_t block) const;

  // Lists blocks of the range that have a stored sum as suspect.
  Task<Status> protect(Sums sums, std::span<const Extent> extents);
  Task<Result<WritePlan>> plan(Sums sums, std::span<const Extent> extents);
  void apply(ObjectSums& sums, const WritePlan& plan, std::span<const BlockPart> added);

  void note_unsettled(const Sums& sums);
  Task<void> settle_by_and_by();
  Task<Status> flush_suspects();
  Task<Status> settle(Sums sums);
  Task<Status> store_entries(Sums sums, std::vector<std::uint64_t> blocks);
  // Sums a block at rest of which nothing is known; false if it is not at rest.
  Task<Result<bool>> sum_block(Sums sums, std::uint64_t block);
  Task<Status> discard(SuspectRecord::Range range);
  Task<void> sum_anew(std::vector<SuspectRecord::Range> ranges);

  Clock& clock_;
  Store& data_;
  Store& sums_;
  ChecksumOptions options_;
  SuspectRecord suspects_;
  std::map<ObjectId, Sums> objects_;
  std::map<ObjectId, Sums> unsettled_;
  std::size_t regions_ = 0;  // loaded, in all
  std::size_t trim_at_ = 0;  // objects and regions: when there are more, some may be forgotten
  bool settling_ = false;    // somebody looks after what is unsettled
  Scope scope_;
};

}  // namespace tutti
