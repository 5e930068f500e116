#include "server/data/session_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

constexpr std::size_t kPlace = 512;  // of an entry, beside its tree

std::span<const std::byte> filetype_of(const wire::ViewRequest& request) {
  return std::as_bytes(std::span(request.filetype()->data(), request.filetype()->size()));
}

}  // namespace

SessionViews::~SessionViews() {
  while (!views_.empty()) forget(views_.begin());
}

Status SessionViews::declare(const wire::ViewRequest& request) {
  const std::uint64_t number = request.number();
  if (const auto known = views_.find(number); known != views_.end()) forget(known);
  if (request.filetype() == nullptr || request.filetype()->size() == 0) return {};
  const wire::Layout* wished = request.layout();
  if (number == 0 || wished == nullptr) return {Code::malformed, "view request"};
  const Layout layout{Bytes(wished->stripe_size()), wished->stripe_count(), wished->first_server(),
                      wished->server_total()};
  Bytes memory;
  const Status refused = check(request, layout, memory);
  if (refused.code() == Code::malformed) return refused;
  if (!refused.ok()) {
    refused_ = number;
    why_ = refused;
    return {};
  }
  auto type = FlatType::decode(filetype_of(request));
  if (!type.ok()) return type.status();
  make_room(memory);
  Entry entry;
  entry.view = {request.file(), FileView{request.displacement(), 1, *std::move(type)}, layout,
                request.slot()};
  entry.memory = memory;
  entry.last_use = ++uses_;
  views_.emplace(number, std::move(entry));
  for (Bytes* used : {&used_, &memory_.used, &user_->views}) *used += memory;
  return {};
}

Status SessionViews::check(const wire::ViewRequest& request, const Layout& layout, Bytes& memory) const {
  if (request.filetype()->size() > wire::kMaxView)
    return {Code::unsupported, fmt::format("the view has more than {} bytes", wire::kMaxView)};
  if (!layout.validate().ok() || request.slot() >= layout.stripe_count)
    return {Code::malformed, "a view of a file that is striped in no way that there is"};
  const auto type = FlatType::summarize(filetype_of(request));
  if (!type.ok()) return type.status();
  const auto most = static_cast<std::int64_t>(wire::kMaxOffset);
  if (type->size <= 0 || type->low < 0 || type->extent <= 0 || request.displacement() < 0 ||
      request.displacement() > most || !type->sorted) {
    return {Code::malformed, "a view that no file can have"};
  }
  memory = Bytes(type->memory + kPlace);
  if (memory > kLargest)
    return {Code::unsupported, fmt::format("the view would take {} of memory", to_string(memory))};
  // What of its own it would give away for it does not count.
  const Bytes freed = used_ + memory > kMost ? std::min(used_, memory) : 0_B;
  if (!fair((user_->views - freed).count(), (memory_.used - freed).count(), memory_.most.count()))
    return {Code::unsupported, "the server holds too many views, or too many of this user"};
  return {};
}

void SessionViews::make_room(Bytes memory) {
  while (!views_.empty() && used_ + memory > kMost) {
    forget(std::min_element(views_.begin(), views_.end(), [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    }));
  }
}

void SessionViews::forget(Entries::iterator entry) {
  for (Bytes* used : {&used_, &memory_.used, &user_->views}) *used -= entry->second.memory;
  views_.erase(entry);
}

Result<const SessionView*> SessionViews::find(std::uint64_t number, std::uint64_t file) {
  const auto found = views_.find(number);
  if (found == views_.end()) {
    if (number == refused_) return why_;
    return Status(Code::not_found, "the view is not known on this connection: declare it again");
  }
  if (found->second.view.file != file) return Status(Code::unsupported, "the view is one of another file");
  found->second.last_use = ++uses_;
  return static_cast<const SessionView*>(&found->second.view);
}

}  // namespace tutti
