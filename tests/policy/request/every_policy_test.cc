// What holds for every request policy there is, under random arrivals, departures and drops.
#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "tests/policy/request/asking.h"

namespace tutti {
namespace {

using namespace test;

bool conflict(const QueuedRequest& a, const QueuedRequest& b) {
  return a.object == b.object && (a.write || b.write) && a.offset < b.end && b.offset < a.end;
}

QueuedRequest random_request(Random& random, std::uint64_t id, Nanos now) {
  QueuedRequest request;
  request.id = id;
  request.application = 1 + random.below(6);
  request.request_time = 1'700'000'000_s + now - Nanos(static_cast<std::int64_t>(random.below(500'000'000)));
  request.arrival = 1'700'000'000_s + now;
  request.client = 10 * request.application + random.below(3);
  request.user = static_cast<std::uint32_t>(request.application % 3);
  request.sequence = id;
  request.object = random.below(5);
  request.offset = 4_KiB * random.below(16);
  request.end = request.offset + 4_KiB * (1 + random.below(6));
  request.length = request.end - request.offset;
  request.write = random.chance(0.4);
  if (random.chance(0.5)) request.bottleneck = 4_KiB * random.below(1024);
  return request;
}

// A server that does at random whatever a server may do, and watches the policy.
class AnyServer {
 public:
  // `in_order`: conflicting requests are served in the order in which they came.
  AnyServer(RequestPolicy& policy, std::uint64_t seed, bool in_order)
      : policy_(policy), random_(seed), in_order_(in_order) {}

