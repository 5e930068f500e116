#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "env/combine.h"
#include "env/real/network/address.h"
#include "env/real/network/auth.h"
#include "env/real/network/frame.h"
#include "env/real/network/read_grants.h"
#include "env/real/network/socket_network.h"
#include "tests/env/conformance/network_suite.h"
#include "tests/env/real/network/tcp_support.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

using namespace conformance;
using namespace conformance::network_suite;
using test::loopback_host;
using test::make_key;

template <Protection kProtection>
struct TcpWorldOf {
  TcpWorldOf() : key(make_key(directory / "key", 'k')), network(loop, options()) {
    // The suite wants one string for listening and connecting: let the kernel find a free port.
    auto listener = network.listen("tcp:" + loopback_host() + ":0");
    where = listener.ok() ? SocketNetwork::address_of(**listener) : "";
  }
  [[nodiscard]] SocketOptions options() const {
    SocketOptions result;
    result.auth = test::with_keys({key});
    result.protection = kProtection;
    return result;
  }
  Clock& clock() { return loop.clock(); }
  Network& server_network() { return network; }
  Network& client_network() { return network; }
  std::string address() { return where; }
  std::string silent_address() { return "tcp:" + loopback_host() + ":1"; }
  template <typename T>
  T run(Task<T> task) {
    return loop.run(std::move(task));
  }
  TemporaryDirectory directory;
  std::string key;
  Loop loop;
  SocketNetwork network;
  std::string where;
};

using TcpWorld = TcpWorldOf<Protection::none>;
using ProtectedTcpWorld = TcpWorldOf<Protection::authenticate>;
using EncryptedTcpWorld = TcpWorldOf<Protection::encrypt>;
INSTANTIATE_TYPED_TEST_SUITE_P(Tcp, NetworkSuite, testing::Types<TcpWorld>);
INSTANTIATE_TYPED_TEST_SUITE_P(ProtectedTcp, NetworkSuite, testing::Types<ProtectedTcpWorld>);
INSTANTIATE_TYPED_TEST_SUITE_P(EncryptedTcp, NetworkSuite, testing::Types<EncryptedTcpWorld>);

