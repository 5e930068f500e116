// FileView: an MPI file view: which bytes of a file a process sees, and in which order. Pure.
//
// The view's data are the bytes of repetitions of `filetype` from `displacement` on; a *data offset* counts
// through them. With external32 the filetype is that of the bytes in the file.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "layout/flat_type.h"
#include "layout/layout.h"
#include "layout/type_cursor.h"

namespace tutti {

struct FileView {
  std::int64_t displacement = 0;
  std::int64_t etype_size = 1;
  FlatType filetype;  // one byte: the whole file

  // Whether the standard allows it: the displacement is not negative, etype and filetype have bytes, the
  // filetype is made of whole etypes, and its displacements are neither negative nor descending; for a view
  // to be written through, no byte is in it twice. Code::invalid for numbers, Code::io_error for a filetype that cannot
  // be one.
  [[nodiscard]] Status validate(bool writable) const;

  [[nodiscard]] bool contiguous() const { return filetype.contiguous(); }
  // Data order is file order over the whole view.
  [[nodiscard]] bool ascending() const { return filetype.tiles_ascending(); }

  // Whether the repetitions that hold the first `data_end` bytes of the data lie before this place in the file, and no
  // number that leads there overflows. Of a view that is valid.
  [[nodiscard]] bool lies_before(std::int64_t data_end, std::int64_t file_end) const;
  // The place in the file of a byte of the data.
  [[nodiscard]] std::int64_t file_offset(std::int64_t data_offset) const;
  // How many bytes of the data lie before a place in the file. Only of an ascending view.
  [[nodiscard]] std::int64_t data_before(std::int64_t file_offset) const;
  // SEEK_END: the end of a file of this length, which is the first etype of the view that begins behind its last byte.
  [[nodiscard]] std::int64_t end_in_etypes(std::int64_t file_length) const;
  // From the first to behind the last byte of the file that a range of the data touches; empty for an empty
  // range.
  [[nodiscard]] Extent bounds(std::int64_t data_offset, std::int64_t bytes) const;
  // Standing at this place of the data; offsets are those of the file.
  [[nodiscard]] TypeCursor cursor(std::int64_t data_offset) const;
};

}  // namespace tutti
