#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/meta/edit.h"

namespace tutti::meta {
namespace {

constexpr std::uint32_t kModeBits = 07777;
constexpr std::uint32_t kSetuid = 04000;
constexpr std::uint32_t kSetgid = 02000;
constexpr std::uint32_t kKnownMask = wire::kSetMode | wire::kSetUid | wire::kSetGid | wire::kSetAccessed |
                                     wire::kSetModified | wire::kSetLayout;

bool owns(const Caller& caller, const Inode& node) { return caller.root() || caller.uid == node.uid; }

Status not_owner(const char* what) {
  return {Code::permission, fmt::format("only the owner may change the {}", what)};
}

}  // namespace

Status TreeEditor::set_mode(Inode& node, std::uint32_t mode) {
  if (!owns(caller(), node)) return not_owner("mode");
  if (node.type == wire::kSymlink) return {Code::unsupported, "a symbolic link has no mode of its own"};
  node.mode = mode & kModeBits;
  const bool stranger = !caller().root() && !caller().in_group(node.gid);
  if (stranger && node.type == wire::kFile) node.mode &= ~kSetgid;
  return {};
}

Status TreeEditor::set_owner(Inode& node, const AttributeChange& change) {
  const bool set_uid = (change.mask & wire::kSetUid) != 0;
  const bool set_gid = (change.mask & wire::kSetGid) != 0;
  if (!caller().root()) {
    if (!owns(caller(), node)) return not_owner("group");
    if (set_uid && change.uid != node.uid) return {Code::permission, "only root may give a file away"};
    if (set_gid && change.gid != node.gid && !caller().in_group(change.gid)) {
      return {Code::permission, fmt::format("you are not in group {}", change.gid)};
    }
    if (node.type != wire::kDirectory) node.mode &= ~(kSetuid | kSetgid);
  }
  if (set_uid) node.uid = change.uid;
  if (set_gid) node.gid = change.gid;
  return {};
}

Status TreeEditor::set_times(Inode& node, const AttributeChange& change) {
  const bool set_accessed = (change.mask & wire::kSetAccessed) != 0;
  const bool set_modified = (change.mask & wire::kSetModified) != 0;
  const bool to_present = (!set_accessed || change.accessed == wire::kTimeNow) &&
                          (!set_modified || change.modified == wire::kTimeNow);
  if (!owns(caller(), node) && !(to_present && may(caller(), node, kMayWrite))) return not_owner("times");
  const auto time = [&](std::int64_t asked) {
    return asked == wire::kTimeNow ? caller().wall : Nanos(asked);
  };
  if (set_accessed) node.accessed = time(change.accessed);
  if (set_modified) {
    node.modified = time(change.modified);
    node.modified_set = caller().wall;
  }
  return {};
}

Status TreeEditor::set_wish(Inode& node, const Wish& wish) {
  if (node.type != wire::kDirectory) {
    return {Code::not_directory, "only a directory has a default layout; a file's own never changes"};
  }
  if (!owns(caller(), node)) return not_owner("default layout");
  const Result<Layout> layout = choose_layout(defaults_, wish, {}, node.id);
  if (!layout.ok()) return layout.status();
  node.wish = wish;
  return {};
}

Result<Inode> TreeEditor::set_attributes(const Place& place, bool follow, const AttributeChange& change) {
  if ((change.mask & ~kKnownMask) != 0) {
    return Status(Code::invalid, fmt::format("unknown attributes {:#x}", change.mask));
  }
  Result<Inode> node = lookup(place, follow);
  if (!node.ok() || change.mask == 0) return node;
  if ((change.mask & (wire::kSetAccessed | wire::kSetModified)) != 0) TUTTI_TRY(set_times(*node, change));
  if ((change.mask & wire::kSetLayout) != 0) TUTTI_TRY(set_wish(*node, change.wish));
  // The mode last: what is asked for counts more than the bits that a new owner costs.
  if ((change.mask & (wire::kSetUid | wire::kSetGid)) != 0) TUTTI_TRY(set_owner(*node, change));
  if ((change.mask & wire::kSetMode) != 0) TUTTI_TRY(set_mode(*node, change.mode));
  node->changed = caller().wall;
  TUTTI_TRY(put(*node));
  return node;
}

Status TreeEditor::commit(std::uint64_t file, Nanos modified) {
  Result<Inode> node = inode(file);
  if (node.code() == Code::stale) {
    const Result<std::optional<std::string>> removed = kv_.get(removed_key(file));
    if (!removed.ok()) return removed.status();
    if (removed->has_value()) return {};  // it was open, and nobody will ask when it was written
  }
  if (!node.ok()) return node.status();
  modified = std::min(modified, caller().wall);
  if (modified <= node->modified_set) return {};
  // A time in the future was set by hand, or by a clock that has been put right.
  if (node->modified <= caller().wall && modified <= node->modified) return {};
  node->modified = modified;
  node->changed = caller().wall;
  return put(*node);
}

}  // namespace tutti::meta
