// The C library's own function behind one that a preloaded library stands in front of. C library only.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace tutti::posix {

template <typename Function>
Function next_function(std::atomic<Function>& cache, const char* name) {
  Function function = cache.load(std::memory_order_acquire);
  if (function != nullptr) return function;
  function = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
  if (function == nullptr) {
    std::fprintf(stderr, "tutti: the C library has no %s\n", name);
    std::abort();
  }
  cache.store(function, std::memory_order_release);
  return function;
}

}  // namespace tutti::posix

#define TUTTI_EXPORT extern "C" __attribute__((visibility("default")))
#define TUTTI_NEXT(name)                                               \
  ([]() -> decltype(&name) {                                           \
    static std::atomic<decltype(&name)> cache;                         \
    return tutti::posix::next_function<decltype(&name)>(cache, #name); \
  }())
