#include "client/capability_holder.h"

#include <algorithm>

#include "tests/client/scripted_server.h"

namespace tutti {
namespace {

struct AskCommit {
  auto operator()(flatbuffers::FlatBufferBuilder& builder, const wire::Capability& capability) const {
    return wire::CreateCommitRequest(builder, &capability, 0);
  }
};

wire::Capability capability(std::int64_t expiry) { return {5, expiry, 0, 0}; }

// Here one server plays both parts: requests of type commit find the capability expired while `expired_` says so.
class CapabilityHolderTest : public ScriptedServerTest {
 protected:
  CapabilityHolderTest() {
    script_ = [this](wire::Type type) -> std::optional<flatbuffers::DetachedBuffer> {
      if (type == wire::Type::commit) return status_reply(expired_ ? Code::expired : Code::ok);
      if (type != wire::Type::renew || refused_) return status_reply(Code::permission);
      if (mends_) expired_ = false;
      flatbuffers::FlatBufferBuilder builder;
      const wire::Capability renewed = capability(++renewals_);
      builder.Finish(wire::CreateCapabilityReply(builder, 0, 0, &renewed));
      return builder.Release();
    };
  }
  static Task<Status> commit(ServerSession& session, CapabilityHolder& holder) {
    CapabilityRequest<wire::StatusReply, AskCommit> request(wire::Type::commit, session, holder, AskCommit());
    co_return co_await session.ask(request);
  }
  static Task<void> keep(Task<Status> task, std::vector<Status>& results) {
    results.push_back(co_await std::move(task));
  }
  // So many at once.
  std::vector<Status> commit_many(std::size_t count) {
    std::vector<Status> results;
    Scope scope(simulation_.executor());
    for (std::size_t i = 0; i < count; ++i) scope.spawn(keep(commit(*session_, holder_), results));
    EXPECT_TRUE(simulation_.run_until([&] { return results.size() == count; }));
    return results;
  }
  [[nodiscard]] std::ptrdiff_t received(wire::Type type) const {
    return std::count(received_.begin(), received_.end(), type);
  }

  bool expired_ = true;
  bool mends_ = true;     // a renewal makes the capability good
  bool refused_ = false;  // it is not renewed
  std::int64_t renewals_ = 0;
  CapabilityHolder holder_{simulation_.executor(), *session_, capability(0), wire::kOpenRead};
};

TEST_F(CapabilityHolderTest, AnExpiredCapabilityIsRenewedAndTheRequestRepeated) {
  EXPECT_TRUE(run(commit(*session_, holder_)).ok());
  EXPECT_EQ(holder_.capability().expiry(), 1);
  EXPECT_EQ(received(wire::Type::commit), 2);
}

TEST_F(CapabilityHolderTest, ManyRequestsShareOneRenewal) {
  for (const Status& status : commit_many(20)) EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(renewals_, 1);
}

TEST_F(CapabilityHolderTest, ManyRequestsShareOneRefusal) {
  refused_ = true;
  for (const Status& status : commit_many(20)) EXPECT_EQ(status.code(), Code::permission);
  EXPECT_EQ(received(wire::Type::renew), 1);
  EXPECT_EQ(received(wire::Type::open), 1) << "opening anew was tried, too";
}

TEST_F(CapabilityHolderTest, ARenewalThatIsGivenUpIsTakenOverByWhoeverWaits) {
  std::vector<Status> results;
  Scope second(simulation_.executor());
  {
    std::vector<Status> none;
    Scope first(simulation_.executor());
    first.spawn(keep(commit(*session_, holder_), none));
    second.spawn(keep(commit(*session_, holder_), results));
    ASSERT_TRUE(simulation_.run_until([&] { return received(wire::Type::renew) == 1; }));
  }
  expired_ = true;
  EXPECT_TRUE(simulation_.run_until([&] { return !results.empty(); }));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_TRUE(results[0].ok()) << results[0].to_string();
  EXPECT_EQ(received(wire::Type::renew), 2);
}

TEST_F(CapabilityHolderTest, OneThatStaysExpiredIsGivenUp) {
  mends_ = false;
  EXPECT_EQ(run(commit(*session_, holder_)).code(), Code::expired);
  EXPECT_EQ(renewals_, 3);
}

TEST_F(CapabilityHolderTest, OneThatNobodyRenewsIsExpired) {
  CapabilityHolder fixed(simulation_.executor(), capability(0));
  EXPECT_EQ(run(commit(*session_, fixed)).code(), Code::expired);
  EXPECT_EQ(received(wire::Type::commit), 1);
}

}  // namespace
}  // namespace tutti
