// What every reply of a data server begins with: a code and, after a failure, a message.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstdint>

#include "base/status.h"

namespace tutti {

inline std::uint16_t code_of(const Status& status) { return static_cast<std::uint16_t>(status.code()); }

inline flatbuffers::Offset<flatbuffers::String> message_of(flatbuffers::FlatBufferBuilder& builder,
                                                           const Status& status) {
  return status.ok() ? flatbuffers::Offset<flatbuffers::String>() : builder.CreateString(status.message());
}

}  // namespace tutti
