// RawBytes: a buffer that is filled after it was made long enough: growing it does not clear it.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace tutti {

template <typename T>
struct NotCleared : std::allocator<T> {
  template <typename Other>
  struct rebind {
    using other = NotCleared<Other>;
  };
  NotCleared() = default;
  template <typename Other>
  NotCleared(const NotCleared<Other>& /*other*/) {
  }  // NOLINT(google-explicit-constructor): what a container wants
  template <typename Made>
  void construct(Made* place) {
    ::new (static_cast<void*>(place)) Made;
  }
  template <typename Made, typename... Arguments>
  void construct(Made* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Made(std::forward<Arguments>(arguments)...);
  }
};

using RawBytes = std::vector<std::byte, NotCleared<std::byte>>;

}  // namespace tutti
