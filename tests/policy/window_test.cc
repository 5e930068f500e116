#include "policy/request/window.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>

#include "policy/request/fcfs.h"
#include "tests/policy/one_server.h"

namespace tutti {
namespace {

using test::Arrival;
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

// Fixed windows of a second, the order of ids and one at a time, unless `changes` say otherwise.
std::unique_ptr<RequestPolicy> paper(const std::string& changes = "") {
  return make("window;interval=1000;adaptive=false;dispatch_depth=1;order=id" + changes);
}

TEST(WindowPolicy, ComputesThePriorityOfThePaper) {
  EXPECT_EQ(paper_priority(Nanos(1'234'567) * 1'000'000, 1000_ms, 5), 1234U * 32768 + 5);
  EXPECT_EQ(paper_priority(Nanos(1'234'567) * 1'000'000, 250_ms, 32767), 4938U * 32768 + 32767);
  // Today's time and the shortest window: past 32 bits.
  EXPECT_EQ(paper_priority(kSomeDay + 1_ms, 1_ms, 7), 1'700'000'000'001U * 32768 + 7);
  EXPECT_EQ(paper_priority(-1_s, 1000_ms, 7), 7U);
  EXPECT_EQ(paper_application_id(0), 0U);
  EXPECT_EQ(paper_application_id(32767), 32767U);
  EXPECT_LT(paper_application_id(32768), 32768U);
  EXPECT_LT(paper_application_id(std::numeric_limits<std::uint64_t>::max()), 32768U);
}

TEST(WindowPolicy, ByTheServersClockTheArrivalDecidesAndNotTheTag) {
  const auto served_first = [](const std::string& text) {
    const auto policy = make(text);
    QueuedRequest early;
    early.id = 1;
    early.application = 9;
    early.request_time = kSomeDay + 5_s;
    early.arrival = kSomeDay;
    QueuedRequest late = early;
    late.id = 2;
    late.application = 1;
    late.request_time = kSomeDay;
    late.arrival = kSomeDay + 5_s;
    policy->add(early, 0_s);
    policy->add(late, 0_s);
    return policy->next(0_s).id;
  };
  EXPECT_EQ(served_first("window;interval=250"), 2U);
  EXPECT_EQ(served_first("window;interval=250;request_clock=client"), 2U);
  EXPECT_EQ(served_first("window;interval=250;request_clock=server"), 1U);
  EXPECT_NE(paper(";request_clock=server")->name().find("request_clock=server"), std::string::npos);
  EXPECT_EQ(make_request_policy("window;request_clock=both").code(), Code::invalid);
}

TEST(WindowPolicy, ServesInTheOrderOfThatPriority) {
  const auto policy = paper(";interval=250");
  Random random(3);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> expected;
  for (std::uint64_t id = 1; id <= 500; ++id) {
    const Nanos time = kSomeDay + Nanos(static_cast<std::int64_t>(random.below(2'000'000'000)));
    const std::uint64_t application = random.below(20);
    policy->add(make_request(id, application, time), 0_ns);
    expected.emplace_back(paper_priority(time, 250_ms, application), id);
  }
  std::sort(expected.begin(), expected.end());
  const Ids order = serve_all(*policy);
  ASSERT_EQ(order.size(), expected.size());
  for (std::size_t i = 0; i < order.size(); ++i) EXPECT_EQ(order[i], expected[i].second);
}

// Figure 2: three applications on four servers; A needs 2t on each, B and C need t. Where the servers' orders
// differ so that everybody is last somewhere, all take 4t; in the same order 2t, 3t, 4t.
TEST(WindowPolicy, Figure2FallsFromFourToThree) {
  constexpr std::array<std::array<std::uint64_t, 3>, 4> kArrivals = {
      {{1, 2, 3}, {2, 3, 1}, {3, 1, 2}, {1, 3, 2}}};
  const auto mean_completion = [&](const std::string& text) {
    std::array<Nanos, 4> completion;
    for (const auto& applications : kArrivals) {
      std::vector<Arrival> arrivals;
      for (std::uint64_t i = 0; i < applications.size(); ++i) {
        const std::uint64_t application = applications.at(i);
        arrivals.push_back(
            {0_ns, make_request(i + 1, application, kSomeDay, application == 1 ? 128_KiB : 64_KiB)});
      }
      const auto finish = run_server(*make(text), arrivals);
      for (std::uint64_t i = 0; i < applications.size(); ++i) {
        Nanos& last = completion.at(applications.at(i));
        last = std::max(last, finish.at(i + 1));
      }
    }
    return static_cast<double>((completion[1] + completion[2] + completion[3]).count()) / 3 / 65536;
  };
  EXPECT_DOUBLE_EQ(mean_completion("fcfs;dispatch_depth=1"), 4);
  EXPECT_DOUBLE_EQ(mean_completion("window;adaptive=false;dispatch_depth=1;order=id"), 3);
  EXPECT_DOUBLE_EQ(mean_completion("window;adaptive=false;dispatch_depth=1;order=id;quantum=max"), 3);
}

TEST(WindowPolicy, EarlierWindowIsServedFirstWhateverTheId) {
  const auto policy = paper(";interval=1000");
  policy->add(make_request(1, 0, kSomeDay + 1000_ms), 0_ns);
  policy->add(make_request(2, 32767, kSomeDay + 999_ms), 0_ns);
  policy->add(make_request(3, std::numeric_limits<std::uint64_t>::max(), kSomeDay), 0_ns);
  const Ids order = serve_all(*policy);
  EXPECT_EQ(order.back(), 1U);
}

TEST(WindowPolicy, WithinAWindowTheSmallerIdGoesFirstAndThenOrderOfArrival) {
  const auto policy = paper("");
  policy->add(make_request(1, 9, kSomeDay), 0_ns);
  policy->add(make_request(2, 4, kSomeDay + 999_ms), 0_ns);
  policy->add(make_request(3, 9, kSomeDay), 0_ns);
  policy->add(make_request(4, 4, kSomeDay), 0_ns);
  EXPECT_EQ(serve_all(*policy), (Ids{2, 4, 1, 3}));
}

TEST(WindowPolicy, ApplicationsWithTheSame15BitIdDoNotInterleave) {
  const std::uint64_t hashed = 1'000'000;
  const std::uint64_t fixed = paper_application_id(hashed);
  const auto policy = paper("");
  for (std::uint64_t id = 1; id <= 6; ++id) policy->add(make_request(id, id % 2 == 0 ? fixed : hashed), 0_ns);
  EXPECT_EQ(serve_all(*policy), (Ids{2, 4, 6, 1, 3, 5}));
}

TEST(WindowPolicy, AnEmptyQueueServesAtOnce) {
  const auto policy = paper("");
  EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);
  policy->add(make_request(1, 32767, kSomeDay + 60_s), 0_ns);
  const Decision decision = policy->next(0_ns);
  EXPECT_EQ(decision.kind, Decision::Kind::dispatch);
  EXPECT_EQ(decision.id, 1U);
  EXPECT_EQ(policy->queued(), 0U);
}

TEST(WindowPolicy, DispatchesOneByOneUnlessToldOtherwise) {
  for (const std::uint64_t depth : {1U, 3U}) {
    const auto policy = paper(";dispatch_depth=" + std::to_string(depth));
    for (std::uint64_t id = 1; id <= 5; ++id) policy->add(make_request(id, 1), 0_ns);
    for (std::uint64_t i = 1; i <= depth; ++i) EXPECT_EQ(policy->next(0_ns).id, i);
    EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);
    policy->served(1, 4_KiB, true, 0_ns);
    EXPECT_EQ(policy->next(0_ns).id, depth + 1);
    EXPECT_EQ(policy->queued(), 5 - depth - 1);
  }
}

TEST(WindowPolicy, ALateRequestOfHigherRankWaitsForOneQuantumAtMost) {
  const auto finish_of_late = [](const std::string& quantum) {
    const std::vector<Arrival> arrivals = {{0_ns, make_request(1, 9, kSomeDay, 1_MiB)},
                                           {10_ns, make_request(2, 3, kSomeDay, 64_KiB)}};
    return run_server(*paper(";quantum=" + quantum), arrivals).at(2).count();
  };
  EXPECT_EQ(finish_of_late("64KiB"), (64 + 64) * 1024);
  EXPECT_EQ(finish_of_late("max"), (1024 + 64) * 1024);
}

TEST(WindowPolicy, UnfinishedRequestsCompeteAgainInTheirOldPlace) {
  const auto policy = paper(";dispatch_depth=2");
  for (std::uint64_t id = 1; id <= 4; ++id) policy->add(make_request(id, 5), 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 1U);
  EXPECT_EQ(policy->next(0_ns).id, 2U);
  policy->served(2, 64_KiB, false, 0_ns);
  policy->served(1, 64_KiB, false, 0_ns);
  policy->add(make_request(5, 2), 0_ns);
  EXPECT_EQ(serve_all(*policy), (Ids{5, 1, 2, 3, 4}));
}

TEST(WindowPolicy, CountsTheDispatchesThatALateRequestCrossed) {
  const auto policy = paper(";dispatch_depth=2");
  for (const std::uint64_t id : {1U, 2U}) policy->add(make_request(id, 4 + id), 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 1U);
  EXPECT_EQ(policy->next(0_ns).id, 2U);
  policy->add(make_request(3, 7), 0_ns);
  EXPECT_EQ(policy->counters().crossovers, 0U);
  policy->add(make_request(4, 5, kSomeDay), 0_ns);  // the application of 1, before 2
  EXPECT_EQ(policy->counters().crossovers, 1U);
  policy->add(make_request(5, 1), 0_ns);  // before both, but 2 is counted already
  EXPECT_EQ(policy->counters().crossovers, 2U);
  policy->served(1, 4_KiB, true, 0_ns);
  policy->served(2, 4_KiB, true, 0_ns);
  policy->add(make_request(6, 0), 0_ns);  // nothing in service
  EXPECT_EQ(policy->counters().crossovers, 2U);
  EXPECT_EQ(policy->counters().dispatches, 2U);
}

// Low ids that never pause cannot hold up a high one past its window.
TEST(WindowPolicy, NothingStarves) {
  for (const char* order : {"id", "rotated", "smallest;patience=3"}) {
    const auto policy = paper(std::string(";interval=250;quantum=max;order=") + order);
    std::vector<Arrival> arrivals;
    arrivals.push_back({0_ns, make_request(1, 32767, kSomeDay, 100_MiB)});
    // 80 % more than the server can do, for ten seconds, and all of it would go first by id and by size.
    for (std::uint64_t id = 2; id <= 1000; ++id) {
      const Nanos at = 10_ms * static_cast<std::int64_t>(id - 1);
      arrivals.push_back({at, make_request(id, id % 7, kSomeDay + at, Bytes(18'000'000))});
    }
    const auto finish = run_server(*policy, arrivals);
    std::uint64_t before = 0;
    for (const auto& [id, time] : finish) {
      if (time > finish.at(1)) continue;
      ++before;
      EXPECT_LT(arrivals[id - 1].at,
                250_ms * (std::string(order) == "id" || std::string(order) == "rotated" ? 1 : 4));
    }
    EXPECT_GT(before, 0U);
  }
}

TEST(WindowPolicy, DroppedRequestsAreNeverDispatched) {
  const auto policy = paper(";dispatch_depth=1");
  for (std::uint64_t id = 1; id <= 6; ++id) policy->add(make_request(id, id % 2), 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 2U);
  for (const std::uint64_t id : {4U, 6U, 1U, 5U}) policy->drop(id, 0_ns);
  EXPECT_EQ(policy->queued(), 1U);
  policy->served(2, 4_KiB, false, 0_ns);
  policy->drop(2, 0_ns);
  EXPECT_EQ(serve_all(*policy), (Ids{3}));
  EXPECT_EQ(policy->queued(), 0U);
}

TEST(WindowPolicy, IdleSlotsAreFilledFromWhoeverRanksNext) {
  const auto policy = paper(";dispatch_depth=3");
  policy->add(make_request(1, 9), 0_ns);
  policy->add(make_request(2, 4), 0_ns);
  policy->add(make_request(3, 4), 0_ns);
  policy->add(make_request(4, 7), 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 2U);
  EXPECT_EQ(policy->next(0_ns).id, 3U);
  EXPECT_EQ(policy->next(0_ns).id, 4U);
  EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);
}

TEST(WindowPolicy, LargeRequestsFollowEachOtherUnderTheByteBudget) {
  const auto policy = paper(";dispatch_depth=16;budget=256KiB;quantum=256KiB");
  policy->add(make_request(1, 1, kSomeDay, 1_MiB), 0_ns);
  policy->add(make_request(2, 2, kSomeDay, 1_MiB), 0_ns);
  for (int turn = 0; turn < 4; ++turn) {
    EXPECT_EQ(policy->next(0_ns).id, 1U);
    EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);
    policy->served(1, 256_KiB, turn == 3, 0_ns);
  }
  EXPECT_EQ(policy->next(0_ns).id, 2U);
}

TEST(WindowPolicy, ARequestThatHasToWaitForAnotherDoesNotIdleTheServer) {
  const auto policy = paper(";dispatch_depth=4");
  QueuedRequest write = make_request(1, 1);
  write.write = true;
  write.end = write.offset + 4_KiB;
  QueuedRequest same = make_request(2, 2);
  same.object = write.object;
  same.offset = write.offset;
  same.end = write.end;
  same.write = true;
  policy->add(write, 0_ns);
  policy->add(same, 0_ns);
  QueuedRequest other = make_request(3, 3);
  other.object = write.object + 1;
  policy->add(other, 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 1U);
  EXPECT_EQ(policy->next(0_ns).id, 3U);
  EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);
  policy->served(1, 4_KiB, true, 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 2U);
}

