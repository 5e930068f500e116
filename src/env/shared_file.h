// SharedFile: a file that one process lets another on its host read or write by itself.
//
// What is in memory anyway needs no server to copy it: the client does so at its own expense, when the server says
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
  // Writes the segments of this process's memory, one behind the other, from `offset` on. All of them, or an error: then
  // any part may be there. For files that were given to be written.
  [[nodiscard]] virtual Status write(Bytes /*offset*/, std::span<const Segment> /*from*/) const {
    return {Code::unsupported, "the file is for reading only"};
  }
  // The file as numbers in memory that its owner changes at any time: load them atomically. None if it cannot be
  // mapped. As long as the file.
  [[nodiscard]] virtual std::span<const std::uint64_t> words() const { return {}; }
  // What the transport hands over.
  [[nodiscard]] virtual int descriptor() const = 0;
};

// An object in a form that others may read. No file: the store does not share it.
struct SharedObject {
  std::uint64_t key = 0;  // never given to another object while the store is open; not 0
  Bytes length;           // of the object, now
  std::shared_ptr<const SharedFile> file;
};

// An object in a form that others may write. No file: the store does not share it.
//
// A word of `marks` tells a writer whether its bytes are still there: it changes before the object is cut or removed. Whoever
// finds the value that was told, before the first byte and after the last, has written all of them to the object as it is
// and on one side of every cut. Objects may share a word.
struct WritableObject {
  std::uint64_t key = 0;  // as of a SharedObject
  std::shared_ptr<const SharedFile> file;
  std::uint64_t marks_key = 0;  // the same for all objects of the store
  std::shared_ptr<const SharedFile> marks;
  std::uint32_t mark = 0;   // which word,
  std::uint64_t value = 0;  // and what it says now
};

}  // namespace tutti
