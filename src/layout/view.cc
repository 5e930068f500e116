#include "layout/view.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

Status FileView::validate(bool writable) const {
  if (displacement < 0)
    return {Code::invalid, fmt::format("the view's displacement is {}: use 0 or more", displacement)};
  if (etype_size <= 0) return {Code::invalid, "the view's etype has no bytes"};
  if (filetype.size() == 0) return {Code::invalid, "the view's filetype has no bytes"};
  if (filetype.size() % etype_size != 0) {
    return {Code::invalid,
            fmt::format("the view's filetype has {} bytes, its etype {}: use a filetype made of whole etypes",
                        filetype.size(), etype_size)};
  }
  if (filetype.true_lb() < 0) return {Code::io_error, "the view's filetype has a negative displacement"};
  if (!filetype.sorted()) return {Code::io_error, "the displacements of the view's filetype descend"};
  if (filetype.extent() <= 0) return {Code::io_error, "the extent of the view's filetype is not positive"};
  if (writable && !filetype.ascending())
    return {Code::io_error, "the view's filetype overlaps itself: open the file for reading only"};
  return {};
}

TypeCursor FileView::cursor(std::int64_t data_offset) const {
  TypeCursor cursor(filetype, displacement);
  cursor.seek(data_offset);
  return cursor;
}

bool FileView::lies_before(std::int64_t data_end, std::int64_t file_end) const {
  if (data_end <= 0) return true;
  std::int64_t place = 0;
  return !__builtin_mul_overflow((data_end - 1) / filetype.size(), filetype.extent(), &place) &&
         !__builtin_add_overflow(place, displacement, &place) &&
         !__builtin_add_overflow(place, filetype.true_lb() + filetype.true_extent(), &place) &&
         place <= file_end;
}

std::int64_t FileView::file_offset(std::int64_t data_offset) const {
  if (contiguous()) return displacement + filetype.true_lb() + data_offset;
  return cursor(data_offset).next(1).offset;
}

std::int64_t FileView::data_before(std::int64_t file_offset) const {
  const std::int64_t place = file_offset - displacement;
  const std::int64_t low = filetype.true_lb();
  if (place <= low) return 0;
  if (contiguous()) return place - low;
  const std::int64_t tile = (place - low) / filetype.extent();
  return tile * filetype.size() + filetype.size_before(place - tile * filetype.extent());
}

std::int64_t FileView::end_in_etypes(std::int64_t file_length) const {
  const auto etypes = [this](std::int64_t bytes) { return (bytes + etype_size - 1) / etype_size; };
  if (ascending()) return etypes(data_before(file_length));
  // Repetitions that end before the file does have nothing behind it.
  const std::int64_t span = filetype.true_lb() + filetype.true_extent();
  const std::int64_t skipped =
      std::max<std::int64_t>(0, (file_length - displacement - span) / filetype.extent());
  for (TypeCursor walk = cursor(skipped * filetype.size());;) {
    const std::int64_t before = walk.position();
    const TypeRun run = walk.next(TypeCursor::kUnbounded);
    const std::int64_t first = etypes(before + std::max<std::int64_t>(0, file_length - run.offset));
    if (first * etype_size < before + run.length) return first;
  }
}

Extent FileView::bounds(std::int64_t data_offset, std::int64_t bytes) const {
  if (bytes == 0) return {};
  std::int64_t first = 0;
  std::int64_t end = 0;
  if (ascending()) {
    first = file_offset(data_offset);
    end = file_offset(data_offset + bytes - 1) + 1;
  } else {
    TypeCursor walk = cursor(data_offset);
    first = TypeCursor::kUnbounded;
    for (std::int64_t left = bytes; left > 0;) {
      const TypeRun run = walk.next(left);
      first = std::min(first, run.offset);
      end = std::max(end, run.offset + run.length);
      left -= run.length;
    }
  }
  return {Bytes(static_cast<std::uint64_t>(first)), Bytes(static_cast<std::uint64_t>(end - first))};
}

}  // namespace tutti
