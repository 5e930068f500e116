// The objects of removed files go from the data servers, whatever happens meanwhile.
#include "server/meta/records.h"
#include "tests/server/meta/meta_world.h"

namespace tutti {
namespace {

class MetaPurge : public MetaWorld {
 protected:
  void put_object(std::uint32_t server, std::uint64_t file) {
    EXPECT_TRUE(run(stores_[server]->truncate(ObjectId{file}, 10_B)).ok());
  }
  std::size_t objects(std::uint32_t server) { return run(stores_[server]->list())->size(); }
  std::uint64_t make_file(Client& client, const std::string& path) {
    EXPECT_TRUE(create(client, path).ok());
    const std::uint64_t file = last<wire::NodeReply>().attributes()->inode();
    for (std::uint32_t i = 0; i < kDataServers; ++i) put_object(i, file);
    return file;
  }
};

TEST_F(MetaPurge, ObjectsGoWithTheLastName) {
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  make_file(client, "/f");
  make_file(client, "/kept");
  ASSERT_TRUE(remove(client, "/f").ok());
  EXPECT_TRUE(simulation_.run_until([&] { return keys('X') == 0; }));
  for (std::uint32_t i = 0; i < kDataServers; ++i) EXPECT_EQ(objects(i), 1U);
}

TEST_F(MetaPurge, ManyFilesGoInBatches) {
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  for (int i = 0; i < 200; ++i) make_file(client, "/f" + std::to_string(i));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(remove(client, "/f" + std::to_string(i)).ok());
  EXPECT_TRUE(simulation_.run_until([&] { return keys('X') == 0; }));
  for (std::uint32_t i = 0; i < kDataServers; ++i) EXPECT_EQ(objects(i), 0U);
}

TEST_F(MetaPurge, ServerThatIsAwayIsWaitedForAndHoldsUpNobody) {
  start_data(0);
  start_data(1);
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  make_file(client, "/f");
  ASSERT_TRUE(remove(client, "/f").ok());
  simulation_.run_until(simulation_.now() + 100_s);
  EXPECT_EQ(keys('X'), 1U);
  EXPECT_EQ(objects(0), 0U);
  EXPECT_EQ(objects(1), 0U);
  EXPECT_EQ(objects(2), 1U);
  start_data(2);
  const Nanos back = simulation_.now();
  EXPECT_TRUE(simulation_.run_until([&] { return keys('X') == 0; }));
  EXPECT_LE(simulation_.now() - back, 12_s);
  EXPECT_EQ(objects(2), 0U);
}

TEST_F(MetaPurge, RemovedFilesSurviveARestart) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  make_file(client, "/f");
  ASSERT_TRUE(remove(client, "/f").ok());
  EXPECT_EQ(keys('X'), 1U);
  stop();
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(simulation_.run_until([&] { return keys('X') == 0; }));
  for (std::uint32_t i = 0; i < kDataServers; ++i) EXPECT_EQ(objects(i), 0U);
}

TEST_F(MetaPurge, ServerThatDiesAmidIsTakenUpAgain) {
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  for (int i = 0; i < 100; ++i) make_file(client, "/f" + std::to_string(i));
  fabric_.cut(meta_node_, data_nodes_[1]);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(remove(client, "/f" + std::to_string(i)).ok());
  simulation_.run_until(simulation_.now() + 60_s);
  EXPECT_EQ(keys('X'), 100U);
  fabric_.heal(meta_node_, data_nodes_[1]);
  EXPECT_TRUE(simulation_.run_until([&] { return keys('X') == 0; }));
  EXPECT_EQ(objects(1), 0U);
}

TEST_F(MetaPurge, ObjectsThatAnEarlierTuttiLeftToRemoveGo) {
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  ASSERT_TRUE(start().ok());
  stop();
  put_object(1, 77);
  std::function<Status(KvWriter&)> orphan = [](KvWriter& kv) {
    return kv.put(meta::orphan_key(1, 77), "\1");
  };
  ASSERT_TRUE(run(kv_.update(std::move(orphan))).ok());
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(simulation_.run_until([&] { return keys('O') == 0 && keys('X') == 0; }));
  EXPECT_EQ(objects(1), 0U);
}

// ---- files that are open while they lose their names ----

class MetaOpenRemoval : public MetaPurge {
 protected:
  void SetUp() override {
    for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
    ASSERT_TRUE(start().ok());
  }
  std::uint64_t make_open_file(Client& client, const std::string& path, std::uint64_t handle) {
    Builder builder;
    const auto where = place(builder, path);
    constexpr std::uint32_t kFlags = wire::kOpenWrite | wire::kOpenCreate;
    builder.Finish(wire::CreateOpenRequest(builder, where, kFlags, 0644, nullptr, 0, handle));
    EXPECT_TRUE(ask<wire::NodeReply>(client, wire::Type::open, builder).ok());
    const auto& reply = last<wire::NodeReply>();
    capability_ = *reply.capability();
    for (std::uint32_t i = 0; i < kDataServers; ++i) put_object(i, capability_.file());
    return capability_.file();
  }
  void close(Client& client, std::uint64_t handle) {
    Builder builder;
    builder.Finish(wire::CreateCloseRequest(builder, handle, true, 0));
    client.channel->connection()
        .send(wire::request_type(wire::Type::close), 0, wire::bytes(builder))
        .ignore();
  }
  Status claim(Client& client, std::uint64_t handle) {
    Builder builder;
    builder.Finish(wire::CreateClaimRequest(builder, &capability_, handle));
    return ask<wire::StatusReply>(client, wire::Type::claim, builder);
  }
  void pass(Nanos time) { simulation_.run_until(simulation_.now() + time); }

