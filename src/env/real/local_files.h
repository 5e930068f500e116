// Small help with files of the local system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace tutti {

// Owns a file descriptor.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// All bytes, or an error that names `what`.
Status write_all(int fd, std::span<const std::byte> bytes, std::string_view what);
Status pwrite_all(int fd, std::span<const std::byte> bytes, std::uint64_t offset, std::string_view what);
// Up to the end of the file or the buffer.
Result<std::size_t> pread_full(int fd, std::span<std::byte> buffer, std::uint64_t offset,
                               std::string_view what);

// The path of the running program, for starting itself again.
inline constexpr const char* kSelf = "/proc/self/exe";

}  // namespace tutti