  void step() {
    now_ += Nanos(static_cast<std::int64_t>(random_.below(2'000'000)));
    const std::uint64_t dice = random_.below(100);
    const std::uint64_t arrivals = ++steps_ / 200 % 2 == 0 ? 50 : 20;
    if (dice < arrivals) {
      add();
    } else if (dice < arrivals + 4) {
      drop_one();
    } else if (dice < arrivals + 25) {
      end_one(0.8);
    } else {
      ask();
    }
    EXPECT_EQ(policy_.queued(), queued_.size());
  }
  // Everything that is left, without arrivals. Every wait has an end.
  void drain() {
    for (int waits = 0; !queued_.empty() || !in_service_.empty();) {
      const Decision decision = ask();
      if (decision.kind == Decision::Kind::dispatch) {
        waits = 0;
      } else if (!in_service_.empty()) {
        end_one(1);
      } else {
        // Nothing is going to happen by itself.
        ASSERT_EQ(decision.kind, Decision::Kind::wait) << queued_.size() << " queued, and nobody is served";
        ASSERT_GT(decision.until, now_);
        ASSERT_LE(decision.until, now_ + 10_s);
        ASSERT_LT(++waits, 1000);
        now_ = decision.until;
      }
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_EQ(policy_.queued(), 0U);
    EXPECT_EQ(policy_.next(now_).kind, Decision::Kind::idle);
    EXPECT_EQ(finished_ + dropped_, id_);
  }
  [[nodiscard]] std::uint64_t finished() const { return finished_; }
  [[nodiscard]] const Ids& order() const { return order_; }
  [[nodiscard]] std::size_t most_in_service() const { return most_in_service_; }

 private:
  using Requests = std::map<std::uint64_t, QueuedRequest>;

  std::uint64_t any(const Requests& from) {
    return std::next(from.begin(), static_cast<std::ptrdiff_t>(random_.below(from.size())))->first;
  }
  void add() {
    const QueuedRequest request = random_request(random_, ++id_, now_);
    queued_.emplace(id_, request);
    policy_.add(request, now_);
  }
  void drop_one() {
    if (queued_.empty()) return;
    const std::uint64_t id = any(queued_);
    policy_.drop(id, now_);
    queued_.erase(id);
    ++dropped_;
  }
  void end_one(double finished) {
    if (in_service_.empty()) return;
    const std::uint64_t id = any(in_service_);
    const bool last = random_.chance(finished);
    policy_.served(id, last ? in_service_[id].length : 0_B, last, now_);
    if (!last) queued_.emplace(id, in_service_[id]);
    in_service_.erase(id);
    finished_ += last ? 1 : 0;
  }
  Decision ask() {
    const Decision decision = policy_.next(now_);
    if (decision.kind == Decision::Kind::wait) {
      EXPECT_GT(decision.until, now_);
    }
    if (decision.kind != Decision::Kind::dispatch) return decision;
    const auto found = queued_.find(decision.id);
    if (found == queued_.end()) {
      ADD_FAILURE() << decision.id << " is not queued";
      return decision;
    }
    for (const auto& [id, other] : in_service_) {
      EXPECT_FALSE(conflict(found->second, other)) << decision.id << " beside " << id;
    }
    for (auto earlier = queued_.begin(); in_order_ && earlier != found; ++earlier) {
      EXPECT_FALSE(conflict(found->second, earlier->second)) << decision.id << " before " << earlier->first;
    }
    order_.push_back(decision.id);
    in_service_.insert(queued_.extract(found));
    most_in_service_ = std::max(most_in_service_, in_service_.size());
    return decision;
  }

  RequestPolicy& policy_;
  Random random_;
  bool in_order_;
  Nanos now_ = 1_s;
  std::uint64_t steps_ = 0;
  std::uint64_t id_ = 0;
  Requests queued_, in_service_;
  std::uint64_t finished_ = 0;
  std::uint64_t dropped_ = 0;
  Ids order_;
  std::size_t most_in_service_ = 0;
};

// Those that stand in guarded_policy.h: they promise the order of conflicting requests too.
const std::set<std::string> kOfTheField = {"tbf", "orr", "twins", "io_sets", "themis"};

std::vector<std::string> variants() {
  std::vector<std::string> texts = request_policy_names();
  for (const std::string& name : request_policy_names()) {
    if (name == "auto") continue;  // follows the device
    texts.push_back(name + ";dispatch_depth=1");
    texts.push_back(name + ";dispatch_depth=4");
  }
  texts.insert(texts.end(), {"tbf;rate=50;depth=2;rules=2:10,3-4:500", "orr;quantum=2", "twins;window=20000",
                             "io_sets;phase_gap=3;hold=1;unknown=1", "themis;share=size", "themis;share=user",
                             "themis;share=user_size;seed=9", "auto;rotational=true"});
  return texts;
}

TEST(EveryPolicy, LosesNothingServesNothingTwiceAndKeepsConflictingRequestsApart) {
  for (const std::string& text : variants()) {
    const bool in_order = kOfTheField.contains(text.substr(0, text.find(';')));
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      SCOPED_TRACE(text + ", seed " + std::to_string(seed));
      const auto policy = make_policy(text);
      AnyServer server(*policy, seed, in_order);
      for (int i = 0; i < 3000 && !HasFailure(); ++i) server.step();
      if (!HasFailure()) server.drain();
      if (HasFailure()) return;
      EXPECT_GT(server.finished(), 300U);
    }
  }
}

TEST(EveryPolicy, DecidesTheSameAgain) {
  for (const std::string& text : variants()) {
    SCOPED_TRACE(text);
    Ids orders[2];
    for (Ids& order : orders) {
      const auto policy = make_policy(text);
      AnyServer server(*policy, 7, false);
      for (int i = 0; i < 1500; ++i) server.step();
      order = server.order();
    }
    EXPECT_EQ(orders[0], orders[1]);
  }
}

TEST(EveryPolicy, OfTheFieldHasNoMoreInServiceThanItsDepth) {
  for (const std::string& name : kOfTheField) {
    for (const std::size_t depth : {1U, 3U}) {
      SCOPED_TRACE(name);
      const auto policy = make_policy(name + ";dispatch_depth=" + std::to_string(depth));
      AnyServer server(*policy, 11, true);
      for (int i = 0; i < 2000; ++i) server.step();
      EXPECT_EQ(server.most_in_service(), depth);
    }
  }
}

}  // namespace
}  // namespace tutti
