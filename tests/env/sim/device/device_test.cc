#include <fstream>
#include <sstream>

#include "env/combine.h"
#include "env/sim/device/hdd.h"
#include "env/sim/device/placement.h"
#include "env/sim/device/queue.h"
#include "env/sim/device/ssd.h"
#include "tests/env/sim/world.h"

namespace tutti {
namespace {

IoDescription at(Bytes address, Bytes length, bool write = false, std::uint64_t stream = 0) {
  IoDescription what;
  what.write = write;
  what.stream = stream;
  what.address = address;
  what.length = length;
  return what;
}

double megabytes_per_second(Bytes bytes, Nanos time) {
  return static_cast<double>(bytes.count()) / time.seconds() / 1e6;
}

// Serves one after another, each as soon as the one before is done.
Nanos serve_all(Device& device, const std::vector<IoDescription>& requests, Nanos gap = Nanos()) {
  Nanos now;
  for (const auto& request : requests) now = device.serve(request, now) + gap;
  return now;
}

std::vector<IoDescription> sequential(Bytes from, Bytes length, std::size_t count, bool write = false) {
  std::vector<IoDescription> requests;
  for (std::size_t i = 0; i < count; ++i) requests.push_back(at(from + length * i, length, write));
  return requests;
}

std::vector<IoDescription> scattered(Bytes capacity, Bytes length, std::size_t count, bool write = false) {
  Random random(11);
  std::vector<IoDescription> requests;
  for (std::size_t i = 0; i < count; ++i) {
    requests.push_back(at(Bytes(random.below(capacity.count() / 4096 - 1024) * 4096), length, write));
  }
  return requests;
}

TEST(HddModel, SequentialRateIsTheDeviceFilesAtTheOuterEdgeAndFallsInwards) {
  HddModel hdd;
  const Nanos outer = serve_all(hdd, sequential(Bytes(), 64_KiB, 1600));
  EXPECT_NEAR(megabytes_per_second(64_KiB * 1600, outer), 78.0, 2.0);
  HddModel other;
  const Nanos inner = serve_all(other, sequential(other.capacity() - 101_MiB, 64_KiB, 1600));
  EXPECT_NEAR(megabytes_per_second(64_KiB * 1600, inner), 40.0, 1.5);
}

IoDescription flush() {
  IoDescription what;
  what.flush = true;
  return what;
}

std::vector<IoDescription> through(std::vector<IoDescription> requests) {
  for (IoDescription& request : requests) request.through = true;
  return requests;
}

TEST(HddModel, SequentialWritesFlowToTheMediumAtItsRate) {
  HddModel hdd;
  const Nanos time = hdd.serve(flush(), serve_all(hdd, sequential(Bytes(), 64_KiB, 1600, true)));
  EXPECT_NEAR(megabytes_per_second(64_KiB * 1600, time), 78.0, 2.0);
}

TEST(HddModel, WritesThatFitTheCacheTakeTheTimeOfTheInterfaceWhereverTheyGo) {
  HddModel together;
  HddModel apart;
  const Nanos contiguous = serve_all(together, sequential(Bytes(), 64_KiB, 200, true));
  const Nanos anywhere = serve_all(apart, scattered(apart.capacity(), 64_KiB, 200, true));
  EXPECT_EQ(contiguous, anywhere);
  EXPECT_NEAR(contiguous.seconds() * 1e3, 200 * (0.1 + 65.536 / 300), 0.1);
}

TEST(HddModel, AFullCacheTakesWritesAsFastAsItDrains) {
  HddModel hdd;
  const Nanos filled = serve_all(hdd, scattered(hdd.capacity(), 64_KiB, 240, true));
  Nanos now = filled;
  for (const IoDescription& request : scattered(hdd.capacity() / 2, 64_KiB, 200, true)) {
    now = hdd.serve(request, now);
  }
  // The nearest of 240 places is some 2 ms away, settling and rotation included.
  const double each = (now - filled).seconds() * 1e3 / 200;
  EXPECT_GT(each, 2.0);
  EXPECT_LT(each, 9.0);
}

TEST(HddModel, FlushWaitsForTheMediumAndThenThereIsNothingLeft) {
  HddModel hdd;
  const Nanos filled = serve_all(hdd, scattered(hdd.capacity(), 64_KiB, 100, true));
  const Nanos flushed = hdd.serve(flush(), filled);
  EXPECT_GT((flushed - filled).seconds() * 1e3, 100 * 2.0);
  EXPECT_LT((hdd.serve(flush(), flushed) - flushed).seconds() * 1e3, 1.0);
}

TEST(HddModel, TheCacheDrainsWhileTheDiskIsIdle) {
  HddModel hdd;
  const Nanos filled = serve_all(hdd, scattered(hdd.capacity(), 64_KiB, 100, true));
  EXPECT_LT((hdd.serve(flush(), filled + 10_s) - filled - 10_s).seconds() * 1e3, 1.0);
}

TEST(HddModel, AWriteThroughWaitsForTheMediumContiguousOrNot) {
  HddModel apart;
  const Nanos anywhere = serve_all(apart, through(scattered(apart.capacity(), 4_KiB, 1000, true)));
  EXPECT_NEAR(anywhere.seconds(), 1000 * (9.5 + 4.17 + 0.1) / 1e3, 1.2);
  // The next one is there when the one before ends: it flows. One that comes later has missed its sector.
  HddModel together;
  const auto requests = through(sequential(Bytes(), 64_KiB, 200, true));
  EXPECT_NEAR(megabytes_per_second(64_KiB * 200, serve_all(together, requests)), 78.0, 4.0);
  HddModel late;
  EXPECT_NEAR(serve_all(late, requests, 200_us).seconds() * 1e3, 200 * (8.33 + 0.84), 40.0);
}

TEST(HddModel, JumpsAreCountedOnTheMedium) {
  HddModel hdd;
  const Nanos read = serve_all(hdd, sequential(1_GiB, 64_KiB, 100));
  EXPECT_EQ(hdd.motion().jumps, 1U);
  Nanos now = read;
  for (const IoDescription& request : sequential(2_GiB, 64_KiB, 100, true)) now = hdd.serve(request, now);
  hdd.serve(flush(), now);
  EXPECT_LE(hdd.motion().jumps, 3U);  // however many requests it was
}

TEST(HddModel, ShortPausesOfASequentialReaderAreHiddenByTheDisksOwnReadAhead) {
  HddModel hdd;
  // 64 KiB take 0.84 ms; with 0.5 ms of thinking after each the disk still reads on.
  const Nanos time = serve_all(hdd, sequential(Bytes(), 64_KiB, 1000), 500_us);
  EXPECT_GT(megabytes_per_second(64_KiB * 1000, time), 70.0);
}

TEST(HddModel, ReadsOfOneNeighbourhoodInAWrongOrderAreServedFromTheDisksCache) {
  std::vector<IoDescription> wrong;
  for (std::uint64_t group = 0; group < 20; ++group) {
    for (const std::uint64_t i : {1U, 0U, 3U, 2U}) wrong.push_back(at(64_KiB * (group * 4 + i), 64_KiB));
  }
  HddParameters parameters = default_hdd();
  HddModel without(parameters);
  parameters.reads_from_cache = true;
  HddModel with(parameters);
  const Nanos in_order = serve_all(with, sequential(0_B, 64_KiB, 80));
  HddModel again(parameters);
  EXPECT_LT(serve_all(again, wrong), in_order + 40_ms);
  EXPECT_GT(serve_all(without, wrong), in_order * 2);
  // What passed before the heads jumped away is forgotten.
  const Nanos now = again.serve(at(100_GiB, 64_KiB), 10_s);
  EXPECT_GT(again.serve(at(0_B, 64_KiB), now) - now, 2_ms);
}

TEST(HddModel, AverageSeekIsTheDeviceFiles) {
  const HddModel hdd;
  Random random(3);
  double read = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const std::uint64_t a = random.below(hdd.cylinders());
    const std::uint64_t b = random.below(hdd.cylinders());
    read += hdd.seek_time(a > b ? a - b : b - a, false).seconds() * 1e3;
  }
  EXPECT_NEAR(read / kCount, 8.5, 0.1);
  EXPECT_EQ(hdd.seek_time(0, false), Nanos());
  EXPECT_NEAR(hdd.seek_time(1, false).seconds() * 1e3, 0.8, 0.05);
  EXPECT_NEAR(hdd.seek_time(hdd.cylinders(), false).seconds() * 1e3, 17.0, 0.05);
  EXPECT_EQ(hdd.seek_time(1000, true) - hdd.seek_time(1000, false), 1_ms);
}

TEST(HddModel, RandomReadsTakeSeekAndHalfARotation) {
  HddModel hdd;
  const auto requests = scattered(hdd.capacity(), 4_KiB, 5000);
  const double iops = 5000.0 / serve_all(hdd, requests).seconds();
  // 8.5 ms + 4.17 ms + 0.1 ms. Addresses are denser at the outer edge, so seeks are a little shorter.
  EXPECT_NEAR(iops, 78.0, 5.0);
}

TEST(SsdModel, SequentialRatesAreTheDeviceFiles) {
  for (const bool write : {false, true}) {
    SsdModel ssd;
    Nanos done;
    for (const auto& request : sequential(Bytes(), 1_MiB, 1000, write)) done = ssd.serve(request, Nanos());
    EXPECT_NEAR(megabytes_per_second(1_MiB * 1000, done), write ? 700.0 : 720.0, 20.0);
  }
}

TEST(SsdModel, RandomSmallOperationsFollowFromChannelRateAndOverhead) {
  SsdModel ssd;
  Nanos done;
  for (const auto& request : scattered(ssd.capacity(), 4_KiB, 20'000, true)) {
    done = std::max(done, ssd.serve(request, Nanos()));
  }
  EXPECT_NEAR(20'000.0 / done.seconds(), 120'000.0, 6'000.0);
  SsdModel idle;
  EXPECT_NEAR(idle.serve(at(Bytes(), 4_KiB), Nanos()).seconds() * 1e6, 132.0, 5.0);
}

TEST(DeviceParameters, FileOverridesDefaultsAndMistakesAreNamed) {
  const auto changed = parse_hdd("[hdd]\nrpm = 15000\n");
  ASSERT_TRUE(changed.ok());
  EXPECT_EQ(changed->rpm, 15'000U);
  EXPECT_EQ(changed->average_seek, default_hdd().average_seek);
  EXPECT_EQ(parse_hdd("[hdd]\nrmp = 15000\n").code(), Code::invalid);
  EXPECT_NE(parse_hdd("[hdd]\nrmp = 15000\n").status().message().find("rmp"), std::string::npos);
  EXPECT_EQ(parse_hdd("[hdd]\nrpm = 0\n").code(), Code::invalid);
  EXPECT_EQ(parse_hdd("[hdd\n").code(), Code::invalid);
  EXPECT_EQ(parse_ssd("[hdd]\nrpm = 1\n").code(), Code::invalid);
  EXPECT_EQ(parse_hdd("[hdd]\ninner_rate = 99000000\n").code(), Code::invalid);
  EXPECT_EQ(default_hdd().capacity, Bytes(250'059'350'016));
  EXPECT_EQ(default_ssd().channels, 4U);
  EXPECT_EQ(default_nvme().queue_depth,
            1024U);  // a sheet that is not built in leaves zeros, with which nothing ends
  EXPECT_EQ(small_hdd().capacity, Bytes(80'026'361'856));
}

TEST(Placement, ObjectsGrowContiguouslyAndLieApart) {
  PlacementOptions options;
  options.extent = 1_MiB;
  options.distance = 100_MiB;
  Placement placement(1_GiB, options);
  for (std::uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(placement.locate(ObjectId{7}, 1_MiB * i + 5_B), 1_MiB * i + 5_B);
    EXPECT_EQ(placement.locate(ObjectId{3}, 1_MiB * i), 100_MiB + 1_MiB * i);
  }
  // The twelfth object would start where the second lies: the next free extent.
  for (std::uint64_t id = 100; id < 108; ++id) placement.locate(ObjectId{id}, Bytes());
  EXPECT_EQ(placement.locate(ObjectId{200}, Bytes()), 1000_MiB);
  EXPECT_EQ(placement.locate(ObjectId{201}, Bytes()), 76_MiB);
  placement.remove(ObjectId{100});
  EXPECT_EQ(placement.locate(ObjectId{3}, 1_MiB * 100), 200_MiB);
  EXPECT_EQ(placement.locate(ObjectId{3}, 1_MiB * 550), 650_MiB);
}

TEST(Placement, FullDeviceIsShared) {
  PlacementOptions options;
  options.extent = 1_MiB;
  Placement placement(4_MiB, options);
  for (std::uint64_t id = 0; id < 100; ++id) EXPECT_LT(placement.locate(ObjectId{id}, 9_GiB), 4_MiB);
}

Task<void> timed_io(DeviceQueue& queue, Clock& clock, IoDescription what, std::vector<std::uint64_t>& order,
                    Nanos& last) {
  co_await queue.io(what);
  order.push_back(what.stream);
  last = clock.now();
}

// One stream: the next request a little after the one before is done.
Task<void> stream_reader(DeviceQueue& queue, Clock& clock, Bytes from, std::uint64_t stream, int count,
                         std::vector<std::uint64_t>& order) {
  for (int i = 0; i < count; ++i) {
    co_await queue.io(at(from + 64_KiB * static_cast<std::uint64_t>(i), 64_KiB, false, stream));
    order.push_back(stream);
    co_await clock.sleep(300_us);
  }
}

class DeviceQueueTest : public testing::Test {
 protected:
  // With a queue depth of 1 all order is the scheduler's.
  static std::unique_ptr<Device> hdd(std::uint64_t depth) {
    HddParameters parameters = default_hdd();
    parameters.queue_depth = depth;
    return std::make_unique<HddModel>(parameters);
  }
  static double random_batch_seconds(const char* scheduler, std::uint64_t depth) {
    Simulation simulation;
    SimClock clock(simulation);
    DeviceQueue queue(clock, hdd(depth), *make_io_scheduler(scheduler));
    std::vector<std::uint64_t> order;
    Nanos last;
    Scope scope(simulation.executor());
    for (const auto& request : scattered(queue.device().capacity(), 4_KiB, 200)) {
      scope.spawn(timed_io(queue, clock, request, order, last));
    }
    simulation.run();
    EXPECT_EQ(order.size(), 200U);
    return last.seconds();
  }
  // Changes of stream while 4 sequential readers run.
  static std::pair<std::size_t, double> turns(const char* scheduler) {
    Simulation simulation;
    SimClock clock(simulation);
    DeviceQueue queue(clock, hdd(1), *make_io_scheduler(scheduler));
    std::vector<std::uint64_t> order;
    Scope scope(simulation.executor());
    for (std::uint64_t i = 0; i < 4; ++i) {
      scope.spawn(stream_reader(queue, clock, 20_GiB * i, i, 200, order));
    }
    simulation.run();
    std::size_t changes = 0;
    for (std::size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1] ? 1 : 0;
    return {changes, simulation.now().seconds()};
  }
};

TEST_F(DeviceQueueTest, ElevatorBeatsFifoOnARandomBatch) {
  const double fifo = random_batch_seconds("none", 1);
  const double elevator = random_batch_seconds("deadline", 1);
  EXPECT_NEAR(fifo, 200 / 78.0, 0.4);
  EXPECT_LT(elevator, 0.65 * fifo);
}

TEST_F(DeviceQueueTest, DeepQueueLetsTheDiskChooseItself) {
  EXPECT_LT(random_batch_seconds("none", 31), 0.7 * random_batch_seconds("none", 1));
}

TEST_F(DeviceQueueTest, AnticipationKeepsAStreamTogether) {
  const auto [fifo_turns, fifo_time] = turns("none");
  const auto [turns_taken, time] = turns("anticipatory");
  EXPECT_GT(fifo_turns, 700U);
  EXPECT_LT(turns_taken, 40U);
  EXPECT_LT(time, 0.3 * fifo_time);
}

TEST_F(DeviceQueueTest, DeadlineServesAnExpiredRequestOutOfOrder) {
  const auto scheduler = *make_io_scheduler("deadline");
  std::vector<IoRequest> requests(40);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].what = at(1_GiB + 1_MiB * i, 4_KiB);
    requests[i].order = i;
    requests[i].arrival = 1_s;
  }
  requests[39].what.address = Bytes();  // behind the sweep, and old
  requests[39].arrival = Nanos();
  requests[39].order = 0;
  requests[0].order = 39;
  for (auto& request : requests) scheduler->add(request, 1_s);
  std::size_t position = 0;
  while (scheduler->next(1_s).request != &requests[39]) ++position;
  EXPECT_LE(position, 16U);
}

TEST_F(DeviceQueueTest, WritesAreNotStarvedByReads) {
  const auto scheduler = *make_io_scheduler("deadline");
  std::vector<IoRequest> reads(200);
  IoRequest write;
  write.what = at(5_GiB, 4_KiB, true);
  scheduler->add(write, Nanos());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    reads[i].what = at(1_MiB * i, 4_KiB);
    reads[i].order = i + 1;
    scheduler->add(reads[i], Nanos());
  }
  std::size_t position = 0;
  while (scheduler->next(Nanos()).request != &write) ++position;
  EXPECT_EQ(position, 32U);
}

TEST_F(DeviceQueueTest, CancelledWaiterLeavesTheQueueWorking) {
  Simulation simulation;
  SimClock clock(simulation);
  DeviceQueue queue(clock, hdd(4), *make_io_scheduler("anticipatory"));
  std::vector<std::uint64_t> order;
  Nanos last;
  Scope kept(simulation.executor());
  {
    Scope dropped(simulation.executor());
    for (std::uint64_t i = 0; i < 10; ++i) {
      dropped.spawn(timed_io(queue, clock, at(1_GiB * i, 4_KiB, false, i), order, last));
      kept.spawn(timed_io(queue, clock, at(2_GiB * i, 4_KiB, false, i), order, last));
    }
    simulation.run_until(20_ms);
  }
  simulation.run();
  EXPECT_EQ(kept.size(), 0U);
  EXPECT_EQ(queue.pending(), 0U);
  EXPECT_EQ(queue.statistics().reads, 20U);
}

// A clock that a test moves, and whose timers fire when the test says so: as late as on a busy machine.
class LateClock final : public Clock {
 public:
  explicit LateClock(Executor& executor) : Clock(executor) {}
  [[nodiscard]] Nanos now() const override { return now_; }
  [[nodiscard]] Nanos wall() const override { return now_; }
  void move_to(Nanos now) { now_ = now; }

 private:
  Nanos now_;
};

TEST_F(DeviceQueueTest, ALateTimerLetsTheDeviceChooseOnlyAmongWhatHadComeInTime) {
  Executor executor;
  LateClock clock(executor);
  DeviceQueue queue(clock, hdd(32), *make_io_scheduler("none"));
  std::vector<std::uint64_t> order;
  Nanos last;
  Scope scope(executor);
  const auto begin = [&](Bytes address) {
    scope.spawn(timed_io(queue, clock, at(address, 64_KiB, false, address.count()), order, last));
    executor.run_ready();
  };
  begin(0_B);
  begin(40_GiB);
  const Nanos due = executor.next_deadline();
  // The first is over, but nobody was told; what comes now lies right behind it, and the heads are gone.
  clock.move_to(due + 1_ms);
  begin(64_KiB);
  EXPECT_GT(executor.next_deadline(), 0_s);
  while (executor.next_deadline() != Nanos::max()) {
    clock.move_to(std::max(clock.now(), executor.next_deadline()));
    executor.fire_due(clock.now());
    executor.run_ready();
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, (40_GiB).count(), (64_KiB).count()}));
  EXPECT_EQ(queue.pending(), 0U);
}

TEST(IoScheduler, UnknownNameIsRefusedWithTheChoices) {
  const auto made = make_io_scheduler("cfq");
  EXPECT_EQ(made.code(), Code::invalid);
  EXPECT_NE(made.status().message().find("anticipatory"), std::string::npos);
}

}  // namespace
}  // namespace tutti
