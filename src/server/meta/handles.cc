#include "server/meta/handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tutti::meta {

Handles::Handles(Env env, Nanos grace, std::function<void(const Closed&)> closed)
    : env_(std::move(env)), grace_(grace), closed_(std::move(closed)), scope_(env_.clock.executor()) {}

void Handles::join(const ClientName& client, std::uint64_t application) {
  Owner& owner = owners_[client];
  ++owner.sessions;
  owner.application = application;
}

std::map<std::uint64_t, std::size_t> Handles::files_by_application() const {
  std::map<std::uint64_t, std::set<std::uint64_t>> files;
  for (const auto& [client, owner] : owners_) {
    for (const auto& [number, handle] : owner.handles) files[owner.application].insert(handle.inode);
  }
  std::map<std::uint64_t, std::size_t> counts;
  for (const auto& [application, inodes] : files) counts.emplace(application, inodes.size());
  return counts;
}

void Handles::leave(const ClientName& client) {
  const auto found = owners_.find(client);
  if (found == owners_.end()) return;
  Owner& owner = found->second;
  if (--owner.sessions > 0) return;
  if (owner.handles.empty()) {
    owners_.erase(found);
    return;
  }
  scope_.spawn(expire(client, ++owner.absences));
}

Task<void> Handles::expire(ClientName client, std::uint64_t absence) {
  co_await env_.clock.sleep(grace_);
  const auto found = owners_.find(client);
  if (found == owners_.end() || found->second.sessions > 0 || found->second.absences != absence) co_return;
  const Owner gone = std::move(found->second);
  owners_.erase(found);
  env_.log.info("client {:x} has been away for {}: closing its {} files", client.client, to_string(grace_),
                gone.handles.size());
  for (const auto& [number, handle] : gone.handles) end(handle, Closing(), false);
}

Status Handles::open(const ClientName& client, std::uint64_t handle, std::uint64_t inode, bool write) {
  Owner& owner = owners_[client];
  if (owner.handles.size() >= kMostOfClient)
    return {Code::invalid, fmt::format("the client has {} files open: close some", kMostOfClient)};
  if (!owner.handles.emplace(handle, Handle{inode, write}).second) return {};
  File& file = files_[inode];
  ++file.handles;
  if (write) ++file.writers;
  return {};
}

void Handles::close(const ClientName& client, std::uint64_t handle, const Closing& closing) {
  const auto owner = owners_.find(client);
  if (owner == owners_.end()) return;
  const auto found = owner->second.handles.find(handle);
  if (found == owner->second.handles.end()) return;
  const Handle ended = found->second;
  owner->second.handles.erase(found);
  end(ended, closing, true);
}

void Handles::end(const Handle& handle, const Closing& closing, bool returned) {
  const auto file = files_.find(handle.inode);
  if (handle.write) --file->second.writers;
  const bool last = --file->second.handles == 0;
  if (last) files_.erase(file);
  closed_(Closed{handle.inode, handle.write, closing, returned, last});
}

bool Handles::is_written(std::uint64_t inode) const {
  const auto file = files_.find(inode);
  return file != files_.end() && file->second.writers > 0;
}

bool Handles::has(const ClientName& client, std::uint64_t inode) const {
  const auto owner = owners_.find(client);
  if (owner == owners_.end()) return false;
  return std::any_of(owner->second.handles.begin(), owner->second.handles.end(),
                     [&](const auto& each) { return each.second.inode == inode; });
}

}  // namespace tutti::meta