  wire::Capability capability_;
};

TEST_F(MetaOpenRemoval, ObjectsStayUntilTheLastClose) {
  Client client = connect(1000, 1);
  Client other = connect(1000, 2);
  make_open_file(client, "/f", 1);
  make_open_file(other, "/f", 1);
  ASSERT_TRUE(remove(client, "/f").ok());
  pass(1000_s);
  EXPECT_EQ(objects(0), 1U);
  EXPECT_TRUE(renew(client, capability_).ok());
  close(client, 1);
  pass(10_s);
  EXPECT_EQ(objects(0), 1U);
  EXPECT_EQ(renew(client, capability_).code(), Code::stale);
  close(other, 1);
  pass(10_s);
  for (std::uint32_t i = 0; i < kDataServers; ++i) EXPECT_EQ(objects(i), 0U);
  EXPECT_EQ(keys('X'), 0U);
}

TEST_F(MetaOpenRemoval, RenameOverAnOpenFileHoldsIt) {
  Client client = connect(1000, 1);
  make_open_file(client, "/f", 1);
  make_open_file(client, "/g", 2);
  close(client, 2);
  ASSERT_TRUE(rename(client, "/g", "/f").ok());
  pass(100_s);
  EXPECT_EQ(objects(0), 2U);
  close(client, 1);
  pass(10_s);
  EXPECT_EQ(objects(0), 1U);
}

TEST_F(MetaOpenRemoval, ClientThatDiesHasClosedItsFiles) {
  Client client = connect(1000, 1);
  make_open_file(client, "/f", 1);
  ASSERT_TRUE(remove(client, "/f").ok());
  client.channel->close();
  pass(30_s);
  EXPECT_EQ(objects(0), 1U);
  pass(60_s);
  EXPECT_EQ(objects(0), 0U);
  // Somebody may still have the capability: its time must be over before the file is forgotten.
  EXPECT_EQ(keys('X'), 1U);
  put_object(0, capability_.file());
  pass(4000_s);
  EXPECT_EQ(keys('X'), 0U);
  EXPECT_EQ(objects(0), 0U);
}

TEST_F(MetaOpenRemoval, ClientThatComesBackInTimeStillHasItsFiles) {
  Client client = connect(1000, 1);
  make_open_file(client, "/f", 1);
  ASSERT_TRUE(remove(client, "/f").ok());
  client.channel->close();
  pass(30_s);
  Client again = connect(1000, 1);
  pass(1000_s);
  EXPECT_EQ(objects(0), 1U);
  close(again, 1);
  pass(10_s);
  EXPECT_EQ(objects(0), 0U);
}

TEST_F(MetaOpenRemoval, ClaimedFileOutlivesARestartAndTheOthersDoNot) {
  Client client = connect(1000, 1);
  make_open_file(client, "/lost", 7);
  make_open_file(client, "/f", 1);
  ASSERT_TRUE(remove(client, "/lost").ok());
  ASSERT_TRUE(remove(client, "/f").ok());
  stop();
  ASSERT_TRUE(start().ok());
  Client again = connect(1000, 1);
  EXPECT_TRUE(claim(again, 1).ok());
  pass(1000_s);
  EXPECT_EQ(objects(0), 1U);
  close(again, 1);
  pass(10_s);
  EXPECT_EQ(objects(0), 0U);
  EXPECT_EQ(claim(again, 2).code(), Code::stale);
}

TEST_F(MetaOpenRemoval, CapabilityOfARemovedFileMakesNoObjectsAnew) {
  Client client = connect(1000, 1);
  make_open_file(client, "/f", 1);
  close(client, 1);
  ASSERT_TRUE(remove(client, "/f").ok());
  EXPECT_TRUE(simulation_.run_until([&] { return keys('X') == 0; }));
  auto network = fabric_.process(client_node_, Peer{1000, 1000, {500}, 1, "hoarder"});
  auto connection = run(network->connect(options_.data_servers[0]));
  ASSERT_TRUE(connection.ok());
  Client hoarder;
  hoarder.channel = std::make_unique<Channel>(simulation_.executor(), std::move(*connection));
  Builder session;
  session.Finish(wire::CreateSessionRequest(session, wire::kProtocolVersion, 9, 9));
  ASSERT_TRUE(ask<wire::SessionReply>(hoarder, wire::Type::session, session).ok());
  const wire::Tag tag(0, 0, 9, 1, 0);
  Builder truncate;
  truncate.Finish(wire::CreateTruncateRequest(truncate, &capability_, &tag, 10, true, true));
  EXPECT_EQ(ask<wire::StatusReply>(hoarder, wire::Type::truncate, truncate).code(), Code::stale);
  EXPECT_EQ(objects(0), 0U);
}

TEST_F(MetaPurge, AddressOfAnotherServerCostsNoObjects) {
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  std::swap(options_.data_servers[0], options_.data_servers[1]);
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  make_file(client, "/f");
  ASSERT_TRUE(remove(client, "/f").ok());
  simulation_.run_until(simulation_.now() + 30_s);
  EXPECT_EQ(keys('X'), 1U);
  EXPECT_EQ(objects(0), 1U);
  EXPECT_EQ(objects(1), 1U);
  EXPECT_EQ(objects(2), 0U);
}

}  // namespace
}  // namespace tutti
