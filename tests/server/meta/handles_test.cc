#include "server/meta/handles.h"

#include <gtest/gtest.h>

#include <vector>

#include "env/sim/clock.h"
#include "env/sim/network/network.h"
#include "env/sim/simulation.h"
#include "server/meta/lengths.h"

namespace tutti::meta {
namespace {

class MetaHandles : public testing::Test {
 protected:
  void pass(Nanos time) { simulation_.run_until(simulation_.now() + time); }

  Simulation simulation_;
  SimClock clock_{simulation_};
  SimNetwork fabric_{simulation_, {}, Random(2)};
  NodeId node_ = fabric_.add_node();
  Random random_{1};
  std::vector<Handles::Closed> closed_;
  Handles handles_{Env{clock_, fabric_.node(node_), random_, {}}, 60_s,
                   [this](const Handles::Closed& ended) { closed_.push_back(ended); }};
  ClientName alice_{1000, 1};
  ClientName bob_{2000, 1};
};

TEST_F(MetaHandles, FileIsOpenUntilTheLastHandleIsClosed) {
  handles_.join(alice_);
  handles_.join(bob_);
  EXPECT_TRUE(handles_.open(alice_, 1, 77, true).ok());
  EXPECT_TRUE(handles_.open(alice_, 1, 77, true).ok()) << "repeated";
  EXPECT_TRUE(handles_.open(bob_, 1, 77, false).ok());
  EXPECT_TRUE(handles_.is_written(77));
  handles_.close(alice_, 1, {true, 500});
  handles_.close(alice_, 1, {true, 900});
  EXPECT_TRUE(handles_.is_open(77));
  EXPECT_FALSE(handles_.is_written(77));
  EXPECT_TRUE(handles_.has(bob_, 77));
  EXPECT_FALSE(handles_.has(alice_, 77));
  handles_.close(bob_, 1, {true, 0});
  EXPECT_FALSE(handles_.is_open(77));
  ASSERT_EQ(closed_.size(), 2U);
  EXPECT_EQ(closed_[0].closing.end, 500U);
  EXPECT_FALSE(closed_[0].last);
  EXPECT_TRUE(closed_[1].last);
}

TEST_F(MetaHandles, AbsentClientLosesItsHandlesAfterTheGrace) {
  handles_.join(alice_);
  EXPECT_TRUE(handles_.open(alice_, 1, 77, true).ok());
  handles_.leave(alice_);
  pass(59_s);
  EXPECT_TRUE(handles_.is_open(77));
  handles_.join(alice_);
  pass(1000_s);
  EXPECT_TRUE(handles_.is_open(77));
  handles_.leave(alice_);
  pass(61_s);
  EXPECT_FALSE(handles_.is_open(77));
  ASSERT_EQ(closed_.size(), 1U);
  EXPECT_FALSE(closed_[0].returned);
  EXPECT_FALSE(closed_[0].closing.exact);
}

TEST_F(MetaHandles, ClientHasABoundedNumberOfThem) {
  handles_.join(alice_);
  for (std::uint64_t i = 1; i <= Handles::kMostOfClient; ++i)
    ASSERT_TRUE(handles_.open(alice_, i, i, false).ok());
  EXPECT_EQ(handles_.open(alice_, 1'000'000, 5, false).code(), Code::invalid);
}

TEST(MetaLengths, KnownFromTheMakingOnAsLongAsWritersSayHowFar) {
  Lengths lengths;
  EXPECT_FALSE(lengths.of(5).has_value());
  lengths.created(5);
  EXPECT_EQ(lengths.of(5), 0U);
  lengths.opened(5);
  lengths.grew(5, 100);
  lengths.grew(5, 40);
  EXPECT_EQ(lengths.of(5), 100U);
  lengths.forget(5);
  lengths.grew(5, 200);
  EXPECT_FALSE(lengths.of(5).has_value());
}

TEST(MetaLengths, FileThatWasWrittenBeforeItsMakingWasToldIsUnknown) {
  Lengths lengths;
  lengths.opened(5);
  lengths.grew(5, 100);
  lengths.created(5);
  EXPECT_FALSE(lengths.of(5).has_value());
}

TEST(MetaLengths, OldestAreForgottenFirst) {
  Lengths lengths;
  for (std::uint64_t i = 1; i <= Lengths::kMost + 10; ++i) lengths.created(i);
  EXPECT_FALSE(lengths.of(10).has_value());
  EXPECT_TRUE(lengths.of(11).has_value());
}

}  // namespace
}  // namespace tutti::meta
