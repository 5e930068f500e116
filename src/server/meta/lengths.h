// Lengths: how long files are, as far as the metadata server knows without asking data servers. Pure.
//
// A length is known from the making of a file on, as long as everybody who writes it says at the close how far. It counts
// while nobody has the file open for writing. What a client cannot say for sure (a truncation, a failed write, a handle
// that others share, a client that died) ends the knowledge, and so does a restart; then all data servers are asked. Since
// bytes that were not synced may go with a server's power, whoever wants the length asks the server of the last byte
// whether it is there; an empty file needs no question.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

namespace tutti::meta {

class Lengths {
 public:
  static constexpr std::size_t kMost = 500'000;  // beyond it the oldest are forgotten

  // A new file: nothing is written yet, unless somebody was so quick that he opened it before this was told.
  void created(std::uint64_t inode) { add(inode, 0); }
  // Somebody who did not make the file opens it for writing.
  void opened(std::uint64_t inode) { add(inode, kUnknown); }
  // All that one writer wrote lies before `end`.
  void grew(std::uint64_t inode, std::uint64_t end) {
    const auto found = lengths_.find(inode);
    if (found != lengths_.end() && found->second != kUnknown) found->second = std::max(found->second, end);
  }
  void forget(std::uint64_t inode) {
    const auto found = lengths_.find(inode);
    if (found != lengths_.end()) found->second = kUnknown;
  }
  // The file is gone.
  void removed(std::uint64_t inode) { lengths_.erase(inode); }
  // When all writers have closed it.
  [[nodiscard]] std::optional<std::uint64_t> of(std::uint64_t inode) const {
    const auto found = lengths_.find(inode);
    if (found == lengths_.end() || found->second == kUnknown) return std::nullopt;
    return found->second;
  }

 private:
  static constexpr std::uint64_t kUnknown = UINT64_MAX;

  void add(std::uint64_t inode, std::uint64_t length) {
    if (!lengths_.emplace(inode, length).second) return;
    order_.push_back(inode);
    while (lengths_.size() > kMost || order_.size() > 2 * kMost) {
      lengths_.erase(order_.front());
      order_.pop_front();
    }
  }

  std::unordered_map<std::uint64_t, std::uint64_t> lengths_;
  std::deque<std::uint64_t> order_;  // as they came; those that are forgotten stay for a while
};

}  // namespace tutti::meta
