// How near the TCP transport comes to bare TCP: bulk data in transfers of 1 MiB over the loopback device,
// pulled and pushed by a server process, beside a bare sender and receiver with the same memory, in turns.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "env/combine.h"
#include "env/real/network/socket_network.h"
#include "env/scope.h"

namespace tutti {
namespace {

constexpr std::size_t kTransfer = 1U << 20U;
constexpr std::size_t kMemory = 64U << 20U;
constexpr std::size_t kTotal = 1U << 30U;
constexpr std::size_t kAtOnce = 4;
constexpr int kRounds = 5;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double gib_per_second(double seconds) { return static_cast<double>(kTotal) / (1U << 30U) / seconds; }

SocketOptions options_with(const std::string& key) {
  SocketOptions options;
  options.auth.kind = AuthKind::key;
  options.auth.keys = {key};
  return options;
}

Task<void> keep_receiving(Connection* connection) {
  for (;;) {
    const Result<Frame> frame = co_await connection->receive();
    if (!frame.ok()) co_return;
  }
}

// The client: exposes its memory twice, says so, and serves until the server goes.
int client(const std::string& address, const std::string& key) {
  Loop loop;
  SocketNetwork network(loop, options_with(key));
  auto made = loop.run(network.connect(address));
  if (!made.ok()) return 1;
  std::vector<std::byte> memory(kMemory, std::byte{1});
  const std::array<Segment, 1> segments = {
      Segment{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()}};
  const std::array<std::uint64_t, 2> regions = {(*made)->expose(segments, Access::read),
                                                (*made)->expose(segments, Access::write)};
  if (!(*made)->send(kFirstUserFrameType, 0, std::as_bytes(std::span(regions))).ok()) return 2;
  loop.run(keep_receiving(made->get()));
  return 0;
}

struct Work {
  Connection* connection;
  Region region;
  std::span<std::byte> memory;
  bool pull;
  std::size_t next = 0;
  Status status;
};

// One of several that take transfers from the same pile.
Task<Status> worker(Work* work) {
  while (work->next < kTotal) {
    const std::size_t at = work->next % kMemory;
    work->next += kTransfer;
    const auto part = work->memory.subspan(at, kTransfer);
    Status status;
    if (work->pull) {
      status = co_await work->connection->pull(work->region, Bytes(at), part);
    } else {
      status = co_await work->connection->push(part, work->region, Bytes(at));
    }
    if (!status.ok()) co_return status;
  }
  co_return Status();
}

double move_all(Loop& loop, Connection& connection, std::uint64_t region, std::span<std::byte> memory,
                bool pull) {
  Work work{&connection, Region{region, {}}, memory, pull, 0, {}};
  std::vector<Task<Status>> workers;
  for (std::size_t i = 0; i < kAtOnce; ++i) workers.push_back(worker(&work));
  const auto start = std::chrono::steady_clock::now();
  for (const Status& status : loop.run(when_all(std::move(workers)))) {
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.to_string().c_str());
  }
  return gib_per_second(seconds_since(start));
}

void bare_sender(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::vector<char> memory(kMemory, 1);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) != 0) ::_exit(1);
  for (std::size_t sent = 0; sent < kTotal;) {
    const std::size_t at = sent % kMemory;
    const ssize_t count = ::send(fd, memory.data() + at, kTransfer - sent % kTransfer, 0);
    if (count <= 0) ::_exit(1);
    sent += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

double bare(std::span<std::byte> memory) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(at);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&at), length) != 0 || ::listen(listener, 1) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &length) != 0) {
    return 0;
  }
  const pid_t child = ::fork();
  if (child == 0) bare_sender(ntohs(at.sin_port));
  const int fd = ::accept(listener, nullptr, nullptr);
  char first = 0;
  ::recv(fd, &first, 1, MSG_PEEK);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t got = 0; got < kTotal;) {
    const ssize_t count = ::recv(fd, memory.data() + got % kMemory, kTransfer - got % kTransfer, 0);
    if (count <= 0) break;
    got += static_cast<std::size_t>(count);
  }
  const double rate = gib_per_second(seconds_since(start));
  ::waitpid(child, nullptr, 0);
  ::close(fd);
  ::close(listener);
  return rate;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run() {
  std::string directory = std::filesystem::temp_directory_path() / "tutti-bulk-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  const std::string key = directory + "/key";
  std::ofstream(key) << std::string(32, 'k');
  std::filesystem::permissions(key, std::filesystem::perms(0600));
  Loop loop;
  SocketNetwork network(loop, options_with(key));
  auto listener = network.listen("tcp:127.0.0.1:0");
  if (!listener.ok()) return 1;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(client(SocketNetwork::address_of(**listener), key));
  auto connection = loop.run((*listener)->accept());
  if (!connection.ok()) return 1;
  const auto frame = loop.run((*connection)->receive());
  if (!frame.ok()) return 1;
  std::array<std::uint64_t, 2> regions{};
  std::copy_n(reinterpret_cast<const std::uint64_t*>(frame->payload.data()), 2, regions.begin());
  Scope scope(loop.executor());
  scope.spawn(keep_receiving(connection->get()));
  std::vector<std::byte> memory(kMemory, std::byte{2});
  std::vector<double> raw;
  std::vector<double> pulls;
  std::vector<double> pushes;
  for (int i = 0; i < kRounds; ++i) {
    raw.push_back(bare(memory));
    pulls.push_back(move_all(loop, **connection, regions[0], memory, true));
    pushes.push_back(move_all(loop, **connection, regions[1], memory, false));
  }
  std::printf("bare TCP %.2f GiB/s; pull %.2f (%.2f of bare); push %.2f (%.2f of bare)\n", median(raw),
              median(pulls), median(pulls) / median(raw), median(pushes), median(pushes) / median(raw));
  scope.cancel();
  (*connection)->close();
  ::waitpid(child, nullptr, 0);
  std::filesystem::remove_all(directory);
  return 0;
}

}  // namespace
}  // namespace tutti

int main() {
  std::signal(SIGPIPE, SIG_IGN);
  return tutti::run();
}
