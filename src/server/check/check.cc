#include "server/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "server/meta/epoch.h"

namespace tutti::check {
namespace {

using meta::Inode;

struct Kind {
  std::string_view name;
  bool repairable;
};
constexpr std::array<Kind, 16> kKinds = {{{"damaged record", false},
                                          {"entry without inode", true},
                                          {"inode without name", true},
                                          {"wrong link count", true},
                                          {"wrong parent", true},
                                          {"wrong file count", true},
                                          {"orphan of a living file", true},
                                          {"bad layout", false},
                                          {"wrong store", false},
                                          {"empty store", false},
                                          {"server not asked", false},
                                          {"object without file", true},
                                          {"object newer than the backup", false},
                                          {"object outside the layout", true},
                                          {"object too long", false},
                                          {"missing object", false}}};

class Checker {
 public:
  Checker(const Snapshot& snapshot, const std::vector<ServerObjects>& servers)
      : snapshot_(snapshot), servers_(servers), expected_(servers.size()), missing_(servers.size()) {}

  Report run() {
    for (const std::string& what : snapshot_.damaged) problem(Problem::damaged_record, what);
    check_names();
    for (const auto& [id, inode] : snapshot_.inodes) check_inode(inode);
    if (report_.files != snapshot_.superblock.files) {
      problem(Problem::wrong_file_count, fmt::format("the superblock counts {} files, and there are {}",
                                                     snapshot_.superblock.files, report_.files));
    }
    check_orphans();
    for (std::uint32_t server = 0; server < servers_.size(); ++server) check_server(server);
    for (const auto& [id, inode] : snapshot_.inodes) {
      if (inode.type == wire::kFile) check_objects(inode);
    }
    for (std::uint32_t server = 0; server < servers_.size(); ++server) check_emptiness(server);
    return std::move(report_);
  }

 private:
  void problem(Problem kind, std::string text, std::uint64_t inode = 0,
               std::optional<std::uint32_t> server = {}, Bytes bytes = {}) {
    report_.problems.push_back({kind, std::move(text), inode, server, bytes});
  }

  void check_names() {
    for (const NamedEntry& each : snapshot_.entries) {
      const auto found = snapshot_.inodes.find(each.entry.inode);
      if (found == snapshot_.inodes.end() || found->second.type != each.entry.type) {
        problem(Problem::entry_without_inode,
                fmt::format("'{}' in {} names inode {}, which is {}", each.name,
                            snapshot_.path_of(each.directory), each.entry.inode,
                            found == snapshot_.inodes.end() ? "not there" : "of another type"),
                each.entry.inode);
        continue;
      }
      ++names_[each.entry.inode];
      if (each.entry.type != wire::kDirectory) continue;
      ++subdirectories_[each.directory];
      if (found->second.parent != each.directory) {
        problem(Problem::wrong_parent,
                fmt::format("{} lies in inode {} and names inode {} as its parent",
                            snapshot_.path_of(each.entry.inode), each.directory, found->second.parent),
                each.entry.inode);
      }
    }
  }

  void check_inode(const Inode& inode) {
    ++(inode.type == wire::kFile        ? report_.files
       : inode.type == wire::kDirectory ? report_.directories
                                        : report_.symlinks);
    const bool root = inode.id == wire::kRootInode;
    const std::uint32_t names = names_[inode.id];
    if (names == 0 && !root) {
      if (inode.links == 0) return;  // removed while it is open
      return problem(Problem::inode_without_name, fmt::format("inode {} has no name", inode.id), inode.id);
    }
    const std::uint32_t links = inode.type == wire::kDirectory ? 2 + subdirectories_[inode.id] : names;
    if (inode.links != links) {
      problem(Problem::wrong_link_count,
              fmt::format("{} counts {} links, and has {}", snapshot_.path_of(inode.id), inode.links, links),
              inode.id);
    }
    if (inode.type == wire::kFile && inode.layout.server_total > servers_.size()) {
      problem(Problem::bad_layout,
              fmt::format("{} is striped over {} data servers, and the cluster has {}",
                          snapshot_.path_of(inode.id), inode.layout.server_total, servers_.size()),
              inode.id);
    }
  }

  void check_orphans() {
    report_.orphans = snapshot_.orphans.size();
    for (const auto& [server, inode] : snapshot_.orphans) {
      if (!snapshot_.inodes.contains(inode) || snapshot_.inodes.at(inode).links == 0) continue;
      problem(Problem::orphan_of_living_file,
              fmt::format("the object of {} on data server {} is listed for removal",
                          snapshot_.path_of(inode), server),
              inode, server);
    }
  }

