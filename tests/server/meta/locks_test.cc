// Locks as the metadata server sees them: what clients say, and what silent or strange ones get.
#include "env/combine.h"
#include "tests/server/meta/meta_world.h"

namespace tutti {
namespace {

class MetaLocks : public MetaWorld {
 protected:
  wire::Capability open_file(Client& client) {
    EXPECT_TRUE(open(client, "/f", wire::kOpenRead | wire::kOpenWrite | wire::kOpenCreate).ok());
    return *last<wire::NodeReply>().capability();
  }
  Status lock(Client& client, const wire::Capability& capability, std::uint64_t number, Nanos patience,
              bool reclaim = false) {
    Builder builder;
    builder.Finish(wire::CreateLockRequest(builder, &capability, number, 0, 100, true, reclaim,
                                           patience.count(), epochs_[number]));
    Status status = ask<wire::LockReply>(client, wire::Type::lock, builder);
    if (status.ok()) epochs_[number] = last<wire::LockReply>().epoch();
    return status;
  }
  Status unlock(Client& client, std::uint64_t number) {
    Builder builder;
    builder.Finish(wire::CreateUnlockRequest(builder, number));
    return ask<wire::StatusReply>(client, wire::Type::unlock, builder);
  }

  std::map<std::uint64_t, std::uint64_t> epochs_;  // by number: in which the lock was granted last
};

TEST_F(MetaLocks, ASilentHolderLosesItsLockToWhoeverWaits) {
  ASSERT_TRUE(start().ok());
  Client silent = connect(0, 1);
  Client other = connect(0, 2);
  const wire::Capability capability = open_file(silent);
  ASSERT_TRUE(lock(silent, capability, 1, 1_s).ok());
  EXPECT_EQ(last<wire::LockReply>().lease(), options_.lock_lease.count());
  const Nanos before = simulation_.now();
  EXPECT_TRUE(lock(other, capability, 1, 100_s).ok());
  EXPECT_GE(simulation_.now() - before, options_.lock_lease);
  EXPECT_LE(simulation_.now() - before, options_.lock_lease * 2);
  EXPECT_EQ(unlock(silent, 1).code(), Code::not_found);
}

TEST_F(MetaLocks, TheNextSessionOfAClientDoesNotInherit) {
  ASSERT_TRUE(start().ok());
  Client first = connect(0, 1);
  Client other = connect(0, 2);
  const wire::Capability capability = open_file(first);
  ASSERT_TRUE(lock(first, capability, 1, 1_s).ok());
  EXPECT_EQ(lock(other, capability, 1, 1_s).code(), Code::timed_out);
  Client second = connect(0, 1);
  EXPECT_TRUE(lock(other, capability, 2, 1_s).ok());
  EXPECT_EQ(unlock(second, 1).code(), Code::not_found);
  EXPECT_EQ(lock(second, capability, 1, 1_s, true).code(), Code::stale)
      << "the server was there all the time";
}

TEST_F(MetaLocks, AfterARestartOnlyHoldersAreServedDuringTheGrace) {
  ASSERT_TRUE(start().ok());
  Client holder = connect(0, 1);
  const wire::Capability capability = open_file(holder);
  ASSERT_TRUE(lock(holder, capability, 1, 1_s).ok());
  stop();
  ASSERT_TRUE(start().ok());
  holder = connect(0, 1);
  Client other = connect(0, 2);
  const Nanos before = simulation_.now();
  EXPECT_TRUE(lock(holder, capability, 1, 1_s, true).ok());
  EXPECT_LT(simulation_.now() - before, 1_s);
  EXPECT_EQ(lock(other, capability, 2, 1_s, true).code(), Code::stale) << "it is held";
  EXPECT_TRUE(unlock(holder, 1).ok());
  EXPECT_TRUE(lock(other, capability, 1, 1_s).ok());
  EXPECT_GE(simulation_.now() - before, options_.lock_grace - 1_s);
}

// The keeper of a client's locks, and a transfer that is not sure.
TEST_F(MetaLocks, AfterARestartAHolderMayAskTwiceAtOnce) {
  ASSERT_TRUE(start().ok());
  Client holder = connect(0, 1);
  const wire::Capability capability = open_file(holder);
  ASSERT_TRUE(lock(holder, capability, 1, 1_s).ok());
  stop();
  ASSERT_TRUE(start().ok());
  holder = connect(0, 1);
  Builder builder;
  builder.Finish(
      wire::CreateLockRequest(builder, &capability, 1, 0, 100, true, true, (1_s).count(), epochs_[1]));
  std::vector<Task<Result<Channel::Reply>>> asked;
  for (int i = 0; i < 2; ++i)
    asked.push_back(holder.channel->call(wire::request_type(wire::Type::lock), wire::bytes(builder)));
  for (const auto& reply : run(when_all(std::move(asked)))) {
    ASSERT_TRUE(reply.ok());
    EXPECT_TRUE(wire::status_of(*wire::parse<wire::LockReply>(reply->payload)).ok());
  }
}

TEST_F(MetaLocks, WhatOthersHaveGotIsNotGivenBackAfterARestart) {
  ASSERT_TRUE(start().ok());
  Client gone = connect(0, 1);
  Client other = connect(0, 2);
  const wire::Capability capability = open_file(gone);
  ASSERT_TRUE(lock(gone, capability, 1, 1_s).ok());
  ASSERT_TRUE(lock(other, capability, 7, 100_s).ok()) << "the lease of the first is over";
  ASSERT_TRUE(unlock(other, 7).ok());
  for (int restart = 0; restart < 2; ++restart) {
    stop();
    ASSERT_TRUE(start().ok());
    gone = connect(0, 1);
    EXPECT_EQ(lock(gone, capability, 1, 1_s, true).code(), Code::stale);
  }
}

TEST_F(MetaLocks, WhoeverWasAwayForAWholeGraceHasLostHisLockAlsoAfterTheNextRestart) {
  ASSERT_TRUE(start().ok());
  Client away = connect(0, 1);
  const wire::Capability capability = open_file(away);
  ASSERT_TRUE(lock(away, capability, 1, 1_s).ok());
  stop();
  ASSERT_TRUE(start().ok());
  Client other = connect(0, 2);
  ASSERT_TRUE(lock(other, capability, 7, 100_s).ok()) << "the grace is over";
  stop();
  ASSERT_TRUE(start().ok());
  other = connect(0, 2);
  ASSERT_TRUE(lock(other, capability, 7, 1_s, true).ok());
  ASSERT_TRUE(unlock(other, 7).ok());
  away = connect(0, 1);
  EXPECT_EQ(lock(away, capability, 1, 1_s, true).code(), Code::stale) << "others had it meanwhile";
}

TEST_F(MetaLocks, TwoRestartsWithinAGraceCostNobodyHisLock) {
  ASSERT_TRUE(start().ok());
  Client quick = connect(0, 1);
  Client slow = connect(0, 2);
  const wire::Capability capability = open_file(quick);
  ASSERT_TRUE(lock(slow, capability, 1, 1_s).ok());
  Builder builder;
  builder.Finish(wire::CreateLockRequest(builder, &capability, 2, 200, 100, true, false, (1_s).count()));
  ASSERT_TRUE(ask<wire::LockReply>(quick, wire::Type::lock, builder).ok());
  epochs_[2] = last<wire::LockReply>().epoch();
  stop();
  ASSERT_TRUE(start().ok());
  quick = connect(0, 1);
  builder.Clear();
  builder.Finish(
      wire::CreateLockRequest(builder, &capability, 2, 200, 100, true, true, (1_s).count(), epochs_[2]));
  ASSERT_TRUE(ask<wire::LockReply>(quick, wire::Type::lock, builder).ok());
  stop();
  ASSERT_TRUE(start().ok());
  slow = connect(0, 2);
  EXPECT_TRUE(lock(slow, capability, 1, 1_s, true).ok());
}

TEST_F(MetaLocks, WhatNobodyElseGotIsGivenBackAfterARestart) {
  ASSERT_TRUE(start().ok());
  Client holder = connect(0, 1);
  const wire::Capability capability = open_file(holder);
  ASSERT_TRUE(lock(holder, capability, 1, 1_s).ok());
  holder = connect(0, 1);  // which loses it
  stop();
  ASSERT_TRUE(start().ok());
  holder = connect(0, 1);
  EXPECT_TRUE(lock(holder, capability, 1, 1_s, true).ok());
}

TEST_F(MetaLocks, WhoeverHoldsALockMayAskWhetherHeDoes) {
  ASSERT_TRUE(start().ok());
  Client holder = connect(0, 1);
  const wire::Capability capability = open_file(holder);
  ASSERT_TRUE(lock(holder, capability, 1, 1_s).ok());
  EXPECT_TRUE(lock(holder, capability, 1, 1_s, true).ok());
  EXPECT_EQ(lock(holder, capability, 2, 1_s, true).code(), Code::stale);
  ASSERT_TRUE(unlock(holder, 1).ok());
  EXPECT_EQ(lock(holder, capability, 1, 1_s, true).code(), Code::stale);
}

TEST_F(MetaLocks, ASilentHolderKeepsItsPlacesInQueues) {
  ASSERT_TRUE(start().ok());
  Client silent = connect(0, 1);
  Client other = connect(0, 2);
  const wire::Capability capability = open_file(silent);
  ASSERT_TRUE(lock(silent, capability, 1, 1_s).ok());
  Builder builder;
  builder.Finish(wire::CreateLockRequest(builder, &capability, 2, 0, 100, true, false, (1000_s).count()));
  std::optional<Result<Channel::Reply>> waiting;
  Scope scope(simulation_.executor());
  const auto keep = [](Channel& channel, std::span<const std::byte> message,
                       std::optional<Result<Channel::Reply>>& reply) -> Task<void> {
    reply.emplace(co_await channel.call(wire::request_type(wire::Type::lock), message));
  };
  scope.spawn(keep(*silent.channel, wire::bytes(builder), waiting));
  EXPECT_TRUE(lock(other, capability, 1, 100_s).ok());
  ASSERT_TRUE(waiting.has_value() && waiting->ok()) << "it was before the other";
  EXPECT_TRUE(wire::status_of(*wire::parse<wire::LockReply>((*waiting)->payload)).ok());
}

TEST_F(MetaLocks, WithoutLocksARestartNeedsNoGrace) {
  ASSERT_TRUE(start().ok());
  stop();
  ASSERT_TRUE(start().ok());
  Client client = connect(0, 1);
  const wire::Capability capability = open_file(client);
  const Nanos before = simulation_.now();
  EXPECT_TRUE(lock(client, capability, 1, 1_s).ok());
  EXPECT_LT(simulation_.now() - before, 1_s);
}

TEST_F(MetaLocks, AForgedOrForeignCapabilityGetsNoLock) {
  ASSERT_TRUE(start().ok());
  Client owner = connect(0, 1);
  Client other = connect(1000, 2);
  const wire::Capability capability = open_file(owner);
  EXPECT_EQ(lock(other, capability, 1, 1_s).code(), Code::permission);
  const wire::Capability forged(capability.file() + 1, capability.expiry(), capability.rights(),
                                capability.uid());
  EXPECT_EQ(lock(owner, forged, 1, 1_s).code(), Code::permission);
}

TEST_F(MetaLocks, ASessionHasALimitedNumberOfLocks) {
  ASSERT_TRUE(start().ok());
  Client client = connect(0, 1);
  const wire::Capability capability = open_file(client);
  Status status;
  std::uint64_t number = 0;
  while (status.ok() && number < 10'000) {
    ++number;
    Builder builder;
    builder.Finish(
        wire::CreateLockRequest(builder, &capability, number, number, 1, true, false, Nanos(1_s).count()));
    status = ask<wire::LockReply>(client, wire::Type::lock, builder);
  }
  EXPECT_EQ(status.code(), Code::busy);
  EXPECT_TRUE(unlock(client, 1).ok());
  EXPECT_EQ(lock(client, capability, 2, 1_s).code(), Code::invalid) << "the number is in use";
}

TEST_F(MetaLocks, WhoeverIsGrantedBytesIsToldOfTheLocksThatWereLostOnThem) {
  ASSERT_TRUE(start().ok());
  Client silent = connect(0, 1);
  Client other = connect(0, 2);
  const wire::Capability capability = open_file(silent);
  ASSERT_TRUE(lock(silent, capability, 7, 1_s).ok());
  EXPECT_EQ(last<wire::LockReply>().proof(), nullptr) << "nothing was lost";
  const std::uint64_t epoch = last<wire::LockReply>().epoch();
  ASSERT_TRUE(lock(other, capability, 1, 100_s).ok());
  const wire::LockReply& reply = last<wire::LockReply>();
  ASSERT_NE(reply.lost(), nullptr);
  ASSERT_EQ(reply.lost()->size(), 1U);
  EXPECT_EQ(reply.lost()->Get(0)->client(), 1U);
  EXPECT_EQ(reply.lost()->Get(0)->number(), 7U);
  EXPECT_NE(reply.proof(), nullptr);
  EXPECT_EQ(reply.epoch(), epoch);
  EXPECT_TRUE(unlock(other, 1).ok());
  ASSERT_TRUE(lock(silent, capability, 8, 1_s).ok());
  EXPECT_TRUE(unlock(silent, 8).ok());
  ASSERT_TRUE(lock(other, capability, 2, 1_s).ok());
  EXPECT_EQ(last<wire::LockReply>().lost()->size(), 1U) << "what was given back was not lost";
}

TEST_F(MetaLocks, AfterARestartLocksOfEarlierEpochsAreLost) {
  ASSERT_TRUE(start().ok());
  Client holder = connect(0, 1);
  const wire::Capability capability = open_file(holder);
  ASSERT_TRUE(lock(holder, capability, 1, 1_s).ok());
  const std::uint64_t before = last<wire::LockReply>().epoch();
  stop();
  ASSERT_TRUE(start().ok());
  Client other = connect(0, 2);
  ASSERT_TRUE(lock(other, capability, 1, 100_s).ok());
  EXPECT_GT(last<wire::LockReply>().epoch(), before);
  EXPECT_EQ(last<wire::LockReply>().lost_epoch(), last<wire::LockReply>().epoch());
  EXPECT_NE(last<wire::LockReply>().proof(), nullptr);
}

}  // namespace
}  // namespace tutti
