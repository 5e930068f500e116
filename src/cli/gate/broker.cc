#include "cli/gate/broker.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "cli/gate/background.h"
#include "cli/gate/prober.h"
#include "cli/gate/resources.h"
#include "env/real/system_random.h"

namespace tutti::cli {
namespace {

constexpr int kBacklog = 1024;

// What the process has written by its own account with the kernel; it grows also within one long call.
std::uint64_t written_by(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/io", pid));
  std::uint64_t sum = 0;
  std::string key;
  for (std::uint64_t value = 0; file >> key >> value;) {
    if (key == "wchar:" || key == "write_bytes:") sum += value;
  }
  return sum;
}

}  // namespace

GateBroker::GateBroker(Loop& loop, Env env, BrokerOptions options)
    : loop_(loop),
      env_(env),
      options_(std::move(options)),
      session_(env, options_.session),
      scope_(loop.executor()) {
  session_.on_lost([this](std::uint64_t number) {
    for (const auto& [key, shared] : shared_) {
      if (shared->turn.number != number) continue;
      shared->turn = session_.test(number);
      scope_.spawn(acquire_again(shared));
    }
  });
  if (options_.stall > 0_s) session_.set_alive([this] { return progressing(); });
}

Result<std::unique_ptr<GateBroker>> GateBroker::open(Loop& loop, Env env, BrokerOptions options) {
  std::unique_ptr<GateBroker> broker(new GateBroker(loop, env, std::move(options)));
  TUTTI_TRY(broker->listen());
  return broker;
}

Status GateBroker::listen() {
  name_ = fmt::format("tutti-gate-{:016x}{:016x}", system_random(), system_random());
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name_.data(), name_.size());
  listener_ = Fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  if (!listener_.valid() || ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 ||
      ::listen(listener_.get(), kBacklog) != 0) {
    return Status::from_errno(errno, "make a socket for the program's processes");
  }
  page_file_ = Fd(::memfd_create("tutti-gate", MFD_CLOEXEC));
  if (!page_file_.valid() || ::ftruncate(page_file_.get(), sizeof(door::Page)) != 0)
    return Status::from_errno(errno, "make a page to share with the program's processes");
  void* mapped = ::mmap(nullptr, sizeof(door::Page), PROT_READ | PROT_WRITE, MAP_SHARED, page_file_.get(), 0);
  if (mapped == MAP_FAILED) return Status::from_errno(errno, "map a page");
  page_ = static_cast<door::Page*>(mapped);
  TUTTI_TRY(watch_.add(loop_, listener_.get()));
  scope_.spawn(accept());
  return {};
}

GateBroker::~GateBroker() {
  close();
  if (page_ != nullptr) ::munmap(page_, sizeof(door::Page));
}

void GateBroker::close() {
  closing_ = true;
  scope_.cancel();
  session_.release_all();
}

Task<void> GateBroker::accept() {
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      watch_.drained();
      co_await watch_.readable();
      continue;
    }
    Fd connection(fd);
    ucred peer{};
    socklen_t length = sizeof(peer);
    const bool known = ::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0;
    if (!known || (peer.uid != ::geteuid() && peer.uid != 0 && ::geteuid() != 0)) continue;
    peers_[fd] = peer.pid;
    scope_.spawn(serve(std::move(connection)));
  }
}

