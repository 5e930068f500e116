#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cerrno>

#include "env/real/network/auth.h"

namespace tutti {
namespace {

constexpr std::size_t kMostEntries = 1024;
constexpr std::size_t kMostGroups = 65536;  // as many as the kernel allows a process
constexpr Nanos kLifetime = 300_s;

std::vector<std::uint32_t> look_up(std::uint32_t uid, std::uint32_t gid) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> text(4096);
  int error = 0;
  while ((error = ::getpwuid_r(uid, &entry, text.data(), text.size(), &found)) == ERANGE &&
         text.size() < (1U << 20U)) {
    text.resize(text.size() * 2);
  }
  if (error != 0 || found == nullptr) return {};  // a user whom this host does not know has no more groups
  std::vector<gid_t> groups(64);
  for (;;) {
    int count = static_cast<int>(groups.size());
    if (::getgrouplist(entry.pw_name, gid, groups.data(), &count) >= 0) {
      groups.resize(static_cast<std::size_t>(count));
      break;
    }
    if (groups.size() >= kMostGroups) break;
    groups.resize(std::min(std::max(groups.size() * 2, static_cast<std::size_t>(count)), kMostGroups));
  }
  return {groups.begin(), groups.end()};
}

}  // namespace

std::vector<std::uint32_t> GroupCache::groups_of(std::uint32_t uid, std::uint32_t gid, Nanos now) {
  std::erase_if(entries_, [&](const Entry& each) { return each.until <= now; });
  for (const Entry& each : entries_) {
    if (each.uid == uid && each.gid == gid) return each.groups;
  }
  if (entries_.size() >= kMostEntries) entries_.erase(entries_.begin());
  entries_.push_back({uid, gid, now + kLifetime, look_up(uid, gid)});
  return entries_.back().groups;
}

}  // namespace tutti
