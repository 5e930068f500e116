// The orders beyond the paper: fair turns and smallest bottleneck first.
#include <gtest/gtest.h>

#include <array>

#include "policy/request/window.h"
#include "tests/policy/one_server.h"

namespace tutti {
namespace {

using test::Arrival;
using test::jain_index;
using test::kSomeDay;
using test::make_request;
using test::run_server;
using test::serve_all;
using Ids = std::vector<std::uint64_t>;

std::unique_ptr<RequestPolicy> make(const std::string& text) {
  auto made = make_request_policy(text);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(*made);
}

constexpr std::size_t kApplications = 10;
// How often each application got each place, over many windows in which all of them ask.
std::vector<std::vector<double>> places(const std::string& text, int windows) {
  std::vector<std::vector<double>> count(kApplications, std::vector<double>(kApplications, 0));
  const auto policy = make(text);
  std::uint64_t id = 0;
  for (int window = 0; window < windows; ++window) {
    const std::uint64_t first = id + 1;
    for (std::uint64_t application = 0; application < kApplications; ++application) {
      policy->add(make_request(++id, application, kSomeDay + 1000_ms * window), 0_ns);
    }
    const Ids order = serve_all(*policy);
    for (std::size_t place = 0; place < order.size(); ++place) count[order[place] - first][place] += 1;
  }
  return count;
}

std::vector<double> mean_places(const std::vector<std::vector<double>>& count, int windows) {
  std::vector<double> means;
  for (const auto& of_application : count) {
    double sum = 0;
    for (std::size_t place = 0; place < of_application.size(); ++place) {
      sum += of_application[place] * static_cast<double>(place + 1);
    }
    means.push_back(sum / windows);
  }
  return means;
}

TEST(WindowRotated, EveryApplicationGetsEveryPlaceEquallyOften) {
  constexpr int kWindows = 4000;
  const auto count =
      places("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=rotated", kWindows);
  for (const auto& of_application : count) {
    EXPECT_GT(jain_index(of_application), 0.99);
    for (const double times : of_application) EXPECT_NEAR(times, kWindows / 10.0, 80);
  }
}

TEST(WindowRotated, MeanPlacesAreEqualAfterEachPairOfWindows) {
  EXPECT_DOUBLE_EQ(
      jain_index(mean_places(
          places("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=rotated", 2), 2)),
      1);
  EXPECT_DOUBLE_EQ(
      jain_index(mean_places(
          places("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=rotated", 100),
          100)),
      1);
  EXPECT_LT(
      jain_index(mean_places(
          places("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=id", 100), 100)),
      0.8);
}

TEST(WindowRotated, AllServersTurnAlikeWhateverElseTheySee) {
  const auto one = make("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=rotated");
  const auto other = make("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=rotated");
  Ids ones;
  Ids others;
  for (std::uint64_t application = 1; application <= 40; ++application) {
    one->add(make_request(application, application * 1'000'003), 0_ns);
    const std::uint64_t reversed = 41 - application;
    other->add(make_request(application, reversed * 1'000'003), 0_ns);
  }
  for (const std::uint64_t id : serve_all(*one)) ones.push_back(id);
  for (const std::uint64_t id : serve_all(*other)) others.push_back(41 - id);
  EXPECT_EQ(ones, others);
}

QueuedRequest tagged(std::uint64_t id, std::uint64_t application, Nanos time, Bytes length,
                     Bytes bottleneck) {
  QueuedRequest request = make_request(id, application, time, length);
  request.bottleneck = bottleneck;
  return request;
}

TEST(WindowSmallest, OrdersByTheTagNotByWhatIsAskedForHere) {
  const auto policy = make("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=smallest");
  policy->add(tagged(1, 1, kSomeDay, 4_KiB, 512_KiB), 0_ns);
  policy->add(tagged(2, 2, kSomeDay, 64_KiB, 64_KiB), 0_ns);
  policy->add(tagged(3, 3, kSomeDay, 128_KiB, 0_B), 0_ns);  // no tag: what is asked for here
  policy->add(tagged(4, 4, kSomeDay, 256_KiB, 1_B), 0_ns);  // a lie: at least what is asked for here
  policy->add(tagged(5, 1, kSomeDay, 4_KiB, 512_KiB), 0_ns);
  EXPECT_EQ(serve_all(*policy), (Ids{2, 3, 4, 1, 5}));
}

TEST(WindowSmallest, AnApplicationStaysTogetherUnderItsLargestTag) {
  const auto policy = make("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=smallest");
  policy->add(tagged(1, 1, kSomeDay, 4_KiB, 8_KiB), 0_ns);
  policy->add(tagged(2, 2, kSomeDay, 4_KiB, 64_KiB), 0_ns);
  policy->add(tagged(3, 1, kSomeDay, 4_KiB, 256_KiB), 0_ns);
  EXPECT_EQ(serve_all(*policy), (Ids{2, 1, 3}));
}

TEST(WindowSmallest, LoadOfOperationsAddsUpEachOperationOnce) {
  const auto policy =
      make("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=smallest;load=operations");
  // Application 1: three operations of 8 KiB. Application 2: one of 20 KiB in five pieces.
  for (std::uint64_t id = 1; id <= 3; ++id) policy->add(tagged(id, 1, kSomeDay, 8_KiB, 8_KiB), 0_ns);
  for (std::uint64_t id = 4; id <= 8; ++id) {
    QueuedRequest piece = tagged(id, 2, kSomeDay, 4_KiB, 20_KiB);
    piece.sequence = 77;
    policy->add(piece, 0_ns);
  }
  EXPECT_EQ(serve_all(*policy), (Ids{4, 5, 6, 7, 8, 1, 2, 3}));
}

// Application a puts size[a] on each of some servers; the mean time until its last server is done.
double mean_completion(const std::string& text, const std::vector<Bytes>& sizes, std::size_t servers) {
  std::vector<Nanos> completion(sizes.size());
  Random random(5);
  for (std::size_t server = 0; server < servers; ++server) {
    std::vector<std::uint64_t> order(sizes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    random.shuffle(std::span(order));
    std::vector<Arrival> arrivals;
    for (std::uint64_t i = 0; i < order.size(); ++i) {
      const std::uint64_t application = order[i];
      // One server in three has only half of it: the tag says what the fullest has.
      const Bytes length = (application + server) % 3 == 0 ? sizes[application] / 2 : sizes[application];
      arrivals.push_back({0_ns, tagged(i + 1, application, kSomeDay, length, sizes[application])});
    }
    const auto finish = run_server(*make(text), arrivals);
    for (std::uint64_t i = 0; i < order.size(); ++i) {
      completion[order[i]] = std::max(completion[order[i]], finish.at(i + 1));
    }
  }
  double sum = 0;
  for (const Nanos time : completion) sum += time.seconds();
  return sum / static_cast<double>(sizes.size());
}

TEST(WindowSmallest, BeatsTheOrderOfIdsOnMixedSizes) {
  const std::vector<Bytes> sizes = {8_MiB, 64_KiB, 1_MiB, 256_KiB, 4_MiB, 128_KiB, 2_MiB, 512_KiB};
  const double smallest = mean_completion(
      "window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=smallest", sizes, 4);
  const double by_id =
      mean_completion("window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;order=id", sizes, 4);
  const double uncoordinated = mean_completion("fcfs;dispatch_depth=1", sizes, 4);
  EXPECT_LT(by_id, uncoordinated);
  EXPECT_LT(smallest, 0.5 * by_id);
  // No order of the full server can do better than its sorted sizes; this is within a twentieth of it.
  std::vector<Bytes> sorted = sizes;
  std::sort(sorted.begin(), sorted.end());
  double bound = 0;
  Bytes before;
  for (const Bytes size : sorted) {
    before += size;
    bound += static_cast<double>(before.count()) * 1e-9 / static_cast<double>(sorted.size());
  }
  EXPECT_LT(smallest, 1.05 * bound);
}

// The bound of the header: what is issued (patience + 1) * interval or more after a request never passes it.
TEST(WindowSmallest, LargeOnesAgeAndFinishWithinTheBound) {
  for (const std::uint64_t patience : {0U, 1U, 4U}) {
    const auto policy = make(
        "window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;interval=250;order=smallest;unit="
        "1MiB;patience=" +
        std::to_string(patience));
    policy->add(tagged(1, 1, kSomeDay + 249_ms, 1_GiB, 1_GiB), 0_ns);
    const auto small_in_window = [&](std::uint64_t id, std::int64_t window) {
      policy->add(tagged(id, 2, kSomeDay + 250_ms * window, 4_KiB, 4_KiB), 0_ns);
    };
    small_in_window(2, static_cast<std::int64_t>(patience) + 1);
    small_in_window(3, static_cast<std::int64_t>(patience));
    EXPECT_EQ(serve_all(*policy), (Ids{3, 1, 2})) << patience;
  }
}

TEST(WindowSmallest, WaitsInProportionToSize) {
  const auto policy = make(
      "window;interval=1000;adaptive=false;dispatch_depth=1;period=1000;interval=250;order=smallest;unit="
      "1MiB;patience=4");
  policy->add(tagged(1, 1, kSomeDay, 2_MiB, 2_MiB), 0_ns);      // lets two windows pass
  policy->add(tagged(2, 2, kSomeDay, 512_KiB, 512_KiB), 0_ns);  // none
  policy->add(tagged(3, 3, kSomeDay + 250_ms, 4_KiB, 4_KiB), 0_ns);
  policy->add(tagged(4, 4, kSomeDay + 500_ms, 4_KiB, 4_KiB), 0_ns);
  policy->add(tagged(5, 5, kSomeDay + 750_ms, 4_KiB, 4_KiB), 0_ns);
  EXPECT_EQ(serve_all(*policy), (Ids{2, 3, 4, 1, 5}));
}

}  // namespace
}  // namespace tutti
