#include "client/transfer/declared_view.h"

#include <utility>

#include "wire/messages.h"

namespace tutti {

DeclaredView::DeclaredView(FileView view, std::uint64_t number, std::uint64_t file, const Layout& layout)
    : view_(std::move(view)), number_(number), file_(file), layout_(layout), servers_(layout.stripe_count) {
  if (view_.contiguous() || !view_.validate(false).ok()) return;
  if (auto encoded = view_.filetype.encode(wire::kMaxView)) filetype_ = *std::move(encoded);
}

DeclaredView::~DeclaredView() {
  for (std::uint32_t slot = 0; slot < servers_.size(); ++slot) {
    const auto channel = servers_[slot].knows.lock();
    if (channel != nullptr && !channel->closed()) send(slot, *channel, true);
  }
}

bool DeclaredView::usable(std::uint32_t slot, bool write) const {
  return !filetype_.empty() && !servers_[slot].refused && (!write || view_.ascending());
}

void DeclaredView::tell(std::uint32_t slot, const std::shared_ptr<Channel>& channel) {
  Server& server = servers_[slot];
  if (server.knows.lock() == channel) return;
  send(slot, *channel, false);
  server.knows = channel;
}

void DeclaredView::forgotten(std::uint32_t slot) {
  Server& server = servers_[slot];
  server.knows.reset();
  // A server that never has room for it is not worth the trouble.
  if (++server.forgotten >= kMostForgotten) server.refused = true;
}

void DeclaredView::send(std::uint32_t slot, Channel& channel, bool drop) const {
  flatbuffers::FlatBufferBuilder builder(256 + (drop ? 0 : filetype_.size()));
  flatbuffers::Offset<flatbuffers::Vector<std::uint8_t>> type;
  if (!drop) {
    type = builder.CreateVector(reinterpret_cast<const std::uint8_t*>(filetype_.data()), filetype_.size());
  }
  const wire::Layout layout(layout_.stripe_size.count(), layout_.stripe_count, layout_.first_server,
                            layout_.server_total, 0);
  builder.Finish(wire::CreateViewRequest(builder, number_, file_, &layout, slot, view_.displacement, type));
  channel.connection().send(wire::request_type(wire::Type::view), 0, wire::bytes(builder)).ignore();
}

}  // namespace tutti
