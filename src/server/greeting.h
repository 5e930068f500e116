// How a server begins a session with whoever connects.
#pragma once

#include <cstdint>
#include <string_view>

#include "env/cluster_clock.h"
#include "env/env.h"
#include "wire/messages.h"

namespace tutti {

struct Greeting {
  std::uint64_t client = 0;
  std::uint64_t application = 0;
};

// Waits for the session request and answers it; `who` names the server in errors. The result is the client's word.
// Code::malformed if something else came first, Code::version if the peer speaks another protocol: it has been told.
Task<Result<Greeting>> greet(Env env, Connection& connection, std::uint64_t cluster,
                             const ClusterClock& clock, std::string_view who);

}  // namespace tutti
