// TypeCursor: walks the bytes of repetitions of a FlatType, run by run. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "layout/flat_type.h"

namespace tutti {

struct TypeRun {
  std::int64_t offset = 0;  // from where the cursor's origin is
  std::int64_t length = 0;
  auto operator<=>(const TypeRun&) const = default;
};

class TypeCursor {
 public:
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();

  // Repetition i of the type lies at origin + i * extent. Keeps a copy of the type.
  TypeCursor(FlatType type, std::int64_t origin, std::int64_t count = kUnbounded);

  // The byte at this place of the data is the next; at most count * size. Takes time in the depth of the type
  // and the logarithm of its lists.
  void seek(std::int64_t data_offset);
  // Bytes of data before the cursor.
  [[nodiscard]] std::int64_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ == total_; }
  // The next run, of at most `most` bytes, runs that touch joined; length 0 at the end. most > 0.
  TypeRun next(std::int64_t most);

 private:
  struct Level {
    const flat::Node* node;
    std::int64_t base;   // where the node lies
    std::int64_t index;  // of its part below
    std::int64_t inner;  // lists of repeated parts: which repetition
  };
  void descend(const flat::Node* node, std::int64_t base, std::int64_t into);
  void advance();

  FlatType type_;
  std::int64_t origin_;
  std::int64_t count_;
  std::int64_t repetition_ = 0;
  std::int64_t position_ = 0;
  std::int64_t total_ = 0;
  bool dense_ = false;  // the whole is one run
  std::vector<Level> levels_;
  TypeRun leaf_;  // what is left of the current run
};

}  // namespace tutti
