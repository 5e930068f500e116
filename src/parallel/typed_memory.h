// TypedMemory: repetitions of a datatype in memory, seen as the bytes of their data. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "layout/type_cursor.h"

namespace tutti {

class TypedMemory {
 public:
  TypedMemory(std::byte* base, FlatType type, std::int64_t count)
      : base_(base), type_(std::move(type)), count_(count) {}

  [[nodiscard]] std::int64_t bytes() const { return type_.size() * count_; }
  // The data is one run.
  [[nodiscard]] bool contiguous() const {
    return type_.contiguous() || (count_ == 1 && type_.blocks() == 1) || bytes() == 0;
  }
  // Of contiguous memory.
  [[nodiscard]] std::span<std::byte> all() const {
    if (bytes() == 0) return {};
    return {base_ + type_.true_lb(), static_cast<std::size_t>(bytes())};
  }
  // The mean length of its runs.
  [[nodiscard]] std::int64_t mean_run() const {
    return contiguous() ? bytes() : type_.size() / type_.blocks();
  }
  [[nodiscard]] TypeCursor cursor() const { return {type_, 0, count_}; }
  [[nodiscard]] std::byte* at(std::int64_t offset) const { return base_ + offset; }

  // Copies between the memory from `data` on and a plain buffer.
  void gather(std::int64_t data, std::span<std::byte> into) const;
  void scatter(std::span<const std::byte> from, std::int64_t data) const;

 private:
  std::byte* base_;
  FlatType type_;
  std::int64_t count_;
};

}  // namespace tutti
