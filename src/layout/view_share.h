// ViewShare: what of a range of a view's data lies on one server of a striped file. Pure.
//
// A client that splits the runs of the range over the servers comes to the same lists: so a server that has the view
// needs the range alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/extent.h"
#include "base/status.h"
#include "layout/layout.h"
#include "layout/view.h"

namespace tutti {

struct ViewShareLimits {
  std::size_t extents = 4096;
  // Runs and stripes that are looked at, those of other servers too: what a small request may cost.
  std::size_t steps = 262'144;
};

// The lists keep their memory for the next share.
struct ViewShare {
  std::vector<Extent> object;  // of the slot's object, in the order of the data; neighbours are one
  std::vector<Extent> data;    // the same bytes, counted from the begin of the range; neighbours are one
  Bytes length;
};

// A range of `bytes` bytes of the view's data from `offset` on. The view is one that FileView::validate() lets pass and the
// slot one of the layout. Code::too_large beyond the limits, and if the range reaches past `end` in the file.
Status find_share(const FileView& view, const Layout& layout, std::uint32_t slot, std::int64_t offset,
                  std::int64_t bytes, std::int64_t end, const ViewShareLimits& limits, ViewShare& share);

}  // namespace tutti
