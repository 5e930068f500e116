#include "server/data/transfer_request.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {
namespace {

Status take_extents(const flatbuffers::Vector<const wire::Extent*>& extents, Transfer& transfer) {
  if (extents.size() > wire::kMaxExtents) return {Code::too_large, "too many extents in one request"};
  transfer.extents.reserve(extents.size());
  for (const wire::Extent* extent : extents) {
    // No sum of what passes here can wrap.
    if (extent->length() == 0 || extent->length() > wire::kMaxTransfer ||
        extent->offset() > wire::kMaxOffset - extent->length()) {
      return {Code::invalid,
              fmt::format("extent {}+{} is empty or too large", extent->offset(), extent->length())};
    }
    transfer.extents.push_back(Extent{Bytes(extent->offset()), Bytes(extent->length())});
    transfer.length += Bytes(extent->length());
    if (transfer.length.count() > wire::kMaxTransfer)
      return {Code::too_large, "too many bytes in one request"};
  }
  return {};
}

Status take_region(const wire::TransferRequest& request, Transfer& transfer) {
  Region& region = transfer.region;
  region.id = request.region();
  if (request.segments() == nullptr) return {};
  if (request.segments()->size() > wire::kMaxSegments)
    return {Code::too_large, "too many segments in one request"};
  std::uint64_t left = transfer.length.count();
  region.segments.reserve(request.segments()->size());
  for (const wire::Segment* segment : *request.segments()) {
    if (segment->length() > left) return {Code::invalid, "segments and extents differ in length"};
    left -= segment->length();
    region.segments.push_back(Segment{segment->address(), segment->length()});
  }
  if (left != 0) return {Code::invalid, "segments and extents differ in length"};
  return region.index();
}

}  // namespace

bool sound(const wire::TransferRequest* request) {
  return request != nullptr && request->capability() != nullptr && request->tag() != nullptr &&
         request->extents() != nullptr && request->extents()->size() > 0 &&
         wire::aligned(request->extents()) && wire::aligned(request->segments());
}

Status take_over(const wire::TransferRequest& request, bool write, Transfer& transfer) {
  TUTTI_TRY(take_extents(*request.extents(), transfer));
  TUTTI_TRY(take_region(request, transfer));
  transfer.write = write;
  transfer.object = ObjectId{request.capability()->file()};
  transfer.inside_reply =
      !write && transfer.length.count() <= std::min(request.inline_limit(), wire::kMaxInline);
  if (!write) {
    // What is handed out cannot be taken back: only those get it who may read the file whatever becomes of its mode.
    const bool may_keep = (request.capability()->rights() & wire::kRightKeep) != 0;
    transfer.local.known = may_keep ? request.take() : 0;
    transfer.local.ahead = Bytes(std::min(request.ahead(), wire::kMaxTransfer));
  }
  return {};
}

bool sound(const wire::PrefetchRequest* request) {
  return request != nullptr && request->capability() != nullptr && request->tag() != nullptr &&
         request->extents() != nullptr && request->extents()->size() > 0 && wire::aligned(request->extents());
}

Status take_over(const wire::PrefetchRequest& request, Transfer& transfer) {
  TUTTI_TRY(take_extents(*request.extents(), transfer));
  transfer.work = Work::prefetch;
  transfer.object = ObjectId{request.capability()->file()};
  return {};
}

}  // namespace tutti
