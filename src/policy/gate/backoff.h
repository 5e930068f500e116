// Backoff: wait until the file system answers a small write as fast as a quiet one does (algorithm 1 of the paper). Pure.
//
// Needs no server. One *probing* is: a small write to prime, then `probes` writes of `data_size`, each to a new file that is flushed
// and closed, with `pause` between them; the slowest counts. At `threshold` or above the file system is quiet: proceed. Below,
// sleep for (random mod base^exponent) * time_constant + fixed_sleep, and probe again with the exponent one higher; after
// `max_count` probings proceed in any case, so that nobody starves.
//
// The caller does what next() says and reports how long it took:
//
//   Backoff backoff(options, random);
//   for (Step step = backoff.next(); step.kind != Step::proceed; step = backoff.next()) {
//     sleep for step.sleep, or write step.size to a new file, flush and close it, and remove it;
//     backoff.done(time that took);
//   }
//
// On a striped file a probe writes step.size to each server of the layout at once, and `done` is told the longest of those times.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/status.h"
#include "base/units.h"

namespace tutti::gate {

struct BackoffOptions {
  Bytes data_size = Bytes(3'000'000);
  Bytes threshold = Bytes(75'000'000);  // per second
  // Five sleeps of at most 2, 4, 8, 16 and 32 s: nobody is held up for much longer than a minute.
  std::uint32_t max_count = 6;
  std::uint32_t base = 2;
  std::uint32_t starting_exponent = 1;
  Nanos time_constant = 1_s;
  Nanos fixed_sleep = 1_s;
  Bytes priming = 256_KiB;  // 0: none
  std::uint32_t probes = 3;
  Nanos pause = 200_ms;

  // "data_size=3000000;threshold=75MB;max_count=6;base=2;starting_exponent=1;time_constant_ms=1000;fixed_sleep_ms=1000;
  // priming=256KiB;probes=3;pause_ms=200"; keys that are missing keep their value. Code::invalid says which.
  static Result<BackoffOptions> parse(std::string_view text);
  // As parse() reads it.
  [[nodiscard]] std::string to_string() const;
  // What one probing writes.
  [[nodiscard]] Bytes written_by_probing() const { return priming + data_size * probes; }
};

class Backoff {
 public:
  struct Step {
    enum Kind : std::uint8_t { prime, probe, pause, sleep, proceed };
    Kind kind = proceed;
    Bytes size;      // of prime and probe
    Nanos duration;  // of pause and sleep
  };

  Backoff(BackoffOptions options, Random random);

  // The same until done() is called.
  [[nodiscard]] Step next() const { return step_; }
  // The step was done; `took` counts for probes only.
  void done(Nanos took);
  // The step's write failed: the probing counts as below the threshold.
  void failed();

  // Probings that are complete.
  [[nodiscard]] std::uint32_t count() const { return count_; }
  // Of the last complete probing, bytes per second; 0 before.
  [[nodiscard]] Bytes rate() const { return rate_; }
  // Proceeding although the file system was not quiet.
  [[nodiscard]] bool gave_up() const { return step_.kind == Step::proceed && rate_ < options_.threshold; }

 private:
  void begin();
  void judge();

  BackoffOptions options_;
  Random random_;
  Step step_;
  std::uint32_t count_ = 0;
  std::uint32_t exponent_ = 0;
  std::uint32_t probed_ = 0;  // in this probing
  Bytes lowest_;
  Bytes rate_;
};

}  // namespace tutti::gate
