// SharedFile: a file that one process lets another on its host read from by itself.
//
// What is in memory anyway needs no server to copy it: the reader does so at its own expense, when the server says
// that its turn has come.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

struct Segment;

class SharedFile {
 public:
  SharedFile() = default;
  SharedFile(const SharedFile&) = delete;
  SharedFile& operator=(const SharedFile&) = delete;
  virtual ~SharedFile() = default;

  // Fills the segments of this process's memory, one behind the other, from `offset` on. Returns how many bytes
  // there were: fewer at the end of the file.
  [[nodiscard]] virtual Result<Bytes> read(Bytes offset, std::span<const Segment> into) const = 0;
  // What the transport hands over.
  [[nodiscard]] virtual int descriptor() const = 0;
};

// An object in a form that others may read. No file: the store does not share it.
struct SharedObject {
  std::uint64_t key = 0;  // never given to another object while the store is open; not 0
  Bytes length;           // of the object, now
  std::shared_ptr<const SharedFile> file;
};

}  // namespace tutti
