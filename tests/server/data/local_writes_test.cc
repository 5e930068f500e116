#include "server/data/local_writes.h"

#include <gtest/gtest.h>

#include "env/sim/simulation.h"
#include "tests/server/data/scripted.h"

namespace tutti {
namespace {

class LocalWriteGrantsTest : public testing::Test {
 protected:
  LocalWriteGrantsTest() {
    store_.told.writable = true;
    store_.writable = {7, std::make_shared<NoFile>(), 2, std::make_shared<NoFile>(), 5, 11};
    auto connection = std::make_unique<ScriptedConnection>(simulation_.executor());
    connection_ = connection.get();
    connection_->own = true;
    session_ = std::make_shared<ClientSession>(simulation_.executor(), std::move(connection));
  }
  LocalWriteGrants::Grant grant(std::uint64_t known = 1, Bytes ahead = 1_MiB) {
    transfer_.write = true;
    transfer_.local.known = known;
    transfer_.local.ahead = ahead;
    transfer_.session = session_;
    return LocalWriteGrants(store_, 256_KiB).grant(transfer_);
  }

  Simulation simulation_{1};
  ScriptedStore store_{simulation_.executor()};
  ScriptedConnection* connection_ = nullptr;
  std::shared_ptr<ClientSession> session_;
  Transfer transfer_;
};

TEST_F(LocalWriteGrantsTest, TheWordsAreGivenOnceToASessionAndTheFileOnceToAnObject) {
  const LocalWriteGrants::Grant first = grant();
  EXPECT_EQ(first.bytes, 256_KiB) << "no more than the limit";
  EXPECT_EQ(first.object.mark, 5U);
  EXPECT_EQ(first.object.value, 11U);
  EXPECT_EQ(connection_->given_keys, (std::vector<std::uint64_t>{2, 7}));
  EXPECT_EQ(grant(7, 100_KiB).bytes, 100_KiB) << "no more than the wish";
  EXPECT_EQ(connection_->given_keys, (std::vector<std::uint64_t>{2, 7}));
  EXPECT_EQ(grant(8).bytes, 256_KiB);
  EXPECT_EQ(connection_->given_keys, (std::vector<std::uint64_t>{2, 7, 7})) << "it has another object's file";
}

TEST_F(LocalWriteGrantsTest, WhoMayNotHaveTheFileAsks) {
  EXPECT_EQ(grant(0).bytes, 0_B) << "the client cannot, or may not keep what it is given";
  EXPECT_EQ(grant(1, 0_B).bytes, 0_B) << "it does not want to";
  connection_->own = false;
  EXPECT_EQ(grant().bytes, 0_B) << "another user's process, or one whose memory counts elsewhere";
  connection_->own = true;
  store_.told.writable = false;
  EXPECT_EQ(grant().bytes, 0_B);
  store_.told.writable = true;
  connection_->takes = false;
  EXPECT_EQ(grant().bytes, 0_B) << "the files cannot be handed over";
  connection_->takes = true;
  transfer_.lock = wire::Lock(3, 1);
  EXPECT_EQ(grant().bytes, 0_B) << "a lock that is lost must end its writes";
  transfer_.lock = wire::Lock();
  store_.writable.file = nullptr;
  EXPECT_EQ(grant().bytes, 0_B) << "there is no such object";
  EXPECT_TRUE(connection_->given_keys.empty());
}

}  // namespace
}  // namespace tutti
