// Placement: where on the device the bytes of each object lie.
//
// The device is cut in extents. An object takes one when a byte of it is first asked for: the one after its
// preceding extent if that is free, so objects grow contiguously. A new object starts `distance` after the
// start of the one placed before it, so different objects lie far apart; or, with a salt, anywhere, as on a disk whose
// free space is scattered. Servers with the same salt place their objects alike: they hold the objects of the same
// files, made in the same order, and a file system that does the same again puts files at the same distances (two new
// ext4 of 250 GB, ten objects each: the same order and distances to the block). When all extents are taken, objects
// share them: only timing depends on places.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/units.h"
#include "env/store.h"

namespace tutti {

struct PlacementOptions {
  Bytes start;             // of the part of the device that is used
  Bytes span;              // its length; 0: to the end
  Bytes extent = 128_MiB;  // as an ext4 block group
  Bytes distance = 8_GiB;  // between the starts of objects; 0: the next free extent
  std::uint64_t salt = 0;  // not 0: objects start where a hash of it and their id says
  bool adjacent =
      false;  // the first object starts where the salt says, the next ones behind it, whatever `distance`
  bool fragmented =
      false;  // with a salt: every extent lies anywhere, so that objects do not grow contiguously
  bool packed =
      false;  // the first object starts at `start`, each next one `gap` behind the end of the one before
  Bytes gap;
};

class Placement {
 public:
  Placement(Bytes capacity, const PlacementOptions& options);

  // The place of the byte; takes an extent if there is none yet.
  Bytes locate(ObjectId object, Bytes offset);
  // How many bytes from `offset` on lie in one piece, at least up to the end of the extent.
  [[nodiscard]] Bytes contiguous(Bytes offset) const { return options_.extent - offset % options_.extent; }
  // All extents of an object of this length, one behind the other where they are free.
  void place_whole(ObjectId object, Bytes length);
  void remove(ObjectId object);

 private:
  using Extents = std::map<std::uint64_t, std::uint64_t>;  // number in the object to number on the device
  std::uint64_t take(std::uint64_t preferred);
  std::uint64_t place(ObjectId object, Extents& extents, std::uint64_t number);

  PlacementOptions options_;
  std::map<ObjectId, Extents> objects_;
  std::vector<std::uint32_t> users_;  // of each extent
  std::uint64_t free_;
  std::uint64_t next_start_ = 0;
  bool any_ = false;        // an object was placed
  std::uint64_t last_ = 0;  // extent that was taken
};

}  // namespace tutti
