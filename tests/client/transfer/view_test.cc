#include <algorithm>
#include <cstring>

#include "client/transfer/declared_view.h"
#include "tests/client/cluster_fixture.h"
#include "wire/messages.h"

namespace tutti {
namespace {

// Blocks of 2,160 bytes of nine ranks in turn, and an outer stride.
FileView view_of(int rank) {
  const FlatType row = FlatType::vector(54, 2160, 2160 * 9, FlatType::bytes(1));
  const FlatType all = FlatType::vector(4, 1, 2160 * 9 * 54, row);
  return {2160 * rank, 1, FlatType::resized(0, 2160 * 9 * 54 * 4, all)};
}

class ViewTest : public ClusterTest {
 protected:
  std::uint64_t by_view() {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < cluster_->servers(); ++i)
      sum += cluster_->data_server(i)->dispatcher().totals().by_view;
    return sum;
  }
  // What the view shows, as lists would read it.
  std::vector<std::byte> listed(OpenFile& file, const FileView& view, std::int64_t offset,
                                std::size_t bytes) {
    std::vector<Extent> extents;
    TypeCursor cursor = view.cursor(offset);
    for (auto left = static_cast<std::int64_t>(bytes); left > 0;) {
      const TypeRun run = cursor.next(left);
      extents.push_back(
          {Bytes(static_cast<std::uint64_t>(run.offset)), Bytes(static_cast<std::uint64_t>(run.length))});
      left -= run.length;
    }
    std::vector<std::byte> back(bytes);
    const std::span<std::byte> memory(back);
    EXPECT_TRUE(run(file.read_list(extents, {&memory, 1})).ok());
    return back;
  }
};

TEST_F(ViewTest, ReadsAndWritesWhatListsDo) {
  start();
  auto file = open("/a");
  const FileView shown = view_of(4);
  const ViewPointer view = file->declare(shown);
  const auto bytes = random_bytes(700'000, 1);
  ASSERT_TRUE(run(file->write_view(view, 1000_B, bytes)).ok());
  EXPECT_EQ(listed(*file, shown, 1000, bytes.size()), bytes);
  std::vector<std::byte> back(bytes.size());
  const auto got = run(file->read_view(view, 1000_B, back));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, Bytes(bytes.size()));
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(by_view(), 8U) << "one message to each of four servers, both times";
}

TEST_F(ViewTest, SmallPiecesAreTheSameBytes) {
  ClientOptions client;
  client.piece = 10'000_B;
  start({}, client);
  auto file = open("/a");
  const FileView shown = view_of(2);
  const ViewPointer view = file->declare(shown);
  const auto bytes = random_bytes(500'000, 2);
  ASSERT_TRUE(run(file->write_view(view, 123_B, bytes)).ok());
  EXPECT_EQ(listed(*file, shown, 123, bytes.size()), bytes);
  EXPECT_GT(by_view(), 40U);
}

TEST_F(ViewTest, WithoutViewsListsAreSent) {
  ClientOptions client;
  client.views = false;
  start({}, client);
  auto file = open("/a");
  const ViewPointer view = file->declare(view_of(0));
  const auto bytes = random_bytes(500'000, 3);
  ASSERT_TRUE(run(file->write_view(view, 0_B, bytes)).ok());
  std::vector<std::byte> back(bytes.size());
  ASSERT_TRUE(run(file->read_view(view, 0_B, back)).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(by_view(), 0U);
}

TEST_F(ViewTest, AReadEndsWithTheFile) {
  start();
  auto file = open("/a");
  const ViewPointer view = file->declare(view_of(0));
  ASSERT_TRUE(run(file->write_view(view, 0_B, random_bytes(100'000, 4))).ok());
  std::vector<std::byte> back(300'000, std::byte{0xee});
  const auto got = run(file->read_view(view, 0_B, back));
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(*got, 100'000_B);
  EXPECT_EQ(*run(file->read_view(view, 200'000_B, back)), 0_B);
}

TEST_F(ViewTest, AServerThatComesBackIsToldAgain) {
  start();
  auto file = open("/a");
  const FileView shown = view_of(1);
  const ViewPointer view = file->declare(shown);
  const auto before = random_bytes(400'000, 5);
  ASSERT_TRUE(run(file->write_view(view, 0_B, before)).ok());
  for (std::uint32_t i = 0; i < cluster_->servers(); ++i) {
    cluster_->stop_data(i);
    cluster_->start_data(i);
  }
  const auto after = random_bytes(400'000, 6);
  ASSERT_TRUE(run(file->write_view(view, 0_B, after)).ok());
  EXPECT_EQ(listed(*file, shown, 0, after.size()), after);
  EXPECT_EQ(by_view(), 4U) << "of the servers that live now";
}

TEST_F(ViewTest, OneThatTheServerHasForgottenIsToldAgain) {
  start();
  auto file = open("/a");
  const ViewPointer first = file->declare(view_of(1));
  const auto bytes = random_bytes(300'000, 7);
  ASSERT_TRUE(run(file->write_view(first, 0_B, bytes)).ok());
  // Many others take its place at the servers.
  std::vector<ViewPointer> others;
  for (int i = 0; i < 40; ++i) {
    std::vector<std::int64_t> lengths(1200, 8);
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < 1200; ++k) places.push_back(k * 64 + k % 2 + i);
    others.push_back(file->declare({0, 1, FlatType::indexed(lengths, places, FlatType::bytes(1))}));
    std::vector<std::byte> back(9600);
    ASSERT_TRUE(run(file->read_view(others.back(), 0_B, back)).ok());
  }
  const std::uint64_t asked = by_view();
  std::vector<std::byte> back(bytes.size());
  ASSERT_TRUE(run(file->read_view(first, 0_B, back)).ok());
  EXPECT_EQ(back, bytes);
  EXPECT_EQ(by_view(), asked + 4);
}

TEST_F(ViewTest, OneThatIsTooLongOrRefusedIsSentAsLists) {
  start();
  auto file = open("/a");
  for (const std::int64_t blocks : {20'000, 60'000}) {
    std::vector<std::int64_t> lengths(static_cast<std::size_t>(blocks), 2);
    std::vector<std::int64_t> places;
    for (std::int64_t k = 0; k < blocks; ++k) places.push_back(k * 5 + k % 2);
    const FileView shown{0, 1, FlatType::indexed(lengths, places, FlatType::bytes(1))};
    const ViewPointer view = file->declare(shown);
    const auto bytes = random_bytes(static_cast<std::size_t>(blocks) * 2, 8);
    ASSERT_TRUE(run(file->write_view(view, 0_B, bytes)).ok());
    std::vector<std::byte> back(bytes.size());
    ASSERT_TRUE(run(file->read_view(view, 0_B, back)).ok());
    EXPECT_EQ(back, bytes);
  }
  EXPECT_EQ(by_view(), 0U);
}

TEST_F(ViewTest, OverlapsMayBeReadAndAreWrittenAsLists) {
  start();
  auto file = open("/a");
  ASSERT_TRUE(run(file->write(0_B, random_bytes(200'000, 9))).ok());
  const FileView shown{0, 1, FlatType::vector(1000, 1, 100, FlatType::contiguous(150, FlatType::bytes(1)))};
  const ViewPointer view = file->declare(shown);
  std::vector<std::byte> back(150'000);
  ASSERT_TRUE(run(file->read_view(view, 0_B, back)).ok());
  EXPECT_EQ(back, listed(*file, shown, 0, back.size()));
  EXPECT_GT(by_view(), 0U);
}

TEST_F(ViewTest, AViewThatNoFileCanHaveIsRefused) {
  start();
  auto file = open("/a");
  std::vector<std::byte> back(100);
  const ViewPointer descends = file->declare({0, 1, FlatType::vector(3, 1, -12, FlatType::bytes(4))});
  EXPECT_EQ(run(file->read_view(descends, 0_B, back)).code(), Code::io_error);
  const ViewPointer far =
      file->declare({0, 1, FlatType::resized(0, std::int64_t{1} << 60, FlatType::bytes(1))});
  EXPECT_EQ(run(file->read_view(far, Bytes(1U << 30U), back)).code(), Code::too_large);
}

TEST_F(ViewTest, ACutBetweenTheMessagesOfAWriteLeavesAllOfItOrNothing) {
  ClientOptions client;
  client.piece = 10'800_B;
  client.pieces_in_flight = 1;
  SimClusterOptions options;
  options.servers = 1;
  start(options, client);
  const auto other = make_client();
  const auto content = random_bytes(54 * 2160, 10);
  const FileView shown = view_of(0);
  for (int delay = 0; delay < 60; ++delay) {
    auto file = open("/f");
    const ViewPointer view = file->declare(shown);
    const Status written = run_with(file->write_view(view, 0_B, content), Nanos(delay * 100'000),
                                    [&] { EXPECT_TRUE(run(other->files().truncate("/f", 0_B)).ok()); });
    ASSERT_TRUE(written.ok()) << written.to_string();
    std::vector<std::byte> seen(content.size());
    const auto got = run(file->read_view(view, 0_B, seen));
    ASSERT_TRUE(got.ok());
    if (*got > 0_B) {
      ASSERT_EQ(*got, Bytes(content.size())) << "delay " << delay;
      ASSERT_EQ(seen, content) << "delay " << delay;
    }
    ASSERT_TRUE(run(file->truncate(0_B)).ok());
  }
}

}  // namespace
}  // namespace tutti
