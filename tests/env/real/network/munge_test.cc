// Against a real munged, started for the test with its own key and socket.
#include "env/real/network/munge.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "env/combine.h"
#include "env/real/network/auth.h"
#include "env/real/network/socket_network.h"
#include "tests/env/real/network/tcp_support.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

constexpr const char* kMunged = "/usr/sbin/munged";

class Munge : public testing::Test {
 protected:
  void SetUp() override {
    if (const Status available = munge_available(); !available.ok()) GTEST_SKIP() << available.message();
    if (::access(kMunged, X_OK) != 0) GTEST_SKIP() << "munged is not installed (package munge)";
    start_munged();
    options_.kind = AuthKind::munge;
    options_.munge_socket = socket_;
    options_.root_squash = false;
  }
  void TearDown() override {
    if (munged_ <= 0) return;
    ::kill(munged_, SIGTERM);
    ::waitpid(munged_, nullptr, 0);
  }
  void start_munged() {
    // munged refuses directories that others may write to, and /tmp is one unless it is told to relax.
    std::filesystem::permissions(directory_.path(), std::filesystem::perms(0711));
    const std::string key = test::make_key(directory_ / "key", 'm', 0600, 64);
    const std::array<std::string, 8> arguments = {
        "munged",
        "--foreground",
        "--force",
        "--key-file=" + key,
        "--socket=" + socket_,
        "--pid-file=" + directory_ / "pid",
        "--seed-file=" + directory_ / "seed",
        "--log-file=" + directory_ / "log",
    };
    munged_ = ::fork();
    ASSERT_GE(munged_, 0);
    if (munged_ == 0) {
      const int log = ::open((directory_ / "output").c_str(), O_WRONLY | O_CREAT, 0600);
      ::dup2(log, 1);
      ::dup2(log, 2);
      std::array<char*, 9> pointers{};
      for (std::size_t i = 0; i < arguments.size(); ++i)
        pointers[i] = const_cast<char*>(arguments[i].c_str());
      ::execv(kMunged, pointers.data());
      ::_exit(127);
    }
    for (int i = 0; i < 1000 && !answers(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!answers()) GTEST_SKIP() << "munged does not start here";
  }
  [[nodiscard]] bool answers() const {
    struct stat info {};
    return ::stat(socket_.c_str(), &info) == 0 && munge_credential(socket_, {}, std::nullopt).ok();
  }

  TemporaryDirectory directory_;
  std::string socket_ = directory_ / "socket";
  pid_t munged_ = -1;
  AuthOptions options_;
  Exchange exchange_{fresh_nonce(), fresh_nonce()};
};

TEST_F(Munge, CredentialNamesTheUser) {
  Authenticator both(options_);
  const auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok()) << response.status().to_string();
  EXPECT_LT(response->size(), 1024U) << "must fit into a frame of the handshake";
  const auto verified = both.verify(exchange_, *response, Nanos(0));
  ASSERT_TRUE(verified.ok()) << verified.status().to_string();
  EXPECT_EQ(verified->peer.uid, ::geteuid());
  EXPECT_EQ(verified->peer.gid, ::getegid());
}

TEST_F(Munge, CredentialIsGoodOnce) {
  Authenticator both(options_);
  const auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok());
  EXPECT_TRUE(both.verify(exchange_, *response, Nanos(0)).ok());
  const auto again = both.verify(exchange_, *response, Nanos(0));
  EXPECT_EQ(again.code(), Code::permission) << again.status().to_string();
}

TEST_F(Munge, CredentialOfAnotherConnectionIsRefused) {
  Authenticator both(options_);
  const auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok());
  const Exchange other{exchange_.client, fresh_nonce()};
  EXPECT_EQ(both.verify(other, *response, Nanos(0)).code(), Code::permission);
}

TEST_F(Munge, CredentialForOneServerIsRefusedByAnother) {
  Authenticator both(options_);
  exchange_.identity = "c1/data.0";
  const auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok());
  exchange_.identity = "c1/data.1";
  EXPECT_EQ(both.verify(exchange_, *response, Nanos(0)).code(), Code::permission);
}

TEST_F(Munge, ServerThatOpensTheCredentialProvesItself) {
  Authenticator both(options_);
  exchange_.secret = fresh_nonce();
  const auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok());
  Exchange known = exchange_;
  known.secret = {};
  const auto verified = both.verify(known, *response, Nanos(0));
  ASSERT_TRUE(verified.ok()) << verified.status().to_string();
  EXPECT_TRUE(both.check(exchange_, {}, Authenticator::sign(*verified, known, {})).ok());
  EXPECT_EQ(both.check(exchange_, {}, Proof{}).code(), Code::permission);
}

TEST_F(Munge, NobodyButTheServersUserOpensTheCredential) {
  options_.server_uid = ::geteuid() + 1;
  Authenticator both(options_);
  const auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok()) << response.status().to_string();
  const auto verified = both.verify(exchange_, *response, Nanos(0));
  if (::geteuid() == 0 && verified.ok()) GTEST_SKIP() << "this munged lets root open everything";
  EXPECT_EQ(verified.code(), Code::permission);
}

TEST_F(Munge, ForgedCredentialIsRefused) {
  Authenticator both(options_);
  auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok());
  (*response)[response->size() / 2] ^= std::byte{1};
  EXPECT_EQ(both.verify(exchange_, *response, Nanos(0)).code(), Code::permission);
  const std::string word = "root";
  EXPECT_EQ(both.verify(exchange_, std::as_bytes(std::span(word)), Nanos(0)).code(), Code::permission);
}

TEST_F(Munge, RootOfAnotherHostIsNobody) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  options_.root_squash = true;
  Authenticator both(options_);
  const auto response = both.respond(exchange_);
  ASSERT_TRUE(response.ok());
  const auto verified = both.verify(exchange_, *response, Nanos(0));
  ASSERT_TRUE(verified.ok()) << verified.status().to_string();
  EXPECT_EQ(verified->peer.uid, kNobody);
  EXPECT_EQ(verified->peer.gid, kNobody);
  for (const std::uint32_t group : verified->peer.groups) EXPECT_NE(group, 0U);
}

TEST_F(Munge, WithoutMungedTheMessageSaysSo) {
  options_.munge_socket = directory_ / "nobody";
  Authenticator client(options_);
  const auto response = client.respond(exchange_);
  EXPECT_EQ(response.code(), Code::unavailable);
  EXPECT_NE(response.status().message().find("munged"), std::string::npos) << response.status().message();
}

TEST_F(Munge, ConnectionsByTcpAreIdentified) {
  Loop loop;
  SocketOptions options;
  options.auth = options_;
  SocketNetwork network(loop, options);
  auto listener = network.listen("tcp:" + test::loopback_host() + ":0");
  ASSERT_TRUE(listener.ok()) << listener.status().to_string();
  const auto client = loop.run(network.connect(SocketNetwork::address_of(**listener)));
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  const auto server = loop.run((*listener)->accept());
  EXPECT_EQ((*server)->peer().uid, ::geteuid());
}

}  // namespace
}  // namespace tutti
