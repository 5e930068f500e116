#include "server/meta/tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::meta {
namespace {

constexpr int kMaxSymlinks = 40;
// Ends the walk up a damaged tree that has become a ring.
constexpr int kMaxDepth = 1'000'000;
// Entries of one reply, so that it fits into a frame.
constexpr std::size_t kListBudget = 512U << 10U;
constexpr std::size_t kEntryCost = 256;

Status check_length(std::string_view name) {
  if (name.size() <= wire::kMaxName) return {};
  return {Code::name_too_long, fmt::format("the name '{}...' has {} bytes; {} are allowed",
                                           name.substr(0, 32), name.size(), wire::kMaxName)};
}

// Puts the parts of `path` on top of the stack `pending`, the first uppermost.
Status push_parts(std::string_view path, std::vector<std::string>& pending) {
  if (path.size() > wire::kMaxPath) {
    return {Code::name_too_long,
            fmt::format("the path has {} bytes; {} are allowed", path.size(), wire::kMaxPath)};
  }
  if (path.find('\0') != std::string_view::npos) return {Code::invalid, "the path contains a zero byte"};
  const std::size_t before = pending.size();
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".") continue;
    if (part == "..") return {Code::invalid, "'..' is not supported in paths; write the path without it"};
    TUTTI_TRY(check_length(part));
    pending.emplace_back(part);
  }
  std::reverse(pending.begin() + static_cast<std::ptrdiff_t>(before), pending.end());
  return {};
}

Status no_search(std::uint64_t directory) {
  return {Code::permission, fmt::format("no search permission on the directory with inode {}", directory)};
}

}  // namespace

bool Caller::in_group(std::uint32_t group) const {
  return gid == group || std::find(groups.begin(), groups.end(), group) != groups.end();
}

bool may(const Caller& caller, const Inode& node, std::uint32_t access) {
  if (caller.root()) return true;
  std::uint32_t bits = node.mode;
  if (caller.uid == node.uid) {
    bits >>= 6U;
  } else if (caller.in_group(node.gid)) {
    bits >>= 3U;
  }
  return (bits & access) == access;
}

std::string to_string(const Place& place) {
  if (place.base == 0 || place.base == wire::kRootInode) {
    return place.path.starts_with('/') ? place.path : "/" + place.path;
  }
  return place.path.empty() ? fmt::format("inode {}", place.base)
                            : fmt::format("'{}' below inode {}", place.path, place.base);
}

Result<Inode> Tree::inode(std::uint64_t id) const {
  Result<std::optional<std::string>> bytes = kv_.get(inode_key(id));
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return Status(Code::stale, fmt::format("inode {} was removed", id));
  return decode_inode(id, **bytes);
}

Result<std::optional<Inode>> Tree::child(const Inode& directory, const std::string& name) const {
  Result<std::optional<std::string>> bytes = kv_.get(entry_key(directory.id, name));
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return std::optional<Inode>();
  const Result<Entry> entry = decode_entry(**bytes);
  if (!entry.ok()) return entry.status();
  Result<Inode> node = inode(entry->inode);
  if (node.code() == Code::stale) {
    return Status(Code::malformed, fmt::format("'{}' names inode {}, which is lost", name, entry->inode));
  }
  if (!node.ok()) return node.status();
  return std::optional<Inode>(*std::move(node));
}

Result<Inode> Tree::start(const Place& place) const {
  Result<Inode> base = inode(place.base == 0 ? wire::kRootInode : place.base);
  if (!base.ok() || caller_.root() || base->id == wire::kRootInode) return base;
  if (base->type != wire::kDirectory) {
    if (caller_.uid == base->uid) return base;
    return Status(Code::permission,
                  fmt::format("inode {} is not yours; name the file by its path", base->id));
  }
  Inode above = *base;
  for (int depth = 0; above.id != wire::kRootInode && depth < kMaxDepth; ++depth) {
    Result<Inode> parent = inode(above.parent);
    if (!parent.ok()) return parent.status();
    if (!may(caller_, *parent, kMaySearch)) return no_search(parent->id);
    above = *std::move(parent);
  }
  return base;
}

