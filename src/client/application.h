// The application id: which program a request belongs to, the same on all its ranks. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tutti {

// The value of an environment variable; empty if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// What names this launch of a program, and no other: the PMIx namespace with its server, or job and step of Slurm or
// PBS (two programs in one allocation are two steps). Empty if the launcher gives no such name.
std::string launch_name(const Environment& environment);
// The batch job, for accounting; empty outside of one.
std::string batch_job(const Environment& environment);

// The id of a program without a hint, before the administrator's rules: any number but 0, from the hash of the launch;
// without a name of the launch from `random`.
std::uint64_t choose_application(std::string_view launch, std::uint64_t random);

}  // namespace tutti