  void check_server(std::uint32_t server) {
    const ServerObjects& held = servers_[server];
    if (!held.missing.ok()) {
      return problem(Problem::server_not_asked,
                     fmt::format("data server {}: {}", server, held.missing.to_string()), 0, server);
    }
    const auto recorded = snapshot_.stores.find(server);
    const StoreIdentity& identity = held.identity;
    if (identity.cluster != snapshot_.superblock.cluster || identity.server != server ||
        (recorded != snapshot_.stores.end() && recorded->second != identity.uuid) ||
        (!identity.metadata.none() && identity.metadata != snapshot_.superblock.uuid)) {
      problem(
          Problem::wrong_store,
          fmt::format("data server {} has store {} (of data server {} of cluster {:x}), the record names {}",
                      server, to_string(identity.uuid), identity.server, identity.cluster,
                      recorded == snapshot_.stores.end() ? "none" : to_string(recorded->second)),
          0, server);
    }
    for (const ObjectLength& each : held.objects) check_object(server, each);
  }

  void check_object(std::uint32_t server, const ObjectLength& object) {
    ++report_.objects;
    report_.bytes += object.length;
    const std::uint64_t id = object.object.value;
    const auto found = snapshot_.inodes.find(id);
    if (found == snapshot_.inodes.end() || found->second.type != wire::kFile) {
      if (snapshot_.orphans.contains({server, id})) return;
      const bool newer = newer_than_backup(id);
      return problem(newer ? Problem::object_newer_than_backup : Problem::object_without_file,
                     fmt::format("object {:x} on data server {}, {}{}", id, server, to_string(object.length),
                                 newer ? ", of a file that was made after the backup" : ""),
                     id, server, object.length);
    }
    const Layout& layout = found->second.layout;
    bool holds = false;
    for (std::uint32_t slot = 0; slot < layout.stripe_count && !holds; ++slot)
      holds = layout.server_of_slot(slot) == server;
    if (!holds) {
      return problem(Problem::object_outside_layout,
                     fmt::format("{} has no stripes on data server {}, and an object there, {}",
                                 snapshot_.path_of(id), server, to_string(object.length)),
                     id, server, object.length);
    }
    if (object.length.count() > wire::kMaxOffset) {
      problem(Problem::object_too_long,
              fmt::format("the object of {} on data server {} has {} bytes", snapshot_.path_of(id), server,
                          object.length.count()),
              id, server, object.length);
    }
  }

  // Made in an epoch that a restore ended, after the backup.
  [[nodiscard]] bool newer_than_backup(std::uint64_t id) const {
    return std::any_of(snapshot_.restores.begin(), snapshot_.restores.end(), [&](const auto& each) {
      return id >= each.second.next_inode && meta::epoch_of(id) < each.first;
    });
  }

  [[nodiscard]] std::optional<Bytes> length_on(std::uint32_t server, std::uint64_t id) const {
    const std::vector<ObjectLength>& objects = servers_[server].objects;
    const auto found = std::lower_bound(
        objects.begin(), objects.end(), id,
        [](const ObjectLength& each, std::uint64_t wanted) { return each.object.value < wanted; });
    if (found == objects.end() || found->object.value != id) return std::nullopt;
    return found->length;
  }

  // Which objects a file should have follows from those that it has.
  void check_objects(const Inode& inode) {
    const Layout& layout = inode.layout;
    if (layout.server_total > servers_.size()) return;
    Bytes length;
    for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot) {
      const auto held = length_on(layout.server_of_slot(slot), inode.id);
      if (held) length = std::max(length, layout.file_length(slot, *held));
    }
    for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot) {
      const std::uint32_t server = layout.server_of_slot(slot);
      if (!servers_[server].missing.ok() || layout.object_length(slot, length) == 0_B) continue;
      ++expected_[server];
      if (length_on(server, inode.id)) continue;
      ++missing_[server];
      report_.doubts.push_back({Problem::missing_object,
                                fmt::format("{} has {} and no object on data server {}: a hole, or lost",
                                            snapshot_.path_of(inode.id), to_string(length), server),
                                inode.id, server, Bytes()});
    }
  }

  void check_emptiness(std::uint32_t server) {
    if (expected_[server] == 0 || missing_[server] < expected_[server]) return;
    problem(
        Problem::empty_store,
        fmt::format(
            "data server {} has none of the {} objects that files should have there: their stripes read as "
            "zeros",
            server, expected_[server]),
        0, server);
  }

  const Snapshot& snapshot_;
  const std::vector<ServerObjects>& servers_;
  Report report_;
  std::unordered_map<std::uint64_t, std::uint32_t> names_;           // how many an inode has
  std::unordered_map<std::uint64_t, std::uint32_t> subdirectories_;  // of a directory
  std::vector<std::uint64_t> expected_;                              // objects, by server
  std::vector<std::uint64_t> missing_;
};

}  // namespace

std::string_view name_of(Problem problem) { return kKinds.at(static_cast<std::size_t>(problem)).name; }
bool repairable(Problem problem) { return kKinds.at(static_cast<std::size_t>(problem)).repairable; }

Report check(const Snapshot& snapshot, const std::vector<ServerObjects>& servers) {
  return Checker(snapshot, servers).run();
}

}  // namespace tutti::check
