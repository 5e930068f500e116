// Reading and writing a Store with plain vectors, for tests.
#pragma once

#include <cstddef>
#include <vector>

#include "env/store.h"

namespace tutti::conformance {

// Bytes that depend on seed and position, so that a misplaced piece shows.
inline std::vector<std::byte> pattern(std::size_t length, std::uint64_t seed) {
  std::vector<std::byte> bytes(length);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15U + 1;
  for (auto& byte : bytes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(state >> 56U);
  }
  return bytes;
}

inline Task<Status> write_bytes(Store& store, ObjectId object, Bytes offset, std::vector<std::byte> bytes) {
  MemorySource source(bytes);
  co_return co_await store.write(object, offset, Bytes(bytes.size()), source);
}

// What a read of `length` delivers; the buffer is preset so that bytes not delivered show.
inline Task<Result<std::vector<std::byte>>> read_bytes(Store& store, ObjectId object, Bytes offset,
                                                       Bytes length) {
  std::vector<std::byte> bytes(length.count(), std::byte{0xee});
  MemorySink sink(bytes);
  const Result<Bytes> got = co_await store.read(object, offset, length, sink);
  if (!got.ok()) co_return got.status();
  bytes.resize(got->count());
  co_return bytes;
}

}  // namespace tutti::conformance
