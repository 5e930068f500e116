// FrameGuard: the tags of the frames in one direction of a connection, so that nobody on the way can change, drop, repeat
// or insert one.
//
// A tag is a Poly1305 over header and payload. Its key is good for one frame: it comes from the key of the direction and
// the number of the frame (ChaCha20), which both sides count. Bytes are added as they pass, in any number of pieces.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "env/real/network/auth.h"

namespace tutti {

class FrameGuard {
 public:
  using Tag = std::array<std::byte, crypto_onetimeauth_BYTES>;
  static_assert(sizeof(Tag) % 8 == 0, "frames stay aligned");

  // The tag of one frame in the making.
  class Frame {
   public:
    void add(std::span<const std::byte> bytes) {
      crypto_onetimeauth_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    }
    Tag end() {
      Tag tag{};
      crypto_onetimeauth_final(&state_, reinterpret_cast<unsigned char*>(tag.data()));
      return tag;
    }
    // end(), and whether it is this.
    bool ends_with(const Tag& tag) {
      const Tag own = end();
      return sodium_memcmp(own.data(), tag.data(), own.size()) == 0;
    }

   private:
    friend class FrameGuard;
    crypto_onetimeauth_state state_{};
  };

  explicit FrameGuard(const AuthKey& key) : key_(key) {}

  // The next frame: frames have the order of these calls.
  Frame begin() {
    std::array<unsigned char, crypto_onetimeauth_KEYBYTES> once{};
    std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES> nonce{};
    static_assert(sizeof(nonce) == sizeof(number_));
    for (std::size_t i = 0; i < nonce.size(); ++i) nonce[i] = static_cast<unsigned char>(number_ >> (8 * i));
    ++number_;
    crypto_stream_chacha20(once.data(), once.size(), nonce.data(),
                           reinterpret_cast<const unsigned char*>(key_.data()));
    Frame frame;
    crypto_onetimeauth_init(&frame.state_, once.data());
    return frame;
  }

 private:
  AuthKey key_;
  std::uint64_t number_ = 0;
};

}  // namespace tutti
