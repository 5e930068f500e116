// Coverage: which bytes of a window of the file are wanted. Pure.
//
// A bit for each byte, so that runs may be noted in any order and overlap, at a cost that does not depend on how many
// there are already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/layout.h"

namespace tutti {

class Coverage {
 public:
  // Begins anew, with nothing covered.
  void reset(Bytes length);
  // Notes the bytes from `begin` to `end` of the window.
  void add(std::uint64_t begin, std::uint64_t end);
  // What is covered, ascending, `origin` being where the window begins.
  [[nodiscard]] std::vector<Extent> extents(Bytes origin) const;

 private:
  // The first place from `from` on whose bit is `value`; the window's length if there is none.
  [[nodiscard]] std::uint64_t find(std::uint64_t from, bool value) const;

  std::uint64_t length_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace tutti