// A peer that speaks bytes, not the protocol.
class RawTcpPeer {
 public:
  explicit RawTcpPeer(const std::string& address) {
    const auto found = resolve(*parse_address(address), false);
    fd_ = ::socket(found->front().family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
    connected_ = ::connect(fd_, found->front().generic(), found->front().length) == 0;
  }
  RawTcpPeer(const RawTcpPeer&) = delete;
  RawTcpPeer& operator=(const RawTcpPeer&) = delete;
  ~RawTcpPeer() { ::close(fd_); }
  [[nodiscard]] bool connected() const { return connected_; }
  void send(std::span<const std::byte> bytes) const { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void send_frame(TransportFrame type, std::span<const std::byte> payload) const {
    FrameHeader header;
    header.type = static_cast<std::uint16_t>(type);
    header.length = static_cast<std::uint32_t>(payload.size());
    send(bytes_of(header));
    send(payload);
    send(std::span(kZeros).first(padding(payload.size())));
  }
  // What has come so far.
  [[nodiscard]] ssize_t receive(std::span<std::byte> into) const {
    return ::recv(fd_, into.data(), into.size(), MSG_DONTWAIT);
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

class TcpListening : public testing::Test {
 protected:
  void SetUp() override {
    options_.auth = test::with_keys({make_key(directory_ / "key", 'k')});
    start();
  }
  void start() {
    local_.reset();
    listener_.reset();
    network_ = std::make_unique<SocketNetwork>(loop_, options_);
    auto made = network_->listen("tcp:" + loopback_host() + ":0");
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    listener_ = *std::move(made);
    address_ = SocketNetwork::address_of(*listener_);
  }
  void listen_locally() {
    auto made = network_->listen("unix:" + directory_ / "s");
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    local_ = *std::move(made);
  }
  AcceptedConnection connect(Network& network) { return loop_.run(network.connect(address_)); }
  void expect_alive() {
    const auto client = connect(*network_);
    ASSERT_TRUE(client.ok()) << client.status().to_string();
    const auto server = loop_.run(listener_->accept());
    ASSERT_TRUE((*client)->send(kType, 9, {}).ok());
    EXPECT_EQ(loop_.run(receive_copy(**server)).id, 9U);
  }
  Code code_with(AuthOptions auth) {
    SocketOptions options;
    options.auth = std::move(auth);
    SocketNetwork network(loop_, options);
    return connect(network).code();
  }

  TemporaryDirectory directory_;
  Loop loop_;
  SocketOptions options_;
  std::unique_ptr<SocketNetwork> network_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Listener> local_;
  std::string address_;
};

TEST_F(TcpListening, HolderOfTheKeyIsTheOwner) {
  options_.auth.owner = Owner{4321, 1234};
  start();
  const auto client = connect(*network_);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  const auto server = loop_.run(listener_->accept());
  EXPECT_EQ((*server)->peer().uid, 4321U);
  EXPECT_EQ((*server)->peer().gid, 1234U);
  EXPECT_FALSE((*server)->needs_segments());
}

TEST_F(TcpListening, WrongKeyIsRefusedWithAWord) {
  EXPECT_EQ(code_with(test::with_keys({make_key(directory_ / "other", 'x')})), Code::permission);
  expect_alive();
}

TEST_F(TcpListening, OtherKindOfAuthenticationIsRefused) {
  AuthOptions munge;
  munge.kind = AuthKind::munge;
  EXPECT_NE(code_with(munge), Code::ok);
  EXPECT_EQ(code_with(AuthOptions()), Code::permission) << "auth = local never leaves the host";
  expect_alive();
}

TEST_F(TcpListening, ClientThatMeansAnotherServerIsRefused) {
  const auto code_for = [&](const std::string& meant) {
    SocketOptions options = options_;
    options.identities[address_] = meant;
    SocketNetwork network(loop_, options);
    return connect(network).code();
  };
  EXPECT_EQ(code_for(address_), Code::ok) << "without a name the address is it";
  EXPECT_TRUE(loop_.run(listener_->accept()).ok());
  EXPECT_EQ(code_for("c1/data.1"), Code::permission);
  expect_alive();
}

TEST_F(TcpListening, BothSidesWantTheSameProtection) {
  SocketOptions other = options_;
  other.protection = Protection::authenticate;
  SocketNetwork network(loop_, other);
  const auto refused = connect(network);
  EXPECT_EQ(refused.code(), Code::permission);
  EXPECT_NE(refused.status().message().find("protect"), std::string::npos) << refused.status().message();
  expect_alive();
}

TEST_F(TcpListening, NothingIsServedBeforeAuthentication) {
  std::array<std::byte, 64> answer{};
  for (const TransportFrame type : {TransportFrame::pull, TransportFrame::push_data, TransportFrame::response,
                                    static_cast<TransportFrame>(kType)}) {
    const RawTcpPeer peer(address_);
    ASSERT_TRUE(peer.connected());
    peer.send_frame(type, pattern(40, 1));
    loop_.run(sleep_for(loop_.clock(), 2_ms));
    EXPECT_LE(peer.receive(answer), 0) << "type " << static_cast<int>(type);
  }
  const RawTcpPeer large(address_);
  FrameHeader header;
  header.type = 1;
  header.length = 100'000;
  large.send(bytes_of(header));
  loop_.run(sleep_for(loop_.clock(), 2_ms));
  EXPECT_EQ(large.receive(answer), 0) << "a long frame is not waited for";
  expect_alive();
}

TEST_F(TcpListening, GarbageDoesNotKillTheListener) {
  Random random(11);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const RawTcpPeer peer(address_);
    std::vector<std::byte> bytes = pattern(random.below(400), i);
    if (random.chance(0.5) && bytes.size() >= sizeof(FrameHeader)) {
      FrameHeader header;
      header.type = static_cast<std::uint16_t>(random.below(80));
      header.length = static_cast<std::uint32_t>(random.below(600));
      std::memcpy(bytes.data(), &header, sizeof(header));
    }
    peer.send(bytes);
    if (i % 10 == 0) loop_.run(sleep_for(loop_.clock(), 1_us));
  }
  expect_alive();
}

TEST_F(TcpListening, SilentCrowdMakesPlaceForAnHonestPeer) {
  options_.handshakes_at_once = 8;
  options_.handshake_limit = 60_s;
  start();
  std::vector<std::unique_ptr<RawTcpPeer>> crowd;
  for (int i = 0; i < 100; ++i) crowd.push_back(std::make_unique<RawTcpPeer>(address_));
  expect_alive();
  std::array<std::byte, 1> byte{};
  EXPECT_EQ(crowd.front()->receive(byte), 0) << "the oldest had to go";
}

TEST_F(TcpListening, ClientOnTheSameHostTakesTheLocalPath) {
  listen_locally();
  const auto client = connect(*network_);
  ASSERT_TRUE(client.ok()) << client.status().to_string();
  const auto server = loop_.run(local_->accept());
  ASSERT_TRUE(server.ok());
  EXPECT_EQ((*server)->peer().pid, ::getpid()) << "named by the kernel";
  ASSERT_TRUE((*client)->send(kType, 7, {}).ok());
  EXPECT_EQ(loop_.run(receive_copy(**server)).id, 7U);
}

TEST_F(TcpListening, LocalPathIsNotTakenAsAnotherUser) {
  options_.auth.owner = Owner{::geteuid() + 1, ::getegid()};
  start();
  listen_locally();
  expect_alive();  // arrives by TCP
}

TEST_F(TcpListening, LocalPathIsNotTakenWhenSwitchedOff) {
  options_.take_local_path = false;
  start();
  listen_locally();
  expect_alive();
}

TEST_F(TcpListening, StrangerAtTheLocalPathIsNotTrusted) {
  listen_locally();
  // Another server takes over the path of the local socket.
  const std::string path = directory_ / "s";
  ASSERT_EQ(::unlink(path.c_str()), 0);
  SocketNetwork stranger(loop_, options_);
  auto taken = stranger.listen("unix:" + path);
  ASSERT_TRUE(taken.ok());
  expect_alive();
}

TEST_F(TcpListening, WorksOnIpv6) {
  auto made = network_->listen("tcp:[::1]:0");
  if (!made.ok()) GTEST_SKIP() << "no IPv6 here: " << made.status().to_string();
  listener_ = *std::move(made);
  address_ = SocketNetwork::address_of(*listener_);
  EXPECT_TRUE(address_.starts_with("tcp:[::1]:")) << address_;
  expect_alive();
}

TEST_F(TcpListening, NamesAreLookedUp) {
  auto made = network_->listen("tcp:localhost:0");
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  listener_ = *std::move(made);
  address_ = SocketNetwork::address_of(*listener_);
  expect_alive();
}

// One client that awaits bytes on more connections than it lets send at the same time: the last server is held.
class HeldServer : public TcpListening {
 protected:
  void await_from_all(Nanos quiet) {
    options_.grants_quiet = quiet;
    start();
    for (std::size_t i = 0; i <= ReadGrants::kFirst; ++i) {
      auto client = connect(*network_);
      ASSERT_TRUE(client.ok());
      clients_.push_back(std::move(*client));
      auto server = loop_.run(listener_->accept());
      ASSERT_TRUE(server.ok());
      servers_.push_back(std::move(*server));
      regions_.push_back(expose());
    }
  }
  std::uint64_t expose() { return clients_.back()->expose({&segment_, 1}, Access::write); }
  void until_heard(std::uint64_t id) {
    ASSERT_TRUE(clients_.back()->send(kType, id, {}).ok());
    EXPECT_EQ(loop_.run(receive_copy(*servers_.back())).id, id);
  }
  Task<Status> push(std::uint64_t region) {
    Region to;
    to.id = region;
    co_return co_await servers_.back()->push(from_, to, 0_B);
  }

  std::vector<std::byte> memory_ = std::vector<std::byte>(64 << 10);
  Segment segment_{reinterpret_cast<std::uint64_t>(memory_.data()), memory_.size()};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(memory_.size(), std::byte{7});
  std::span<const std::byte> from_ = bytes_;
  std::vector<std::unique_ptr<Connection>> clients_;
  std::vector<std::unique_ptr<Connection>> servers_;
  std::vector<std::uint64_t> regions_;
};

TEST_F(HeldServer, SendsWhenItIsGranted) {
  await_from_all(3600_s);
  until_heard(1);
  EXPECT_EQ(loop_.run(with_timeout(loop_.clock(), 20_ms, push(regions_.back()), "push")).code(),
            Code::timed_out);
  const std::uint64_t second = expose();
  clients_.front()->withdraw(regions_.front());
  until_heard(2);
  // In whatever order it likes.
  EXPECT_TRUE(loop_.run(push(second)).ok());
  EXPECT_TRUE(loop_.run(push(regions_.back())).ok());
}

// The others were stopped before they sent anything.
TEST_F(HeldServer, SendsWhenNobodyElseDoes) {
  await_from_all(1_ms);
  until_heard(1);
  Scope scope(loop_.executor());
  const auto hear = [](Connection& server) -> Task<void> { (co_await server.receive()).status().ignore(); };
  scope.spawn(hear(*servers_.back()));
  EXPECT_TRUE(loop_.run(push(regions_.back())).ok());
}

TEST_F(TcpListening, WhoIsHeldIsToldWhenNothingIsAwaited) {
  const auto client = connect(*network_);
  const auto server = loop_.run(listener_->accept());
  ASSERT_TRUE(client.ok() && server.ok());
  std::vector<std::byte> memory(64 << 10);
  const Segment segment{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()};
  for (std::size_t i = 0; i < 3 * ReadGrants::kMost; ++i) (*client)->expose({&segment, 1}, Access::write);
  ASSERT_TRUE((*client)->send(kType, 1, {}).ok());
  EXPECT_EQ(loop_.run(receive_copy(**server)).id, 1U);
  const std::span<const std::byte> from = memory;
  EXPECT_TRUE(loop_.run((*server)->push(from, Region{}, 0_B)).ok()) << "one server alone never waits";
}

TEST_F(TcpListening, HostThatDoesNotAnswerIsGivenUp) {
  // A listener whose backlog is full drops what comes: like a host that is cut off.
  options_.handshake_limit = 50_ms;
  start();
  const int deaf = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto here = resolve(*parse_address("tcp:" + loopback_host() + ":0"), true);
  ASSERT_EQ(::bind(deaf, here->front().generic(), here->front().length), 0);
  ASSERT_EQ(::listen(deaf, 0), 0);
  SocketAddress bound;
  bound.length = sizeof(bound.storage);
  ASSERT_EQ(::getsockname(deaf, bound.generic(), &bound.length), 0);
  address_ = describe(bound).to_string();
  const RawTcpPeer filler(address_);
  EXPECT_EQ(connect(*network_).code(), Code::timed_out);
  ::close(deaf);
}

}  // namespace
}  // namespace tutti
