#include "lab/faults/linearizable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

namespace tutti {
namespace {

using Kind = HistoryOperation::Kind;
using File = std::vector<std::uint32_t>;  // the values of its blocks

constexpr std::size_t kMostTried = 2'000'000;

std::vector<std::uint32_t> read(const File& file, const HistoryOperation& operation) {
  std::vector<std::uint32_t> blocks;
  for (std::uint64_t at = operation.first; at < operation.first + operation.count && at < file.size(); ++at)
    blocks.push_back(file[at]);
  return blocks;
}

// Does the operation. False if its answer does not fit.
bool apply(File& file, const HistoryOperation& operation) {
  switch (operation.kind) {
    case Kind::write:
      if (file.size() < operation.first + operation.count) file.resize(operation.first + operation.count);
      for (std::uint64_t at = 0; at < operation.count; ++at) file[operation.first + at] = operation.value;
      return true;
    case Kind::truncate:
      file.resize(operation.first);
      return true;
    case Kind::read:
      return read(file, operation) == operation.seen;
    case Kind::size:
      return file.size() == operation.first;
  }
  return false;
}

class Search {
 public:
  explicit Search(std::span<const HistoryOperation> history) : history_(history) {}

  Status run() {
    if (history_.size() > 64) return {Code::too_large, "a history of more than 64 operations"};
    if (explain(0, 0, File())) return {};
    if (tried_.size() >= kMostTried) return {Code::too_large, "too many orders to try"};
    std::string text = "no order explains";
    for (const HistoryOperation& each : history_) text += "\n  " + each.text();
    return {Code::internal, text};
  }

 private:
  // Whether what is not in `done` has an order. `latest` is the last begin of what is.
  bool explain(std::uint64_t done, std::uint64_t latest, const File& file) {
    if (tried_.size() >= kMostTried || !tried_.emplace(done, file).second) return false;
    std::uint64_t first_end = HistoryOperation::kNever;  // of those that must have taken place
    bool all = true;
    for (std::size_t i = 0; i < history_.size(); ++i) {
      if ((done >> i & 1U) != 0 || must_not_be(history_[i])) continue;
      all = false;
      first_end = std::min(first_end, history_[i].end);
    }
    if (all) return true;
    for (std::size_t i = 0; i < history_.size(); ++i) {
      const HistoryOperation& next = history_[i];
      if ((done >> i & 1U) != 0 || next.begin > first_end || next.end < latest) continue;
      File after = file;
      if (apply(after, next) && explain(done | 1ULL << i, std::max(latest, next.begin), after)) return true;
    }
    return false;
  }
  static bool must_not_be(const HistoryOperation& each) {
    return each.may_be_left_out || each.end == HistoryOperation::kNever;
  }

  std::span<const HistoryOperation> history_;
  std::set<std::pair<std::uint64_t, File>> tried_;
};

// What a history says of one block: block 0 of a file of two, of which the other stands for all that lie behind it.
std::vector<HistoryOperation> about(std::span<const HistoryOperation> history, std::uint64_t block) {
  std::vector<HistoryOperation> found;
  for (const HistoryOperation& each : history) {
    HistoryOperation one = each;
    one.count = 1;
    one.first = 0;
    const bool covers = each.first <= block && block < each.first + each.count;
    switch (each.kind) {
      case Kind::write:
        if (covers) found.push_back(one);
        if (each.first + each.count > block + 1) {  // its servers work at the same time
          one.first = 1;
          found.push_back(one);
        }
        break;
      case Kind::truncate:
        if (each.first > block) {
          one.first = 1;
          one.may_be_left_out = true;  // what lies behind may have been there, and stay for others
          found.push_back(one);
        } else {
          found.push_back(one);
          // The block may go before the file is cut.
          one.kind = Kind::write;
          one.value = 0;
          one.may_be_left_out = true;
          found.push_back(one);
        }
        break;
      case Kind::read:
        if (!covers) break;
        one.seen.clear();
        if (block - each.first < each.seen.size()) one.seen.push_back(each.seen[block - each.first]);
        found.push_back(one);
        break;
      case Kind::size:
        break;
    }
  }
  return found;
}

}  // namespace

std::string HistoryOperation::text() const {
  const std::string until = end == kNever ? "never" : std::to_string(end);
  switch (kind) {
    case Kind::write:
      return fmt::format("{}..{} write {} to {}+{}", begin, until, value, first, count);
    case Kind::truncate:
      return fmt::format("{}..{} truncate to {}", begin, until, first);
    case Kind::read:
      return fmt::format("{}..{} read {}+{}: [{}]", begin, until, first, count, fmt::join(seen, " "));
    case Kind::size:
      return fmt::format("{}..{} size: {}", begin, until, first);
  }
  return "";
}

Status linearizable(std::span<const HistoryOperation> history) { return Search(history).run(); }

Status linearizable_blocks(std::span<const HistoryOperation> history, std::uint64_t blocks) {
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const std::vector<HistoryOperation> of_block = about(history, block);
    const Status status = linearizable(of_block);
    if (!status.ok()) return status.with_context(fmt::format("block {}", block));
  }
  return {};
}

}  // namespace tutti
