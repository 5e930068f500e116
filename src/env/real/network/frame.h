// The framing of socket connections: a header of 24 bytes, the payload, and zeros up to a multiple of 8, so
// that headers and payloads stay aligned to 8 in a receive buffer. All numbers are little endian.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/status.h"
#include "env/network.h"

namespace tutti {

static_assert(std::endian::native == std::endian::little, "frames are written as they lie in memory");

inline constexpr std::uint32_t kFrameMagic = 0x54757474;  // "Tutt"
inline constexpr std::uint8_t kFrameVersion = 1;

struct FrameHeader {
  std::uint32_t magic = kFrameMagic;
  std::uint8_t version = kFrameVersion;
  std::uint8_t flags = 0;  // none are defined
  std::uint16_t type = 0;
  std::uint32_t length = 0;   // of the payload, without padding
  std::uint32_t follows = 0;  // of a request: its region whose bytes come next, unasked; 0: none
  std::uint64_t id = 0;
};
static_assert(sizeof(FrameHeader) == 24);

// Frames of the transport itself; below kFirstUserFrameType.
enum class TransportFrame : std::uint16_t {
  hello = 1,        // Hello: the client's first frame
  welcome = 2,      // Welcome: the server's answer
  reject = 3,       // u16 code, text: the server's other answer
  pull = 4,         // id: token; PullRequest: send these bytes of a region
  pull_data = 5,    // id: token; bytes, then u64: 1 if they are good, 0 if the region went away meanwhile
  pull_failed = 6,  // id: token; u16 code
  push_data = 7,    // PushTarget, then bytes for a region
  challenge = 9,    // the server's nonce (TCP only)
  response = 10,    // what proves who the client is (TCP only)
  file = 11,        // id: key; comes with a descriptor of a file to read from (local sockets only)
  nothing = 12,     // empty, and means nothing
  hold = 13,        // empty; nothing is to be pushed until it is granted
  grant = 14,       // empty; no longer held
  early = 15,       // id: region that was announced; bytes and u64 as of pull_data
  early_gone = 16,  // id: region that was announced; its bytes do not come
  early_on = 17,    // empty; short regions may come with their requests: early_bytes.h
  early_off = 18,   // empty; no longer
};

struct PullRequest {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
struct PushTarget {
  std::uint64_t region = 0;
  std::uint64_t offset = 0;
};

// Bulk data on the socket travels in frames of at most this many bytes.
inline constexpr std::size_t kBulkChunk = 256U << 10U;

constexpr std::size_t padding(std::size_t length) { return (8 - length % 8) % 8; }
constexpr std::size_t padded(std::size_t length) { return length + padding(length); }

// For constant bytes that stand for padding and for data that is no longer there.
inline constexpr std::array<std::byte, 4096> kZeros{};

// Code::malformed, Code::version or ok. `limit` is the longest payload that is acceptable now.
Status check_header(const FrameHeader& header, std::size_t limit);

// A value at the start of `bytes`, which must be long enough.
template <typename T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}
template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace tutti
