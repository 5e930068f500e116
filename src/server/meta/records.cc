#include "server/meta/records.h"

#include <fmt/format.h>

#include "server/meta/codec.h"

namespace tutti::meta {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::size_t kEntryPrefix = 1 + sizeof(std::uint64_t);
constexpr std::size_t kOrphanKey = 1 + sizeof(std::uint32_t) + sizeof(std::uint64_t);
constexpr std::size_t kRepeatKey = 1 + sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t);

bool known_type(std::uint8_t type) {
  return type == wire::kFile || type == wire::kDirectory || type == wire::kSymlink;
}

Status malformed(const std::string& what) {
  return {Code::malformed, what + ": the stored record is damaged; restore the metadata from a copy"};
}

}  // namespace

std::string superblock_key() { return "S"; }

std::string inode_key(std::uint64_t inode) {
  std::string key("I");
  append_big_endian(key, inode);
  return key;
}

std::string entry_key(std::uint64_t directory, std::string_view name) {
  std::string key("D");
  key.reserve(kEntryPrefix + name.size());
  append_big_endian(key, directory);
  return key.append(name);
}

std::string removed_key(std::uint64_t inode) {
  std::string key("X");
  append_big_endian(key, inode);
  return key;
}

std::string orphan_key(std::uint32_t server, std::uint64_t inode) {
  std::string key("O");
  append_big_endian(key, server);
  append_big_endian(key, inode);
  return key;
}

std::string repeat_key(const RepeatKey& from) {
  std::string key("R");
  append_big_endian(key, from.uid);
  append_big_endian(key, from.client);
  append_big_endian(key, from.sequence);
  return key;
}

std::string counter_key(std::uint64_t number) {
  std::string key("C");
  append_big_endian(key, number);
  return key;
}

bool is_counter_key(std::string_view key) { return key.size() == 1 + sizeof(std::uint64_t) && key[0] == 'C'; }

std::string lock_mark_key() { return "L"; }

std::string store_key(std::uint32_t server) {
  std::string key("V");
  append_big_endian(key, server);
  return key;
}

std::string restore_key(std::uint64_t epoch) {
  std::string key("E");
  append_big_endian(key, epoch);
  return key;
}

std::string_view entry_name(std::string_view key, std::uint64_t directory) {
  if (key.size() <= kEntryPrefix || key[0] != 'D') return {};
  if (read_big_endian<std::uint64_t>(key.substr(1)) != directory) return {};
  return key.substr(kEntryPrefix);
}

std::uint64_t removed_inode(std::string_view key) {
  if (key.size() != 1 + sizeof(std::uint64_t) || key[0] != 'X') return 0;
  return read_big_endian<std::uint64_t>(key.substr(1));
}

std::uint64_t orphan_inode(std::string_view key) {
  if (key.size() != kOrphanKey || key[0] != 'O') return 0;
  return read_big_endian<std::uint64_t>(key.substr(1 + sizeof(std::uint32_t)));
}

bool parse_repeat_key(std::string_view key, RepeatKey& into) {
  if (key.size() != kRepeatKey || key[0] != 'R') return false;
  into.uid = read_big_endian<std::uint32_t>(key.substr(1));
  into.client = read_big_endian<std::uint64_t>(key.substr(5));
  into.sequence = read_big_endian<std::uint64_t>(key.substr(13));
  return true;
}

std::string encode(const Superblock& superblock) {
  return Encoder()
      .number(superblock.format)
      .number(superblock.cluster)
      .number(superblock.next_inode)
      .number(superblock.files)
      .number(superblock.sweep.uid)
      .number(superblock.sweep.client)
      .number(superblock.sweep.sequence)
      .number(superblock.uuid.high)
      .number(superblock.uuid.low)
      .take();
}

namespace {

void read_rest(Decoder& decoder, Superblock& superblock) {
  decoder.into(superblock.cluster);
  decoder.into(superblock.next_inode);
  decoder.into(superblock.files);
  decoder.into(superblock.sweep.uid);
  decoder.into(superblock.sweep.client);
  decoder.into(superblock.sweep.sequence);
}

bool sound(const Superblock& superblock) {
  return superblock.format != 0 && superblock.next_inode > wire::kRootInode;
}

}  // namespace

Result<Superblock> decode_superblock(std::string_view bytes) {
  Decoder decoder(bytes);
  Superblock superblock;
  decoder.into(superblock.format);
  if (decoder.sound() && superblock.format > kFormat) {
    return Status(Code::version,
                  fmt::format("the metadata have format {}, and this Tutti knows formats up to {}: "
                              "start a Tutti that is at least as new as the one that wrote them",
                              superblock.format, kFormat));
  }
  if (decoder.sound() && superblock.format == 1) {
    return Status(
        Code::version,
        "the metadata have format 1, which does not say whose they are: `tutti server upgrade` gives "
        "them an identity");
  }
  read_rest(decoder, superblock);
  decoder.into(superblock.uuid.high);
  decoder.into(superblock.uuid.low);
  if (!decoder.done() || !sound(superblock)) return malformed("superblock");
  return superblock;
}

