#include "lab/faults/name_oracle.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

TEST(NameOracle, AcknowledgedChangesAreBinding) {
  NameOracle oracle;
  EXPECT_TRUE(oracle.created("a", true, Code::ok, 7).ok());
  EXPECT_FALSE(oracle.created("a", true, Code::ok, 8).ok());
  EXPECT_TRUE(oracle.renamed("a", "b", Code::ok).ok());
  EXPECT_TRUE(oracle.listed({{"b", 7}}).ok());
  EXPECT_FALSE(oracle.listed({{"a", 7}}).ok());
  EXPECT_FALSE(oracle.listed({}).ok());
  EXPECT_FALSE(oracle.removed("b", Code::not_found).ok());
  EXPECT_TRUE(oracle.removed("b", Code::ok).ok());
  EXPECT_TRUE(oracle.listed({}).ok());
}

TEST(NameOracle, AFailedChangeAllowsBothOutcomes) {
  NameOracle oracle;
  EXPECT_TRUE(oracle.created("a", true, Code::ok, 7).ok());
  EXPECT_TRUE(oracle.renamed("a", "b", Code::timed_out).ok());
  EXPECT_TRUE(oracle.listed({{"a", 7}}).ok());
  EXPECT_TRUE(oracle.listed({{"b", 7}}).ok());
  EXPECT_FALSE(oracle.listed({{"b", 9}}).ok());
  EXPECT_TRUE(oracle.removed("b", Code::ok).ok());
  EXPECT_FALSE(oracle.listed({{"b", 7}}).ok());
}

}  // namespace
}  // namespace tutti