TEST(WindowPolicy, TheOrderOfApplicationsLastsForAPeriodAndIsThenReversed) {
  const auto first_of = [](Nanos time) {
    const auto policy = make("window;interval=256;adaptive=false;order=rotated;period=1024");
    for (std::uint64_t id = 1; id <= 5; ++id) policy->add(make_request(id, 100 + id, time), 0_ns);
    const Ids order = serve_all(*policy);
    return std::pair(order.front(), order.back());
  };
  // kSomeDay begins a pair of periods of 1024 ms only by chance: find the begin of one.
  const std::int64_t pair = 2048;
  const Nanos begin = Nanos((kSomeDay.millis() / pair + 1) * pair * 1'000'000);
  for (int window = 1; window < 4; ++window) EXPECT_EQ(first_of(begin), first_of(begin + 256_ms * window));
  const auto [first, last] = first_of(begin);
  EXPECT_EQ(first_of(begin + 1024_ms), std::pair(last, first));
}

TEST(WindowPolicy, SmallRequestsDoNotCountInTheBudget) {
  const auto policy = paper(";dispatch_depth=16;budget=64KiB;small=8KiB;quantum=64KiB");
  for (std::uint64_t id = 1; id <= 4; ++id)
    policy->add(make_request(id, 1, kSomeDay, id < 4 ? 8_KiB : 64_KiB), 0_ns);
  policy->add(make_request(5, 1, kSomeDay, 64_KiB), 0_ns);
  for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(policy->next(0_ns).id, id);
  EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);  // 64 KiB are in service
  policy->served(1, 8_KiB, true, 0_ns);
  EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);
  policy->served(4, 64_KiB, true, 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 5U);
}

