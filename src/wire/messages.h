// Frame types and limits of the protocol, and help to build and check messages.
//
// A message is verified before any field is used: parse<T>() returns nothing for bytes that are not a sound T.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "wire/tutti_generated.h"

namespace tutti::wire {

inline constexpr std::uint32_t kProtocolVersion = 2;

enum class Type : std::uint16_t {
  session = 64,
  status = 65,
  cluster = 70,
  applications = 71,
  read = 80,
  write = 81,
  sync = 82,
  length = 83,
  truncate = 84,
  remove_object = 85,
  took = 86,
  remove_objects = 87,
  next_data = 88,
  fence = 89,
  list_objects = 90,
  scrub = 91,
  view = 92,
  prefetch = 93,
  policy_change = 95,
  advice = 96,
  lost_turns = 97,
  open = 100,
  lookup = 101,
  make_directory = 102,
  symlink = 103,
  link = 104,
  remove = 105,
  rename = 106,
  list = 107,
  set_attributes = 108,
  renew = 109,
  commit = 110,
  close = 111,
  claim = 112,
  name = 113,
  lock = 120,
  unlock = 121,
  counter = 122,
  set_policy = 123,
  join = 130,
  statistics = 131,
  enrol = 132,
  gate_ask = 140,
  gate_release = 141,
  gate_renew = 142,
  gate_status = 143,
};
inline constexpr std::uint16_t kReplyBit = 0x8000;
constexpr std::uint16_t request_type(Type type) { return static_cast<std::uint16_t>(type); }
constexpr std::uint16_t reply_type(Type type) {
  return static_cast<std::uint16_t>(request_type(type) | kReplyBit);
}

// Rights in a capability.
enum Right : std::uint32_t {
  kRightRead = 1,
  kRightWrite = 2,
  kRightLength = 4,    // to ask for the length, as stat does
  kRightFence = 512,   // servers among themselves: these locks were lost
  kRightKeep = 256,    // may keep what it reads from: it is the owner's, who may read it whatever its mode is
  kRightRemove = 8,    // servers among themselves
  kRightPolicy = 16,   // the same: to change the request policy,
  kRightJoin = 32,     // to be a data server of this number,
  kRightAdvise = 64,   // to advise data servers,
  kRightEnrol = 128,   // to show a store,
  kRightCheck = 1024,  // to list objects and to have them verified
};

enum NodeType : std::uint8_t { kFile = 1, kDirectory = 2, kSymlink = 3 };

enum OpenFlag : std::uint32_t {
  kOpenRead = 1,
  kOpenWrite = 2,
  kOpenCreate = 4,
  kOpenExclusive = 8,  // with create: fail if it exists
  kOpenUnnamed =
      16,  // with create: the place is a directory, the new file has no name and is there while it is open
};

enum AttributeMask : std::uint32_t {
  kSetMode = 1,
  kSetUid = 2,
  kSetGid = 4,
  kSetAccessed = 8,
  kSetModified = 16,
  kSetLayout = 32,  // of a directory: the default for new files
};

enum CounterOp : std::uint8_t {
  kCounterGet = 0,
  kCounterSet = 1,       // makes it if it is not there
  kCounterFetchAdd = 2,  // the answer is the value before
  kCounterRemove = 3,
  kCounterMake = 4,  // with this value, unless it is there; the answer is its value
};

// What became of an ask for a turn.
enum GateState : std::uint8_t {
  kGateWaiting = 0,
  kGateGranted = 1,
  kGateBlocked = 2,  // it goes on without a grant: it has waited long enough,
  kGateHolding = 3,  // or it holds something else, and nobody waits holding
  kGateGone = 4,     // not known: released, or the lease is over
};

// As a time to set: the server's present. Whoever may write the file may set this, other times only its owner.
inline constexpr std::int64_t kTimeNow = INT64_MIN;
// As a stripe count: all data servers.
inline constexpr std::uint32_t kAllServers = 0xffffffffU;
// As an application in accounts: those that are not told apart.
inline constexpr std::uint64_t kOtherApplications = ~std::uint64_t{0};

inline constexpr std::size_t kMaxName = 255;
inline constexpr std::size_t kMaxPath = 4096;
inline constexpr std::size_t kMaxPolicy = 1024;              // bytes of a policy's name with its parameters
inline constexpr std::size_t kMaxExtents = 4096;             // of one transfer request
inline constexpr std::size_t kMaxSegments = 4096;            // of one transfer request
inline constexpr std::size_t kMaxView = 64U << 10U;          // bytes of an encoded filetype
inline constexpr std::uint64_t kMaxTransfer = 64ULL << 20U;  // bytes of one transfer request
inline constexpr std::uint64_t kMaxOffset = 1ULL << 62U;     // end of the largest object or file
inline constexpr std::uint64_t kMaxPrefetch = 64ULL
                                              << 20U;  // bytes that a session has queued to be fetched ahead
inline constexpr std::uint32_t kMaxInline = 16U << 10U;
inline constexpr std::uint32_t kMaxListEntries = 1000;
inline constexpr std::uint32_t kMaxListObjects = 4096;
inline constexpr std::uint64_t kMaxScrub = 16ULL << 20U;  // bytes of one request to verify
inline constexpr std::size_t kMaxLostLocks = 64;          // of one fence
inline constexpr std::size_t kMaxSlices = 4096;           // of one advice
inline constexpr std::size_t kMaxPlan = 64;               // steps of one advice
inline constexpr std::size_t kMaxRemoved = 4096;          // files of one removal
inline constexpr std::size_t kMaxStatistics = 256;        // applications in one message
inline constexpr std::size_t kMaxGateResources = 4096;    // of one ask
inline constexpr std::size_t kMaxGateName = 255;          // bytes of a resource, program or label
inline constexpr std::size_t kMaxLostTurns = 256;         // of one message
inline constexpr std::size_t kMaxGateNumbers = 4096;      // of one renewal
inline constexpr std::uint64_t kRootInode = 1;
inline constexpr std::uint32_t kAdviceVersion = 1;
// On the session of a data server with the coordinator both sides ask. The coordinator's ids begin here, so that they
// never meet those of the data server.
inline constexpr std::uint64_t kDownwards = 1ULL << 63U;

// The message in `payload`, or null if it is not a sound T.
template <typename T>
const T* parse(std::span<const std::byte> payload) {
  // Our messages are flat; the limits keep a hostile one from costing more than its length.
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(payload.data()), payload.size(), 8,
                                 16384);
  if (!verifier.VerifyBuffer<T>(nullptr)) return nullptr;
  return flatbuffers::GetRoot<T>(payload.data());
}

