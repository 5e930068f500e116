// A plan in which an aggregator serves one server: its rounds are stripes that lie apart.
#include "parallel/exchange.h"
#include "policy/collective/two_phase.h"
#include "tests/parallel/collective_fixture.h"

namespace tutti {
namespace {

// Deals the servers to the ranks. A round has as many stripes of its servers as fit the buffer.
class ServerPlan : public CollectivePlan {
 public:
  [[nodiscard]] std::string name() const override { return "one_server_each"; }
  [[nodiscard]] bool wants_bytes_by_slot() const override { return true; }
  [[nodiscard]] Schedule schedule(const CollectiveFacts& facts) const override {
    seen.emplace_back(facts.ranks.begin(), facts.ranks.end());
    const Extent whole = bounds_of(facts.ranks);
    const std::size_t aggregators = std::min<std::size_t>(facts.ranks.size(), facts.layout.stripe_count);
    Schedule schedule(aggregators);
    for (std::size_t i = 0; i < aggregators; ++i) schedule[i].rank = static_cast<int>(i);
    for (Bytes at = whole.offset; at < whole.end();) {
      Aggregator& aggregator = schedule[facts.layout.slot_of(at) % aggregators];
      const Bytes room =
          aggregator.rounds.empty() ? 0_B : facts.cb_buffer_size - sum(aggregator.rounds.back());
      if (room == 0_B) {
        aggregator.rounds.emplace_back();
        continue;
      }
      const Bytes stripe_end = at - at % facts.layout.stripe_size + facts.layout.stripe_size;
      const Bytes end = std::min({stripe_end, whole.end(), at + room});
      aggregator.rounds.back().push_back({at, end - at});
      at = end;
    }
    std::erase_if(schedule, [](const Aggregator& each) { return each.rounds.empty(); });
    return schedule;
  }
  static Bytes sum(const Round& round) {
    Bytes bytes;
    for (const Extent& part : round) bytes += part.length;
    return bytes;
  }

  mutable std::vector<std::vector<RankFacts>> seen;  // the facts of each call
};

class ServerPlanTest : public CollectiveTest {
 protected:
  void start_ranks(std::size_t count) {
    LayoutWish layout;
    layout.stripe_size = 512_B;
    CollectiveTest::start_ranks(count, {}, {}, layout);
    plan_ = &server_plan_;
  }
  ServerPlan server_plan_;
};

TEST_F(ServerPlanTest, AgreesWithAFlatFile) {
  for (const std::size_t ranks : {2U, 4U, 9U}) {
    SCOPED_TRACE(ranks);
    TearDown();
    start_ranks(ranks);
    compare_with_a_flat_file(options_for("none of the registry's"));
  }
}

TEST_F(ServerPlanTest, RanksThatWriteTheSameBytesAgree) {
  start_ranks(5);
  RandomTypes types{Random(8), true};
  std::vector<std::byte> model;
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    draw(types, true);
    for (Rank& rank : ranks_) {
      for (std::int64_t i = 0; i < rank.bytes(); ++i)
        rank.memory_byte(i) = static_cast<std::byte>(rank.file_place(i) * 7 + static_cast<unsigned>(round));
    }
    for (const Status& status : write_all(options_for("none")))
      ASSERT_TRUE(status.ok()) << status.to_string();
    put_into(model);
    ASSERT_EQ(whole_file(), model);
  }
}

TEST_F(ServerPlanTest, AllRanksKnowTheBytesOfAllRanksOnEachServer) {
  start_ranks(4);
  stride(ranks_, 100, 400);
  for (const Status& status : write_all(options_for("none"))) ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(whole_file(), strided_file(ranks_, 100, 400));
  const std::vector<RankFacts>& facts = server_plan_.seen.front();
  for (const auto& others : server_plan_.seen) {
    ASSERT_EQ(others.size(), 4U);
    for (std::size_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(others[rank].bytes_by_slot, facts[rank].bytes_by_slot) << "all ranks know the same";
      Bytes sum;
      for (const Bytes bytes : others[rank].bytes_by_slot) sum += bytes;
      EXPECT_EQ(sum, others[rank].bytes);
    }
  }
}

TEST_F(ServerPlanTest, OtherPlansAreNotToldBytesByServer) {
  class Curious : public TwoPhasePlan {
   public:
    [[nodiscard]] Schedule schedule(const CollectiveFacts& facts) const override {
      for (const RankFacts& rank : facts.ranks) EXPECT_TRUE(rank.bytes_by_slot.empty());
      return TwoPhasePlan::schedule(facts);
    }
  } curious;
  start_ranks(4);
  plan_ = &curious;
  stride(ranks_, 100, 40);
  for (const Status& status : write_all(options_for("none"))) ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(whole_file(), strided_file(ranks_, 100, 40));
}

// What a rank does in a collective call, with an eye on its memory.
Task<Status> move(Rank& rank, const Arrangement& schedule, std::vector<ViewRange> views, bool write,
                  Bytes& round_memory) {
  const CollectiveOptions options;
  const FileAccess access = rank.access();
  const TypedMemory memory(access.base, access.type, access.count);
  const ViewRange mine(rank.view, 0, access.bytes());
  TuttiFile file(*rank.file);
  Exchange exchange(*rank.group, file, schedule, memory, mine, std::move(views), options);
  Status status;
  if (write) {
    status = co_await exchange.write();
  } else {
    status = co_await exchange.read();
  }
  round_memory = exchange.round_memory();
  co_return status.ok() ? exchange.failure() : status;
}

TEST_F(ServerPlanTest, ARoundTakesAsMuchMemoryAsItsPartsHaveBytes) {
  start_ranks(4);
  stride(ranks_, 100, 400);  // 160,000 bytes: 313 stripes, the last one short
  std::vector<RankFacts> facts(4);
  std::vector<ViewRange> views;
  for (std::size_t i = 0; i < 4; ++i) {
    views.emplace_back(ranks_[i].view, 0, ranks_[i].bytes());
    facts[i].bounds = views[i].bounds();
    facts[i].bytes = Bytes(static_cast<std::uint64_t>(views[i].bytes()));
  }
  CollectiveFacts all;
  all.layout = ranks_[0].file->layout();
  ASSERT_EQ(all.layout.stripe_count, 4U);
  all.ranks = facts;
  all.cb_buffer_size = 8_KiB;
  const Arrangement schedule = server_plan_.arrange(all);
  ASSERT_EQ(schedule.aggregators.size(), 4U);
  const Round& first = schedule.aggregators[1].rounds.front();
  ASSERT_EQ(first.size(), 16U);
  ASSERT_GE(first.back().end() - first.front().offset, 30_KiB) << "the parts lie apart";
  for (const bool write : {true, false}) {
    std::vector<Bytes> memory(4);
    std::vector<Task<Status>> tasks;
    for (std::size_t i = 0; i < 4; ++i) tasks.push_back(move(ranks_[i], schedule, views, write, memory[i]));
    for (const Status& status : run(when_all(std::move(tasks))))
      EXPECT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(memory, std::vector<Bytes>(4, 8_KiB));
    EXPECT_EQ(whole_file(), strided_file(ranks_, 100, 400));
    if (!write) break;
    for (Rank& rank : ranks_) rank.memory.assign(rank.memory.size(), std::byte{0});
  }
}

}  // namespace
}  // namespace tutti
