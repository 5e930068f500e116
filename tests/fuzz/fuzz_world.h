// One message after another, as the fuzzer invents them, for a server in the simulated world.
//
// An input is a sequence of messages of one type: a byte of flags, a length of two bytes, and so many bytes.
// Each input meets a fresh server with a valid session, so that a finding repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "wire/messages.h"

namespace tutti::fuzz {

// Flags of a message.
inline constexpr std::uint8_t kSign = 1;  // its capability, if it has one, is made genuine

// The type belongs to the data server or the metadata server; session and status go to both. What a coordinator says to a
// data server by itself comes down the data server's own session with it.
void run_messages(wire::Type type, std::span<const std::byte> input);

}  // namespace tutti::fuzz
