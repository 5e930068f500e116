#include "cli/lab/hosts.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "cli/command.h"
#include "env/real/local_files.h"

namespace tutti::cli {
namespace {

constexpr const char* kSwitch = "switch";

// Runs a command to its end; its standard error is thrown away.
Status call(const std::vector<std::string>& arguments) {
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  pid_t pid = 0;
  const int error = ::posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return {Code::not_found, fmt::format("{}: {} (package iproute2)", arguments[0], std::strerror(error))};
  int result = 0;
  while (::waitpid(pid, &result, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(result) && WEXITSTATUS(result) == 0) return {};
  return {Code::not_found,
          fmt::format("'{}' failed: network namespaces need root", fmt::join(arguments, " "))};
}

struct EnterOptions {
  std::string space;
  std::vector<std::string> arguments;
};

int enter(const EnterOptions& options) {
  const std::string path = "/run/netns/" + options.space;
  const Fd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space.valid() || ::setns(space.get(), CLONE_NEWNET) != 0)
    return report("in-host", Status::from_errno(errno, "enter " + path));
  std::vector<std::string> copies = options.arguments;
  std::vector<char*> pointers;
  std::string self = "tutti";
  pointers.push_back(self.data());
  for (std::string& argument : copies) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execv("/proc/self/exe", pointers.data());
  return report("in-host", Status::from_errno(errno, "start"));
}

}  // namespace

void add_in_host(Command& root) {
  auto options = std::make_shared<EnterOptions>();
  Command in = root.add("in-host", "A command in a network namespace", "tutti in-host SPACE -- status");
  in.hide();
  in.option("space", options->space, "").required();
  in.option("arguments", options->arguments, "").required();
  in.action([options] { return enter(*options); });
}

Result<std::unique_ptr<Hosts>> Hosts::create(std::vector<std::string> names, const HostLink& link) {
  std::unique_ptr<Hosts> hosts(new Hosts());
  hosts->prefix_ = fmt::format("tutti-lab-{}", ::getpid());
  hosts->names_ = std::move(names);
  TUTTI_TRY(hosts->make(link));
  return hosts;
}

Status Hosts::make(const HostLink& link) {
  const auto add_space = [&](const std::string& name) -> Status {
    TUTTI_TRY(call({"ip", "netns", "add", space(name)}));
    made_.push_back(space(name));
    return call({"ip", "-n", space(name), "link", "set", "lo", "up"});
  };
  const std::string hub = space(kSwitch);
  TUTTI_TRY(add_space(kSwitch));
  TUTTI_TRY(call({"ip", "-n", hub, "link", "add", "br0", "type", "bridge"}));
  TUTTI_TRY(call({"ip", "-n", hub, "link", "set", "br0", "up"}));
  const std::string rate = fmt::format("{}bps", link.bytes_per_second);  // tc's bps are bytes per second
  const std::string packet = std::to_string(link.packet);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::string& name = names_[i];
    TUTTI_TRY(add_space(name));
    TUTTI_TRY(call({"ip", "-n", hub, "link", "add", name, "mtu", packet, "type", "veth", "peer", "name",
                    "eth0", "mtu", packet, "netns", space(name)}));
    TUTTI_TRY(call({"ip", "-n", hub, "link", "set", name, "master", "br0", "up"}));
    TUTTI_TRY(call({"ip", "-n", space(name), "address", "add", address(i) + "/16", "dev", "eth0"}));
    TUTTI_TRY(call({"ip", "-n", space(name), "link", "set", "eth0", "up"}));
    for (const auto& [where, device] : {std::pair(space(name), std::string("eth0")), std::pair(hub, name)}) {
      TUTTI_TRY(call({"tc", "-n", where, "qdisc", "replace", "dev", device, "root", "tbf", "rate", rate,
                      "burst", "64kb", "limit", std::to_string(link.queue)}));
    }
  }
  return {};
}

Hosts::~Hosts() {
  for (const std::string& each : made_) call({"ip", "netns", "del", each}).ignore();
}

std::string Hosts::address(std::size_t host) {
  return fmt::format("10.78.{}.{}", host / 250, host % 250 + 1);
}

Result<std::unique_ptr<Child>> Hosts::start(std::size_t host,
                                            const std::vector<std::string>& arguments) const {
  std::vector<std::string> all = {"tutti", "in-host", space(names_.at(host)), "--"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return Child::start(all);
}

}  // namespace tutti::cli
