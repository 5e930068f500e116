#include "env/real/network/socket_network.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "env/real/network/frame.h"
#include "tests/env/conformance/network_suite.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

using namespace conformance;
using namespace conformance::network_suite;

template <MoverChoice kMover>
struct SocketWorld {
  SocketWorld() : network(loop, options()) {}
  static SocketOptions options() {
    SocketOptions result;
    result.mover = kMover;
    return result;
  }
  Clock& clock() { return loop.clock(); }
  Network& server_network() { return network; }
  Network& client_network() { return network; }
  std::string address() { return "unix:" + directory / "s"; }
  std::string silent_address() { return "unix:" + directory / "nobody"; }
  template <typename T>
  T run(Task<T> task) {
    return loop.run(std::move(task));
  }
  TemporaryDirectory directory;
  Loop loop;
  SocketNetwork network;
};

using Worlds = testing::Types<SocketWorld<MoverChoice::cma>, SocketWorld<MoverChoice::socket>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Sockets, NetworkSuite, Worlds);

// The answer to a pull is half written when its memory goes away.
class WithdrawnDuringPull : public NetworkSuite<SocketWorld<MoverChoice::socket>> {};

TEST_F(WithdrawnDuringPull, FailsAndLeavesTheStreamWhole) {
  auto memory = std::make_unique<std::vector<std::byte>>(pattern(4U << 20U, 1));
  const std::array<Segment, 1> segments = {segment_of(*memory)};
  const Region region = expose(segments, Access::read);
  std::vector<std::byte> place(memory->size());
  std::optional<Code> code;
  scope_.spawn(store_code(server_->pull(region, Bytes(0), place), code));
  scope_.spawn(keep_receiving(*client_));
  world_.run(sleep_for(world_.clock(), 2_ms));  // the server does not receive: the socket fills up
  EXPECT_FALSE(code.has_value());
  client_->withdraw(region.id);
  memory.reset();
  {
    Scope receiving(world_.loop.executor());
    receiving.spawn(keep_receiving(*server_));
    while (!code) world_.run(sleep_for(world_.clock(), 1_ms));
  }
  EXPECT_EQ(*code, Code::not_found);
  ASSERT_TRUE(client_->send(kType, 8, {}).ok());
  EXPECT_EQ(world_.run(receive_copy(*server_)).id, 8U);
}

// A peer that speaks bytes, not the protocol.
class RawPeer {
 public:
  explicit RawPeer(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  RawPeer(const RawPeer&) = delete;
  RawPeer& operator=(const RawPeer&) = delete;
  ~RawPeer() { ::close(fd_); }
  [[nodiscard]] bool connected() const { return connected_; }
  void send(std::span<const std::byte> bytes) const { ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL); }
  void send_header(const FrameHeader& header) const { send(bytes_of(header)); }
  // A good hello of a client that does not want cross-memory attach.
  void greet() const {
    FrameHeader header;
    header.type = static_cast<std::uint16_t>(TransportFrame::hello);
    header.length = 32;
    send_header(header);
    std::array<std::uint32_t, 8> hello{1};
    send(std::as_bytes(std::span(hello)));
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
  bool connected_ = false;
};

class SocketListening : public testing::Test {
 protected:
  void SetUp() override {
    options_.mover = MoverChoice::socket;
    start();
  }
  void start() {
    listener_.reset();
    network_ = std::make_unique<SocketNetwork>(loop_, options_);
    Result<std::unique_ptr<Listener>> made = network_->listen(address());
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    listener_ = *std::move(made);
  }
  [[nodiscard]] std::string path() const { return directory_ / "s"; }
  [[nodiscard]] std::string address() const { return "unix:" + path(); }
  std::unique_ptr<Connection> accept() {
    AcceptedConnection connection = loop_.run(listener_->accept());
    EXPECT_TRUE(connection.ok()) << connection.status().to_string();
    return *std::move(connection);
  }
  // Whether a well-behaved client is served as ever.
  void expect_alive() {
    std::vector<Task<AcceptedConnection>> both;
    const std::string where = address();
    both.push_back(listener_->accept());
    both.push_back(network_->connect(where));
    std::vector<AcceptedConnection> made = loop_.run(when_all(std::move(both)));
    ASSERT_TRUE(made[0].ok() && made[1].ok());
    ASSERT_TRUE((*made[1])->send(kType, 9, {}).ok());
    EXPECT_EQ(loop_.run(receive_copy(**made[0])).id, 9U);
  }

