// LossRecord: how often syncs of an object failed, in a file of fixed size beside the objects.
//
// The kernel tells a failed write-back once and takes the pages for clean afterwards: only who remembers it can tell
// those who ask later. The file is written in full when the store is made, so that noting a loss needs no space on a
// disk that has none. It names the last objects one by one; when there are too many, all objects count one loss more.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/status.h"
#include "env/real/file_descriptor.h"
#include "env/store.h"

namespace tutti {

class LossRecord {
 public:
  static constexpr std::size_t kMostObjects = 1023;

  // The file `losses` of the directory; made if it is missing. `path` is that of the directory, for messages.
  static Result<LossRecord> open(int directory, const std::string& path);

  // Never falls.
  [[nodiscard]] std::uint64_t count(ObjectId object) const;
  // One more, durable if ok. It counts until the end of the process in any case.
  Status note(ObjectId object);

 private:
  LossRecord(FileDescriptor file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Status load();
  [[nodiscard]] Status store() const;

  FileDescriptor file_;
  std::string path_;
  std::uint64_t all_ = 0;
  std::map<ObjectId, std::uint64_t> objects_;
};

}  // namespace tutti
