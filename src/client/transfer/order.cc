#include "client/transfer/order.h"

#include <cassert>

namespace tutti {

Flight::Flight(const Pieces& pieces, const Layout& layout, const TargetOrder& order, const VisitFacts& facts,
               std::size_t per_server, std::span<const ServerLoad* const> loads)
    : pieces_(pieces),
      layout_(layout),
      order_(order),
      paced_(dynamic_cast<const PacedOrder*>(&order)),
      facts_(facts),
      per_server_(per_server),
      loads_(loads),
      left_(pieces.size()) {
  facts_.servers = layout.stripe_count;
  followers_.extend(pieces.size(), kNone);
  SmallVector<std::uint32_t, 8> last;  // by target: its last piece so far
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    const std::size_t target = target_of(pieces[i].slot);
    if (target == last.size()) {
      last.push_back(i);
      heads_.push_back(i);
    } else {
      followers_[last[target]] = i;
      last[target] = i;
    }
    ++targets_[target].left;
    targets_[target].share += pieces[i].length;
  }
  for (Target& target : targets_) target.bytes_left = target.share;
  for (std::size_t i = 0; i < targets_.size(); ++i) show_next(i);
}

std::size_t Flight::target_of(std::uint32_t slot) {
  target_index_.extend(std::size_t{slot} + 1, kNone);
  if (target_index_[slot] == kNone) {
    target_index_[slot] = static_cast<std::uint32_t>(targets_.size());
    Target& made = targets_.emplace_back();
    made.slot = slot;
    made.server = layout_.server_of_slot(slot);
  }
  return target_index_[slot];
}

void Flight::show_next(std::size_t index) {
  Target& target = targets_[index];
  if (heads_[index] == kNone) return;
  const Piece& piece = pieces_[heads_[index]];
  target.next = piece.length;
  if (!piece.object.empty()) target.offset = layout_.file_offset(target.slot, piece.object.front().offset);
}

std::optional<std::size_t> Flight::take(Nanos now) {
  if (over() || now < paused_until_) return std::nullopt;
  bool any = false;
  for (Target& target : targets_) {
    target.open = target.left > 0 && (per_server_ == 0 || target.in_flight < per_server_);
    any = any || target.open;
    const ServerLoad* load = target.slot < loads_.size() ? loads_[target.slot] : nullptr;
    if (load == nullptr || !load->known()) continue;
    target.known = true;
    target.wait = load->wait(now);
    target.service = load->service(target.next);
  }
  if (!any) return std::nullopt;
  const auto chosen = order_.next({targets_.data(), targets_.size()}, facts_, state_);
  assert(chosen || state_.pieces > 0);
  if (!chosen) return std::nullopt;
  Target& target = targets_[*chosen];
  const std::uint32_t piece = heads_[*chosen];
  assert(target.open && piece != kNone);
  heads_[*chosen] = followers_[piece];
  --target.left;
  ++target.sent;
  ++target.in_flight;
  target.bytes_left -= target.next;
  state_.in_flight += pieces_[piece].length;
  ++state_.pieces;
  show_next(*chosen);
  --left_;
  if (paced_ != nullptr)
    paused_until_ = now + paced_->pause({targets_.data(), targets_.size()}, facts_, state_);
  return piece;
}

void Flight::landed(std::size_t piece) {
  --targets_[target_index_[pieces_[piece].slot]].in_flight;
  state_.in_flight -= pieces_[piece].length;
  --state_.pieces;
  paused_until_ = Nanos();
}

}  // namespace tutti
