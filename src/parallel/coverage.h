// Coverage: which bytes of a buffer are wanted. Pure.
//
// A bit for each byte, so that runs may be noted in any order and overlap, at a cost that does not depend on how many
// there are already. What lies before the first and behind the last of them costs nothing: most of a large buffer may be wanted by nobody.
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
  // Notes the bytes from `begin` to `end`.
  void add(std::uint64_t begin, std::uint64_t end);
  // Appends what is covered from `begin` to `end`, ascending; `origin` is what the place `begin` is called there.
  void append_to(std::vector<Extent>& found, std::uint64_t begin, std::uint64_t end, Bytes origin) const;

 private:
  // The first place from `from` to `end` whose bit is `value`; `end` if there is none.
  [[nodiscard]] std::uint64_t find(std::uint64_t from, std::uint64_t end, bool value) const;

  std::vector<std::uint64_t> words_;
  std::uint64_t low_ = ~std::uint64_t{0};  // nothing is covered before this,
  std::uint64_t high_ = 0;                 // nor from this on
};

}  // namespace tutti
