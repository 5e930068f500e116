// FrameGuard: the frames in one direction of a connection, so that nobody on the way can change, drop, repeat or insert one,
// nor read them where that is asked for.
//
// ChaCha20 and Poly1305 with the keys of RFC 8439 over each frame: the key is that of the direction, the nonce the number of
// the frame, which both sides count. The tag covers the header, which everybody may read, and the payload as it travels,
// without the RFC's lengths: the header has always the same length, and says that of the payload. Bytes are added as they
// pass, in any number of pieces.
#pragma once

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "env/real/network/auth.h"
#include "env/real/network/protection.h"

namespace tutti {

class FrameGuard {
 public:
  using Tag = std::array<std::byte, crypto_onetimeauth_BYTES>;
  static_assert(sizeof(Tag) % 8 == 0, "frames stay aligned");

  // One frame on its way. The guard outlives it.
  class Frame {
   public:
    // Bytes that travel as they are: the header, and without encryption the payload.
    void add(std::span<const std::byte> bytes) {
      crypto_onetimeauth_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    }
    // What follows of the payload, as it was, to `to`, as it travels.
    void seal(std::span<const std::byte> bytes, std::byte* to);
    // What follows of the payload, as it travels, to `to`, as it was. In place or not.
    void open(std::span<const std::byte> bytes, std::byte* to);
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
    using Nonce = std::array<unsigned char, crypto_stream_chacha20_NONCEBYTES>;
    static constexpr std::size_t kBlock = 64;  // of ChaCha20

    // Either way is the same. In place or not.
    void encrypt(const std::byte* from, std::byte* to, std::size_t length);

    crypto_onetimeauth_state state_{};
    const FrameGuard* guard_ = nullptr;
    Nonce nonce_{};
    std::uint64_t at_ = 0;  // of the payload
    std::array<unsigned char, kBlock>
        block_{};  // of the key stream, that at_ lies in, unless it begins there
  };

  FrameGuard(const AuthKey& key, Protection protection)
      : key_(key), encrypts_(protection == Protection::encrypt) {}

  [[nodiscard]] bool encrypts() const { return encrypts_; }
  // The next frame: frames have the order of these calls.
  Frame begin();

 private:
  AuthKey key_;
  bool encrypts_;
  std::uint64_t number_ = 0;
};

}  // namespace tutti
