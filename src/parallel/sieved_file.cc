#include "parallel/sieved_file.h"

#include <algorithm>

#include "parallel/collective_file.h"

namespace tutti {

Task<Status> write_beside_sieves(OpenFile& file, std::span<const Extent> extents,
                                 std::span<const std::span<const std::byte>> memory,
                                 const CollectiveOptions& options) {
  if (options.ds_write != Toggle::enable || extents.empty())
    co_return co_await file.write_list(extents, memory);
  Bytes first = extents.front().offset;
  Bytes end = extents.front().end();
  for (const Extent& each : extents) {
    first = std::min(first, each.offset);
    end = std::max(end, each.end());
  }
  const auto lock = co_await file.lock({first, end - first}, true);
  if (!lock.ok()) co_return lock.status();
  Status written = co_await file.write_list(extents, memory);
  const Status unlocked = co_await file.unlock(*lock);
  co_return written.ok() ? unlocked : written;
}

Task<Status> TuttiFile::write_list(std::span<const Extent> file,
                                   std::span<const std::span<const std::byte>> memory,
                                   const CollectiveOptions& options) {
  return write_beside_sieves(file_, file, memory, options);
}

}  // namespace tutti
