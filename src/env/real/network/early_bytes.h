// EarlyBytes: bytes of writes that come on the socket behind their requests, without being asked for. Pure.
//
// Bytes of a write move when its turn has come: the server asks for them then. Where turn after turn comes at once, asking is a
// message and two wake-ups for nothing. So a server whose pulls followed their requests at once allows its client to send
// short regions along, and takes that back with the first one that had to wait.
//
//   client                                         server
//   request that announces region r     ------>    announced(r); the request is dispatched, and a pull wants r
//   the bytes of r                      ------>    straight to the places of that pull
//
// Bytes that come before anybody wants them are held, up to a limit, and dropped beyond it. A pull of what is not here, or was
// dropped, asks for it as ever.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "base/raw_bytes.h"

namespace tutti {

// How soon pulls follow their requests, and whether the client may therefore send early.
class EarlyPace {
 public:
  enum class Word : std::uint8_t { none, allow, forbid };
  static constexpr unsigned kPrompt = 8;  // pulls in a row

  // A pull begins, in the turn of the loop in which its request came or later. What the client is to be told.
  Word pulled(bool at_once) {
    if (!at_once) {
      in_a_row_ = 0;
      return std::exchange(allowed_, false) ? Word::forbid : Word::none;
    }
    if (allowed_ || ++in_a_row_ < kPrompt) return Word::none;
    allowed_ = true;
    return Word::allow;
  }
  [[nodiscard]] bool allowed() const { return allowed_; }

 private:
  unsigned in_a_row_ = 0;
  bool allowed_ = false;
};

// What one client has announced. Regions are in the order of their numbers.
class EarlyBytes {
 public:
  static constexpr std::size_t kMostRegions = 16;
  static constexpr std::size_t kMostHeld = 1U << 20U;

  struct Entry {
    std::uint64_t wanted_by = 0;  // the number of a pull; 0: of none
    RawBytes bytes;               // once they have begun to come, unless somebody wanted them
    bool here = false;            // all of `bytes`
  };

  // The bytes of the region come next.
  void announced(std::uint64_t region) { entries_.try_emplace(region); }
  // One that has to be forgotten before another may be announced, the oldest: its request may have ended without its bytes. 0: none.
  [[nodiscard]] std::uint64_t one_too_many() const {
    return entries_.size() < kMostRegions ? 0 : entries_.begin()->first;
  }
  // Null: not announced, forgotten or dropped.
  [[nodiscard]] Entry* find(std::uint64_t region) {
    const auto found = entries_.find(region);
    return found == entries_.end() ? nullptr : &found->second;
  }
  // Makes room for bytes that nobody wants yet. Null: there is none, and the region is forgotten.
  Entry* hold(std::uint64_t region, std::size_t length) {
    Entry* entry = find(region);
    if (entry == nullptr) return nullptr;
    if (held_ + length > kMostHeld) {
      erase(region);
      return nullptr;
    }
    held_ += length;
    entry->bytes.resize(length);
    return entry;
  }
  void erase(std::uint64_t region) {
    const auto found = entries_.find(region);
    if (found == entries_.end()) return;
    held_ -= found->second.bytes.size();
    entries_.erase(found);
  }

 private:
  std::map<std::uint64_t, Entry> entries_;
  std::size_t held_ = 0;
};

}  // namespace tutti
