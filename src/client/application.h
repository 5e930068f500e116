// The application id: which program a request belongs to, the same on all its processes. Pure.
//
// Everything that makes a client goes by the rules here: the C and C++ API, the command, MPI-IO and its hints.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tutti {

// The value of an environment variable; empty if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// What the launcher and the batch system say about this process.
struct JobIdentity {
  // Names this launch of a program and no other: the PMIx namespace with its server, or job and step of Slurm or PBS
  // (two programs in one allocation are two steps). Empty if the launcher gives no such name.
  std::string launch;
  // The id of the batch job (Slurm, PBS, LSF, Grid Engine), for accounting; empty outside of one.
  std::string job;
};
JobIdentity job_identity(const Environment& environment);

// An application as people write it: "16" and "0x10" are the number 16; every other text is a name, which stands for
// its hash, the same on every host. Code::invalid for an empty text and for the number 0, which means "none".
Result<std::uint64_t> parse_application(std::string_view text);

// The id of a program, before the administrator's rules. What is asked for explicitly goes first (`wanted`, if it is
// not empty), then $TUTTI_APPLICATION, then a hash of the launch, then `random`. Never 0.
Result<std::uint64_t> choose_application(std::string_view wanted, const Environment& environment,
                                         std::uint64_t random);

}  // namespace tutti
