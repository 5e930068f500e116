// Random histories of the lock table: holders within k, no overtaking where it is promised, rising fencing numbers, nobody
// forgotten, also over restarts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "policy/gate/lock_table.h"

namespace tutti::gate {
namespace {

bool share(const LockRecord& a, const LockRecord& b) {
  return std::find_first_of(a.resources.begin(), a.resources.end(), b.resources.begin(), b.resources.end()) !=
         a.resources.end();
}

class History {
 public:
  History(Order order, std::uint64_t seed) : random_(seed) {
    options_.order = order;
    options_.holders = static_cast<std::uint32_t>(random_.between(1, 3));
    options_.lease = 10_s;
    options_.grace = 5_s;
    if (order == Order::overtaking && random_.chance(0.5)) options_.most_blocked = 20_s;
    table_ = std::make_unique<LockTable>(options_);
    reserve();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      now_ += Nanos(static_cast<std::int64_t>(random_.below(2'000'000'000)));
      step();
      look();
    }
    drain();
  }

 private:
  void reserve() {
    table_->reserve(fences_, fences_ + 1000);
    fences_ += 1000;
  }

  void step() {
    const std::uint64_t choice = random_.below(100);
    const std::uint64_t job = random_.between(1, 8);
    if (choice < 45) {
      Ask ask;
      ask.name = {job, ++number_};
      for (std::uint64_t i = random_.between(1, 3); i > 0; --i) {
        ask.resources.push_back(std::to_string(random_.below(5)));
      }
      ask.expected = Bytes(random_.below(1000) * 1'000'000);
      if (table_->ask(ask, now_).standing != Standing::gone) living_.insert(ask.name);
    } else if (choice < 80) {
      if (living_.empty()) return;
      const auto name =
          *std::next(living_.begin(), static_cast<std::ptrdiff_t>(random_.below(living_.size())));
      if (table_->answer(name).standing == Standing::waiting && random_.chance(0.8)) return;
      table_->release(name, Bytes(random_.below(1000) * 1'000'000), now_).ignore();
      living_.erase(name);
    } else if (choice < 95) {
      table_->renew(job, now_);
    } else if (choice < 97) {
      table_->leave(job, now_);
    } else if (choice < 98) {
      table_->set_holders(std::to_string(random_.below(5)), static_cast<std::uint32_t>(random_.between(1, 3)),
                          now_);
    } else if (choice < 99) {
      restart();
    } else {
      table_->advance(now_);
    }
    if (table_->fences_left() < 100) reserve();
  }

  void restart() {
    const auto records = table_->records();
    table_ = std::make_unique<LockTable>(options_);
    table_->restore(records, now_);
    reserve();
    EXPECT_EQ(table_->records().size(), records.size());
    for (const LockRecord& record : records) {
      if (record.standing != Standing::granted || !random_.chance(0.8)) continue;
      const Ask ask{{record.job, record.numbers.front()}, record.resources, record.expected};
      EXPECT_TRUE(table_->reassert(ask, record.fence, now_ + 1_s).ok());
    }
    stored_.clear();
    for (const LockRecord& record : records) stored_[record.sequence] = record;
  }

  // What must hold at any time.
  void look() {
    const auto records = table_->records();
    for (const Decision& decision : table_->take_decisions()) {
      if (decision.answer.standing == Standing::gone) living_.erase(decision.name);
      if (decision.answer.standing == Standing::passed) {
        EXPECT_EQ(decision.answer.fence, 0U);
      }
    }
    for (const LockChange& change : table_->take_changes()) {
      if (change.record) {
        stored_[change.sequence] = *change.record;
      } else {
        stored_.erase(change.sequence);
      }
    }
    std::map<std::uint64_t, LockRecord> present;
    for (const LockRecord& record : records) present[record.sequence] = record;
    EXPECT_EQ(stored_, present) << "changes do not add up to the table";
    std::set<std::uint64_t> fences;
    std::map<Resource, std::uint32_t> held;
    for (const LockRecord& record : records) {
      if (record.standing != Standing::granted) continue;
      EXPECT_TRUE(fences.insert(record.fence).second);
      for (const Resource& each : record.resources) ++held[each];
      // Nobody that was asked for later is granted first, where they meet.
      if (granted_.insert(record.fence).second) {
        EXPECT_GT(record.fence, highest_before_);
        if (options_.order == Order::preserved) {
          for (const LockRecord& other : records) {
            EXPECT_FALSE(other.standing == Standing::waiting && other.sequence < record.sequence &&
                         share(other, record));
          }
        }
      }
    }
    if (!fences.empty()) highest_before_ = std::max(highest_before_, *fences.rbegin());
    // k may have been lowered below what is held: it is never more than the most there was.
    if (options_.order != Order::learned) {
      for (const auto& [resource, count] : held) EXPECT_LE(count, 3U);
    }
    // Nobody waits while he holds.
    std::set<std::uint64_t> holding;
    for (const LockRecord& record : records) {
      if (record.standing == Standing::granted) holding.insert(record.job);
    }
    if (table_->in_grace()) return;
    for (const LockRecord& record : records) {
      EXPECT_FALSE(record.standing == Standing::waiting && holding.contains(record.job));
    }
  }

  // All release in the end: everybody gets his turn, and nothing is left.
  void drain() {
    now_ += 6_s;
    for (int i = 0; i < 10'000; ++i) {
      for (std::uint64_t job = 1; job <= 8; ++job) table_->renew(job, now_);
      if (table_->fences_left() < 100) reserve();
      const auto records = table_->records();
      if (records.empty()) break;
      bool moved = false;
      for (const LockRecord& record : records) {
        if (record.standing == Standing::waiting) continue;
        for (const std::uint64_t number : record.numbers) {
          table_->release({record.job, number}, Bytes(1'000'000), now_).ignore();
        }
        moved = true;
        break;
      }
      if (!moved && !table_->in_grace()) {
        ADD_FAILURE() << "somebody waits for nobody";
        break;
      }
      now_ += 1_s;
      table_->advance(now_);
    }
    EXPECT_TRUE(table_->records().empty());
    EXPECT_EQ(table_->waiting(), 0U);
  }

  Random random_;
  LockOptions options_;
  std::unique_ptr<LockTable> table_;
  Nanos now_;
  std::uint64_t fences_ = 1;
  std::uint64_t number_ = 0;
  std::set<AskName> living_;
  std::set<std::uint64_t> granted_;  // fencing numbers
  std::uint64_t highest_before_ = 0;
  std::map<std::uint64_t, LockRecord> stored_;
};

class GateHistories : public ::testing::TestWithParam<Order> {};

TEST_P(GateHistories, PromisesHoldAtAnyTime) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(GetParam(), seed).run(300);
    if (HasFailure()) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, GateHistories,
                         ::testing::Values(Order::preserved, Order::overtaking, Order::learned));

}  // namespace
}  // namespace tutti::gate