Result<GateBroker::Wanted> GateBroker::read_request(int fd) const {
  std::vector<std::byte> buffer(sizeof(door::Request) + door::kMostServers * sizeof(std::uint32_t) +
                                door::kMostLabel);
  const ssize_t got = ::recv(fd, buffer.data(), buffer.size(), 0);
  if (got < 0) return Status::from_errno(errno, "receive");
  door::Request request;
  if (static_cast<std::size_t>(got) < sizeof(request)) return Status(Code::malformed, "too short");
  std::memcpy(&request, buffer.data(), sizeof(request));
  const std::size_t servers = std::size_t{request.servers} * sizeof(std::uint32_t);
  if (request.version != 1 || request.servers > door::kMostServers || request.label > door::kMostLabel ||
      static_cast<std::size_t>(got) != sizeof(request) + servers + request.label)
    return Status(Code::malformed, "a request at the door");
  Wanted wanted;
  wanted.page = (request.flags & door::kWantPage) != 0;
  wanted.page_only = (request.flags & door::kPageOnly) != 0;
  if (wanted.page_only) return wanted;
  const std::byte* at = buffer.data() + sizeof(request);
  if ((request.flags & door::kServers) != 0) {
    for (std::uint32_t i = 0; i < request.servers; ++i) {
      std::uint32_t server = 0;
      std::memcpy(&server, at + i * sizeof(server), sizeof(server));
      wanted.resources.push_back(gate_resource(options_.session.cluster, server));
      wanted.servers.push_back(server);
    }
  } else {
    wanted.resources.push_back(resource_of_device(request.device));
  }
  if (wanted.resources.empty()) return Status(Code::malformed, "no servers");
  std::sort(wanted.resources.begin(), wanted.resources.end());
  wanted.label.assign(reinterpret_cast<const char*>(at + servers), request.label);
  wanted.expected = request.expected;
  wanted.linger = (request.flags & door::kLinger) != 0;
  return wanted;
}

Status GateBroker::answer(int fd, const Shared& shared, bool with_page) const {
  door::Reply reply;
  reply.outcome = static_cast<std::uint32_t>(shared.turn.outcome);
  reply.fence = shared.turn.fence;
  iovec part{&reply, sizeof(reply)};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (with_page) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int page = page_file_.get();
    std::memcpy(CMSG_DATA(header), &page, sizeof(page));
  }
  return ::sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? Status::from_errno(errno, "answer") : Status();
}

// One process's part in a turn.
Task<void> GateBroker::serve(Fd connection) {
  struct Leaving {
    GateBroker& broker;
    int fd;
    std::vector<std::string> key = {};
    std::shared_ptr<Shared> shared = {};
    Leaving(GateBroker& owner, int number) : broker(owner), fd(number) {}
    Leaving(const Leaving&) = delete;
    Leaving& operator=(const Leaving&) = delete;
    ~Leaving() {
      broker.peers_.erase(fd);
      if (!shared || broker.closing_) return;
      ++shared->changes;
      if (--shared->joined == 0) broker.scope_.spawn(broker.give_back(key, shared));
    }
  };
  FdWatch watch;
  if (!watch.add(loop_, connection.get()).ok()) co_return;
  co_await watch.readable();
  Result<Wanted> wanted = read_request(connection.get());
  Leaving leaving(*this, connection.get());
  if (!wanted.ok()) co_return;
  if (wanted->page_only) {
    answer(connection.get(), Shared(loop_.executor()), wanted->page).ignore();
    co_return;
  }
  auto& place = shared_[wanted->resources];
  const bool fresh = !place;
  if (fresh) {
    place = std::make_shared<Shared>(loop_.executor());
    place->resources = wanted->resources;
    place->servers = wanted->servers;
    place->label = wanted->label;
    place->expected = wanted->expected;
  }
  const std::shared_ptr<Shared> shared = place;
  ++shared->joined;
  ++shared->changes;
  shared->linger = shared->linger || wanted->linger;
  leaving.key = wanted->resources;
  leaving.shared = shared;
  if (fresh) scope_.spawn(obtain(shared));
  co_await shared->decided.wait();
  if (!answer(connection.get(), *shared, wanted->page).ok()) co_return;
  // Nothing more comes but the end.
  for (;;) {
    std::byte none{};
    const ssize_t got = ::recv(connection.get(), &none, 1, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) co_return;
    if (got > 0) continue;
    watch.drained();
    co_await watch.readable();
  }
}

void GateBroker::publish(const Shared& shared, std::uint64_t fence) {
  for (const std::uint32_t server : shared.servers)
    page_->fences[server % door::kPlaces].store(fence, std::memory_order_relaxed);
}

