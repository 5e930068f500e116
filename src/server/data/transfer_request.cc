#include "server/data/transfer_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "layout/view_share.h"

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

// The memory of the range holds the share's bytes where the view's data has them.
Status take_view_region(const wire::TransferRequest& request, std::span<const Extent> data, Region& region) {
  region.id = request.region();
  if (request.segments() == nullptr) return {};
  const wire::Segment* range = request.segments()->size() == 1 ? request.segments()->Get(0) : nullptr;
  std::uint64_t end = 0;
  if (range == nullptr || range->length() != request.view_length() ||
      __builtin_add_overflow(range->address(), range->length(), &end)) {
    return {Code::invalid, "the memory is not that of the view's range"};
  }
  region.segments.reserve(data.size());
  for (const Extent& each : data)
    region.segments.push_back(Segment{range->address() + each.offset.count(), each.length.count()});
  return region.index();
}

Status take_view(const wire::TransferRequest& request, bool write, SessionViews* views, Transfer& transfer) {
  if (views == nullptr) return {Code::unsupported, "no views on this connection"};
  const auto found = views->find(request.view(), request.capability()->file());
  if (!found.ok()) return found.status();
  const SessionView& known = **found;
  if (write && !known.view.ascending())
    return {Code::unsupported, "the view may overlap itself: it is for reading only"};
  if (request.view_offset() > wire::kMaxOffset || request.view_length() > wire::kMaxOffset ||
      request.view_share() == 0 || request.view_share() > wire::kMaxTransfer) {
    return {Code::invalid, "the range of the view is empty or too large"};
  }
  ViewShare share;
  share.object = std::move(transfer.extents);
  const ViewShareLimits limits{wire::kMaxExtents};
  const Status walked =
      find_share(known.view, known.layout, known.slot, static_cast<std::int64_t>(request.view_offset()),
                 static_cast<std::int64_t>(request.view_length()),
                 static_cast<std::int64_t>(wire::kMaxOffset), limits, share);
  transfer.extents = std::move(share.object);
  TUTTI_TRY(walked);
  transfer.length = share.length;
  if (share.length.count() != request.view_share()) {
    return {Code::unsupported, fmt::format("the client counts {} bytes of the view's range on this server, "
                                           "the server {}",
                                           request.view_share(), share.length.count())};
  }
  transfer.by_view = true;
  return take_view_region(request, share.data, transfer.region);
}

}  // namespace

bool sound(const wire::TransferRequest* request) {
  if (request == nullptr || request->capability() == nullptr || request->tag() == nullptr) return false;
  const bool listed = request->extents() != nullptr && request->extents()->size() > 0;
  return listed != (request->view() != 0) && wire::aligned(request->extents()) &&
         wire::aligned(request->segments());
}

Status take_over(const wire::TransferRequest& request, bool write, SessionViews* views, Transfer& transfer) {
  if (request.view() != 0) {
    TUTTI_TRY(take_view(request, write, views, transfer));
  } else {
    TUTTI_TRY(take_extents(*request.extents(), transfer));
    TUTTI_TRY(take_region(request, transfer));
  }
  transfer.write = write;
  // A claim that makes no sense is none.
  const wire::Visitor* visitor = request.visitor();
  if (visitor != nullptr && visitor->rank() < visitor->ranks() && visitor->slot() < visitor->servers())
    transfer.visitor = *visitor;
  if (request.directed() != nullptr) transfer.directed = *request.directed();
  transfer.object = ObjectId{request.capability()->file()};
  transfer.inside_reply =
      !write && transfer.length.count() <= std::min(request.inline_limit(), wire::kMaxInline);
  // What is handed out cannot be taken back: only those get it whose file it is, whatever becomes of its mode.
  const bool may_keep = (request.capability()->rights() & wire::kRightKeep) != 0;
  transfer.local.known = may_keep ? request.take() : 0;
  transfer.local.ahead = Bytes(std::min(request.ahead(), wire::kMaxTransfer));
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
