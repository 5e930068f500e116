#include "layout/view_range.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace tutti {
namespace {

struct Header {
  std::int64_t displacement = 0;
  std::int64_t data_offset = 0;
  std::int64_t bytes = 0;
};

std::int64_t signed_count(Bytes bytes) {
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(bytes.count(), std::numeric_limits<std::int64_t>::max()));
}

std::vector<std::byte> with_header(const Header& header, std::span<const std::byte> type) {
  std::vector<std::byte> message(sizeof(header) + type.size());
  std::memcpy(message.data(), &header, sizeof(header));
  std::memcpy(message.data() + sizeof(header), type.data(), type.size());
  return message;
}

}  // namespace

ViewRange::ViewRange(FileView view, std::int64_t data_offset, std::int64_t bytes)
    : view_(std::move(view)), data_offset_(data_offset), bytes_(bytes), ascending_(view_.ascending()) {
  bounds_ = view_.bounds(data_offset, bytes);
  if (ascending_) return;
  TypeCursor walk = view_.cursor(data_offset);
  for (std::int64_t done = 0; done < bytes;) {
    const TypeRun run = walk.next(bytes - done);
    runs_.push_back({run.offset, run.length, done});
    done += run.length;
  }
  std::stable_sort(runs_.begin(), runs_.end(),
                   [](const PlacedRun& a, const PlacedRun& b) { return a.file < b.file; });
}

// Bytes of the range before a place in the file; ascending views only.
std::int64_t ViewRange::data_at(Bytes place) const {
  if (place <= bounds_.offset) return 0;
  if (place >= bounds_.end()) return bytes_;
  return std::clamp<std::int64_t>(view_.data_before(signed_count(place)) - data_offset_, 0, bytes_);
}

std::int64_t ViewRange::bytes_in(Extent part) const {
  if (ascending_) return data_at(part.end()) - data_at(part.offset);
  std::int64_t sum = 0;
  const std::int64_t begin = signed_count(part.offset);
  const std::int64_t end = signed_count(part.end());
  for (const PlacedRun& run : runs_) {
    if (run.file >= end) break;
    sum += std::max<std::int64_t>(0, std::min(run.file + run.length, end) - std::max(run.file, begin));
  }
  return sum;
}

void ViewRange::cut(Extent part, std::vector<PlacedRun>& runs) const {
  if (ascending_) {
    std::int64_t at = data_at(part.offset);
    const std::int64_t end = data_at(part.end());
    if (at == end) return;
    TypeCursor walk = view_.cursor(data_offset_ + at);
    while (at < end) {
      const TypeRun run = walk.next(end - at);
      runs.push_back({run.offset, run.length, at});
      at += run.length;
    }
    return;
  }
  const std::int64_t begin = signed_count(part.offset);
  const std::int64_t end = signed_count(part.end());
  for (const PlacedRun& run : runs_) {
    if (run.file >= end) break;
    const std::int64_t from = std::max(run.file, begin);
    const std::int64_t to = std::min(run.file + run.length, end);
    if (from < to) runs.push_back({from, to - from, run.data + (from - run.file)});
  }
}

std::optional<std::vector<std::byte>> ViewRange::encode(std::size_t most) const {
  if (!ascending_ || most < sizeof(Header)) return std::nullopt;
  const auto type = view_.filetype.encode(most - sizeof(Header));
  if (!type) return std::nullopt;
  return with_header({view_.displacement, data_offset_, bytes_}, *type);
}

std::vector<std::byte> ViewRange::encode_clipped(std::span<const Extent> parts) const {
  std::vector<PlacedRun> runs;
  for (const Extent& part : parts) cut(part, runs);
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> offsets;
  std::int64_t bytes = 0;
  for (const PlacedRun& run : runs) {
    offsets.push_back(run.file);
    lengths.push_back(run.length);
    bytes += run.length;
  }
  const FlatType type = FlatType::indexed(lengths, offsets, FlatType::bytes(1));
  return with_header({0, 0, bytes}, *type.encode(std::numeric_limits<std::size_t>::max()));
}

Result<ViewRange> ViewRange::decode(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof(header)) return Status(Code::malformed, "a view from another rank is cut short");
  std::memcpy(&header, bytes.data(), sizeof(header));
  auto type = FlatType::decode(bytes.subspan(sizeof(header)));
  if (!type.ok()) return type.status();
  if (header.bytes < 0 || header.data_offset < 0 || header.displacement < 0 ||
      (header.bytes > 0 && (type->size() == 0 || type->true_lb() < 0 || type->extent() <= 0))) {
    return Status(Code::malformed, "a view from another rank makes no sense");
  }
  return ViewRange(FileView{header.displacement, 1, *std::move(type)}, header.data_offset, header.bytes);
}

}  // namespace tutti
