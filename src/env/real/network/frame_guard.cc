#include "env/real/network/frame_guard.h"

#include <algorithm>
#include <cstring>

namespace tutti {
namespace {

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

}  // namespace

FrameGuard::Frame FrameGuard::begin() {
  Frame frame;
  frame.guard_ = this;
  static_assert(sizeof(frame.nonce_) == sizeof(number_));
  for (std::size_t i = 0; i < frame.nonce_.size(); ++i)
    frame.nonce_[i] = static_cast<unsigned char>(number_ >> (8 * i));
  ++number_;
  // The first block of the key stream is the tag's, the payload begins with the second.
  std::array<unsigned char, crypto_onetimeauth_KEYBYTES> once{};
  crypto_stream_chacha20(once.data(), once.size(), frame.nonce_.data(), raw(key_.data()));
  crypto_onetimeauth_init(&frame.state_, once.data());
  return frame;
}

void FrameGuard::Frame::seal(std::span<const std::byte> bytes, std::byte* to) {
  if (guard_->encrypts_) {
    encrypt(bytes.data(), to, bytes.size());
  } else if (!bytes.empty()) {
    std::memcpy(to, bytes.data(), bytes.size());
  }
  add({to, bytes.size()});
}

void FrameGuard::Frame::open(std::span<const std::byte> bytes, std::byte* to) {
  add(bytes);
  if (guard_->encrypts_) {
    encrypt(bytes.data(), to, bytes.size());
  } else if (!bytes.empty() && to != bytes.data()) {
    std::memcpy(to, bytes.data(), bytes.size());
  }
}

void FrameGuard::Frame::encrypt(const std::byte* from, std::byte* to, std::size_t length) {
  const unsigned char* key = raw(guard_->key_.data());
  while (length > 0) {
    const std::uint64_t block = 1 + at_ / kBlock;
    const std::size_t within = at_ % kBlock;
    std::size_t count = length - length % kBlock;
    if (within == 0 && count > 0) {
      crypto_stream_chacha20_xor_ic(raw(to), raw(from), count, nonce_.data(), block, key);
    } else {
      if (within == 0) {
        block_.fill(0);
        crypto_stream_chacha20_xor_ic(block_.data(), block_.data(), kBlock, nonce_.data(), block, key);
      }
      count = std::min(length, kBlock - within);
      for (std::size_t i = 0; i < count; ++i) to[i] = from[i] ^ static_cast<std::byte>(block_[within + i]);
    }
    at_ += count;
    from += count;
    to += count;
    length -= count;
  }
}

}  // namespace tutti
