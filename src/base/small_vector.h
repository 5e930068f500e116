// SmallVector: a vector whose first N elements live inside it, so that a short list needs no memory of its own.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace tutti {

template <typename T, std::size_t N>
class SmallVector {
  static_assert(N > 0 && std::is_nothrow_move_constructible_v<T>);

 public:
  SmallVector() = default;
  SmallVector(SmallVector&& other) noexcept { take(other); }
  SmallVector& operator=(SmallVector&& other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  SmallVector(const SmallVector&) = delete;
  SmallVector& operator=(const SmallVector&) = delete;
  ~SmallVector() { drop(); }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  T* data() { return heap_ != nullptr ? heap_ : inside(); }
  const T* data() const { return heap_ != nullptr ? heap_ : inside(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t index) {
    assert(index < size_);
    return data()[index];
  }
  const T& operator[](std::size_t index) const {
    assert(index < size_);
    return data()[index];
  }
  T& front() { return (*this)[0]; }
  const T& front() const { return (*this)[0]; }
  T& back() { return (*this)[size_ - 1]; }
  const T& back() const { return (*this)[size_ - 1]; }

  // `values` may name an element of this list only while there is room.
  template <typename... Values>
  T& emplace_back(Values&&... values) {
    if (size_ == capacity_) grow(capacity_ * 2);
    T* made = std::construct_at(data() + size_, std::forward<Values>(values)...);
    ++size_;
    return *made;
  }
  void push_back(T value) { emplace_back(std::move(value)); }
  void reserve(std::size_t capacity) {
    if (capacity > capacity_) grow(capacity);
  }
  // Adds copies of `value` until there are `size` elements; never removes any.
  void extend(std::size_t size, const T& value) {
    reserve(size);
    while (size_ < size) emplace_back(value);
  }
  // Removes the elements from `size` on; keeps the memory.
  void shrink(std::size_t size) {
    assert(size <= size_);
    std::destroy(data() + size, data() + size_);
    size_ = size;
  }
  void clear() { shrink(0); }

 private:
  T* inside() { return std::launder(reinterpret_cast<T*>(inside_)); }
  const T* inside() const { return std::launder(reinterpret_cast<const T*>(inside_)); }
  void grow(std::size_t capacity) {
    T* larger = std::allocator<T>().allocate(capacity);
    std::uninitialized_move_n(data(), size_, larger);
    std::destroy_n(data(), size_);
    release();
    heap_ = larger;
    capacity_ = capacity;
  }
  void release() {
    if (heap_ != nullptr) std::allocator<T>().deallocate(heap_, capacity_);
  }
  void drop() {
    clear();
    release();
    heap_ = nullptr;
    capacity_ = N;
  }
  void take(SmallVector& other) {
    if (other.heap_ != nullptr) {
      heap_ = std::exchange(other.heap_, nullptr);
      capacity_ = std::exchange(other.capacity_, N);
      size_ = std::exchange(other.size_, 0);
      return;
    }
    std::uninitialized_move_n(other.inside(), other.size_, inside());
    size_ = other.size_;
    other.clear();
  }

  T* heap_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = N;
  alignas(T) std::byte inside_[N * sizeof(T)];
};

}  // namespace tutti
