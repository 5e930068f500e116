// ViewRange: a range of a view's data, seen from the file: which of its bytes lie in a part of the file.
// Pure.
//
// With an ascending view that takes no memory; with another one the runs are listed and sorted once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/view.h"

namespace tutti {

// Bytes of the file, and where they are in the data, counted from the range's start.
struct PlacedRun {
  std::int64_t file = 0;
  std::int64_t length = 0;
  std::int64_t data = 0;
  auto operator<=>(const PlacedRun&) const = default;
};

class ViewRange {
 public:
  ViewRange() = default;
  ViewRange(FileView view, std::int64_t data_offset, std::int64_t bytes);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] Extent bounds() const { return bounds_; }
  // Data order is file order, and no byte of the file is in it twice.
  [[nodiscard]] bool ascending() const { return ascending_; }
  // How many of the bytes lie in a part of the file.
  [[nodiscard]] std::int64_t bytes_in(Extent part) const;
  // Appends those bytes' runs in file order; runs that touch in file and data are one.
  void cut(Extent part, std::vector<PlacedRun>& runs) const;

  // For sending to another process; nothing if it would take more than `most` bytes. The data of the decoded
  // range is in file order.
  [[nodiscard]] std::optional<std::vector<std::byte>> encode(std::size_t most) const;
  // Only what lies in `parts`, which ascend; as long as it must be.
  [[nodiscard]] std::vector<std::byte> encode_clipped(std::span<const Extent> parts) const;
  static Result<ViewRange> decode(std::span<const std::byte> bytes);

 private:
  [[nodiscard]] std::int64_t data_at(Bytes place) const;

  FileView view_;
  std::int64_t data_offset_ = 0;
  std::int64_t bytes_ = 0;
  Extent bounds_;
  bool ascending_ = true;
  std::vector<PlacedRun> runs_;  // if not ascending: sorted by place in the file
};

}  // namespace tutti
