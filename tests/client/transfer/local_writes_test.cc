#include "client/transfer/local_write.h"

#include <gtest/gtest.h>

#include <array>

#include "env/executor.h"
#include "tests/client/transfer/fake_connection.h"

namespace tutti {
namespace {

constexpr std::uint64_t kMarks = 2;
constexpr std::uint64_t kFile = 42;

class Words final : public SharedFile {
 public:
  [[nodiscard]] Result<Bytes> read(Bytes /*offset*/, std::span<const Segment> /*into*/) const override {
    return 0_B;
  }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] std::span<const std::uint64_t> words() const override { return values; }
  std::array<std::uint64_t, 8> values{};
};

class Sheet final : public SharedFile {
 public:
  [[nodiscard]] Result<Bytes> read(Bytes /*offset*/, std::span<const Segment> /*into*/) const override {
    return 0_B;
  }
  [[nodiscard]] int descriptor() const override { return -1; }
  [[nodiscard]] Status write(Bytes offset, std::span<const Segment> /*from*/) const override {
    written.push_back(offset);
    return full ? Status(Code::no_space, "full") : Status();
  }
  mutable std::vector<Bytes> written;
  bool full = false;
};

class LocalWritesTest : public testing::Test {
 protected:
  LocalWritesTest() {
    auto connection = std::make_unique<FakeConnection>(executor_);
    connection_ = connection.get();
    connection_->files[kFile] = sheet_;
    channel_ = std::make_shared<Channel>(executor_, std::move(connection));
    words_->values[3] = 17;
  }
  // The answer to a write that was asked at 1 s: so much more for 10 ms.
  void answer(std::uint64_t bytes, std::uint64_t key = kFile, std::uint32_t mark = 3) {
    builder_.Clear();
    builder_.Finish(wire::CreateTransferReply(builder_, 0, 0, 0, 0, 5, key, 0, (10_ms).count(), bytes, 0, 0,
                                              nullptr, kMarks, mark, 17));
    local_.accept(*flatbuffers::GetRoot<wire::TransferReply>(builder_.GetBufferPointer()), channel_, marks_,
                  1_s);
  }
  bool put(Bytes bytes) {
    const SharedRun run = local_.run(0_B, Segment{1, bytes.count()});
    return write_runs({&run, 1}).ok();
  }
  bool write(Bytes bytes, Nanos now = 1_s) {
    if (!local_.allowed(bytes, now)) return false;
    return put(bytes) && local_.settled(bytes);
  }

  Executor executor_;
  std::shared_ptr<Words> words_ = std::make_shared<Words>();
  std::shared_ptr<const SharedFile> marks_ = words_;
  std::shared_ptr<Sheet> sheet_ = std::make_shared<Sheet>();
  FakeConnection* connection_ = nullptr;
  std::shared_ptr<Channel> channel_;
  LocalWrites local_;
  flatbuffers::FlatBufferBuilder builder_;
};

TEST_F(LocalWritesTest, SoManyBytesAndForSoLongAsTheAnswerSays) {
  EXPECT_EQ(local_.key(channel_), 1U) << "no file yet";
  EXPECT_FALSE(write(1_B));
  answer(1000);
  EXPECT_EQ(local_.key(channel_), kFile);
  EXPECT_TRUE(write(600_B));
  EXPECT_FALSE(write(600_B)) << "more than is left";
  EXPECT_TRUE(write(400_B, 1_s + 9_ms));
  EXPECT_FALSE(write(1_B));
  answer(1000);
  EXPECT_FALSE(write(1_B, 1_s + 10_ms)) << "too late";
  EXPECT_EQ(local_.era(), 5U);
  const wire::Took report = local_.report();
  EXPECT_EQ(report.written(), 1000U);
  EXPECT_EQ(report.writes(), 2U);
  EXPECT_EQ(local_.report().writes(), 0U);
}

TEST_F(LocalWritesTest, AnAnswerWithoutAGrantTakesTheOldOneBack) {
  answer(1000);
  answer(0);
  EXPECT_FALSE(write(1_B));
}

TEST_F(LocalWritesTest, ACutBetweenGrantAndWriteOrDuringItMakesThemAsk) {
  answer(1000);
  words_->values[3] = 18;
  EXPECT_FALSE(local_.allowed(1_B, 1_s));
  words_->values[3] = 17;
  ASSERT_TRUE(local_.allowed(1_B, 1_s));
  ASSERT_TRUE(put(1_B));
  words_->values[3] = 18;
  EXPECT_FALSE(local_.settled(1_B));
  words_->values[3] = 17;
  EXPECT_FALSE(local_.allowed(1_B, 1_s)) << "nothing is allowed any more";
  EXPECT_EQ(local_.report().writes(), 0U);
}

TEST_F(LocalWritesTest, WithoutTheServerNothingCounts) {
  answer(1000);
  ASSERT_TRUE(local_.allowed(1_B, 1_s));
  connection_->gone = true;
  EXPECT_FALSE(local_.settled(1_B));
}

TEST_F(LocalWritesTest, AFileThatDidNotComeIsNotAskedForAgain) {
  marks_ = nullptr;
  answer(1000);
  EXPECT_FALSE(write(1_B));
  EXPECT_EQ(local_.key(channel_), 0U);
}

TEST_F(LocalWritesTest, AWordThatIsNotThereIsNoGrant) {
  answer(1000, kFile, 8);
  EXPECT_FALSE(write(1_B));
}

}  // namespace
}  // namespace tutti
