// PolicyKeeper: the metadata server's part in the request policy: keeps it, and changes it on all data servers or on
// none (policy_change.h).
//
// The record in the Kv is the cluster's policy. The cluster file's counts for a new cluster, and again whenever it
// was edited since: whoever spoke last is right.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "env/channel.h"
#include "env/env.h"
#include "env/kv.h"
#include "server/capability.h"
#include "server/coordinator/policy_change.h"

namespace tutti::meta {

struct PolicyRecord {
  PolicyVersion now;
  std::string previous;    // holds until now.from
  std::string configured;  // the cluster file's word at that time
};

std::string policy_key();
std::string encode(const PolicyRecord& record);
Result<PolicyRecord> decode_policy(std::string_view bytes);

class PolicyKeeper {
 public:
  // `kv` and what `env` refers to must outlive it. `configured` is what the cluster file says.
  PolicyKeeper(Env env, Kv& kv, ServerKey key, std::uint64_t cluster, std::vector<std::string> data_servers,
               std::string configured);
  PolicyKeeper(const PolicyKeeper&) = delete;
  PolicyKeeper& operator=(const PolicyKeeper&) = delete;

  // Makes the record, or takes over what the cluster file says anew.
  Task<Status> open();
  [[nodiscard]] Result<PolicyRecord> read() const;
  [[nodiscard]] bool changing() const { return changing_; }
  // Returns when the change is decided and all servers that can be reached know. Nothing has changed if it fails:
  // Code::invalid for an unknown policy, Code::unavailable with the name of a server that does not follow, Code::busy
  // while another change is under way or has yet to take effect. A policy that holds already is left as it is.
  // Cancelling it is as safe as the death of the process.
  Task<Result<PolicyRecord>> change(std::string policy);

 private:
  struct DataServer;
  using Servers = std::vector<DataServer>;
  Task<Result<PolicyRecord>> change_on_all(PolicyRecord old, std::string policy);
  Task<Status> connect(DataServer& server);
  Task<Status> tell(DataServer& server, PolicyMessage message);
  Task<Status> tell_all(Servers& servers, PolicyStep step, const PolicyVersion& what);
  Task<Status> store(PolicyRecord record);

  Env env_;
  Kv& kv_;
  ServerKey key_;
  std::uint64_t cluster_;
  std::uint64_t client_;
  std::vector<std::string> addresses_;
  std::string configured_;
  bool changing_ = false;
};

}  // namespace tutti::meta
