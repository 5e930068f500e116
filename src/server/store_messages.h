// What a data server shows of its store to the metadata server, and to those who check the cluster: the messages.
#pragma once

#include <cstdint>
#include <span>

#include "base/uuid.h"
#include "env/store.h"
#include "server/capability.h"
#include "wire/messages.h"

namespace tutti {

struct EnrolMessage {
  std::uint32_t index = 0;
  Uuid uuid;
  Uuid metadata;
  std::uint64_t newest = 0;
  bool replaces = false;
};

EnrolMessage shown_by(const Store& store);

flatbuffers::FlatBufferBuilder enrol_message(const ServerKey& key, const EnrolMessage& message, Nanos wall);
// Code::malformed if it is not sound, Code::bad_capability if it was not made by a server of this cluster.
Result<EnrolMessage> read_enrol(const ServerKey& key, std::span<const std::byte> payload, Nanos wall);

flatbuffers::FlatBufferBuilder list_objects_message(const ServerKey& key, std::uint64_t after, Nanos wall);
// The id after which to list. Errors as above.
Result<std::uint64_t> read_list_objects(const ServerKey& key, std::span<const std::byte> payload, Nanos wall);

struct ScrubMessage {
  ObjectId object;
  Extent range;
};
flatbuffers::FlatBufferBuilder scrub_message(const ServerKey& key, const ScrubMessage& message, Nanos wall);
// Errors as above.
Result<ScrubMessage> read_scrub(const ServerKey& key, std::span<const std::byte> payload, Nanos wall);

inline Uuid from_wire(const wire::Uuid* uuid) {
  return uuid == nullptr ? Uuid() : Uuid{uuid->high(), uuid->low()};
}
inline wire::Uuid to_wire(const Uuid& uuid) { return {uuid.high, uuid.low}; }

}  // namespace tutti
