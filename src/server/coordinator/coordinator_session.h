// CoordinatorSession: the coordinator's part in one connection. Whoever serves the connection hands it the frames that
// are for the coordinator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "env/scope.h"
#include "server/coordinator/coordinator.h"

namespace tutti {

class CoordinatorSession {
 public:
  // Both must outlive it.
  CoordinatorSession(Coordinator& coordinator, Connection& connection);
  CoordinatorSession(const CoordinatorSession&) = delete;
  CoordinatorSession& operator=(const CoordinatorSession&) = delete;

  // Whether a frame of this type is for the coordinator.
  static bool knows(std::uint16_t type);
  // False if the message is not sound or does not belong here.
  bool handle(const Frame& frame);

 private:
  bool on_cluster(const Frame& frame);
  bool on_set_policy(const Frame& frame);
  bool on_join(const Frame& frame);
  bool on_statistics(const Frame& frame);
  Task<void> set_policy(std::uint64_t id, std::string policy);
  void answer(wire::Type type, std::uint64_t id, const Result<PolicyRecord>& record);
  void refuse(wire::Type type, std::uint64_t id, const Status& status);

  Coordinator& coordinator_;
  Connection& connection_;
  std::unique_ptr<Member> member_;         // once the peer has joined
  std::optional<GateService::Peer> gate_;  // once the peer has asked
  Scope scope_;
};

}  // namespace tutti
