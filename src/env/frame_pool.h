// FramePool: memory for coroutine frames. They come and go by the million, in few sizes, so each thread keeps
// the ones that were freed, by size, and hands them out again. Frames that are too large go to the general
// allocator, and so do all of them under a sanitizer, which is to see every use after free.
//
// A promise inherits from it. A frame may be freed by another thread than the one that made it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TUTTI_PLAIN_FRAMES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUTTI_PLAIN_FRAMES 1
#endif
#endif

namespace tutti::detail {

class FramePool {
 public:
#ifndef TUTTI_PLAIN_FRAMES
  static void* operator new(std::size_t size) {
    const std::size_t index = (size + kStep - 1) / kStep;
    if (index >= kClasses) return ::operator new(size);
    Kept& kept = lists()[index];
    if (kept.first == nullptr) return ::operator new(index* kStep);
    Free* frame = kept.first;
    kept.first = frame->next;
    --kept.count;
    return frame;
  }
  static void operator delete(void* frame, std::size_t size) noexcept {
    const std::size_t index = (size + kStep - 1) / kStep;
    if (index >= kClasses) return ::operator delete(frame);
    Kept& kept = lists()[index];
    if (kept.count >= kMost) return ::operator delete(frame);
    kept.first = new (frame) Free{kept.first};
    ++kept.count;
  }

 private:
  static constexpr std::size_t kStep = 64;
  static constexpr std::size_t kClasses = 64;
  static constexpr std::uint32_t kMost = 4096;  // frames of one size
  struct Free {
    Free* next;
  };
  struct Kept {
    Free* first = nullptr;
    std::uint32_t count = 0;
  };
  struct Lists {
    std::array<Kept, kClasses> kept;
    Kept& operator[](std::size_t index) { return kept[index]; }
    ~Lists() {
      for (Kept& each : kept) {
        while (each.first != nullptr) ::operator delete(std::exchange(each.first, each.first->next));
        each.count = kMost;  // whoever frees a frame later still gives it back
      }
    }
  };
  static Lists& lists() {
    static thread_local Lists kept;
    return kept;
  }
#endif
};

}  // namespace tutti::detail
