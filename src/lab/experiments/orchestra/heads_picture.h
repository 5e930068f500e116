// Figure 3 as a picture: addresses over time, a panel for each server, a colour for each column. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace tutti::orchestra {

struct HeadMove {
  Nanos at;
  Bytes address;
};
struct HeadTrace {
  std::uint32_t server = 0;
  std::string column;
  std::vector<HeadMove> moves;
};

// An SVG document. Traces of one server share a panel.
std::string heads_picture(const std::vector<HeadTrace>& traces);

}  // namespace tutti::orchestra