// Whether the structs of a vector lie where they may be read. The verifier looks at the place of a vector, not at
// that of its elements.
template <typename T>
bool aligned(const flatbuffers::Vector<const T*>* list) {
  return list == nullptr || list->size() == 0 ||
         reinterpret_cast<std::uintptr_t>(list->Data()) % alignof(T) == 0;
}

// The numbers of a list, wherever they lie.
inline std::vector<std::uint64_t> numbers(const flatbuffers::Vector<std::uint64_t>* list) {
  std::vector<std::uint64_t> out(list != nullptr ? list->size() : 0);
  if (!out.empty()) std::memcpy(out.data(), list->Data(), out.size() * sizeof(std::uint64_t));
  return out;
}

// The bytes of a finished builder.
inline std::span<const std::byte> bytes(const flatbuffers::FlatBufferBuilder& builder) {
  return {reinterpret_cast<const std::byte*>(builder.GetBufferPointer()), builder.GetSize()};
}

inline std::string text(const flatbuffers::String* string) { return string != nullptr ? string->str() : ""; }

// The Status that a reply carries. Every reply table starts with code and message.
template <typename Reply>
Status status_of(const Reply& reply) {
  const Code code = code_from_wire(reply.code());
  if (code == Code::ok) return {};
  return {code, text(reply.message())};
}

}  // namespace tutti::wire
