#include "server/data/local_reads.h"

#include <gtest/gtest.h>

#include "env/sim/simulation.h"
#include "tests/server/data/scripted.h"

namespace tutti {
namespace {

class LocalReadsTest : public testing::Test {
 protected:
  LocalReadsTest() {
    store_.told.in_memory = store_.told.shareable = true;
    store_.shared = {7, 1_MiB, std::make_shared<NoFile>()};
    auto connection = std::make_unique<ScriptedConnection>(simulation_.executor());
    connection_ = connection.get();
    session_ = std::make_shared<ClientSession>(simulation_.executor(), std::move(connection));
  }
  // Of a client that has no file yet.
  Transfer& read(std::vector<Extent> extents, std::uint64_t known = 1, Bytes ahead = 0_B) {
    transfer_ = std::make_unique<Transfer>();
    transfer_->extents = std::move(extents);
    transfer_->local.known = known;
    transfer_->local.ahead = ahead;
    transfer_->session = session_;
    return *transfer_;
  }
  LocalReadGrants local_reads() { return {store_, 256_KiB}; }

  Simulation simulation_{1};
  ScriptedStore store_{simulation_.executor()};
  ScriptedConnection* connection_ = nullptr;
  std::shared_ptr<ClientSession> session_;
  std::unique_ptr<Transfer> transfer_;
};

TEST_F(LocalReadsTest, AClientWithoutTheFileIsGivenItOnceAndNamesItLater) {
  EXPECT_TRUE(local_reads().offer(read({{0_B, 4_KiB}})));
  EXPECT_EQ(transfer_->local.key, 7U);
  EXPECT_EQ(transfer_->local.object_length, 1_MiB);
  EXPECT_TRUE(local_reads().offer(read({{0_B, 4_KiB}}, 7)));
  EXPECT_EQ(connection_->given_keys, (std::vector<std::uint64_t>{7}));
  EXPECT_TRUE(local_reads().offer(read({{0_B, 4_KiB}}, 6)));
  EXPECT_EQ(connection_->given_keys, (std::vector<std::uint64_t>{7, 7})) << "it has another object's file";
}

TEST_F(LocalReadsTest, BytesAreMovedWhereAnySideCannotDoOtherwise) {
  EXPECT_FALSE(local_reads().offer(read({{0_B, 4_KiB}}, 0))) << "the client cannot";
  connection_->takes = false;
  EXPECT_FALSE(local_reads().offer(read({{0_B, 4_KiB}}))) << "the file cannot be handed over";
  connection_->takes = true;
  const int asked = store_.shares;
  store_.told.shareable = false;
  EXPECT_FALSE(local_reads().offer(read({{0_B, 4_KiB}})));
  EXPECT_EQ(store_.shares, asked) << "the traits say that it is not worth asking";
  store_.told.shareable = true;
  store_.shared.file = nullptr;
  EXPECT_FALSE(local_reads().offer(read({{0_B, 4_KiB}}))) << "there is no such object";
  EXPECT_EQ(transfer_->local.key, 0U);
  EXPECT_EQ(transfer_->valid_end, Bytes::max());
}

TEST_F(LocalReadsTest, TheReaderIsToldWhereTheObjectEnds) {
  ASSERT_TRUE(local_reads().offer(read({{0_B, 1_MiB}})));
  EXPECT_EQ(transfer_->valid_end, Bytes::max());
  ASSERT_TRUE(local_reads().offer(read({{1_MiB, 10_B}, {0_B, 10_B}})));
  EXPECT_EQ(transfer_->valid_end, 1_MiB);
}

TEST_F(LocalReadsTest, AGrantIsNoMoreThanTheWishAndTheLimit) {
  const auto granted = [this](std::vector<Extent> extents, Bytes ahead) {
    const LocalReadGrants reads = local_reads();
    EXPECT_TRUE(local_reads().offer(read(std::move(extents), 7, ahead)));
    return reads.grant(*transfer_).bytes;
  };
  EXPECT_EQ(granted({{0_B, 64_KiB}}, 100_KiB), 100_KiB);
  EXPECT_EQ(granted({{960_KiB, 64_KiB}}, 10_MiB), 256_KiB) << "anywhere in the object";
  EXPECT_EQ(granted({{0_B, 4_KiB}, {8_KiB, 4_KiB}}, 10_KiB), 10_KiB);
  EXPECT_EQ(granted({{0_B, 64_KiB}}, 0_B), 0_B);
  EXPECT_EQ(session_->granted.told_reads(wire::Took(~std::uint64_t{0}, 1, 0, 0)).bytes,
            100_KiB + 256_KiB + 10_KiB);
  EXPECT_EQ(local_reads().grant(read({{0_B, 64_KiB}}, 1, 1_MiB)).bytes, 0_B) << "its bytes were moved";
}

TEST_F(LocalReadsTest, OneSmallReadComesInsideTheReplyRepeatedOnesAreLocal) {
  Transfer& once = read({{0_B, 4_KiB}});
  once.inside_reply = true;
  EXPECT_FALSE(local_reads().offer(once));
  EXPECT_TRUE(once.inside_reply);
  Transfer& again = read({{0_B, 4_KiB}}, 1, 1_MiB);
  again.inside_reply = true;
  EXPECT_TRUE(local_reads().offer(again));
  EXPECT_FALSE(again.inside_reply);
}

}  // namespace
}  // namespace tutti
