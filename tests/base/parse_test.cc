#include "base/parse.h"

#include <gtest/gtest.h>

#include <vector>

namespace tutti {
namespace {

TEST(ParseBytes, UnderstandsBinaryAndDecimalUnits) {
  EXPECT_EQ(*parse_bytes("0"), Bytes(0));
  EXPECT_EQ(*parse_bytes("4096"), Bytes(4096));
  EXPECT_EQ(*parse_bytes("64KiB"), 64_KiB);
  EXPECT_EQ(*parse_bytes("64K"), 64_KiB);
  EXPECT_EQ(*parse_bytes("1.5 MiB"), 1536_KiB);
  EXPECT_EQ(*parse_bytes("10GB"), Bytes(10'000'000'000));
  EXPECT_EQ(*parse_bytes("1GiB"), 1_GiB);
}

TEST(ParseBytes, RefusesWhatIsNotASize) {
  for (const char* text :
       {"", "-1", "KiB", "64 foo", "1..5K", "1e9", "99999999999999999999", "9000000T", " 1"}) {
    EXPECT_FALSE(parse_bytes(text).ok()) << text;
  }
}

TEST(ParseDuration, NeedsAUnit) {
  EXPECT_EQ(*parse_duration("250ms"), 250_ms);
  EXPECT_EQ(*parse_duration("1.5s"), 1500_ms);
  EXPECT_EQ(*parse_duration("2h"), 7200_s);
  EXPECT_EQ(*parse_duration("1min"), 60_s);
  EXPECT_FALSE(parse_duration("60").ok());
  EXPECT_FALSE(parse_duration("-1s").ok());
}

TEST(Nearest, FindsTheWordThatWasMeant) {
  const std::vector<std::string> known = {"policy", "stripe_size", "stripe_count", "ls", "put"};
  EXPECT_EQ(nearest("polcy", known), "policy");
  EXPECT_EQ(nearest("stripe_szie", known), "stripe_size");
  EXPECT_EQ(nearest("putt", known), "put");
  EXPECT_EQ(nearest("frobnicate", known), std::nullopt);
  EXPECT_EQ(nearest("xy", known), std::nullopt);
}

}  // namespace
}  // namespace tutti
