// The objects of removed files go from the data servers, whatever happens meanwhile.
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
  EXPECT_TRUE(simulation_.run_until([&] { return keys('O') == 0; }));
  for (std::uint32_t i = 0; i < kDataServers; ++i) EXPECT_EQ(objects(i), 1U);
}

TEST_F(MetaPurge, ManyFilesGoInBatches) {
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  for (int i = 0; i < 200; ++i) make_file(client, "/f" + std::to_string(i));
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(remove(client, "/f" + std::to_string(i)).ok());
  EXPECT_TRUE(simulation_.run_until([&] { return keys('O') == 0; }));
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
  EXPECT_EQ(keys('O'), 1U);
  EXPECT_EQ(objects(0), 0U);
  EXPECT_EQ(objects(1), 0U);
  EXPECT_EQ(objects(2), 1U);
  start_data(2);
  const Nanos back = simulation_.now();
  EXPECT_TRUE(simulation_.run_until([&] { return keys('O') == 0; }));
  EXPECT_LE(simulation_.now() - back, 12_s);
  EXPECT_EQ(objects(2), 0U);
}

TEST_F(MetaPurge, OrphansSurviveARestart) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  make_file(client, "/f");
  ASSERT_TRUE(remove(client, "/f").ok());
  EXPECT_EQ(keys('O'), kDataServers);
  stop();
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  ASSERT_TRUE(start().ok());
  EXPECT_TRUE(simulation_.run_until([&] { return keys('O') == 0; }));
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
  EXPECT_EQ(keys('O'), 100U);
  fabric_.heal(meta_node_, data_nodes_[1]);
  EXPECT_TRUE(simulation_.run_until([&] { return keys('O') == 0; }));
  EXPECT_EQ(objects(1), 0U);
}

TEST_F(MetaPurge, AddressOfAnotherServerCostsNoObjects) {
  for (std::uint32_t i = 0; i < kDataServers; ++i) start_data(i);
  std::swap(options_.data_servers[0], options_.data_servers[1]);
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  make_file(client, "/f");
  ASSERT_TRUE(remove(client, "/f").ok());
  simulation_.run_until(simulation_.now() + 30_s);
  EXPECT_EQ(keys('O'), 2U);
  EXPECT_EQ(objects(0), 1U);
  EXPECT_EQ(objects(1), 1U);
  EXPECT_EQ(objects(2), 0U);
}

}  // namespace
}  // namespace tutti