TEST(WindowPolicy, WritesMayHaveABudgetOfTheirOwn) {
  const auto policy = paper(";dispatch_depth=16;budget=64KiB;write_budget=256KiB;quantum=64KiB");
  for (std::uint64_t id = 1; id <= 4; ++id) {
    QueuedRequest request = make_request(id, 1, kSomeDay, 128_KiB);
    request.object = id;
    request.write = id < 4;
    policy->add(request, 0_ns);
  }
  const Decision first = policy->next(0_ns);
  EXPECT_EQ(first.id, 1U);
  EXPECT_EQ(first.quantum, 256_KiB);
  EXPECT_EQ(policy->next(0_ns).id, 2U);
  EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);
  policy->served(1, 128_KiB, true, 0_ns);
  EXPECT_EQ(policy->next(0_ns).id, 3U);
  policy->served(2, 128_KiB, true, 0_ns);
  EXPECT_EQ(policy->next(0_ns).kind, Decision::Kind::idle);  // a read beside 128 KiB
  policy->served(3, 128_KiB, true, 0_ns);
  const Decision read = policy->next(0_ns);
  EXPECT_EQ(read.id, 4U);
  EXPECT_EQ(read.quantum, 64_KiB);
}

// Serves reads of 1 MiB, each quantum in the time that a device of `rate` bytes a second takes. How many are started at once then, and how
// long their turns are.
std::pair<std::size_t, Bytes> started_at_once(const std::string& policy_text, double rate) {
  const auto policy = make(policy_text);
  Nanos now;
  std::uint64_t id = 0;
  for (int i = 0; i < 16; ++i) {
    policy->add(make_request(++id, 1, kSomeDay, 1_MiB), now);
    for (Bytes left = 1_MiB; left > 0_B;) {
      const Decision decision = policy->next(now);
      const Bytes served = std::min(left, decision.quantum);
      now += Nanos(static_cast<std::int64_t>(static_cast<double>(served.count()) / rate * 1e9));
      left -= served;
      policy->served(id, served, left == 0_B, now);
    }
  }
  std::pair<std::size_t, Bytes> started;
  for (int i = 0; i < 32; ++i) policy->add(make_request(++id, 1, kSomeDay, 1_MiB), now);
  for (Decision next = policy->next(now); next.kind == Decision::Kind::dispatch; next = policy->next(now)) {
    ++started.first;
    started.second = next.quantum;
  }
  return started;
}

