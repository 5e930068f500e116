// PolicyKeeper: the coordinator's part in the request policy: keeps it, and changes it on all data servers or on none
// (policy_change.h).
//
// The record in the Kv is the cluster's policy. The cluster file's counts for a new cluster, and again whenever it
// was edited since: whoever spoke last is right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "env/env.h"
#include "env/kv.h"
#include "env/task.h"
#include "server/coordinator/policy_change.h"

namespace tutti {

struct PolicyRecord {
  PolicyVersion now;
  std::string previous;    // holds until now.from
  std::string configured;  // the cluster file's word at that time
};

std::string policy_key();
std::string encode(const PolicyRecord& record);
Result<PolicyRecord> decode_policy(std::string_view bytes);

// The data servers, as far as the policy is concerned. Errors name the server; silence is Code::unavailable.
class PolicyFollowers {
 public:
  PolicyFollowers() = default;
  PolicyFollowers(const PolicyFollowers&) = delete;
  PolicyFollowers& operator=(const PolicyFollowers&) = delete;
  virtual ~PolicyFollowers() = default;
  // Ends when all can be spoken to, or with an error.
  virtual Task<Status> gather(Nanos patience) = 0;
  [[nodiscard]] virtual bool any_rotational() const = 0;
  // Ends when all have answered; the first error.
  virtual Task<Status> tell_all(PolicyMessage message, Nanos patience) = 0;
};

class PolicyKeeper {
 public:
  // `kv`, `followers` and what `env` refers to must outlive it. `configured` is what the cluster file says.
  PolicyKeeper(Env env, Kv& kv, PolicyFollowers& followers, std::string configured);
  PolicyKeeper(const PolicyKeeper&) = delete;
  PolicyKeeper& operator=(const PolicyKeeper&) = delete;

  // Makes the record, or takes over what the cluster file says anew.
  Task<Status> open();
  [[nodiscard]] Result<PolicyRecord> read() const;
  // Between the first message of a change and its decision.
  [[nodiscard]] bool changing() const { return changing_; }
  // Returns when the change is decided and all servers that can be reached know. Nothing has changed if it fails:
  // Code::invalid for an unknown policy, Code::unavailable with the name of a server that does not follow, Code::busy
  // while another change is under way or has yet to take effect. A policy that holds already is left as it is.
  // Cancelling it is as safe as the death of the process.
  Task<Result<PolicyRecord>> change(std::string policy);

 private:
  Task<Result<PolicyRecord>> change_on_all(PolicyRecord old, std::string policy);
  Task<Status> store(PolicyRecord record);

  Env env_;
  Kv& kv_;
  PolicyFollowers& followers_;
  std::string configured_;
  bool changing_ = false;
};

}  // namespace tutti
