#include "env/real/slow_copies.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace tutti {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kFar = kPage / 2;  // behind the source, counted within pages: never slow
constexpr std::uint64_t kSlowBehind = 32;

std::uint64_t behind(std::uint64_t to, std::uint64_t from) { return (to - from) % kPage; }

std::byte* page_in(std::byte* memory) {
  return memory + (kPage - reinterpret_cast<std::uintptr_t>(memory) % kPage) % kPage;
}

#if defined(__x86_64__)

void copy_string(std::byte* to, const std::byte* from, std::size_t length) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(length) : : "memory");
}

// Twice as slow at least, the best of some turns of both.
bool try_processor() {
  constexpr std::size_t kLength = 4 * kPage;
  std::vector<std::byte> source(kLength + kPage);
  std::vector<std::byte> sink(kLength + 2 * kPage);
  const auto took = [&](std::uint64_t distance) {
    const auto began = std::chrono::steady_clock::now();
    copy_string(page_in(sink.data()) + distance, page_in(source.data()), kLength);
    return std::chrono::steady_clock::now() - began;
  };
  auto usual = took(kFar);
  auto aliased = took(kSlowBehind / 2);
  for (int i = 0; i < 8; ++i) {
    usual = std::min(usual, took(kFar));
    aliased = std::min(aliased, took(kSlowBehind / 2));
  }
  return aliased > 2 * usual;
}

#else

bool try_processor() { return false; }

#endif

bool try_kernel() {
  char from = 1;
  char to = 0;
  const iovec source{&from, 1};
  const iovec sink{&to, 1};
  return ::process_vm_readv(::getpid(), &sink, 1, &source, 1, 0) == 1;
}

}  // namespace

bool copies_slowly(std::uint64_t to, std::uint64_t from) {
  const std::uint64_t distance = behind(to, from);
  if (distance == 0 || distance >= kSlowBehind) return false;
  static const bool slow = try_kernel() && try_processor();
  return slow;
}

std::byte* Detour::from(std::uint64_t from) { return page_in(memory_) + (from + kFar) % kPage; }

}  // namespace tutti
