#include "client/server_session.h"

#include <algorithm>

#include "tests/client/scripted_server.h"

namespace tutti {
namespace {

class ServerSessionTest : public ScriptedServerTest {
 protected:
  [[nodiscard]] std::ptrdiff_t received(wire::Type type) const {
    return std::count(received_.begin(), received_.end(), type);
  }
  // Runs the call while `meanwhile` happens after a time.
  template <typename Action>
  Result<Channel::Reply> call_while(Nanos after, Action meanwhile) {
    std::optional<Result<Channel::Reply>> result;
    Scope scope(simulation_.executor());
    scope.spawn(keep(call(), result));
    pass(after);
    meanwhile();
    EXPECT_TRUE(simulation_.run_until([&] { return result.has_value(); }));
    return *std::move(result);
  }

  static Task<void> keep(Task<Result<Channel::Reply>> task, std::optional<Result<Channel::Reply>>& result) {
    result.emplace(co_await std::move(task));
  }
};

TEST_F(ServerSessionTest, CallsShareOneSession) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(run(call()).ok());
  EXPECT_EQ(sessions_, 1);
  EXPECT_EQ(received(wire::Type::commit), 3);
}

TEST_F(ServerSessionTest, BusyIsRepeatedWithGrowingPausesUntilItIsServed) {
  std::vector<Nanos> asked;
  script_ = [&](wire::Type) {
    asked.push_back(simulation_.now());
    return status_reply(asked.size() < 6 ? Code::busy : Code::ok);
  };
  EXPECT_TRUE(run(call()).ok());
  ASSERT_EQ(asked.size(), 6U);
  for (std::size_t i = 1; i < asked.size(); ++i) {
    const Nanos pause = asked[i] - asked[i - 1];
    const Nanos longest = 5_ms * (1 << (i - 1));
    EXPECT_GE(pause, longest / 2) << i;
    EXPECT_LE(pause, longest + 1_ms) << i;
  }
}

TEST_F(ServerSessionTest, OtherErrorsAreFinal) {
  script_ = [](wire::Type) { return status_reply(Code::permission); };
  EXPECT_EQ(run(call()).code(), Code::permission);
  script_ = [](wire::Type) { return status_reply(Code::expired); };
  EXPECT_EQ(run(call()).code(), Code::expired) << "nobody renews for a plain call";
  EXPECT_EQ(received(wire::Type::commit), 2);
}

TEST_F(ServerSessionTest, AReplyThatDoesNotParseIsAnErrorThatNamesTheServer) {
  script_ = [](wire::Type) {
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(builder.CreateString("no table at all"));
    return builder.Release();
  };
  const auto reply = run(call());
  EXPECT_EQ(reply.code(), Code::malformed);
  EXPECT_NE(reply.status().message().find("the server"), std::string::npos) << reply.status().message();
}

TEST_F(ServerSessionTest, ALostConnectionIsMadeAnewAndTheRequestRepeated) {
  ASSERT_TRUE(run(call()).ok());
  int unanswered = 0;
  script_ = [&](wire::Type) -> std::optional<flatbuffers::DetachedBuffer> {
    ++unanswered;
    return std::nullopt;
  };
  const auto reply = call_while(1_s, [&] {
    stop();
    script_ = [](wire::Type) { return status_reply(Code::ok); };
    start();
  });
  EXPECT_TRUE(reply.ok()) << reply.status().to_string();
  EXPECT_EQ(unanswered, 1);
  EXPECT_EQ(sessions_, 2);
}

TEST_F(ServerSessionTest, AServerThatNeverAnsweredIsGivenUpAfterTheFirstPatience) {
  stop();
  EXPECT_EQ(run(call()).code(), Code::timed_out);
  EXPECT_GE(simulation_.now(), info_.first_patience);
  EXPECT_LE(simulation_.now(), info_.first_patience + 3_s);
}

TEST_F(ServerSessionTest, AServerThatWasThereIsGivenUpAfterThePatienceSinceItsLastWord) {
  ASSERT_TRUE(run(call()).ok());
  stop();
  const Nanos before = simulation_.now();
  const auto reply = run(call());
  EXPECT_EQ(reply.code(), Code::timed_out);
  EXPECT_NE(reply.status().message().find("the server"), std::string::npos);
  EXPECT_GE(simulation_.now() - before, info_.patience);
  EXPECT_LE(simulation_.now() - before, info_.patience + 3_s);
}

TEST_F(ServerSessionTest, ALongQueueIsNotADeadServer) {
  script_ = [](wire::Type type) -> std::optional<flatbuffers::DetachedBuffer> {
    if (type == wire::Type::status) return status_reply(Code::ok);  // the sign of life
    return std::nullopt;
  };
  std::optional<Result<Channel::Reply>> none;
  Scope scope(simulation_.executor());
  scope.spawn(keep(call(), none));
  pass(info_.patience * 5);
  EXPECT_FALSE(none.has_value()) << "it goes on waiting";
  EXPECT_EQ(received(wire::Type::commit), 1);
  EXPECT_GE(received(wire::Type::status), 15) << "asked every quarter of the patience";
  EXPECT_EQ(sessions_, 1);
}

TEST_F(ServerSessionTest, ASilentServerIsConnectedAnew) {
  script_ = [&](wire::Type) -> std::optional<flatbuffers::DetachedBuffer> {
    if (sessions_ == 1) return std::nullopt;
    return status_reply(Code::ok);
  };
  const auto reply = run(call());
  EXPECT_TRUE(reply.ok()) << reply.status().to_string();
  EXPECT_EQ(sessions_, 2);
  EXPECT_EQ(received(wire::Type::commit), 2);
  EXPECT_LE(simulation_.now(), info_.patience) << "noticed and repaired within the patience";
}

TEST_F(ServerSessionTest, ConnectOnceDoesNotRepeat) {
  stop();
  const Nanos before = simulation_.now();
  EXPECT_FALSE(run(session_->connect_once(2_s)).ok());
  EXPECT_LE(simulation_.now() - before, 2_s);
}

}  // namespace
}  // namespace tutti