TEST(WindowPolicy, AsManyBytesAreInServiceAsTheDeviceReadsInAMillisecond) {
  EXPECT_EQ(started_at_once("window", 500e6), std::pair(std::size_t{4}, 256_KiB));  // 1 MiB is more
  EXPECT_EQ(started_at_once("window", 2.6e9), std::pair(std::size_t{10}, 256_KiB));
  EXPECT_EQ(started_at_once("window;budget=1MiB", 2.6e9), std::pair(std::size_t{4}, 256_KiB));
}

TEST(WindowPolicy, TurnsOfReadsThatTakeNoTimeAreLong) {
  const auto [started, turn] = started_at_once("window", 1e18);
  EXPECT_EQ(started, 16U);
  EXPECT_EQ(turn, Bytes(2'000'000));
  EXPECT_EQ(started_at_once("window;quantum=256KiB", 1e18).second, 256_KiB);
  EXPECT_EQ(started_at_once(for_device("window", true), 1e18).second, 256_KiB);
}

TEST(WindowPolicy, BesideAnotherApplicationTurnsAndBudgetAreWhatTheyAre) {
  const auto policy = make("window");
  std::uint64_t id = 0;
  const auto turn_at = [&](Nanos now, std::uint64_t application) {
    policy->add(make_request(++id, application, kSomeDay, 4_MiB), now);
    const Decision decision = policy->next(now);
    policy->served(id, 4_MiB, true, now);
    return decision.quantum;
  };
  EXPECT_EQ(turn_at(0_s, 7), 256_KiB);
  EXPECT_EQ(turn_at(0_s, 7), Bytes(2'000'000));
  EXPECT_EQ(turn_at(1_ms, 8), 256_KiB);
  EXPECT_EQ(turn_at(2_ms, 8), 256_KiB);
  EXPECT_EQ(turn_at(1002_ms, 8), Bytes(2'000'000));
}

