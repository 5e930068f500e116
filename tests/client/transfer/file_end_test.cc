// What a read finds at the end of a file while others write.
#include "client/transfer/file_end.h"

#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

constexpr Layout kLayout{.stripe_size = 1_KiB, .stripe_count = 2, .first_server = 0, .server_total = 2};

TEST(ShortPiece, NamesTheFirstByteOfTheFileThatIsMissingAndTheEndOfWhatIsThere) {
  const std::vector<Extent> extents = {{0_B, 512_B}, {1_KiB, 1_KiB}};
  const Piece piece{.slot = 1, .length = 1536_B, .object = extents, .memory = {}};
  const ShortPiece cut = ShortPiece::of(piece, kLayout, 1_KiB + 100_B, 5, false);
  EXPECT_EQ(cut.missing_from, 3_KiB + 100_B) << "the second stripe of slot 1 is the fourth of the file";
  EXPECT_EQ(cut.present_end, 3_KiB + 100_B);
  const ShortPiece none = ShortPiece::of(piece, kLayout, 0_B, 5, false);
  EXPECT_EQ(none.missing_from, 1_KiB);
  EXPECT_EQ(none.present_end, 0_B);
}

TEST(FileEnd, IsKnownIfNothingBeforeItWasMissing) {
  EXPECT_TRUE(ends_at({ShortPiece{nullptr, 100_B, 0_B}}, 100_B));
  EXPECT_FALSE(ends_at({ShortPiece{nullptr, 100_B, 0_B}, ShortPiece{nullptr, 50_B, 0_B}}, 100_B));
}

TEST(FileEnd, AHoleWasMissingBeforeAndAfterAndNotCutBetween) {
  const Extent one;
  const Extent other;
  const ShortPiece first{&one, 0_B, 0_B, 5};
  EXPECT_TRUE(holes({first}, {first}));
  EXPECT_TRUE(holes({first}, {}));
  EXPECT_FALSE(holes({first}, {ShortPiece{&other, 0_B, 0_B, 5}}));
  EXPECT_FALSE(holes({first}, {ShortPiece{&one, 0_B, 0_B, 6}}));
  EXPECT_FALSE(holes({first}, {ShortPiece{&one, 0_B, 0_B, 5, true}}));
}

class ReaderAtTheEnd : public ClusterTest {
 protected:
  static constexpr std::size_t kBlock = 4096;

  static Task<void> append(OpenFile& file, std::uint64_t blocks, bool& done) {
    const std::vector<std::byte> block(kBlock, std::byte{7});
    for (std::uint64_t i = 0; i < blocks; ++i)
      EXPECT_TRUE((co_await file.write(Bytes(i * kBlock), block)).ok());
    done = true;
  }
  static Task<bool> read_at_the_end(OpenFile& file, const bool& done, std::uint64_t& invented, int& reads) {
    std::vector<std::byte> buffer(16 * kBlock);
    for (Bytes at; !done; ++reads) {
      const auto got = co_await file.read(at, buffer);
      EXPECT_TRUE(got.ok());
      if (!got.ok()) co_return false;
      for (std::size_t i = 0; i < got->count(); ++i) invented += buffer[i] == std::byte{7} ? 0 : 1;
      at += *got;
    }
    co_return true;
  }
};

TEST_F(ReaderAtTheEnd, NeverReadsWhatTheAppenderHasNotWritten) {
  for (const std::uint32_t servers : {1U, 4U}) {
    SimClusterOptions options;
    options.servers = servers;
    start(options);
    const auto appended = open("/log", {.stripe_size = Bytes(kBlock)});
    const auto reader = make_client();
    OpenOptions to_read;
    const auto opened = run(reader->files().open("/log", to_read));
    ASSERT_TRUE(opened.ok());
    bool done = false;
    std::uint64_t invented = 0;
    int reads = 0;
    Scope scope(cluster_->simulation().executor());
    scope.spawn(append(*appended, 400, done));
    EXPECT_TRUE(run(read_at_the_end(**opened, done, invented, reads)));
    EXPECT_EQ(invented, 0U) << "zeros that nobody wrote, in " << reads << " reads";
    EXPECT_GT(reads, 20);
  }
}

TEST(FileEnd, AHoleBehindTheEndThatWasKnownMayBeAWriteUnderWay) {
  const ShortPieces pieces = {{nullptr, 100_KiB, 90_KiB, 0, false}};
  EXPECT_TRUE(appeared(pieces, 100_KiB, 200_KiB));
  EXPECT_FALSE(appeared(pieces, 101_KiB, 200_KiB));  // it was there before
  EXPECT_FALSE(appeared(pieces, 0_B, 100_KiB));      // the end
}

}  // namespace
}  // namespace tutti
