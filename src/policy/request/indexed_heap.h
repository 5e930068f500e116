// Heap and IndexedHeap: handles (small numbers) by rank, least first; any of them can be taken out or ranked anew.
//
// A heap with four children to a node, which costs fewer cache misses than two. Between equal ranks the history decides,
// alike in every run. All changes take O(log n). An IndexedHeap knows where its handles are; many Heaps that share the
// handles out among them keep that in one table.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tutti {

// Where each handle is in its heap.
class HeapPlaces {
 public:
  [[nodiscard]] bool contains(std::uint32_t handle) const {
    return handle < places_.size() && places_[handle] != kNowhere;
  }
  void make_room(std::uint32_t handle) {
    if (handle >= places_.size()) places_.resize(std::size_t{handle} + 1, kNowhere);
  }
  [[nodiscard]] std::size_t of(std::uint32_t handle) const { return places_[handle]; }
  void set(std::uint32_t handle, std::size_t place) { places_[handle] = static_cast<std::uint32_t>(place); }
  void forget(std::uint32_t handle) { places_[handle] = kNowhere; }

 private:
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> places_;  // by handle
};

template <typename Rank>
class Heap {
 public:
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] std::uint32_t top() const { return items_.front().handle; }

  void push(HeapPlaces& places, std::uint32_t handle, const Rank& rank) {
    assert(!places.contains(handle));
    places.make_room(handle);
    items_.push_back({rank, handle});
    rise(places, items_.size() - 1);
  }
  void erase(HeapPlaces& places, std::uint32_t handle) {
    const std::size_t place = places.of(handle);
    places.forget(handle);
    const Item last = items_.back();
    items_.pop_back();
    if (place == items_.size()) return;
    items_[place] = last;
    settle(places, place);
  }
  void update(HeapPlaces& places, std::uint32_t handle, const Rank& rank) {
    const std::size_t place = places.of(handle);
    items_[place].rank = rank;
    settle(places, place);
  }
  // Of an empty heap that was large.
  void give_memory_back() {
    constexpr std::size_t kSmall = 4096;
    if (items_.capacity() > kSmall) items_ = {};
  }

 private:
  static constexpr std::size_t kChildren = 4;
  struct Item {
    Rank rank;
    std::uint32_t handle;
  };

  void put(HeapPlaces& places, std::size_t place, const Item& item) {
    items_[place] = item;
    places.set(item.handle, place);
  }
  void settle(HeapPlaces& places, std::size_t place) {
    if (place > 0 && items_[place].rank < items_[(place - 1) / kChildren].rank) {
      rise(places, place);
    } else {
      sink(places, place);
    }
  }
  void rise(HeapPlaces& places, std::size_t place) {
    const Item item = items_[place];
    while (place > 0) {
      const std::size_t parent = (place - 1) / kChildren;
      if (!(item.rank < items_[parent].rank)) break;
      put(places, place, items_[parent]);
      place = parent;
    }
    put(places, place, item);
  }
  void sink(HeapPlaces& places, std::size_t place) {
    const Item item = items_[place];
    for (;;) {
      const std::size_t first = place * kChildren + 1;
      if (first >= items_.size()) break;
      std::size_t least = first;
      const std::size_t end = std::min(first + kChildren, items_.size());
      for (std::size_t child = first + 1; child < end; ++child) {
        if (items_[child].rank < items_[least].rank) least = child;
      }
      if (!(items_[least].rank < item.rank)) break;
      put(places, place, items_[least]);
      place = least;
    }
    put(places, place, item);
  }

  std::vector<Item> items_;
};

template <typename Rank>
class IndexedHeap {
 public:
  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] std::size_t size() const { return heap_.size(); }
  [[nodiscard]] std::uint32_t top() const { return heap_.top(); }
  [[nodiscard]] bool contains(std::uint32_t handle) const { return places_.contains(handle); }
  void push(std::uint32_t handle, const Rank& rank) { heap_.push(places_, handle, rank); }
  void erase(std::uint32_t handle) { heap_.erase(places_, handle); }
  void update(std::uint32_t handle, const Rank& rank) { heap_.update(places_, handle, rank); }

 private:
  Heap<Rank> heap_;
  HeapPlaces places_;
};

}  // namespace tutti
