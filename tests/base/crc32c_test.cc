#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/random.h"

namespace tutti {
namespace {

std::vector<std::byte> noise(std::size_t length) {
  Random random(length + 1);
  std::vector<std::byte> bytes(length);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random.next());
  return bytes;
}

TEST(Crc32c, IsTheOneOfTheStandardButForItsInversions) {
  constexpr std::string_view kDigits = "123456789";
  EXPECT_EQ(~crc32c(std::as_bytes(std::span(kDigits)), ~std::uint32_t{0}), 0xe3069283U);
}

TEST(Crc32c, TheInstructionAndTheTableAgree) {
  for (const std::size_t length :
       {0U, 1U, 7U, 8U, 9U, 1023U, 1024U, 1031U, 4096U, 65536U, 65543U, 300'001U}) {
    const auto bytes = noise(length);
    EXPECT_EQ(crc32c(bytes, 5), detail::crc32c_portable(bytes, 5)) << length;
  }
}

TEST(Crc32c, PiecesAddUpInAnyOrder) {
  const auto bytes = noise(65536);
  const std::span<const std::byte> all(bytes);
  std::uint32_t sum = 0;
  for (const auto& [begin, end] : {std::pair{40'000U, 65'536U}, {0U, 1U}, {1U, 40'000U}})
    sum ^= crc32c_shift(crc32c(all.subspan(begin, end - begin)), 65536 - end);
  EXPECT_EQ(sum, crc32c(all));
}

TEST(Crc32c, ZerosBeforeDoNotCountAndZerosAfterShift) {
  std::vector<std::byte> bytes(1000);
  bytes[500] = std::byte{9};
  const std::span<const std::byte> all(bytes);
  EXPECT_EQ(crc32c(all), crc32c(all.subspan(500)));
  EXPECT_EQ(crc32c(all), crc32c_shift(crc32c(all.first(501)), 499));
}

}  // namespace
}  // namespace tutti
