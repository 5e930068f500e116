// PackedRound: the parts of a round as one buffer, which has their bytes one behind the other and nothing of
// what lies between them; and which of these bytes are wanted. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout/view_range.h"
#include "parallel/coverage.h"
#include "policy/collective/plan.h"

namespace tutti {

class PackedRound {
 public:
  // Begins anew, with nothing wanted.
  void reset(const Round& round);

  // How long the buffer is: the sum of the parts.
  [[nodiscard]] Bytes bytes() const { return bytes_; }

  // Calls visit(place in the buffer, length, place in the message) for each run that a rank has in the round.
  // A message has the rank's bytes part by part, within a part in file order.
  template <typename Visit>
  void each_run(const ViewRange& view, Visit visit) {
    std::size_t in_message = 0;
    for (const Part& part : parts_) {
      runs_.clear();
      view.cut(part.file, runs_);
      for (const PlacedRun& run : runs_) {
        const auto length = static_cast<std::size_t>(run.length);
        visit(part.at + (static_cast<std::uint64_t>(run.file) - part.file.offset.count()), length,
              in_message);
        in_message += length;
      }
    }
  }

  // The same with the run, which tells where in the rank's data it is.
  template <typename Visit>
  void each_placed(const ViewRange& view, Visit visit) {
    for (const Part& part : parts_) {
      runs_.clear();
      view.cut(part.file, runs_);
      for (const PlacedRun& run : runs_)
        visit(part.at + (static_cast<std::uint64_t>(run.file) - part.file.offset.count()), run);
    }
  }

  void want(std::uint64_t at, std::uint64_t length) { wanted_.add(at, at + length); }

  struct Wanted {
    std::vector<Extent> file;
    std::vector<Extent> buffer;  // the same bytes in the same order
    Bytes bytes;
  };
  // What is wanted, ascending. Holes of up to `hole` bytes that the buffer has room for are taken along.
  [[nodiscard]] Wanted wanted(Bytes hole) const;

 private:
  struct Part {
    Extent file;
    std::uint64_t at = 0;  // where it is in the buffer
  };

  std::vector<Part> parts_;      // as the plan gave them
  std::vector<Part> stretches_;  // those that touch are one
  Bytes bytes_;
  Coverage wanted_;
  std::vector<PlacedRun> runs_;  // of one rank in one part
};

}  // namespace tutti
