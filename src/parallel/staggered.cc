#include "parallel/staggered.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace tutti {
namespace {

// The parts of one server, in the order of the file.
struct Visit {
  std::vector<Extent> parts;
  std::size_t next = 0;
};

class Route {
 public:
  Route(const Layout& layout, Extent access, Bytes block)
      : layout_(layout), number_of_slot_(layout.stripe_count, kNone) {
    while (access.length > 0_B) {
      const Bytes to_the_end = layout.stripe_size - access.offset % layout.stripe_size;
      const Bytes length = std::min({access.length, to_the_end, block});
      add({access.offset, length});
      access = {access.offset + length, access.length - length};
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) show_next(i);
  }

  std::vector<Extent> in_order_of(const TargetOrder& order, VisitFacts facts) {
    facts.servers = layout_.stripe_count;
    VisitState state;
    std::vector<Extent> parts;
    for (std::size_t left = count_; left > 0; --left) {
      const auto chosen = order.next(targets_, facts, state);
      assert(chosen);  // nothing is in flight
      parts.push_back(take(*chosen));
    }
    return parts;
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  void add(Extent part) {
    const std::uint32_t slot = layout_.slot_of(part.offset);
    if (number_of_slot_[slot] == kNone) {
      number_of_slot_[slot] = targets_.size();
      Target& made = targets_.emplace_back();
      made.slot = slot;
      made.server = layout_.server_of_slot(slot);
      visits_.emplace_back();
    }
    const std::size_t number = number_of_slot_[slot];
    visits_[number].parts.push_back(part);
    ++targets_[number].left;
    targets_[number].share += part.length;
    targets_[number].bytes_left += part.length;
    ++count_;
  }
  void show_next(std::size_t number) {
    Target& target = targets_[number];
    const Visit& visit = visits_[number];
    target.open = target.left > 0;
    if (!target.open) return;
    target.next = visit.parts[visit.next].length;
    target.offset = visit.parts[visit.next].offset;
  }
  Extent take(std::size_t number) {
    const Extent part = visits_[number].parts[visits_[number].next++];
    Target& target = targets_[number];
    --target.left;
    ++target.sent;
    target.bytes_left -= part.length;
    show_next(number);
    return part;
  }

  const Layout& layout_;
  std::vector<std::size_t> number_of_slot_;
  std::vector<Target> targets_;  // in the order of first touch
  std::vector<Visit> visits_;    // theirs
  std::size_t count_ = 0;
};

}  // namespace

std::vector<Extent> staggered(const Layout& layout, Extent access, Bytes block, const TargetOrder& order,
                              VisitFacts facts) {
  return Route(layout, access, block).in_order_of(order, facts);
}

}  // namespace tutti
