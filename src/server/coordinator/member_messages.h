// What a coordinator and its data servers say to each other beside changes of the policy: joining, advice, lost turns,
// statistics.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "policy/request/advice.h"
#include "server/capability.h"
#include "wire/messages.h"

namespace tutti {

struct JoinMessage {
  std::uint32_t index = 0;  // which data server it is
  bool rotational = false;  // its store is on a rotating disk
};

// What a data server counted since it started. A mean over a stretch of time is the difference of two of these.
struct Use {
  std::uint64_t application = 0;
  bool others = false;  // all that are not told apart; `application` is meaningless then
  std::uint64_t requests = 0;
  Bytes bytes;
  Nanos served;            // time in service
  std::uint64_t gaps = 0;  // from one piece's begin to the next one's on the device: how many,
  Bytes distance;          // and how far in all
  std::uint32_t queued = 0, in_service = 0;
  // See policy/orchestra/locality.h.
  std::uint64_t far = 0;     // gaps that are jumps
  std::uint64_t reuses = 0;  // with dedicated service: how often it came back,
  Nanos reuse;               // after how long in all
  Bytes running_gap;
  Nanos running_reuse;
};
struct UseReport {
  std::vector<Use> applications;
  std::uint64_t gaps = 0;  // whoever's the requests were
  Bytes distance;
  std::uint64_t far = 0;
  Bytes running_gap;
  Nanos jump;                     // what one costs
  std::uint64_t rest_reuses = 0;  // of all who have no time slice of their own, together
  Nanos rest_reuse;
  bool addresses = false;  // bytes have places on a device
};

// Join, advice and lost turns carry a capability made over the rest; `wall` is the sender's word for the cluster's time. Reading
// gives Code::malformed if the message is not sound, Code::bad_capability or Code::expired if the servers' key did not
// make it.
flatbuffers::FlatBufferBuilder join_message(const ServerKey& key, const JoinMessage& message, Nanos wall);
Result<JoinMessage> read_join(const ServerKey& key, std::span<const std::byte> payload, Nanos wall);

// Times of the message are the cluster's. Reading advice of another version gives Code::version.
flatbuffers::FlatBufferBuilder advice_message(const ServerKey& key, const Advice& advice, Nanos wall);
Result<Advice> read_advice(const ServerKey& key, std::span<const std::byte> payload, Nanos wall);

// Fencing numbers of turns at the gate; at most wire::kMaxLostTurns.
flatbuffers::FlatBufferBuilder lost_turns_message(const ServerKey& key, std::span<const std::uint64_t> fences,
                                                  Nanos wall);
Result<std::vector<std::uint64_t>> read_lost_turns(const ServerKey& key, std::span<const std::byte> payload,
                                                   Nanos wall);

flatbuffers::FlatBufferBuilder statistics_message(const UseReport& report);
Result<UseReport> read_statistics(std::span<const std::byte> payload);

}  // namespace tutti
