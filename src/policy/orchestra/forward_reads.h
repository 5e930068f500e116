// ForwardReads: which programs read an object forward, and what to fetch ahead of them. Pure.
//
// A kernel reads ahead for a file whose reads follow each other to the byte. The processes of a parallel program read forward
// together: each in pieces, in any order within a stretch. So a run is followed here that needs not be in order: reads of one
// program in one object, none of them far from where the farthest one ended. While a run is dense enough, the bytes ahead of it are worth fetching: a block at a time, so that a device jumps
// once for each, and the next one when the run comes into the last. Enough is less than one would think: in the time of a jump a disk reads
// some 400 KB, so that it is as fast to read over holes of 256 KiB between reads of 64 KiB as to jump over them, and what lies in
// the holes is often what another process of the program is about to read.
//
// A program may have several runs in an object (each process its own part of a file). Runs that are used no more are forgotten.
// What is fetched in vain is at most two blocks of a run, and the first block is small.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/extent.h"
#include "base/units.h"

namespace tutti {

class ForwardReads {
 public:
  static constexpr Bytes kNear = 16_MiB;  // so far from its front a read belongs to a run
  static constexpr std::uint64_t kEarned =
      8;                                      // this part of a block must be read before anything is fetched:
  static constexpr Bytes kFirst = 512_KiB;    // so much at first
  static constexpr std::uint64_t kSteps = 4;  // reads that went farther, before it counts as one
  static constexpr Bytes kRemembered = 32_MiB;  // density is that of about so many bytes
  static constexpr double kDense = 0.15;
  static constexpr std::size_t kRuns = 256;  // in all
  static constexpr std::size_t kFullBlocks = 16;

  // The program begins to read these bytes of the object. Returns what to fetch now. Blocks grow to `block`; with more than
  // kFullBlocks runs they are smaller. 0: nothing is fetched or remembered.
  std::optional<Extent> read(std::uint64_t program, std::uint64_t object, std::span<const Extent> extents,
                             Bytes block);
  [[nodiscard]] std::size_t runs() const { return runs_.size(); }

 private:
  using Key = std::pair<std::uint64_t, std::uint64_t>;  // object, program
  struct Run {
    Key key;
    Bytes begin;    // density counts from here
    Bytes front;    // where the farthest read ended
    Bytes read;     // bytes from `begin` on
    Bytes fetched;  // up to here
    Bytes block;    // next to be fetched
    std::uint64_t steps = 0;
    std::uint64_t used = 0;
    std::size_t next = 0;  // of the same place in heads_: its number plus one; 0: none
  };
  Run& run_at(const Key& key, Bytes from);
  void link(std::size_t number);
  void forget_old();

  // A read here and there is a run of its own: none of this allocates for it.
  std::vector<Run> runs_;
  std::array<std::size_t, kRuns> heads_{};  // by hash of the key: as Run::next
  std::uint64_t clock_ = 0;
};

}  // namespace tutti
