#include "client/transfer/local_read.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "env/executor.h"
#include "tests/client/transfer/fake_connection.h"

namespace tutti {
namespace {

class FakeFile final : public SharedFile {
 public:
  explicit FakeFile(std::vector<std::byte> bytes) : bytes(std::move(bytes)) {}
  [[nodiscard]] Result<Bytes> read(Bytes offset, std::span<const Segment> into) const override {
    ++reads;
    std::uint64_t at = offset.count();
    for (const Segment& segment : into) {
      const std::uint64_t left = at < bytes.size() ? bytes.size() - at : 0;
      const std::uint64_t step = std::min<std::uint64_t>(left, segment.length);
      if (step > 0) std::memcpy(pointer(segment.address), bytes.data() + at, step);
      at += step;
    }
    return Bytes(at) - offset;
  }
  [[nodiscard]] int descriptor() const override { return -1; }
  std::vector<std::byte> bytes;
  mutable int reads = 0;
};

class LocalReadsTest : public testing::Test {
 protected:
  LocalReadsTest() {
    std::vector<std::byte> bytes(10'000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i / 7);
    file_ = std::make_shared<FakeFile>(std::move(bytes));
    auto connection = std::make_unique<FakeConnection>(executor_);
    connection_ = connection.get();
    connection_->files[42] = file_;
    channel_ = std::make_shared<Channel>(executor_, std::move(connection));
  }
  // A piece of 1,000 bytes.
  Piece piece(std::uint64_t offset) {
    buffer_.assign(1000, std::byte{0xee});
    extent_ = {Bytes(offset), 1000_B};
    segment_ = {reinterpret_cast<std::uint64_t>(buffer_.data()), 1000};
    return Piece{0, 1000_B, {&extent_, 1}, {&segment_, 1}};
  }
  // The answer to a read: the file with this key, all there, and what is allowed ahead.
  const wire::TransferReply& reply(std::uint64_t key, std::uint64_t ahead = 0, Nanos time = 0_s,
                                   std::uint64_t valid_end = 1 << 20) {
    builder_.Clear();
    builder_.Finish(
        wire::CreateTransferReply(builder_, 0, 0, valid_end, 0, 0, key, 8000, time.count(), ahead));
    return *flatbuffers::GetRoot<wire::TransferReply>(builder_.GetBufferPointer());
  }
  void expect_bytes(std::uint64_t offset, std::size_t valid = 1000) const {
    EXPECT_EQ(std::memcmp(buffer_.data(), file_->bytes.data() + offset, valid), 0);
    for (std::size_t i = valid; i < 1000; ++i) ASSERT_EQ(buffer_[i], std::byte{0}) << i;
  }
  // Reads the piece at 0 with an answer that allows so much ahead.
  void first_read(std::uint64_t ahead) {
    const Piece first = piece(0);
    const auto& answer = reply(42, ahead, 10_ms);
    ASSERT_TRUE(local_.accept(answer, channel_));
    ASSERT_TRUE(local_.read(first, answer, 1_s, short_read_).ok());
  }

  Executor executor_;
  std::shared_ptr<FakeFile> file_;
  FakeConnection* connection_;
  std::shared_ptr<Channel> channel_;
  LocalReads local_;
  Extent extent_;
  Segment segment_;
  std::vector<std::byte> buffer_;
  flatbuffers::FlatBufferBuilder builder_;
  bool short_read_ = false;
};

TEST_F(LocalReadsTest, TheKeySaysWhetherThereIsAFile) {
  EXPECT_EQ(local_.key(channel_), 1U) << "none yet";
  first_read(0);
  EXPECT_EQ(local_.key(channel_), 42U);
  expect_bytes(0);
  connection_->local = false;
  EXPECT_EQ(local_.key(channel_), 0U) << "a peer on another host gives no files";
}

TEST_F(LocalReadsTest, AnotherConnectionBringsTheFileAnew) {
  first_read(5000);
  const auto other = std::make_shared<Channel>(executor_, std::make_unique<FakeConnection>(executor_));
  EXPECT_EQ(local_.key(other), 1U);
  EXPECT_FALSE(local_.allowed_ahead());
}

TEST_F(LocalReadsTest, AFileThatDoesNotComeIsNotAskedForAgain) {
  EXPECT_FALSE(local_.accept(reply(43), channel_));
  EXPECT_EQ(local_.key(channel_), 0U);
}

TEST_F(LocalReadsTest, WhatIsNotThereIsZerosAndAShortRead) {
  const Piece last = piece(9500);
  const auto& at_the_end = reply(42);
  ASSERT_TRUE(local_.accept(at_the_end, channel_));
  ASSERT_TRUE(local_.read(last, at_the_end, 0_s, short_read_).ok());
  EXPECT_TRUE(short_read_);
  expect_bytes(9500, 500);

  short_read_ = false;
  const Piece middle = piece(2000);
  const auto& cut = reply(42, 0, 0_s, 2100);
  ASSERT_TRUE(local_.read(middle, cut, 0_s, short_read_).ok());
  EXPECT_TRUE(short_read_) << "the server's word counts";
  expect_bytes(2000, 100);
}

TEST_F(LocalReadsTest, WhatIsAllowedAheadIsReadWithoutAskingAndReported) {
  first_read(3000);
  EXPECT_TRUE(local_.allowed_ahead());
  EXPECT_EQ(local_.report().reads(), 0U) << "the server knows of the first";
  EXPECT_TRUE(local_.read_ahead(piece(1000), 1_s));
  expect_bytes(1000);
  EXPECT_FALSE(local_.read_ahead(piece(7500), 1_s + 9_ms)) << "past the end of what is allowed";
  EXPECT_TRUE(local_.read_ahead(piece(500), 1_s + 9_ms)) << "anywhere before that";
  const wire::Took report = local_.report();
  EXPECT_EQ(report.reads(), 2U);
  EXPECT_EQ(report.bytes(), 2000U);
  EXPECT_EQ(local_.report().reads(), 0U) << "once";
  EXPECT_TRUE(local_.read_ahead(piece(4000), 1_s + 9_ms));
  EXPECT_FALSE(local_.read_ahead(piece(4000), 1_s + 9_ms)) << "the bytes that were allowed are used up";
}

TEST_F(LocalReadsTest, MoreIsExpectedOfOneWhoReadsAgainOrBeginsWithMuch) {
  EXPECT_FALSE(local_.expects_more(piece(0), 1000_B)) << "a small one";
  EXPECT_TRUE(local_.expects_more(piece(5000), 1000_B)) << "the second";
  EXPECT_TRUE(LocalReads().expects_more(piece(0), 999_B)) << "the begin of the object";
  EXPECT_FALSE(LocalReads().expects_more(piece(1), 999_B));
}

TEST_F(LocalReadsTest, ThePermissionEndsWithItsTime) {
  first_read(3000);
  EXPECT_FALSE(local_.read_ahead(piece(1000), 1_s + 10_ms)) << "counted from when it was asked for";
  EXPECT_FALSE(local_.allowed_ahead());
}

TEST_F(LocalReadsTest, ThePermissionEndsWithTheConnection) {
  first_read(3000);
  channel_->close();
  EXPECT_FALSE(local_.read_ahead(piece(1000), 1_s));
}

TEST_F(LocalReadsTest, ThePermissionEndsWithTheNextAnswerThatGivesNone) {
  first_read(3000);
  first_read(0);
  EXPECT_FALSE(local_.allowed_ahead());
}

TEST_F(LocalReadsTest, AFileThatWasCutOffMeanwhileIsAskedFor) {
  first_read(3000);
  file_->bytes.resize(1500);
  EXPECT_FALSE(local_.read_ahead(piece(1000), 1_s));
  EXPECT_FALSE(local_.allowed_ahead());
  EXPECT_EQ(local_.report().reads(), 0U);
}

}  // namespace
}  // namespace tutti
