// What jobs did when, and the picture of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace tutti::gatelab {

enum class PhaseKind : std::uint8_t { compute, wait, probe, write };

struct Phase {
  std::size_t job = 0;
  PhaseKind kind = PhaseKind::compute;
  Nanos begin;
  Nanos end;
  Bytes bytes;  // of a write
};

// An SVG picture as the paper's figures 4.1 to 4.6: a row for each job; computing, waiting, probing, writing with its MB/s above.
std::string timeline_svg(const std::string& title, const std::vector<std::string>& jobs,
                         const std::vector<Phase>& phases);

}  // namespace tutti::gatelab
