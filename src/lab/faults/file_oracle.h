// FileOracle: knows which bytes a read of one file may return while clients write to it and servers fail.
// Pure.
//
// Every byte has a set of candidates: the operations whose value it may hold now. An operation is a candidate
// from its begin. When it has ended well it replaces all that had ended before it began; one that failed
// stays in doubt, it may or may not have taken place, until a later one replaces it. A second set holds what
// may be left after a loss of power: a sync replaces what was replaced when it began. So the oracle demands:
//   - an acknowledged write is seen by every later read, whatever processes died;
//   - a synced write is seen after a loss of power;
//   - no read returns a byte that nobody wrote there.
// A write that was acknowledged and not synced when its server lost power is in doubt again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "layout/layout.h"

namespace tutti {

class FileOracle {
 public:
  // 0 stands for a byte that was never written.
  using OperationId = std::uint32_t;

  explicit FileOracle(const Layout& layout);

  // The byte that a write puts at a file offset: never 0, so that it differs from a hole.
  static std::byte value(OperationId write, Bytes offset);

  // Extents are in ascending order and do not overlap.
  OperationId begin_write(std::vector<Extent> extents);
  OperationId begin_truncate(Bytes length);
  OperationId begin_sync();
  OperationId begin_read(std::vector<Extent> extents);

  // Of a write, a truncate or a sync. `ok`: it was acknowledged.
  void end(OperationId id, bool ok);
  // A read that returned bytes: Code::internal, with what is wrong, if it may not have. `bytes` are those
  // that came.
  Status end_read(OperationId id, std::span<const std::byte> bytes);
  // A read that failed or was given up.
  void abandon_read(OperationId id) { reads_.erase(id); }
  // Whether the file may have had this length at some time since a read (of nothing) began, which stays under
  // way.
  [[nodiscard]] Status check_size(OperationId read, Bytes size) const;

  // The data server of this number lost what was not synced.
  void power_lost(std::uint32_t server);
  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  using Candidates = std::vector<OperationId>;  // ascending
  static constexpr std::uint64_t kRunning = std::numeric_limits<std::uint64_t>::max();

  enum class Kind : std::uint8_t { write, truncate, sync, read };
  struct Operation {
    Kind kind = Kind::write;
    std::uint64_t begin = 0;
    std::uint64_t end = kRunning;
    std::vector<Extent> extents;
  };
  // A run of bytes with the same candidates, up to the next cell.
  struct Cell {
    Candidates now;
    Candidates durable;
  };
  struct Size {
    Bytes least;
    Bytes greatest;
    void widen(Bytes size);
  };
  // What a read or a sync saw when it began, widened by what came meanwhile.
  struct View {
    std::map<std::uint64_t, Candidates> cells;
    Size size;
  };

  OperationId begin(Kind kind, std::vector<Extent> extents);
  void split(std::uint64_t at);
  [[nodiscard]] Bytes durable_data_end(Bytes limit) const;
  void replace(OperationId id);
  void settle_size(OperationId id);
  void settle_durable(OperationId id);
  [[nodiscard]] View view(std::span<const Extent> extents);
  // True if another operation of a kind that `counts` was under way while `id` was.
  template <typename Counts>
  [[nodiscard]] bool contended(OperationId id, Counts counts) const;
  [[nodiscard]] bool lost_since(std::uint64_t tick) const;
  // Calls visit(from, to) for the parts of [from, to) on servers that kept their power since the tick.
  template <typename Visit>
  void on_kept(std::uint64_t tick, Extent extent, Visit visit) const;
  [[nodiscard]] bool allowed(std::byte byte, Bytes offset, const Candidates& candidates) const;
  [[nodiscard]] std::string describe(Bytes offset, std::byte byte, const Candidates& candidates) const;
  [[nodiscard]] static std::uint64_t returned(std::span<const Extent> extents, Bytes size);

  Layout layout_;
  std::uint64_t tick_ = 1;
  std::vector<Operation> operations_;    // by id
  std::set<OperationId> running_;        // writes and truncates
  std::map<std::uint64_t, Cell> cells_;  // by their first byte
  Size now_;
  Size durable_;
  std::map<OperationId, View> reads_;
  std::map<OperationId, View> syncs_;
  std::vector<std::uint64_t> lost_at_;  // by server
};

}  // namespace tutti
