// Writing on without asking.
#include "tests/client/transfer/grant_fixture.h"

namespace tutti {
namespace {

class WriteGrantTest : public GrantTest {
 protected:
  void write_all(unsigned seed) {
    for (unsigned i = 0; i < kBlocks; ++i) write(i, seed + i);
  }
  void expect_all(unsigned seed) {
    for (unsigned i = 0; i < kBlocks; ++i) ASSERT_EQ(read(i), block(seed + i)) << i;
  }
  std::unique_ptr<OpenFile> open_again() {
    OpenOptions options;
    options.write = true;
    auto file = loop_.run(files_->open("/f", options));
    EXPECT_TRUE(file.ok());
    return *std::move(file);
  }
};

TEST_F(WriteGrantTest, AWriterOfTheWholeFileAsksSeldomAndIsCountedInFull) {
  start(0_B, 4_MiB);
  const Nanos began = loop_.clock().steady();
  write_all(0);
  expect_few(writes(), began);
  expect_all(0);
  write_all(100);
  expect_all(100);
  EXPECT_EQ(*loop_.run(file_->size()), Bytes(kBlocks * kBlock));
  ASSERT_TRUE(loop_.run(file_->sync()).ok());
  file_.reset();
  const Nanos limit = loop_.clock().now() + 10_s;
  while (writes() < 2 * kBlocks && loop_.clock().now() < limit) loop_.run_once(100_ms);
  EXPECT_EQ(writes(), 2 * kBlocks);
  EXPECT_EQ(data_->dispatcher().totals().bytes_written, Bytes(2 * kBlocks * kBlock));
}

// A checkpoint is often one large write into a new file.
TEST_F(WriteGrantTest, OneLargeWriteAsksForItsFirstBytesOnly) {
  start(0_B, 16_MiB);
  std::vector<std::byte> bytes(kBlocks * kBlock);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / 11 + i / kBlock);
  loop_.run(file_->connect(10_s));
  ASSERT_TRUE(loop_.run(file_->write(0_B, bytes)).ok());
  EXPECT_EQ(writes(), 1U);
  EXPECT_EQ(data_->dispatcher().totals().bytes_written, 64_KiB) << "a stripe";
  std::vector<std::byte> back(bytes.size());
  EXPECT_EQ(*loop_.run(file_->read(0_B, back)), Bytes(bytes.size()));
  EXPECT_EQ(back, bytes);
}

TEST_F(WriteGrantTest, ALargeWriteThatIsNotGrantedIsAskedForAsAWholeAndNotTriedAgainSoon) {
  start(0_B, 1_MiB);  // less than what is left of it
  const std::vector<std::byte> bytes(kBlocks * kBlock, std::byte{7});
  loop_.run(file_->connect(10_s));
  ASSERT_TRUE(loop_.run(file_->write(0_B, bytes)).ok());
  EXPECT_EQ(writes(), 2U) << "its begin, and all of it";
  ASSERT_TRUE(loop_.run(file_->write(0_B, bytes)).ok());
  EXPECT_EQ(writes(), 3U);
  EXPECT_EQ(*loop_.run(file_->size()), Bytes(kBlocks * kBlock));
}

TEST_F(WriteGrantTest, WithoutGrantsEachWriteAsks) {
  start(0_B, 0_B);
  write_all(0);
  EXPECT_EQ(writes(), kBlocks);
  expect_all(0);
}

TEST_F(WriteGrantTest, ACutEndsTheGrantAndNothingComesBack) {
  start(0_B, 4_MiB);
  write_all(0);
  ASSERT_TRUE(loop_.run(file_->truncate(Bytes(10 * kBlock + 5))).ok());
  EXPECT_EQ(*loop_.run(file_->size()), Bytes(10 * kBlock + 5));
  EXPECT_LT(writes(), kBlocks);
  write(20, 77);
  EXPECT_EQ(writes(), kBlocks + 1) << "it asked, and told of the others";
  EXPECT_EQ(read(20), block(77));
  EXPECT_EQ(read(15), std::vector<std::byte>(kBlock)) << "a hole, not what was cut";
  EXPECT_EQ(*loop_.run(file_->size()), Bytes(21 * kBlock));
}

// Of two handles one writes by itself, the other is asked for the length and writes through the server.
TEST_F(WriteGrantTest, EverybodySeesAtOnceWhatWasWrittenWithoutAsking) {
  start(4_MiB, 4_MiB);
  const auto other = open_again();
  const Nanos began = loop_.clock().steady();
  for (unsigned i = 0; i < kBlocks; ++i) {
    write(i, i);
    ASSERT_EQ(*loop_.run(other->size()), Bytes((i + 1) * kBlock));
    std::vector<std::byte> bytes(kBlock);
    ASSERT_EQ(*loop_.run(other->read(Bytes(i * kBlock), bytes)), Bytes(kBlock));
    ASSERT_EQ(bytes, block(i)) << i;
  }
  expect_few(writes(), began);
  const auto mine = block(9);
  ASSERT_TRUE(loop_.run(other->write(Bytes((kBlocks + 3) * kBlock), mine)).ok());
  EXPECT_EQ(*loop_.run(file_->size()), Bytes((kBlocks + 4) * kBlock));
  write(kBlocks + 1, 5);
  EXPECT_EQ(read(kBlocks + 1), block(5));
  EXPECT_EQ(read(kBlocks + 3), block(9));
}

TEST_F(WriteGrantTest, AServerThatHasGoneIsNoticedBeforeAWriteCounts) {
  start(0_B, 4_MiB);
  write(0, 0);
  write(1, 1);
  const std::uint64_t before = writes();
  write(2, 2);
  ASSERT_EQ(writes(), before) << "granted";
  replace_data();
  write(3, 3);
  EXPECT_EQ(writes(), 1U) << "the new server was asked";
  EXPECT_EQ(read(3), block(3));
}

TEST_F(WriteGrantTest, ARemovedObjectTakesNoMoreWrites) {
  start(0_B, 4_MiB);
  write(0, 0);
  write(1, 1);
  const auto objects = loop_.run(store_->list());
  ASSERT_EQ(objects->size(), 1U);
  ASSERT_TRUE(loop_.run(store_->remove(objects->front())).ok());
  write(2, 2);
  EXPECT_EQ(read(2), block(2)) << "in the object that is there now";
  EXPECT_EQ(*loop_.run(file_->size()), Bytes(3 * kBlock));
}

}  // namespace
}  // namespace tutti