TEST(WindowPolicy, ADeviceThatHasBecomeSlowerGetsLessAtOnce) {
  ServiceRate rate;
  const auto read = [&rate](Nanos took) {
    rate.began(1_s);
    rate.ended(1_MiB, 1_s + took);
  };
  read(1_ms);
  EXPECT_EQ(rate.in(1_ms), 1_MiB);
  read(10_ms);
  EXPECT_NEAR(static_cast<double>(rate.in(1_ms).count()), 104857.6, 1);
  read(1_ms);  // believed by half
  EXPECT_NEAR(static_cast<double>(rate.in(1_ms).count()), 576716.8, 1);
}

TEST(WindowPolicy, WhatIsNotSaidFollowsTheDevice) {
  EXPECT_EQ(for_device("window", false), "window");
  EXPECT_EQ(for_device("window", true),
            "window;adaptive=true;interval=256;dispatch_depth=31;budget=256KiB;small=64KiB;write_budget=4MiB;"
            "quantum_time=0;ahead=8MiB");
  EXPECT_EQ(for_device("window;adaptive=false", false), "window;adaptive=false;interval=250");
  EXPECT_EQ(for_device("window;interval=512;budget=1MiB", true),
            "window;interval=512;budget=1MiB;dispatch_depth=31;small=64KiB;write_budget=4MiB;quantum_time=0;"
            "ahead=8MiB");
  EXPECT_EQ(for_device("fcfs", true), "fcfs");
  EXPECT_TRUE(make_request_policy(for_device("window", true)).ok());
}

