// Room: memory that is used again and again: it grows to what was asked for and keeps its pages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace tutti {

class Room {
 public:
  // What was in it before is lost.
  std::span<std::byte> of(std::size_t bytes) {
    if (size_ < bytes) {
      memory_.reset();
      memory_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      size_ = bytes;
    }
    return {memory_.get(), bytes};
  }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
};

}  // namespace tutti
