#include "parallel/staggered.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tutti {
namespace {

constexpr Layout kFour{1_MiB, 4, 0, 4};

std::vector<Extent> parts_of(const std::string& order, Extent access, std::uint32_t rank,
                             Bytes block = 8_MiB) {
  VisitFacts facts;
  facts.rank = rank;
  facts.ranks = 4;
  return staggered(kFour, access, block, **make_target_order(order), facts);
}

std::vector<std::uint32_t> servers_of(const std::vector<Extent>& parts) {
  std::vector<std::uint32_t> servers;
  for (const Extent& part : parts) servers.push_back(kFour.slot_of(part.offset));
  return servers;
}

TEST(Staggered, EachRankBeginsAtAServerOfItsOwn) {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    const auto servers = servers_of(parts_of("hash", {8_MiB * rank, 8_MiB}, rank));
    ASSERT_EQ(servers.size(), 8U);
    for (std::uint32_t step = 0; step < 8; ++step) EXPECT_EQ(servers[step], (rank + step) % 4) << rank;
  }
}

TEST(Staggered, FirstKeepsTheOrderOfTheFile) {
  Bytes at = 512_KiB;
  for (const Extent& part : parts_of("first", {512_KiB, 6_MiB}, 2)) {
    EXPECT_EQ(part.offset, at);
    at = part.end();
  }
  EXPECT_EQ(at, 512_KiB + 6_MiB);
}

TEST(Staggered, PartsAreTheAccessAndStayWithinStripes) {
  const Extent access{700'001_B, 5'000'003_B};
  for (const char* order : {"hash", "random", "alternate", "load", "first"}) {
    auto parts = parts_of(order, access, 3, 256_KiB);
    std::sort(parts.begin(), parts.end(),
              [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
    Bytes at = access.offset;
    for (const Extent& part : parts) {
      EXPECT_EQ(part.offset, at) << order;
      EXPECT_LE(part.length, 256_KiB);
      EXPECT_EQ(part.offset / 1_MiB, (part.end() - 1_B) / 1_MiB) << order;
      at = part.end();
    }
    EXPECT_EQ(at, access.end()) << order;
  }
}

TEST(Staggered, AServerThatHasNothingLeftIsPassedOver) {
  EXPECT_EQ(servers_of(parts_of("hash", {1_MiB, 2_MiB}, 3)), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(parts_of("hash", {1_MiB, 0_B}, 3).empty());
}

}  // namespace
}  // namespace tutti
