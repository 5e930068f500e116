// A probe: a small write to a new file, flushed and closed, and how long it took (policy/gate/backoff.h).
//
// No probe file stays: where the file system allows it has no name and goes with the process; elsewhere it is removed at once,
// and every probe removes those of processes that died, after a minute.
#pragma once

#include <optional>
#include <string>

#include "base/random.h"
#include "base/status.h"
#include "base/units.h"
#include "env/env.h"
#include "env/real/loop/loop.h"
#include "policy/gate/backoff.h"

namespace tutti::cli {

// Blocks. The time counts from opening to the end of closing.
Result<Nanos> probe(const std::string& directory, Bytes size);

struct Probed {
  std::uint32_t probings = 0;
  Bytes rate;            // of the last probing, bytes per second
  bool gave_up = false;  // goes on although the file system was never quiet
  Nanos took;
};
// Probes and backs off until it may write. It does not begin a sleep that would end after `limit` (0: any). What blocks does so
// in a thread of its own.
Task<Result<Probed>> back_off(Loop& loop, Env env, std::string directory, gate::BackoffOptions options,
                              Random random, Nanos limit);

// What was measured of the file system under a directory, by `tutti gate calibrate`.
struct Quiet {
  gate::BackoffOptions options;  // with the threshold that follows
  Bytes rate;                    // of a probing, the median, bytes per second
  Bytes slowest;
  // So uneven that a probing would be taken for one beside other writers.
  [[nodiscard]] bool uneven() const { return slowest < options.threshold; }
};
// Blocks for some seconds on a slow disk.
Result<Quiet> measure_quiet(const std::string& directory);
// Where that is kept for this user, and the way back: nothing, if nothing was measured.
std::string calibration_path(const std::string& resource);
Status store_calibration(const std::string& resource, const gate::BackoffOptions& options);
std::optional<gate::BackoffOptions> load_calibration(const std::string& resource);

}  // namespace tutti::cli
