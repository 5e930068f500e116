// Reading on without asking.
#include "tests/client/transfer/grant_fixture.h"

namespace tutti {
namespace {

class ReadGrantTest : public GrantTest {
 protected:
  void start(Bytes read_grant) {
    GrantTest::start(read_grant, 0_B);
    for (unsigned i = 0; i < kBlocks; ++i) write(i, i);
  }
};

TEST_F(ReadGrantTest, AReaderOfTheWholeFileAsksSeldomAndIsCountedInFull) {
  start(4_MiB);
  const Nanos began = loop_.clock().steady();
  for (unsigned i = 0; i < kBlocks; ++i) ASSERT_EQ(read(i), block(i)) << i;
  expect_few(reads(), began);
  file_.reset();
  const Nanos limit = loop_.clock().now() + 10_s;
  while (reads() < kBlocks && loop_.clock().now() < limit) loop_.run_once(100_ms);
  EXPECT_EQ(reads(), kBlocks);
  EXPECT_EQ(data_->dispatcher().totals().bytes_read, Bytes(kBlocks * kBlock));
}

TEST_F(ReadGrantTest, WithoutGrantsEachReadAsks) {
  start(0_B);
  for (unsigned i = 0; i < kBlocks; ++i) ASSERT_EQ(read(i), block(i)) << i;
  EXPECT_EQ(reads(), kBlocks);
}

TEST_F(ReadGrantTest, ReadsHereAndThereAskSeldomToo) {
  start(4_MiB);
  const Nanos began = loop_.clock().steady();
  for (unsigned i = 0; i < kBlocks; ++i) {
    const unsigned number = (i * 37 + 5) % kBlocks;
    ASSERT_EQ(read(number), block(number)) << number;
  }
  expect_few(reads(), began);
}

TEST_F(ReadGrantTest, WhatIsWrittenMeanwhileIsSeen) {
  start(4_MiB);
  EXPECT_EQ(read(0), block(0));
  EXPECT_EQ(read(1), block(1));
  EXPECT_EQ(reads(), 1U) << "the second was granted with the first";
  write(5, 99);
  EXPECT_EQ(read(2), block(2));
  EXPECT_EQ(read(5), block(99));
  ASSERT_TRUE(loop_.run(file_->truncate(Bytes(20 * kBlock + 100))).ok());
  EXPECT_EQ(read(10), block(10));
  EXPECT_EQ(read(20).size(), 100U);
  EXPECT_EQ(read(30).size(), 0U);
  write(30, 7);
  EXPECT_EQ(read(30), block(7));
  EXPECT_EQ(read(25), std::vector<std::byte>(kBlock)) << "a hole";
}

}  // namespace
}  // namespace tutti
