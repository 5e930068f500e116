// The parameters of orchestrated service: of the request policy `orchestrated` in the data servers and of the orchestrator
// in the coordinator, which read the same text.
//
// Parameters (orchestrated;key=value):
//   window          ms: a round of slices, 500
//   deviation       %: condition 1, how much the servers may differ, 20
//   ratio           %: condition 2, how much farther all programs together go than this one alone, at least 150
//   seek            %: condition 3, the reuse distance over the cost of a jump, at most 100
//   weight          1/8ths that the old value of a running average counts, 1
//   unit            requests count in pieces of this size, as a kernel hands them to a disk: 128KiB
//   slices          by reuse distance ("inverse", the paper's) or "even"
//   by              how it is found out who gets slices: by "addresses" (the paper's three conditions), by "trial", or "both": the
//                   conditions where addresses are known, and a trial that may overrule them. Default both.
//   idle            "serve": a server that has nothing to do for the slice's owner serves others when that is worth the way
//                   there and back; "wait": it waits. Default serve.
//   rest            how those without a slice are served: "window", which is the whole policy `window` with its defaults for the device
//                   while nobody has a slice, and in their slice the order by time window and application; or by "arrival", as
//                   the paper has it. Default window on rotating disks, else arrival, which loses nothing there.
//   interval        ms: of the windows in the slice of the rest, 256
//   rotational      true | false: of the device; follows it (see for_device() in window_options.h)
//   ahead           bytes: blocks that are fetched ahead of programs that read forward (forward_reads.h); 0: none. Default 8MiB on
//                   rotating disks, else 0.
//   dispatch_depth  requests in service at once, 16
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

class Parameters;

struct OrchestraOptions {
  enum class By : std::uint8_t { addresses, trial, both };
  Nanos window = 500_ms;
  double deviation = 0.20;
  double ratio = 1.5;
  double seek = 1.0;
  double weight = 1.0 / 8;
  Bytes unit = 128_KiB;
  bool even = false;
  By by = By::both;
  bool conserve = true;
  std::optional<bool> rest_by_window;  // nothing: as the device is
  Nanos interval = 256_ms;
  bool rotational = false;
  std::optional<Bytes> ahead;  // nothing: as the device is
  std::uint64_t dispatch_depth = 16;

  [[nodiscard]] bool window_for_rest() const { return rest_by_window.value_or(rotational); }
  [[nodiscard]] Bytes block_ahead() const { return ahead.value_or(rotational ? 8_MiB : 0_B); }
  // What a jump costs before anything is known of it.
  [[nodiscard]] Nanos first_jump() const { return rotational ? 8_ms : 100_us; }
};

inline constexpr std::string_view kOrchestraParameters[] = {
    "window", "deviation", "ratio", "seek",     "weight",     "unit",  "slices",
    "by",     "idle",      "rest",  "interval", "rotational", "ahead", "dispatch_depth"};
inline constexpr std::string_view kOrchestrated = "orchestrated";
Result<OrchestraOptions> read_orchestra_options(const Parameters& parameters);
// Of a policy's text, "orchestrated;window=250". Code::not_found if it is another policy's.
Result<OrchestraOptions> read_orchestra_options(std::string_view policy);
// What read_orchestra_options() makes the same options of.
std::string orchestra_name(const OrchestraOptions& options);

}  // namespace tutti