TEST(WindowPolicy, AGivenIntervalIsFixedUnlessToldOtherwise) {
  EXPECT_EQ(make("window;interval=300")->name().find("adaptive"), std::string::npos);
  EXPECT_NE(make("window")->name().find("adaptive=true"), std::string::npos);
  EXPECT_NE(make("window;interval=512;adaptive=true")->name().find("adaptive=true"), std::string::npos);
}

TEST(WindowPolicy, ReadsAndPrintsItsParameters) {
  EXPECT_EQ(make("window")->name(),
            "window;interval=8;adaptive=true;min_interval=4;max_interval=1024;rounds=2;dispatch_depth=16;"
            "budget=1048576;small=0;write_budget=0;quantum=262144;order=classes;budget_time=1000;quantum_"
            "time=40;ahead=0;period="
            "8192;load=operations;patience=4;unit=1048576");
  for (const char* text :
       {"window;interval=250;dispatch_depth=4;budget=524288;small=0;write_budget=0;quantum=max;order=rotated;"
        "ahead=0;period=500",
        "window;interval=250;dispatch_depth=1;budget=524288;small=0;write_budget=0;quantum=131072;order=id;"
        "ahead=0;within=arrival",
        "window;interval=1000;dispatch_depth=1;budget=524288;small=0;write_budget=0;quantum=131072;order="
        "smallest;ahead=0;load="
        "operations;patience=2;unit=4096",
        "window;interval=500;adaptive=true;min_interval=125;max_interval=4000;rounds=3;dispatch_depth=1;"
        "budget=524288;small=1024;write_budget=4194304;quantum=131072;order=id;ahead=1048576"}) {
    EXPECT_EQ(make(text)->name(), text);
  }
  EXPECT_NE(make("window;quantum=1MiB")->name().find("quantum=1048576"), std::string::npos);
  for (const char* bad :
       {"window;interval=0", "window;interval=250ms", "window;dispatch_depth=0", "window;quantum=1",
        "window;order=x", "window;load=x", "window;within=x", "window;budget=0", "window;adaptive=1",
        "window;adaptive=true;interval=300", "window;speed=1", "window;rounds=0",
        "window;adaptive=true;interval=256;min_interval=512", "window;max_interval=3000"}) {
    EXPECT_EQ(make_request_policy(bad).code(), Code::invalid) << bad;
  }
}

}  // namespace
}  // namespace tutti
