#include "base/uuid.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(Uuid, TextComesBackAsItWas) {
  Random random(1);
  const Uuid uuid = Uuid::make(random);
  EXPECT_FALSE(uuid.none());
  EXPECT_NE(uuid, Uuid::make(random));
  EXPECT_EQ(to_string(uuid).size(), 36U);
  EXPECT_EQ(parse_uuid(to_string(uuid)).value(), uuid);
  EXPECT_EQ(to_string(Uuid()), "none");
  EXPECT_EQ(parse_uuid("none").value(), Uuid());
}

TEST(Uuid, OtherTextIsRefused) {
  for (const char* text :
       {"", "0", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-00000000000g"})
    EXPECT_EQ(parse_uuid(text).code(), Code::malformed) << text;
}

}  // namespace
}  // namespace tutti
