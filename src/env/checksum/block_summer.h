// BlockSummer: what the bytes of a transfer contribute to the sums of the blocks they lie in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/crc32c.h"
#include "base/extent.h"
#include "base/units.h"
#include "env/places.h"
#include "env/store.h"

namespace tutti {

inline constexpr std::uint64_t kSumBlock = 64U << 10U;

constexpr std::uint64_t block_of(Bytes offset) { return offset.count() / kSumBlock; }
// The block after the last one that the extent touches.
constexpr std::uint64_t block_end(const Extent& extent) {
  return extent.length == Bytes() ? block_of(extent.offset) : (extent.end().count() - 1) / kSumBlock + 1;
}
constexpr Bytes block_offset(std::uint64_t block) { return Bytes(block * kSumBlock); }

// Whether each begins where the one before ends, or later.
inline bool ascending(std::span<const Extent> extents) {
  for (std::size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].offset < extents[i - 1].end()) return false;
  }
  return true;
}

// What a block got: bytes, and what they add to its sum.
struct BlockPart {
  std::uint64_t block = 0;
  std::uint32_t sum = 0;
  std::uint64_t bytes = 0;
};

// Of one block; they are sorted.
inline const BlockPart* find_part(std::span<const BlockPart> parts, std::uint64_t block) {
  const auto found =
      std::lower_bound(parts.begin(), parts.end(), block,
                       [](const BlockPart& part, std::uint64_t wanted) { return part.block < wanted; });
  return found == parts.end() || found->block != block ? nullptr : &*found;
}

class BlockSummer {
 public:
  // Ascending; the list must outlive this.
  explicit BlockSummer(std::span<const Extent> extents) : walk_(extents) {}

  // The bytes at `at` of the stream that the extents are. What was passed over counts as zeros. `done` is called with
  // every block of which all bytes have come.
  template <typename Byte, typename Done>
  void add(Bytes at, std::span<const std::span<Byte>> pieces, Done&& done) {
    while (!walk_.done() && walk_.at() < at) walk_.next(at - walk_.at());
    for (std::span<Byte> piece : pieces) {
      while (!piece.empty() && !walk_.done()) {
        const Bytes offset = walk_.front().offset;
        if (open_ && block_of(offset) != part_.block) finish(done);
        const std::uint64_t room = kSumBlock - offset.count() % kSumBlock;
        const Extent got = walk_.next(Bytes(std::min<std::uint64_t>(piece.size(), room)));
        sum(got, piece.first(got.length.count()));
        piece = piece.subspan(got.length.count());
        if (walk_.done() || block_of(walk_.front().offset) != part_.block) finish(done);
      }
    }
  }
  // No more bytes come.
  template <typename Done>
  void finish(Done&& done) {
    if (!open_) return;
    fold();
    open_ = false;
    done(part_);
  }

 private:
  void sum(const Extent& extent, std::span<const std::byte> bytes) {
    if (!open_) {
      part_ = {block_of(extent.offset), 0, 0};
      run_end_ = extent.offset;
      run_ = 0;
      open_ = true;
    }
    if (run_end_ != extent.offset) fold();
    run_ = crc32c(bytes, run_);
    run_end_ = extent.end();
    part_.bytes += bytes.size();
  }
  void fold() {
    part_.sum ^= crc32c_shift(run_, (block_offset(part_.block + 1) - run_end_).count());
    run_ = 0;
  }

  ExtentWalk walk_;
  bool open_ = false;
  BlockPart part_;
  std::uint32_t run_ = 0;  // of the bytes up to run_end_ that follow on each other
  Bytes run_end_;
};

// Takes bytes only to sum them.
class SumSink : public Sink {
 public:
  explicit SumSink(std::span<const Extent> extents) : summer_(extents) {}
  Task<Status> take(Bytes at, ConstPlaces pieces) override {
    summer_.add(at, pieces, [this](const BlockPart& part) { parts_.push_back(part); });
    co_return Status();
  }
  // After the read.
  std::vector<BlockPart> parts() {
    summer_.finish([this](const BlockPart& part) { parts_.push_back(part); });
    return std::move(parts_);
  }

 private:
  BlockSummer summer_;
  std::vector<BlockPart> parts_;
};

// Sums what another source gives.
class SummingSource : public Source {
 public:
  SummingSource(Source& inner, std::span<const Extent> extents) : inner_(inner), summer_(extents) {}
  Task<Status> fill(Bytes at, Places places) override {
    TUTTI_CO_TRY(co_await inner_.fill(at, places));
    summer_.add(at, places, [this](const BlockPart& part) { parts_.push_back(part); });
    co_return Status();
  }
  // After the write.
  std::vector<BlockPart> parts() {
    summer_.finish([this](const BlockPart& part) { parts_.push_back(part); });
    return std::move(parts_);
  }

 private:
  Source& inner_;
  BlockSummer summer_;
  std::vector<BlockPart> parts_;
};

}  // namespace tutti