// Until it has another one, the data servers hold the processes back: they write on under the number that does not count.
// A job that makes no progress is not renewed, and so hears of its loss when it writes on.
Task<void> GateBroker::acquire_again(std::shared_ptr<Shared> shared) {
  if (shared->joined == 0) co_return;
  session_.release(shared->turn.number);
  co_await acquire(shared);
  if (shared->joined == 0) session_.release(shared->turn.number);  // it has ended meanwhile
}

Task<void> GateBroker::acquire(std::shared_ptr<Shared> shared) {
  GateAsk ask;
  ask.resources = shared->resources;
  ask.alone = options_.alone;
  ask.limit = options_.limit;
  ask.label = shared->label;
  ask.expected = Bytes(shared->expected);
  shared->turn = co_await session_.acquire(std::move(ask));
  if (shared->joined > 0) publish(*shared, shared->turn.fence);
  seen_at_ = env_.clock.now();
}

Task<void> GateBroker::obtain(std::shared_ptr<Shared> shared) {
  if (options_.lock) {
    co_await acquire(shared);
  } else {
    shared->turn.outcome = GateOutcome::unguarded;
  }
  if (options_.probe) co_await wait_for_quiet(*shared);
  shared->bytes_before = page_->bytes.load(std::memory_order_relaxed);
  seen_at_ = env_.clock.now();
  shared->decided.set();
}

Task<void> GateBroker::wait_for_quiet(const Shared& shared) {
  const std::filesystem::path path = shared.label;
  if (!path.is_absolute()) co_return;  // on Tutti the servers' own queues are better informed
  struct Probing {
    explicit Probing(std::uint32_t& number) : count(number) { ++count; }
    Probing(const Probing&) = delete;
    Probing& operator=(const Probing&) = delete;
    ~Probing() { --count; }
    std::uint32_t& count;
  };
  const Probing probing(probing_);
  const std::string directory = path.parent_path().string();
  const auto calibrated = load_calibration(shared.resources.front());
  const gate::BackoffOptions options = calibrated.value_or(gate::BackoffOptions());
  if (!calibrated && !told_uncalibrated_) {
    env_.log.warn(
        "gate: {} was never measured, {}/s is assumed to be quiet: `tutti gate calibrate {}` measures it",
        directory, to_string(options.threshold), directory);
    told_uncalibrated_ = true;
  }
  const auto probed =
      co_await back_off(loop_, env_, directory, options, Random(system_random()), options_.limit);
  if (!probed.ok()) {
    env_.log.warn("gate: {}: writing without a probe", probed.status().to_string());
  } else {
    env_.log.info("gate: {} probings in {}, the last with {}/s{}", probed->probings, to_string(probed->took),
                  to_string(probed->rate),
                  probed->gave_up ? ": going on although the file system is busy" : "");
  }
}

Task<void> GateBroker::give_back(std::vector<std::string> key, std::shared_ptr<Shared> shared) {
  const std::uint64_t changes = shared->changes;
  if (shared->linger) co_await env_.clock.sleep(options_.linger);
  if (shared->joined > 0 || shared->changes != changes) co_return;  // somebody came
  const std::uint64_t now = page_->bytes.load(std::memory_order_relaxed);
  session_.release(shared->turn.number, Bytes(now - std::min(now, shared->bytes_before)));
  publish(*shared, 0);
  shared_.erase(key);
}

std::uint64_t GateBroker::written() const {
  std::uint64_t sum =
      page_->bytes.load(std::memory_order_relaxed) + page_->calls.load(std::memory_order_relaxed);
  for (const auto& [fd, pid] : peers_) sum += written_by(pid);
  return sum;
}

bool GateBroker::progressing() {
  const Nanos now = env_.clock.now();
  const bool held = std::any_of(shared_.begin(), shared_.end(), [](const auto& each) {
    return each.second->turn.outcome == GateOutcome::granted;
  });
  const std::uint64_t sum = written();
  if (!held || sum != seen_ || probing_ > 0) {
    seen_ = sum;
    seen_at_ = now;
  }
  return now - seen_at_ < options_.stall;
}

}  // namespace tutti::cli
