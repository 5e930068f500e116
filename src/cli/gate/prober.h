// A probe: a small write to a new file, flushed and closed, and how long it took (policy/gate/backoff.h).
//
// No probe file stays: where the file system allows it has no name and goes with the process; elsewhere it is removed at once,
// and every probe removes those of processes that died, after a minute.
#pragma once

#include <string>

#include "base/random.h"
#include "base/status.h"
#include "base/units.h"
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
// Probes and backs off until it may write. Blocks, for minutes perhaps.
Result<Probed> back_off(const std::string& directory, const gate::BackoffOptions& options, Random random);

// What was measured of the file system under a directory, by `tutti gate calibrate`.
Result<gate::BackoffOptions> measure_quiet(const std::string& directory);
// Where that is kept for this user, and the way back: the defaults, if nothing was measured.
Status store_calibration(const std::string& resource, const gate::BackoffOptions& options);
gate::BackoffOptions load_calibration(const std::string& resource);

}  // namespace tutti::cli
