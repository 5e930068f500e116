// A data server whose objects are cold: the way to their bytes is asked for in a turn of its own.
#include <list>

#include "env/combine.h"
#include "env/sim/device/hdd.h"
#include "env/sim/store/device_store.h"
#include "tests/server/data/data_server_fixture.h"

namespace tutti {
namespace {

// A server whose disk has to be asked for the way to each object first.
class ColdServerTest : public DataServerTest {
 protected:
  ColdServerTest() {
    for (const std::uint64_t file : {kFile, kFile + 1}) {
      EXPECT_TRUE(run(store_.truncate(ObjectId{file}, 1_MiB)).ok());
    }
    used_ = &disk_;
  }
  ~ColdServerTest() override {
    scope_.cancel();
    server_.reset();
  }
  static Task<bool> call(Channel& channel, flatbuffers::FlatBufferBuilder& builder, std::uint64_t application,
                         std::vector<std::uint64_t>& order) {
    const auto reply = co_await channel.call(wire::request_type(wire::Type::read), wire::bytes(builder));
    if (reply.ok() && wire::status_of(*wire::parse<wire::TransferReply>(reply->payload)).ok())
      order.push_back(application);
    co_return reply.ok();
  }
  // 64 KiB of the file.
  Task<bool> read(Channel& channel, std::uint64_t file, std::uint64_t application) {
    const Segment segment{reinterpret_cast<std::uint64_t>(memory_.data()), memory_.size()};
    const auto region = channel.connection().expose({&segment, 1}, Access::write);
    auto& builder = builders_.emplace_back();
    build_transfer(builder, capability(wire::kRightRead, 60_s, file), {wire::Extent(0, memory_.size())},
                   region, clock_.wall(), 0, application);
    return call(channel, builder, application, order_);
  }

  DeviceStore disk_{clock_, store_, std::make_unique<HddModel>(default_hdd()),
                    std::move(*make_io_scheduler("none"))};
  std::vector<std::byte> memory_ = std::vector<std::byte>(64 << 10);
  std::list<flatbuffers::FlatBufferBuilder> builders_;
  std::vector<std::uint64_t> order_;  // applications, as they were answered
};

// The inode of a cold object is a seek of its own. Who came first has it read at once; then the queue decides again.
TEST_F(ColdServerTest, WhoRanksFirstNeedNotWaitForTheBytesOfWhoCameFirst) {
  for (const char* policy : {"window;interval=1000;dispatch_depth=1;order=id", "fcfs;dispatch_depth=1"}) {
    disk_.drop_caches();
    order_.clear();
    start(policy, {});
    auto channel = connect();
    const std::uint64_t before = disk_.device_statistics().reads;
    std::vector<Task<bool>> readers;
    readers.push_back(read(*channel, kFile, 9));
    readers.push_back(read(*channel, kFile + 1, 1));
    run(when_all(std::move(readers)));
    const bool window = std::string_view(policy).starts_with("window");
    EXPECT_EQ(order_, (window ? std::vector<std::uint64_t>{1, 9} : std::vector<std::uint64_t>{9, 1}));
    EXPECT_EQ(disk_.device_statistics().reads - before, 4U) << "two inodes, two times 64 KiB";
    EXPECT_EQ(server_->dispatcher().totals().reads, 2U);
    EXPECT_EQ(server_->dispatcher().queued() + server_->dispatcher().in_service(), 0U);
  }
}

TEST_F(ColdServerTest, AClientThatGoesWhileTheWayIsAskedForWasNotServed) {
  start("window;interval=1000;dispatch_depth=1;order=id", {});
  auto channel = connect();
  Scope readers(simulation_.executor());
  readers.spawn(
      [](Task<bool> reading) -> Task<void> { co_await std::move(reading); }(read(*channel, kFile, 1)));
  simulation_.run_until([&] { return server_->dispatcher().in_service() == 1; });
  channel->close();
  simulation_.run_until(simulation_.now() + 1_s);
  EXPECT_EQ(server_->dispatcher().totals().reads, 0U);
  EXPECT_EQ(server_->dispatcher().queued() + server_->dispatcher().in_service(), 0U);
  EXPECT_EQ(server_->dispatcher().memory(), 0_B);
}

}  // namespace
}  // namespace tutti
