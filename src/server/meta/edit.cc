#include "server/meta/edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hash.h"

namespace tutti::meta {
namespace {

constexpr std::uint32_t kModeBits = 07777;
constexpr std::uint32_t kSetgid = 02000;
constexpr std::uint32_t kSticky = 01000;
constexpr std::uint32_t kMaxLinks = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kOpenFlags =
    wire::kOpenRead | wire::kOpenWrite | wire::kOpenCreate | wire::kOpenExclusive | wire::kOpenUnnamed;

bool exclusive_create(std::uint32_t flags) {
  return (flags & wire::kOpenCreate) != 0 && (flags & wire::kOpenExclusive) != 0;
}

Status check_flags(std::uint32_t flags) {
  if ((flags & ~kOpenFlags) != 0) return {Code::invalid, fmt::format("unknown open flags {:#x}", flags)};
  if ((flags & (wire::kOpenRead | wire::kOpenWrite)) == 0) {
    return {Code::invalid, "neither reading nor writing is asked for"};
  }
  constexpr std::uint32_t kNeeded = wire::kOpenCreate | wire::kOpenWrite;
  if ((flags & wire::kOpenUnnamed) != 0 && (flags & kNeeded) != kNeeded)
    return {Code::invalid, "a file without a name must be new and open for writing"};
  return {};
}

Status check_open(const Caller& caller, const Inode& node, std::uint32_t flags) {
  if (exclusive_create(flags)) return {Code::exists, "it exists"};
  if (node.type == wire::kDirectory) return {Code::is_directory, "it is a directory"};
  if (node.type == wire::kSymlink) return {Code::invalid, "it is a symbolic link; name it by its path"};
  if ((flags & wire::kOpenRead) != 0 && !may(caller, node, kMayRead)) {
    return {Code::permission, "no read permission"};
  }
  if ((flags & wire::kOpenWrite) != 0 && !may(caller, node, kMayWrite)) {
    return {Code::permission, "no write permission"};
  }
  return {};
}

Status no_write() { return {Code::permission, "no write permission on the directory"}; }

Wish merge(const Wish& first, const Wish& second) {
  return {first.stripe_size != 0 ? first.stripe_size : second.stripe_size,
          first.stripe_count != 0 ? first.stripe_count : second.stripe_count,
          first.first_server != -1 ? first.first_server : second.first_server};
}

}  // namespace

Result<Layout> choose_layout(const ClusterDefaults& defaults, const Wish& directory, const Wish& wish,
                             std::uint64_t inode) {
  const Wish merged = merge(wish, directory);
  if (merged.first_server < -1) {
    return Status(Code::invalid,
                  fmt::format("first server {}: use -1 to have it chosen", merged.first_server));
  }
  const std::uint32_t total = defaults.server_total;
  std::uint32_t count = merged.stripe_count != 0 ? merged.stripe_count : defaults.stripe_count;
  if (count == 0 || count == wire::kAllServers) count = total;
  Layout layout;
  layout.stripe_size = merged.stripe_size != 0 ? Bytes(merged.stripe_size) : defaults.stripe_size;
  layout.stripe_count = count;
  layout.server_total = total;
  if (merged.first_server >= 0) {
    layout.first_server = static_cast<std::uint32_t>(merged.first_server);
  } else if (total > 0) {
    layout.first_server = static_cast<std::uint32_t>(mix64(inode) % total);
  }
  TUTTI_TRY(layout.validate());
  return layout;
}

Result<std::optional<Inode>> open_existing(const Tree& tree, const Place& place, std::uint32_t flags) {
  TUTTI_TRY(check_flags(flags));
  if ((flags & wire::kOpenUnnamed) != 0) return std::optional<Inode>();
  Result<Walked> walked = tree.walk(place, !exclusive_create(flags));
  if (!walked.ok()) return walked.status();
  if (walked->node) {
    TUTTI_TRY(check_open(tree.caller(), *walked->node, flags));
  } else if ((flags & wire::kOpenCreate) == 0) {
    return Status(Code::not_found, "no such file");
  }
  return std::move(walked->node);
}

Status TreeEditor::put(const Inode& node) { return kv_.put(inode_key(node.id), encode(node)); }

Status TreeEditor::add_entry(Inode& parent, const std::string& name, const Inode& node) {
  TUTTI_TRY(kv_.put(entry_key(parent.id, name), encode(Entry{node.id, node.type})));
  parent.modified = parent.changed = caller().wall;
  return put(parent);
}

// One name less. With the last one the inode goes; that of a file waits among the removed files for the removal of its
// objects.
Status TreeEditor::drop_link(Inode node) {
  if (node.type != wire::kDirectory && node.links > 1) {
    --node.links;
    node.changed = caller().wall;
    return put(node);
  }
  if (node.type == wire::kFile) {
    superblock_.files -= std::min<std::uint64_t>(superblock_.files, 1);
    TUTTI_TRY(kv_.put(removed_key(node.id), encode(node)));
    removed_.push_back({node.id, node.layout, false});
  }
  return kv_.erase(inode_key(node.id));
}

Result<Walked> TreeEditor::walk_to_new(const Place& place) const {
  Result<Walked> at = walk(place, false);
  if (!at.ok()) return at.status();
  if (at->node) return Status(Code::exists, "it exists");
  if (!may(caller(), *at->parent, kMayWrite)) return no_write();
  return at;
}

void TreeEditor::begin(Inode& node, const Inode& parent) {
  node.id = superblock_.next_inode++;
  node.uid = caller().uid;
  node.gid = (parent.mode & kSetgid) != 0 ? parent.gid : caller().gid;
  node.mode &= kModeBits;
  if (node.type == wire::kDirectory) {
    node.mode |= parent.mode & kSetgid;
  } else if (!caller().root() && !caller().in_group(node.gid)) {
    node.mode &= ~kSetgid;
  }
  node.accessed = node.modified = node.changed = caller().wall;
}

Result<Inode> TreeEditor::create(Walked& at, Inode node) {
  Inode& parent = *at.parent;
  begin(node, parent);
  if (node.type == wire::kDirectory) {
    node.parent = parent.id;
    node.links = 2;
    if (parent.links == kMaxLinks)
      return Status(Code::too_many_links, "the directory holds too many directories");
    ++parent.links;
  }
  TUTTI_TRY(put(node));
  TUTTI_TRY(add_entry(parent, at.name, node));
  return node;
}

Result<Opened> TreeEditor::open(const Place& place, std::uint32_t flags, std::uint32_t mode,
                                const Wish& wish) {
  TUTTI_TRY(check_flags(flags));
  if ((flags & wire::kOpenUnnamed) != 0) return open_unnamed(place, mode, wish);
  Result<Walked> at = walk(place, !exclusive_create(flags));
  if (!at.ok()) return at.status();
  if (at->node) {
    TUTTI_TRY(check_open(caller(), *at->node, flags));
    return Opened{*std::move(at->node), false};
  }
  if ((flags & wire::kOpenCreate) == 0) return Status(Code::not_found, "no such file");
  if (!may(caller(), *at->parent, kMayWrite)) return no_write();
  const Result<Layout> layout = choose_layout(defaults_, at->parent->wish, wish, superblock_.next_inode);
  if (!layout.ok()) return layout.status();
  Inode node;
  node.type = wire::kFile;
  node.mode = mode;
  node.layout = *layout;
  Result<Inode> made = create(*at, std::move(node));
  if (!made.ok()) return made.status();
  ++superblock_.files;
  return Opened{*std::move(made), true};
}

// Among the removed files from the beginning: if nobody names it, it goes as they do.
Result<Opened> TreeEditor::open_unnamed(const Place& place, std::uint32_t mode, const Wish& wish) {
  const Result<Inode> directory = lookup(place, true);
  if (!directory.ok()) return directory.status();
  if (directory->type != wire::kDirectory) return Status(Code::not_directory, "not a directory");
  if (!may(caller(), *directory, kMayWrite | kMaySearch)) return no_write();
  const Result<Layout> layout = choose_layout(defaults_, directory->wish, wish, superblock_.next_inode);
  if (!layout.ok()) return layout.status();
  Inode node;
  node.type = wire::kFile;
  node.mode = mode;
  node.layout = *layout;
  begin(node, *directory);
  TUTTI_TRY(kv_.put(removed_key(node.id), encode(node)));
  removed_.push_back({node.id, node.layout, true});
  return Opened{std::move(node), true};
}

Status TreeEditor::give_name(std::uint64_t file, const Place& place, bool replace) {
  const Result<std::optional<std::string>> stored = kv_.get(removed_key(file));
  if (!stored.ok()) return stored.status();
  if (!stored->has_value()) return {Code::stale, "the file has a name, or was removed"};
  Result<Inode> node = decode_inode(file, **stored);
  if (!node.ok()) return node.status();
  Result<Walked> at = walk(place, false);
  if (!at.ok()) return at.status();
  if (!at->parent) return {Code::invalid, "the path must end in a name"};
  if (at->node && !replace) return {Code::exists, "it exists"};
  if (!may(caller(), *at->parent, kMayWrite)) return no_write();
  if (at->node) {
    TUTTI_TRY(check_replace(*node, *at));
    TUTTI_TRY(drop_link(*at->node));
  }
  TUTTI_TRY(kv_.erase(removed_key(file)));
  node->links = 1;
  node->changed = caller().wall;
  TUTTI_TRY(put(*node));
  ++superblock_.files;
  return add_entry(*at->parent, at->name, *node);
}

Result<Inode> TreeEditor::make_directory(const Place& place, std::uint32_t mode, const Wish& wish) {
  Result<Walked> at = walk_to_new(place);
  if (!at.ok()) return at.status();
  Inode node;
  node.type = wire::kDirectory;
  node.mode = mode;
  node.wish = merge(wish, at->parent->wish);
  const Result<Layout> layout = choose_layout(defaults_, node.wish, {}, superblock_.next_inode);
  if (!layout.ok()) return layout.status();
  return create(*at, std::move(node));
}

Result<Inode> TreeEditor::symlink(const Place& place, const std::string& target) {
  if (target.empty()) return Status(Code::invalid, "the target of a symbolic link must not be empty");
  if (target.find('\0') != std::string::npos) return Status(Code::invalid, "the target contains a zero byte");
  if (target.size() > wire::kMaxPath) {
    return Status(Code::name_too_long,
                  fmt::format("the target has {} bytes; {} are allowed", target.size(), wire::kMaxPath));
  }
  Result<Walked> at = walk_to_new(place);
  if (!at.ok()) return at.status();
  Inode node;
  node.type = wire::kSymlink;
  node.mode = 0777;
  node.target = target;
  return create(*at, std::move(node));
}

Result<Inode> TreeEditor::link(const Place& from, const Place& to) {
  Result<Inode> node = lookup(from, false);
  if (!node.ok()) return node.status();
  if (node->type == wire::kDirectory) {
    return Status(Code::permission, "a directory cannot have a second name; make a symbolic link");
  }
  Result<Walked> at = walk_to_new(to);
  if (!at.ok()) return at.status();
  if (node->links == kMaxLinks) return Status(Code::too_many_links, "the file has too many names");
  ++node->links;
  node->changed = caller().wall;
  TUTTI_TRY(put(*node));
  TUTTI_TRY(add_entry(*at->parent, at->name, *node));
  return node;
}

Status TreeEditor::check_remove(const Inode& parent, const Inode& node) const {
  if (!may(caller(), parent, kMayWrite)) return no_write();
  const bool sticky = (parent.mode & kSticky) != 0 && !caller().root();
  if (sticky && caller().uid != parent.uid && caller().uid != node.uid) {
    return {Code::permission, "the directory is sticky: only the owner may remove or rename this"};
  }
  return {};
}

Status TreeEditor::remove(const Place& place, bool directory) {
  Result<Walked> at = walk(place, false);
  if (!at.ok()) return at.status();
  if (!at->parent) return {Code::invalid, "the path must end in the name of what is to be removed"};
  if (!at->node) return {Code::not_found, "no such file or directory"};
  Inode& parent = *at->parent;
  TUTTI_TRY(check_remove(parent, *at->node));
  const bool is_directory = at->node->type == wire::kDirectory;
  if (directory && !is_directory) return {Code::not_directory, "not a directory"};
  if (!directory && is_directory) return {Code::is_directory, "it is a directory"};
  if (is_directory) {
    const Result<bool> none = empty(*at->node);
    if (!none.ok()) return none.status();
    if (!*none) return {Code::not_empty, "the directory is not empty"};
    --parent.links;
  }
  TUTTI_TRY(kv_.erase(entry_key(parent.id, at->name)));
  parent.modified = parent.changed = caller().wall;
  TUTTI_TRY(put(parent));
  return drop_link(*std::move(at->node));
}

Status TreeEditor::finish() {
  if (superblock_ == stored_) return {};
  stored_ = superblock_;
  return kv_.put(superblock_key(), encode(superblock_));
}

}  // namespace tutti::meta
