// The keys and records of the metadata server in its Kv. Pure.
//
//   'S'                               superblock: format, cluster, next inode number, counts, who the store is
//   'V' server                        the store of a data server: its UUID (stores.h)
//   'E' epoch                         a restore: where the epoch before it ended (epoch.h)
//   'I' inode                         inode: a file, directory or symbolic link
//   'D' parent name                   directory entry: one scan lists a directory in the order of its names
//   'X' inode                         removed file, as its inode was: open still, or with objects to be removed (purge.h)
//   'O' server inode                  the same in stores of format 1 before 'X': an object to be removed
//   'R' uid client sequence           what was answered to a change, in case the client repeats it (repeat.h)
//   'C' key                           counter (counters.h)
//   'L'                               there may be locks (locks.h)
//
// Numbers in keys are big-endian, so that keys sort as they do; in records little-endian. Every record starts
// with its version; decode functions return Code::malformed for bytes that are not a sound record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"
#include "base/uuid.h"
#include "layout/layout.h"
#include "wire/messages.h"

namespace tutti::meta {

inline constexpr std::uint32_t kFormat = 2;

// What a creator asks for, and the default that a directory gives to what is made in it.
struct Wish {
  std::uint64_t stripe_size = 0;   // 0: no wish
  std::uint32_t stripe_count = 0;  // 0: no wish; wire::kAllServers: all
  std::int32_t first_server = -1;  // -1: no wish
  bool operator==(const Wish&) const = default;
};

// Where the sweep through the records of answered changes goes on.
struct RepeatKey {
  std::uint32_t uid = 0;
  std::uint64_t client = 0;
  std::uint64_t sequence = 0;
  auto operator<=>(const RepeatKey&) const = default;
};

struct Superblock {
  std::uint32_t format = kFormat;
  std::uint64_t cluster = 0;
  std::uint64_t next_inode = wire::kRootInode + 1;  // numbers are never used again
  std::uint64_t files = 0;                          // regular files, each once however many links it has
  RepeatKey sweep;
  Uuid uuid;  // of this metadata store, and of what is restored from it
  bool operator==(const Superblock&) const = default;
};

struct Inode {
  std::uint64_t id = 0;  // from the key
  wire::NodeType type = wire::kFile;
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t links = 1;            // of a directory: 2 and one for each directory in it
  Nanos accessed, modified, changed;  // wall
  Nanos modified_set;  // when somebody last set `modified` by hand; what was written before does not undo it
  Layout layout;       // files
  std::uint64_t parent = 0;  // directories
  Wish wish;                 // directories
  std::string target;        // symbolic links
};

struct Entry {
  std::uint64_t inode = 0;
  wire::NodeType type = wire::kFile;
};

// A restore from a backup: what was made in the epoch before with this inode number or a higher one is newer than the
// backup.
struct Restore {
  std::uint64_t next_inode = 0;
  Nanos wall;  // when
  bool operator==(const Restore&) const = default;
};

std::string superblock_key();
std::string inode_key(std::uint64_t inode);
// With an empty name: where the directory's entries begin.
std::string entry_key(std::uint64_t directory, std::string_view name);
std::string removed_key(std::uint64_t inode);
std::string orphan_key(std::uint32_t server, std::uint64_t inode);
std::string repeat_key(const RepeatKey& key);
std::string counter_key(std::uint64_t key);
std::string lock_mark_key();
std::string store_key(std::uint32_t server);
std::string restore_key(std::uint64_t epoch);

// The name in a key of an entry of this directory; empty if it is the key of something else.
std::string_view entry_name(std::string_view key, std::uint64_t directory);
// The inode in a key of a removed file, or of an orphan; 0 if it is the key of something else.
std::uint64_t removed_inode(std::string_view key);
std::uint64_t orphan_inode(std::string_view key);
[[nodiscard]] bool is_counter_key(std::string_view key);
// False if it is the key of something else.
bool parse_repeat_key(std::string_view key, RepeatKey& into);

std::string encode(const Superblock& superblock);
std::string encode(const Inode& inode);
std::string encode(const Entry& entry);
std::string encode(const Uuid& uuid);
std::string encode(const Restore& restore);

// Code::version if a newer Tutti wrote it, or an older one whose format must be upgraded first.
Result<Superblock> decode_superblock(std::string_view bytes);
Result<Inode> decode_inode(std::uint64_t id, std::string_view bytes);
Result<Entry> decode_entry(std::string_view bytes);
Result<Uuid> decode_uuid(std::string_view bytes);
Result<Restore> decode_restore(std::string_view bytes);
// A superblock of format 1, with this UUID.
Result<Superblock> upgrade_superblock(std::string_view bytes, const Uuid& uuid);

}  // namespace tutti::meta