Result<Walked> Tree::walk(const Place& place, bool follow) const {
  std::vector<std::string> pending;
  TUTTI_TRY(push_parts(place.path, pending));
  Result<Inode> first = start(place);
  if (!first.ok()) return first.status();
  Inode current = *std::move(first);
  int symlinks = 0;
  while (!pending.empty()) {
    const std::string name = std::move(pending.back());
    pending.pop_back();
    if (current.type != wire::kDirectory) {
      return Status(Code::not_directory, fmt::format("what is before '{}' is not a directory", name));
    }
    if (!may(caller_, current, kMaySearch)) return no_search(current.id);
    Result<std::optional<Inode>> found = child(current, name);
    if (!found.ok()) return found.status();
    if (!found->has_value()) {
      if (!pending.empty()) return Status(Code::not_found, fmt::format("no such directory: '{}'", name));
      return Walked{std::move(current), name, std::nullopt};
    }
    Inode& node = **found;
    if (node.type == wire::kSymlink && (follow || !pending.empty())) {
      if (++symlinks > kMaxSymlinks) return Status(Code::invalid, "too many symbolic links");
      const Status pushed = push_parts(node.target, pending);
      if (!pushed.ok()) return pushed.with_context(fmt::format("symbolic link '{}'", name));
      if (node.target.starts_with('/')) {
        Result<Inode> root = inode(wire::kRootInode);
        if (!root.ok()) return root.status();
        current = *std::move(root);
      }
      continue;
    }
    if (pending.empty()) return Walked{std::move(current), name, std::move(node)};
    current = std::move(node);
  }
  return Walked{std::nullopt, "", std::move(current)};
}

Result<Inode> Tree::lookup(const Place& place, bool follow) const {
  Result<Walked> walked = walk(place, follow);
  if (!walked.ok()) return walked.status();
  if (!walked->node) return Status(Code::not_found, "no such file or directory");
  return *std::move(walked->node);
}

Result<Listing> Tree::list(const Place& place, const std::string& after, std::uint32_t limit,
                           bool attributes) const {
  TUTTI_TRY(check_length(after));
  const Result<Inode> directory = lookup(place, true);
  if (!directory.ok()) return directory.status();
  if (directory->type != wire::kDirectory) return Status(Code::not_directory, "not a directory");
  if (!may(caller_, *directory, kMayRead))
    return Status(Code::permission, "no read permission on the directory");
  if (limit == 0 || limit > wire::kMaxListEntries) limit = wire::kMaxListEntries;
  attributes = attributes && may(caller_, *directory, kMaySearch);

  Listing listing;
  Status damaged;
  std::string from = entry_key(directory->id, after);
  if (!after.empty()) from.push_back('\0');
  TUTTI_TRY(kv_.scan(from, [&](std::string_view key, std::string_view value) {
    const std::string_view name = entry_name(key, directory->id);
    if (name.empty()) return false;
    listing.more = listing.entries.size() == limit;
    if (listing.more) return false;
    Result<Entry> entry = decode_entry(value);
    if (!entry.ok()) {
      damaged = entry.status();
      return false;
    }
    listing.entries.push_back({std::string(name), *entry, std::nullopt});
    return true;
  }));
  if (!damaged.ok()) return damaged;

  std::size_t cost = 0;
  for (std::size_t i = 0; i < listing.entries.size(); ++i) {
    ListedEntry& each = listing.entries[i];
    if (attributes) {
      Result<Inode> node = inode(each.entry.inode);
      if (!node.ok()) return node.status();
      each.node = *std::move(node);
    }
    cost += kEntryCost + each.name.size() + (each.node ? each.node->target.size() : 0);
    if (cost > kListBudget && i + 1 < listing.entries.size()) {
      listing.entries.resize(i + 1);
      listing.more = true;
    }
  }
  return listing;
}

Result<bool> Tree::empty(const Inode& directory) const {
  bool found = false;
  TUTTI_TRY(kv_.scan(entry_key(directory.id, ""), [&](std::string_view key, std::string_view) {
    found = !entry_name(key, directory.id).empty();
    return false;
  }));
  return !found;
}

Result<bool> Tree::within(const Inode& directory, std::uint64_t ancestor) const {
  Inode above = directory;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    if (above.id == ancestor) return true;
    if (above.id == wire::kRootInode) return false;
    Result<Inode> parent = inode(above.parent);
    if (!parent.ok()) return parent.status();
    above = *std::move(parent);
  }
  return Status(Code::malformed, fmt::format("directory {} has no way up to the root", directory.id));
}

}  // namespace tutti::meta