  TemporaryDirectory directory_;
  Loop loop_;
  SocketOptions options_;
  std::unique_ptr<SocketNetwork> network_;
  std::unique_ptr<Listener> listener_;
};

TEST_F(SocketListening, PeerIsIdentifiedByTheKernel) {
  std::vector<Task<AcceptedConnection>> both;
  const std::string where = address();
  both.push_back(listener_->accept());
  both.push_back(network_->connect(where));
  const std::vector<AcceptedConnection> made = loop_.run(when_all(std::move(both)));
  ASSERT_TRUE(made[0].ok() && made[1].ok());
  const Peer& peer = (*made[0])->peer();
  EXPECT_EQ(peer.pid, ::getpid());
  EXPECT_EQ(peer.uid, ::geteuid());
  EXPECT_EQ(peer.gid, ::getegid());
  EXPECT_EQ(peer.groups.size(), static_cast<std::size_t>(::getgroups(0, nullptr)));
}

struct BadFrame {
  const char* name;
  FrameHeader header;
  Code code;
};

class BadFrames : public SocketListening, public testing::WithParamInterface<BadFrame> {};

TEST_P(BadFrames, CostOnlyTheirSenderTheConnection) {
  const RawPeer peer(path());
  peer.greet();
  const std::unique_ptr<Connection> connection = accept();
  FrameHeader good;
  good.type = kType;
  good.id = 3;
  peer.send_header(good);
  EXPECT_EQ(loop_.run(receive_copy(*connection)).id, 3U);
  peer.send_header(GetParam().header);
  EXPECT_EQ(loop_.run(receive_code(*connection)), GetParam().code);
  EXPECT_TRUE(connection->closed());
  expect_alive();
}

INSTANTIATE_TEST_SUITE_P(
    Sockets, BadFrames,
    testing::Values(BadFrame{"Magic", {.magic = 0x12345678}, Code::malformed},
                    BadFrame{"Version", {.version = 9, .type = kType}, Code::version},
                    BadFrame{"Flags", {.flags = 1, .type = kType}, Code::malformed},
                    BadFrame{"Length", {.type = kType, .length = kMaxFramePayload + 1}, Code::malformed},
                    BadFrame{"HugeLength", {.type = kType, .length = 0xffffffff}, Code::malformed},
                    BadFrame{"TransportType", {.type = 40}, Code::malformed},
                    BadFrame{"LateHello", {.type = 1}, Code::malformed},
                    BadFrame{"ShortPush", {.type = 7}, Code::malformed}),
    [](const auto& each) { return each.param.name; });

TEST_F(SocketListening, TruncatedFrameThenCloseIsUnavailable) {
  std::unique_ptr<Connection> connection;
  {
    const RawPeer peer(path());
    peer.greet();
    connection = accept();
    FrameHeader header;
    header.type = kType;
    header.length = 1000;
    peer.send_header(header);
    peer.send(pattern(500, 1));
  }
  EXPECT_EQ(loop_.run(receive_code(*connection)), Code::unavailable);
  expect_alive();
}

TEST_F(SocketListening, GarbageConnectionsDoNotKillTheListener) {
  Random random(11);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const RawPeer peer(path());
    ASSERT_TRUE(peer.connected());
    std::vector<std::byte> bytes = pattern(random.below(400), i);
    if (random.chance(0.5) && bytes.size() >= sizeof(FrameHeader)) {  // a good beginning
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

TEST_F(SocketListening, SilentPeerIsDroppedAndHoldsNobodyUp) {
  options_.handshake_limit = 20_ms;
  start();
  const RawPeer silent(path());
  ASSERT_TRUE(silent.connected());
  expect_alive();
  char byte = 0;
  loop_.run(sleep_for(loop_.clock(), 25_ms));
  EXPECT_EQ(::recv(silent.fd(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST_F(SocketListening, ListenerSurvivesALackOfDescriptors) {
  const RawPeer peer(path());
  peer.greet();
  const int next = ::dup(0);
  ::close(next);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &old), 0);
  const rlimit none_left{static_cast<rlim_t>(next), old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  loop_.run(sleep_for(loop_.clock(), 1_ms));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &old), 0);
  EXPECT_NE(accept(), nullptr);
  expect_alive();
}

TEST_F(SocketListening, PeerThatDoesNotReadLosesTheConnection) {
  const RawPeer peer(path());
  peer.greet();
  const std::unique_ptr<Connection> connection = accept();
  const std::vector<std::byte> payload = pattern(1U << 20U, 1);
  Status status;
  for (int i = 0; i < 12 && status.ok(); ++i) status = connection->send(kType, 0, payload);
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_TRUE(connection->closed());
}

TEST_F(SocketListening, StaleSocketFileIsReplacedAndOwnOneRemoved) {
  listener_.reset();
  EXPECT_FALSE(std::filesystem::exists(path()));
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un stale{};
  stale.sun_family = AF_UNIX;
  path().copy(stale.sun_path, sizeof(stale.sun_path) - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&stale), sizeof(stale)), 0);
  ::close(fd);
  ASSERT_TRUE(std::filesystem::exists(path()));
  start();
  struct stat info {};
  ASSERT_EQ(::stat(path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0666U);
  expect_alive();
  EXPECT_EQ(network_->listen(address()).code(), Code::busy);
}

TEST_F(SocketListening, BadAddressesAreExplained) {
  EXPECT_EQ(network_->listen("unix:/" + std::string(200, 'x')).code(), Code::name_too_long);
  EXPECT_EQ(network_->listen("tcp:1").code(), Code::invalid);
  std::ofstream(directory_ / "file") << "x";
  EXPECT_EQ(network_->listen("unix:" + directory_ / "file").code(), Code::exists);
}

// --- across processes ---

// Runs `body` in a child process and gives its exit code.
class Child {
 public:
  template <typename Body>
  explicit Child(Body body) : pid_(::fork()) {
    if (pid_ == 0) {
      ::alarm(60);
      ::_exit(body());
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      wait();
    }
  }
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void kill() const { ::kill(pid_, SIGKILL); }

 private:
  pid_t pid_;
};

// From the begin of a page to just behind that of another, as malloc() puts large buffers, is what some processors are slow at: the server
// goes by a detour there.
constexpr std::size_t kPage = 4096;
std::byte* page_in(std::vector<std::byte>& memory) {
  return memory.data() + (kPage - reinterpret_cast<std::uintptr_t>(memory.data()) % kPage) % kPage;
}

// Exposes two buffers, says so, and waits for the answer.
int bulk_client(const std::string& address, MoverChoice choice) {
  Loop loop;
  SocketOptions options;
  options.mover = choice;
  SocketNetwork network(loop, options);
  AcceptedConnection made = loop.run(network.connect(address));
  if (!made.ok()) return 1;
  Connection& connection = **made;
  const std::vector<std::byte> source = pattern(300'000, 1);
  std::vector<std::byte> memory(300'000 + 2 * kPage);
  const std::span<std::byte> target(page_in(memory) + 16, 300'000);
  const std::array<Segment, 2> segments = {segment_of(source), segment_of(target)};
  const std::array<std::uint64_t, 6> request = {connection.expose(std::span(segments).first(1), Access::read),
                                                connection.expose(std::span(segments).last(1), Access::write),
                                                segments[0].address,
                                                segments[0].length,
                                                segments[1].address,
                                                segments[1].length};
  if (!connection.send(kType, 1, std::as_bytes(std::span(request))).ok()) return 2;
  if (loop.run(receive_code(connection)) != Code::ok) return 3;
  return std::equal(target.begin(), target.end(), source.begin()) ? 0 : 4;
}

Task<Status> copy_within_client(Connection& connection, Loop& loop) {
  const Result<Frame> frame = co_await connection.receive();
  if (!frame.ok()) co_return frame.status();
  const auto request = load<std::array<std::uint64_t, 6>>(frame->payload);
  Region from{request[0], {{request[2], request[3]}}};
  Region to{request[1], {{request[4], request[5]}}};
  if (!connection.needs_segments()) {
    from.segments.clear();
    to.segments.clear();
  }
  Scope scope(loop.executor());
  scope.spawn(keep_receiving(connection));
  std::vector<std::byte> memory(300'000 + kPage);
  const std::span<std::byte> bytes(page_in(memory), 300'000);
  TUTTI_CO_TRY(co_await connection.pull(from, Bytes(0), bytes));
  TUTTI_CO_TRY(co_await connection.push(bytes, to, Bytes(0)));
  co_return connection.send(kType, 1, {});
}

class AcrossProcesses : public SocketListening, public testing::WithParamInterface<MoverChoice> {
 protected:
  void SetUp() override {
    options_.mover = MoverChoice::automatic;
    start();
  }
};

TEST_P(AcrossProcesses, BytesMoveBothWays) {
  const std::string where = address();
  const MoverChoice choice = GetParam();
  Child child([&] { return bulk_client(where, choice); });
  const std::unique_ptr<Connection> connection = accept();
  EXPECT_EQ(connection->needs_segments(), choice == MoverChoice::cma);
  const Status status = loop_.run(copy_within_client(*connection, loop_));
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(child.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Sockets, AcrossProcesses, testing::Values(MoverChoice::cma, MoverChoice::socket));

// With the ids of the client for the time of a copy the server could be killed by it, and its memory can block whoever
// touches it.
TEST_F(SocketListening, BytesOfAnotherUserTravelOnTheSocket) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be two users";
  options_.mover = MoverChoice::automatic;
  start();
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const std::string where = address();
  const auto user_client = [&](MoverChoice choice) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(4321, 4321, 4321) != 0 ||
        ::setresuid(4321, 4321, 4321) != 0) {
      return 10;
    }
    ::prctl(PR_SET_DUMPABLE, 1);
    return bulk_client(where, choice);
  };
  Child child([&] { return user_client(MoverChoice::automatic); });
  const std::unique_ptr<Connection> connection = accept();
  EXPECT_EQ(connection->peer().uid, 4321U);
  EXPECT_FALSE(connection->needs_segments());
  const Status status = loop_.run(copy_within_client(*connection, loop_));
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(SocketListening, RootServerIsRefusedTheMemoryOfASetuidClient) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be two users";
  options_.mover = MoverChoice::automatic;
  start();
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::others_exec,
                               std::filesystem::perm_options::add);
  const std::string where = address();
  // Real id of a user, effective id of root when it connects: as a program made setuid.
  Child child([&] {
    if (::setresgid(4321, 4321, 4321) != 0 || ::setresuid(4321, 4321, 0) != 0) return 10;
    ::prctl(PR_SET_DUMPABLE, 1);
    return bulk_client(where, MoverChoice::automatic);
  });
  const std::unique_ptr<Connection> connection = accept();
  EXPECT_EQ(connection->peer().uid, 4321U);
  EXPECT_FALSE(connection->needs_segments()) << "the kernel lets the server read a process with root's ids";
  EXPECT_TRUE(loop_.run(copy_within_client(*connection, loop_)).ok());
  EXPECT_EQ(child.wait(), 0);
}

TEST_F(SocketListening, DeathOfThePeerEndsTheConnection) {
  options_.mover = MoverChoice::automatic;
  start();
  const std::string where = address();
  Child child([&] { return bulk_client(where, MoverChoice::automatic); });
  const std::unique_ptr<Connection> connection = accept();
  EXPECT_EQ(loop_.run(receive_code(*connection)), Code::ok);
  child.kill();
  EXPECT_EQ(loop_.run(receive_code(*connection)), Code::unavailable);
  std::vector<std::byte> place(10);
  const Region region{1, {{4096, 10}}};
  EXPECT_EQ(loop_.run(connection->pull(region, Bytes(0), place)).code(), Code::unavailable);
}

// A client that gives up on a request uses the memory for something else.
class GivenUp : public SocketListening {
 protected:
  void SetUp() override {
    options_.mover = MoverChoice::cma;
    start();
  }
  // Connects, tells where its memory is, gives up when the server has it, and then uses the memory for something else.
  static int client(const std::string& where, int server_has_it, int reused) {
    Loop loop;
    SocketNetwork network(loop, SocketOptions());
    auto connection = loop.run(network.connect(where));
    if (!connection.ok()) return 1;
    std::vector<std::byte> memory(1000, std::byte{'a'});
    const std::array<std::uint64_t, 2> named = {reinterpret_cast<std::uint64_t>(memory.data()),
                                                memory.size()};
    if (!(*connection)->send(kType, 1, std::as_bytes(std::span(named))).ok()) return 2;
    char byte = 0;
    if (::read(server_has_it, &byte, 1) != 1) return 3;
    (*connection)->release();
    std::fill(memory.begin(), memory.end(), std::byte{'b'});
    if (::write(reused, &byte, 1) != 1) return 4;
    ::read(server_has_it, &byte, 1);  // until the test is over
    return 0;
  }
};

TEST_F(GivenUp, MemoryIsNotReachedByAServerThatDidNotRunMeanwhile) {
  std::array<int, 2> has_it{};
  std::array<int, 2> reused{};
  ASSERT_EQ(::pipe(has_it.data()), 0);
  ASSERT_EQ(::pipe(reused.data()), 0);
  const std::string where = address();
  Child child([&] { return client(where, has_it[0], reused[1]); });
  const std::unique_ptr<Connection> connection = accept();
  const auto named = load<std::array<std::uint64_t, 2>>(loop_.run(receive_copy(*connection)).payload);
  const Region region{1, {{named[0], named[1]}}};
  char byte = 1;
  ASSERT_EQ(::write(has_it[1], &byte, 1), 1);
  // This process does not look at its connections until the client has gone on, as if it had been stopped.
  ASSERT_EQ(::read(reused[0], &byte, 1), 1);
  std::vector<std::byte> place(named[1]);
  EXPECT_EQ(loop_.run(connection->pull(region, Bytes(0), place)).code(), Code::unavailable);
  EXPECT_EQ(place.front(), std::byte{0});
  ASSERT_EQ(::write(has_it[1], &byte, 1), 1);
  EXPECT_EQ(child.wait(), 0);
  for (const int fd : {has_it[0], has_it[1], reused[0], reused[1]}) ::close(fd);
}

TEST_F(GivenUp, NobodyWaitsForAServerThatRuns) {
  std::array<int, 2> has_it{};
  std::array<int, 2> reused{};
  ASSERT_EQ(::pipe(has_it.data()), 0);
  ASSERT_EQ(::pipe(reused.data()), 0);
  const std::string where = address();
  Child child([&] { return client(where, has_it[0], reused[1]); });
  const std::unique_ptr<Connection> connection = accept();
  EXPECT_EQ(loop_.run(receive_code(*connection)), Code::ok);
  char byte = 1;
  ASSERT_EQ(::write(has_it[1], &byte, 1), 1);
  const Nanos before = loop_.clock().now();
  EXPECT_EQ(loop_.run(receive_code(*connection)), Code::unavailable);
  ASSERT_EQ(::read(reused[0], &byte, 1), 1);
  EXPECT_LT(loop_.clock().now() - before, kReleaseTime / 2);
  ASSERT_EQ(::write(has_it[1], &byte, 1), 1);
  EXPECT_EQ(child.wait(), 0);
  for (const int fd : {has_it[0], has_it[1], reused[0], reused[1]}) ::close(fd);
}

}  // namespace
}  // namespace tutti
