// LmdbSnapshot: reads an LMDB store without changing it, also while another process serves it: one consistent state.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "env/kv.h"

namespace tutti {

class LmdbSnapshot {
 public:
  // The store in a directory, as LmdbKv has it, or in a single file, as copy() makes it.
  static Result<std::unique_ptr<LmdbSnapshot>> open(const std::string& path);
  ~LmdbSnapshot();
  LmdbSnapshot(const LmdbSnapshot&) = delete;
  LmdbSnapshot& operator=(const LmdbSnapshot&) = delete;

  // All calls of one view see the same state.
  Status view(const std::function<Status(const KvReader&)>& body) const;
  // Writes one state, compact, into a new file: there in full and on disk, or not at all. Replaces what is there.
  Status copy(const std::string& file) const;

 private:
  class Impl;
  explicit LmdbSnapshot(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti
