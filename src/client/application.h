// The application id: which program a request belongs to, the same on all its ranks. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tutti {

// The value of an environment variable; empty if it is not set.
using Environment = std::function<std::string(const std::string& name)>;

// What names this launch of a program, and no other: the PMIx namespace with its server, or job and step of Slurm or
// PBS (two programs in one allocation are two steps). Empty if the launcher gives no such name.
std::string launch_name(const Environment& environment);
// The batch job, for accounting; empty outside of one.
std::string batch_job(const Environment& environment);

// The cluster's setting for programs that do not say who they are: nothing, a number, or a range from which ids are
// taken ("100-199").
struct ApplicationRange {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // 0: no setting
};
Result<ApplicationRange> parse_application_range(std::string_view text);

// The id of a program without a hint: a place in the range of the setting, or any number but 0, from the hash of the
// launch; without a name of the launch from `random`.
std::uint64_t choose_application(const ApplicationRange& setting, std::string_view launch,
                                 std::uint64_t random);

}  // namespace tutti
