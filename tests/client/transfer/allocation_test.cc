// How often the pure steps of a transfer ask for memory: a transfer of one piece does not.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "client/transfer/cut.h"

namespace {
std::size_t g_allocations = 0;  // this is a program of its own: nothing else counts here
}

void* operator new(std::size_t size) {
  ++g_allocations;
  if (void* memory = std::malloc(size)) return memory;  // NOLINT(cppcoreguidelines-no-malloc)
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }  // NOLINT(cppcoreguidelines-no-malloc)
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}

namespace tutti {
namespace {

std::size_t allocations(const Layout& layout, std::span<const Extent> file, const Segment& memory,
                        std::size_t expected_pieces) {
  const std::size_t before = g_allocations;
  const Shares shares = split(layout, file, {&memory, 1});
  const Pieces pieces = Pieces::cut(shares, {4_MiB});
  const std::size_t after = g_allocations;
  EXPECT_EQ(pieces.size(), expected_pieces);
  return after - before;
}

TEST(Allocation, SmallTransfersNeedNoMemory) {
  const Layout four{64_KiB, 4, 0, 4};
  const Extent page{1_MiB, 4_KiB};
  EXPECT_EQ(allocations(four, {&page, 1}, {4096, 4096}, 1), 0U);
  const Extent stripe{64_KiB, 64_KiB};
  EXPECT_EQ(allocations(four, {&stripe, 1}, {4096, 64 << 10}, 1), 0U);
  const Extent across{1000_B, 64_KiB};
  EXPECT_EQ(allocations(four, {&across, 1}, {4096, 64 << 10}, 2), 0U);
  const Extent mebibyte{0_B, 1_MiB};
  EXPECT_EQ(allocations(four, {&mebibyte, 1}, {4096, 1 << 20}, 4), 0U);
}

TEST(Allocation, AListGrowsByDoubling) {
  std::vector<Extent> file;
  for (std::uint64_t i = 0; i < 320; ++i) file.push_back(Extent{Bytes(i * 9720), 3240_B});
  EXPECT_LE(allocations(Layout{64_KiB, 4, 0, 4}, file, {4096, 320 * 3240}, 4), 64U);
}

}  // namespace
}  // namespace tutti
