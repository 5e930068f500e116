// How the request policy of a running cluster changes.
//
// The coordinator decides, in two phases (policy_keeper.h). It first asks every data server to prepare: each checks that
// it can follow, and acknowledges the version and the moment, a window's begin a little ahead, from which it holds. If
// one does not answer, the rest are told to withdraw and nothing has happened. If all did, the coordinator makes the new
// version durable, which decides it, and tells them to commit.
//
// A data server that has prepared and hears no more asks the coordinator when the moment comes, and again until it
// knows (policy_switch.h); until then it serves by the old policy. One that starts anew, or was away, learns the policy
// from the coordinator too. So all end with the same one, whoever was lost at which step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "server/capability.h"
#include "wire/messages.h"

namespace tutti {

struct PolicyVersion {
  std::uint64_t version =
      0;  // each change adds 1; 0: what the cluster file says, before the coordinator spoke
  std::uint64_t change = 0;  // drawn at random: tells two attempts at the same version apart
  std::string policy;
  Nanos from;  // cluster's time
};

enum class PolicyStep : std::uint8_t { prepare = 1, commit = 2, withdraw = 3 };

struct PolicyMessage {
  PolicyStep step = PolicyStep::prepare;
  PolicyVersion what;
};

// The message of one step, with a capability made over all of it. `wall` is the cluster's time.
flatbuffers::FlatBufferBuilder policy_change_message(const ServerKey& key, const PolicyMessage& message,
                                                     Nanos wall);
// Code::malformed if it is not sound, Code::bad_capability or Code::expired if the servers' key did not make it.
Result<PolicyMessage> read_policy_change(const ServerKey& key, std::span<const std::byte> payload,
                                         Nanos wall);

}  // namespace tutti