Result<Superblock> upgrade_superblock(std::string_view bytes, const Uuid& uuid) {
  Decoder decoder(bytes);
  Superblock superblock;
  decoder.into(superblock.format);
  if (decoder.sound() && superblock.format == kFormat)
    return Status(Code::exists, "the metadata have the newest format already");
  read_rest(decoder, superblock);
  if (!decoder.done() || superblock.format != 1 || !sound(superblock)) return malformed("superblock");
  superblock.format = kFormat;
  superblock.uuid = uuid;
  return superblock;
}

std::string encode(const Inode& inode) {
  Encoder encoder;
  encoder.number(kRecordVersion).number(static_cast<std::uint8_t>(inode.type));
  encoder.number(inode.mode).number(inode.uid).number(inode.gid).number(inode.links);
  encoder.number(inode.accessed.count()).number(inode.modified.count()).number(inode.changed.count());
  encoder.number(inode.modified_set.count());
  switch (inode.type) {
    case wire::kFile:
      encoder.number(inode.layout.stripe_size.count()).number(inode.layout.stripe_count);
      encoder.number(inode.layout.first_server).number(inode.layout.server_total);
      break;
    case wire::kDirectory:
      encoder.number(inode.parent);
      encoder.number(inode.wish.stripe_size).number(inode.wish.stripe_count).number(inode.wish.first_server);
      break;
    case wire::kSymlink:
      encoder.rest(inode.target);
      break;
  }
  return encoder.take();
}

Result<Inode> decode_inode(std::uint64_t id, std::string_view bytes) {
  Decoder decoder(bytes);
  Inode inode;
  inode.id = id;
  const auto version = decoder.number<std::uint8_t>();
  const auto type = decoder.number<std::uint8_t>();
  const std::string name = fmt::format("inode {}", id);
  if (version != kRecordVersion || !known_type(type)) return malformed(name);
  inode.type = static_cast<wire::NodeType>(type);
  decoder.into(inode.mode);
  decoder.into(inode.uid);
  decoder.into(inode.gid);
  decoder.into(inode.links);
  inode.accessed = Nanos(decoder.number<std::int64_t>());
  inode.modified = Nanos(decoder.number<std::int64_t>());
  inode.changed = Nanos(decoder.number<std::int64_t>());
  inode.modified_set = Nanos(decoder.number<std::int64_t>());
  bool sound = inode.mode <= 07777 && inode.links > 0;
  switch (inode.type) {
    case wire::kFile:
      inode.layout.stripe_size = Bytes(decoder.number<std::uint64_t>());
      decoder.into(inode.layout.stripe_count);
      decoder.into(inode.layout.first_server);
      decoder.into(inode.layout.server_total);
      sound = sound && inode.layout.validate().ok();
      break;
    case wire::kDirectory:
      decoder.into(inode.parent);
      decoder.into(inode.wish.stripe_size);
      decoder.into(inode.wish.stripe_count);
      decoder.into(inode.wish.first_server);
      break;
    case wire::kSymlink:
      inode.target = decoder.rest();
      sound = sound && !inode.target.empty() && inode.target.size() <= wire::kMaxPath;
      break;
  }
  if (!sound || !decoder.done()) return malformed(name);
  return inode;
}

std::string encode(const Entry& entry) {
  return Encoder()
      .number(kRecordVersion)
      .number(static_cast<std::uint8_t>(entry.type))
      .number(entry.inode)
      .take();
}

Result<Entry> decode_entry(std::string_view bytes) {
  Decoder decoder(bytes);
  const auto version = decoder.number<std::uint8_t>();
  const auto type = decoder.number<std::uint8_t>();
  const auto inode = decoder.number<std::uint64_t>();
  if (!decoder.done() || version != kRecordVersion || !known_type(type) || inode == 0) {
    return malformed("directory entry");
  }
  return Entry{inode, static_cast<wire::NodeType>(type)};
}

std::string encode(const Uuid& uuid) {
  return Encoder().number(kRecordVersion).number(uuid.high).number(uuid.low).take();
}

Result<Uuid> decode_uuid(std::string_view bytes) {
  Decoder decoder(bytes);
  const auto version = decoder.number<std::uint8_t>();
  Uuid uuid;
  decoder.into(uuid.high);
  decoder.into(uuid.low);
  if (!decoder.done() || version != kRecordVersion || uuid.none())
    return malformed("record of a data server");
  return uuid;
}

std::string encode(const Restore& restore) {
  return Encoder().number(kRecordVersion).number(restore.next_inode).number(restore.wall.count()).take();
}

Result<Restore> decode_restore(std::string_view bytes) {
  Decoder decoder(bytes);
  const auto version = decoder.number<std::uint8_t>();
  Restore restore;
  decoder.into(restore.next_inode);
  restore.wall = Nanos(decoder.number<std::int64_t>());
  if (!decoder.done() || version != kRecordVersion) return malformed("record of a restore");
  return restore;
}

}  // namespace tutti::meta
