#include "env/real/door/door.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace tutti::door {
namespace {

constexpr int kLowest =
    512;  // descriptors of programs are rarely so high, and those that close all others rarely go there

std::atomic<Page*> page = nullptr;

// Not close(), which others stand in front of.
void shut(int fd) { ::syscall(SYS_close, fd); }

std::uint64_t inode_of(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode) ? info.st_ino : 0;
}

int connect_to(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::strlen(name);
  if (length == 0 || length + 1 >= sizeof(address.sun_path)) return -1;
  std::memcpy(address.sun_path + 1, name, length);  // an abstract name begins with a zero
  int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, kLowest);
  if (high >= 0) {
    shut(fd);
    fd = high;
  }
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  int failed = 0;
  do {
    failed = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), size);
  } while (failed != 0 && errno == EINTR);
  if (failed == 0) return fd;
  shut(fd);
  return -1;
}

bool send_request(int fd, const Want& want) {
  Request request;
  request.flags = (want.linger ? kLinger : 0U) | (want.servers != nullptr ? kServers : 0U) |
                  (page.load(std::memory_order_relaxed) == nullptr ? kWantPage : 0U);
  request.device = want.device;
  request.expected = want.expected;
  request.servers = want.servers != nullptr ? want.server_count : 0;
  const std::size_t length = ::strnlen(want.label, kMostLabel);
  request.label = static_cast<std::uint32_t>(length);
  if (request.servers > kMostServers) return false;
  iovec parts[3] = {{&request, sizeof(request)},
                    {const_cast<std::uint32_t*>(want.servers), request.servers * sizeof(std::uint32_t)},
                    {const_cast<char*>(want.label), length}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(fd, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent > 0;
}

void take_page(int fd) {
  void* mapped = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  shut(fd);
  if (mapped == MAP_FAILED) return;
  Page* none = nullptr;
  if (!page.compare_exchange_strong(none, static_cast<Page*>(mapped))) ::munmap(mapped, sizeof(Page));
}

// 1: answered, 0: not yet, -1: nobody is there.
int receive_reply(int fd, Reply& reply, int flags) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{&reply, sizeof(reply)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ssize_t got = 0;
  do {
    got = ::recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return 0;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr; each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET || each->cmsg_type != SCM_RIGHTS) continue;
    int given = -1;
    std::memcpy(&given, CMSG_DATA(each), sizeof(given));
    take_page(given);
  }
  return got == static_cast<ssize_t>(sizeof(reply)) && reply.version == 1 ? 1 : -1;
}

// Whether the descriptor is still what was opened here: a program may have closed it, and got another under its number.
bool ours(const Turn& turn) {
  return turn.fd >= 0 && turn.owner == ::getpid() && inode_of(turn.fd) == turn.inode;
}

bool receive(Turn& turn, int flags) {
  if (turn.fd < 0 || turn.outcome != 0) return true;
  Reply reply;
  const int received = ours(turn) ? receive_reply(turn.fd, reply, flags) : -1;
  if (received == 0) return false;
  if (received < 0) {
    end(turn);
    return true;
  }
  turn.outcome = reply.outcome;
  turn.fence = reply.fence;
  return true;
}

}  // namespace

bool present() {
  const char* name = ::getenv(kNameVariable);
  return name != nullptr && *name != 0;
}

Turn ask(const Want& want) {
  const int saved = errno;
  Turn turn;
  const char* name = ::getenv(kNameVariable);
  const int fd = name != nullptr ? connect_to(name) : -1;
  if (fd >= 0 && send_request(fd, want)) {
    turn.fd = fd;
    turn.inode = inode_of(fd);
    turn.owner = ::getpid();
  } else if (fd >= 0) {
    shut(fd);
  }
  errno = saved;
  return turn;
}

bool test(Turn& turn) {
  const int saved = errno;
  const bool decided = receive(turn, MSG_DONTWAIT);
  errno = saved;
  return decided;
}

void wait(Turn& turn) {
  const int saved = errno;
  receive(turn, 0);
  errno = saved;
}

void end(Turn& turn) {
  const int saved = errno;
  if (ours(turn)) {
    ::shutdown(turn.fd, SHUT_RDWR);  // also if somebody that was forked off has it open
    shut(turn.fd);
  }
  turn.fd = -1;
  errno = saved;
}

void fetch_page() {
  if (page.load(std::memory_order_relaxed) != nullptr) return;
  const int saved = errno;
  const char* name = ::getenv(kNameVariable);
  const int fd = name != nullptr ? connect_to(name) : -1;
  Request request;
  request.flags = kPageOnly | kWantPage;
  Reply reply;
  if (fd >= 0 && ::send(fd, &request, sizeof(request), MSG_NOSIGNAL) > 0) receive_reply(fd, reply, 0);
  if (fd >= 0) shut(fd);
  errno = saved;
}

void progress(std::uint64_t bytes) {
  Page* shared = page.load(std::memory_order_acquire);
  if (shared == nullptr) return;
  shared->bytes.fetch_add(bytes, std::memory_order_relaxed);
  shared->calls.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t fence_of(std::uint32_t server) {
  const Page* shared = page.load(std::memory_order_acquire);
  return shared != nullptr ? shared->fences[server % kPlaces].load(std::memory_order_relaxed) : 0;
}

std::uint64_t device_of(const char* path) {
  const int saved = errno;
  struct stat info {};
  bool found = ::stat(path, &info) == 0;
  if (!found) {
    char parent[4096];
    const char* slash = std::strrchr(path, '/');
    const std::size_t length = slash == nullptr ? 0 : static_cast<std::size_t>(slash - path);
    if (length < sizeof(parent)) {
      std::memcpy(parent, path, length);
      parent[length] = 0;
      found = ::stat(slash == nullptr ? "." : length == 0 ? "/" : parent, &info) == 0;
    }
  }
  errno = saved;
  return found ? static_cast<std::uint64_t>(info.st_dev) : 0;
}

}  // namespace tutti::door
