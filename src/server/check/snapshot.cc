#include "server/check/snapshot.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>

#include "server/meta/codec.h"

namespace tutti::check {
namespace {

constexpr int kDeepest = 10'000;  // ends the walk up a damaged tree that has become a ring

using meta::read_big_endian;

template <typename Visit>
Status each_with(const KvReader& kv, char kind, Visit visit) {
  const std::string prefix(1, kind);
  return kv.scan(prefix, [&](std::string_view key, std::string_view value) {
    if (key.empty() || key[0] != kind) return false;
    visit(key.substr(1), value);
    return true;
  });
}

void add_inode(Snapshot& snapshot, std::string_view key, std::string_view value) {
  if (key.size() != sizeof(std::uint64_t)) {
    snapshot.damaged.emplace_back("a key of an inode");
    return;
  }
  const auto id = read_big_endian<std::uint64_t>(key);
  Result<meta::Inode> inode = meta::decode_inode(id, value);
  if (inode.ok()) {
    snapshot.inodes.emplace(id, *std::move(inode));
  } else {
    snapshot.damaged.push_back(inode.status().message());
  }
}

// A removed file: its objects are still to go.
void add_removed(Snapshot& snapshot, std::string_view key, std::string_view value) {
  if (key.size() != sizeof(std::uint64_t)) return;
  const auto id = read_big_endian<std::uint64_t>(key);
  const Result<meta::Inode> inode = meta::decode_inode(id, value);
  if (!inode.ok()) {
    snapshot.damaged.push_back(inode.status().message());
    return;
  }
  const Layout& layout = inode->layout;
  for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot)
    snapshot.orphans.emplace(layout.server_of_slot(slot), id);
}

void add_entry(Snapshot& snapshot, std::string_view key, std::string_view value) {
  if (key.size() <= sizeof(std::uint64_t)) {
    snapshot.damaged.emplace_back("a key of an entry");
    return;
  }
  const auto directory = read_big_endian<std::uint64_t>(key);
  const std::string name(key.substr(sizeof(std::uint64_t)));
  const Result<meta::Entry> entry = meta::decode_entry(value);
  if (entry.ok()) {
    snapshot.name_of.emplace(entry->inode, snapshot.entries.size());
    snapshot.entries.push_back({directory, name, *entry});
  } else {
    snapshot.damaged.push_back(
        fmt::format("'{}' in the directory with inode {}: {}", name, directory, entry.status().message()));
  }
}

}  // namespace

Result<Snapshot> take_snapshot(const KvReader& kv) {
  Snapshot snapshot;
  const auto stored = kv.get(meta::superblock_key());
  if (!stored.ok()) return stored.status();
  if (!stored->has_value())
    return Status(Code::malformed, "there is no superblock: not the metadata of Tutti");
  const auto superblock = meta::decode_superblock(**stored);
  if (!superblock.ok()) return superblock.status();
  snapshot.superblock = *superblock;
  TUTTI_TRY(each_with(kv, 'I', [&](auto key, auto value) { add_inode(snapshot, key, value); }));
  TUTTI_TRY(each_with(kv, 'D', [&](auto key, auto value) { add_entry(snapshot, key, value); }));
  TUTTI_TRY(each_with(kv, 'X', [&](auto key, auto value) { add_removed(snapshot, key, value); }));
  TUTTI_TRY(each_with(kv, 'O', [&](auto key, auto /*value*/) {
    if (key.size() != sizeof(std::uint32_t) + sizeof(std::uint64_t)) return;
    snapshot.orphans.emplace(read_big_endian<std::uint32_t>(key),
                             read_big_endian<std::uint64_t>(key.substr(sizeof(std::uint32_t))));
  }));
  TUTTI_TRY(each_with(kv, 'V', [&](auto key, auto value) {
    const auto uuid = meta::decode_uuid(value);
    if (key.size() == sizeof(std::uint32_t) && uuid.ok())
      snapshot.stores.emplace(read_big_endian<std::uint32_t>(key), *uuid);
  }));
  TUTTI_TRY(each_with(kv, 'E', [&](auto key, auto value) {
    const auto restore = meta::decode_restore(value);
    if (key.size() == sizeof(std::uint64_t) && restore.ok())
      snapshot.restores.emplace(read_big_endian<std::uint64_t>(key), *restore);
  }));
  return snapshot;
}

std::string Snapshot::path_of(std::uint64_t inode) const {
  std::string path;
  const std::uint64_t wanted = inode;
  for (int depth = 0; inode != wire::kRootInode; ++depth) {
    const auto found = name_of.find(inode);
    if (found == name_of.end() || depth == kDeepest) return fmt::format("inode {}", wanted);
    const NamedEntry& entry = entries[found->second];
    path = "/" + entry.name + path;
    inode = entry.directory;
  }
  return path.empty() ? "/" : path;
}

}  // namespace tutti::check
