// Object stores in directories of tests.
#pragma once

#include <linux/magic.h>
#include <sys/vfs.h>

#include <memory>
#include <string>

#include "env/real/store/file_store.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {

inline bool on_tmpfs(const std::string& path) {
  struct statfs info {};
  return ::statfs(path.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

inline StoreIdentity test_identity() { return {7, 0, Uuid{1, 2}, Uuid(), false}; }

// Opens the store, made if it is missing.
inline Result<std::unique_ptr<FileStore>> open_store(Loop& loop, const std::string& path,
                                                     FileStoreOptions options = {}) {
  const Status made = FileStore::create(path, test_identity());
  if (!made.ok() && made.code() != Code::exists && made.code() != Code::busy) return made;
  return FileStore::open(loop, path, std::move(options));
}

}  // namespace tutti
