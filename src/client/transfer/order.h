// Order: which piece of a transfer is sent next. The policy of policy/target decides on the server, this class knows what is
// left and what is in flight. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/small_vector.h"
#include "client/server_load.h"
#include "client/transfer/cut.h"
#include "policy/target/paced_order.h"

namespace tutti {

class Flight {
 public:
  // At most `per_server` pieces are in flight to one server (0: any number). `loads` by slot, or empty. All that is named
  // here must outlive it; there is at least one piece.
  Flight(const Pieces& pieces, const Layout& layout, const TargetOrder& order, const VisitFacts& facts,
         std::size_t per_server, std::span<const ServerLoad* const> loads = {});

  // The next piece; none if nothing is to be sent now. Then ask again when a piece has landed or, if that is later than `now`, at
  // paused_until(), unless it is over.
  std::optional<std::size_t> take(Nanos now);
  [[nodiscard]] Nanos paused_until() const { return paused_until_; }
  void landed(std::size_t piece);
  // All pieces are sent, or it was stopped.
  [[nodiscard]] bool over() const { return left_ == 0; }
  // No further piece is sent.
  void stop() { left_ = 0; }

 private:
  static constexpr std::uint32_t kNone = ~0U;
  std::size_t target_of(std::uint32_t slot);
  void show_next(std::size_t target);

  const Pieces& pieces_;
  const Layout& layout_;
  const TargetOrder& order_;
  const PacedOrder* paced_;  // the same, if it leaves time between pieces
  VisitFacts facts_;
  std::size_t per_server_;
  std::span<const ServerLoad* const> loads_;
  VisitState state_;
  SmallVector<Target, 8> targets_;               // in the order of first touch
  SmallVector<std::uint32_t, 8> heads_;          // by target: its next piece
  SmallVector<std::uint32_t, 16> followers_;     // by piece: the next one of the same target
  SmallVector<std::uint32_t, 16> target_index_;  // by slot
  std::size_t left_;                             // pieces that are not sent
  Nanos paused_until_;
};

}  // namespace tutti
