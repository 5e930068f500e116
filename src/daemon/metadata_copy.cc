#include "daemon/metadata_copy.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <utility>

#include "env/real/kv/lmdb_kv.h"
#include "env/real/kv/lmdb_snapshot.h"
#include "server/meta/epoch.h"
#include "server/meta/records.h"

namespace tutti {
namespace {

using meta::Superblock;

Result<Superblock> superblock_in(const KvReader& kv) {
  const auto stored = kv.get(meta::superblock_key());
  if (!stored.ok()) return stored.status();
  if (!stored->has_value())
    return Status(Code::malformed, "there is no superblock: not the metadata of Tutti");
  return meta::decode_superblock(**stored);
}

Result<Superblock> superblock_of(const LmdbSnapshot& snapshot) {
  Result<Superblock> superblock = Status(Code::internal, "nothing was read");
  TUTTI_TRY(snapshot.view([&](const KvReader& kv) {
    superblock = superblock_in(kv);
    return superblock.status();
  }));
  return superblock;
}

Status check_cluster(const Superblock& superblock, const ClusterConfig& config, const std::string& path) {
  if (superblock.cluster == config.id) return {};
  return {Code::invalid, fmt::format("{} holds metadata of cluster {:x}, and this is cluster {:x}", path,
                                     superblock.cluster, config.id)};
}

// The epoch of the metadata that are there; nothing if there are none that can be read.
std::uint64_t present_epoch(const std::string& path) {
  const auto snapshot = LmdbSnapshot::open(path);
  if (!snapshot.ok()) return 0;
  const auto superblock = superblock_of(**snapshot);
  return superblock.ok() ? meta::epoch_of(superblock->next_inode) : 0;
}

Status begin_epoch(const std::string& path, const ClusterConfig& config, std::uint64_t epoch) {
  Loop loop;
  LmdbOptions lmdb;
  lmdb.map_size = config.metadata_limit;
  lmdb.create = false;
  auto kv = LmdbKv::open(loop, path, lmdb);
  if (!kv.ok()) return kv.status();
  std::function<Status(KvWriter&)> body = [epoch, wall = loop.clock().wall()](KvWriter& writer) -> Status {
    Result<Superblock> superblock = superblock_in(writer);
    if (!superblock.ok()) return superblock.status();
    const meta::Restore restore{superblock->next_inode, wall};
    TUTTI_TRY(writer.put(meta::restore_key(epoch), meta::encode(restore)));
    superblock->next_inode = meta::first_inode(epoch);
    return writer.put(meta::superblock_key(), meta::encode(*superblock));
  };
  return loop.run((*kv)->update(std::move(body)));
}

Status rename_path(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return Status::from_errno(errno, fmt::format("rename {} to {}", from, to));
}

// A name beside `path` that nothing has.
std::string free_name(const std::string& path) {
  for (int number = 1;; ++number) {
    std::string name = fmt::format("{}.before-restore-{}", path, number);
    if (::access(name.c_str(), F_OK) != 0) return name;
  }
}

Status sync_directory(const std::string& path) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid() && ::fsync(directory.get()) == 0) return {};
  return Status::from_errno(errno, "sync " + path);
}

}  // namespace

Result<BackupReport> back_up_metadata(const StateDirectory& state, const ClusterConfig& config,
                                      const std::string& file) {
  const std::string path = state.store_path("meta");
  const auto snapshot = LmdbSnapshot::open(path);
  if (!snapshot.ok()) return snapshot.status();
  const auto present = superblock_of(**snapshot);
  if (!present.ok()) return present.status();
  TUTTI_TRY(check_cluster(*present, config, path));
  TUTTI_TRY((*snapshot)->copy(file));
  // What is in the copy, which may be a little newer than what was looked at.
  const auto copy = LmdbSnapshot::open(file);
  if (!copy.ok()) return copy.status();
  const auto copied = superblock_of(**copy);
  if (!copied.ok()) return copied.status();
  return BackupReport{copied->files, Bytes(std::filesystem::file_size(file))};
}

Result<RestoreReport> restore_metadata(const StateDirectory& state, const ClusterConfig& config,
                                       const std::string& file, std::optional<std::uint64_t> epoch) {
  const auto claimed = state.claim("meta");  // nobody serves them meanwhile
  if (!claimed.ok()) return claimed.status();
  const auto snapshot = LmdbSnapshot::open(file);
  if (!snapshot.ok()) return snapshot.status();
  const auto backup = superblock_of(**snapshot);
  if (!backup.ok()) return backup.status().with_context(file);
  TUTTI_TRY(check_cluster(*backup, config, file));

  const std::string path = state.store_path("meta");
  RestoreReport report;
  report.files = backup->files;
  report.epoch = std::max(meta::epoch_of(backup->next_inode), present_epoch(path)) + 1;
  if (epoch) report.epoch = std::max(report.epoch, *epoch);
  if (report.epoch > meta::kLastEpoch)
    return Status(Code::invalid, fmt::format("epoch {}: {} is the last one", report.epoch, meta::kLastEpoch));

  const std::string fresh = path + ".new";
  std::error_code ignored;
  std::filesystem::remove_all(fresh, ignored);  // of a restore that was interrupted
  if (::mkdir(fresh.c_str(), 0700) != 0) return Status::from_errno(errno, "make " + fresh);
  TUTTI_TRY((*snapshot)->copy(fresh + "/data.mdb"));
  TUTTI_TRY(begin_epoch(fresh, config, report.epoch));
  if (::access(path.c_str(), F_OK) == 0) {
    report.kept = free_name(path);
    TUTTI_TRY(rename_path(path, report.kept));
  }
  TUTTI_TRY(rename_path(fresh, path));
  TUTTI_TRY(sync_directory(state.path()));
  return report;
}

}  // namespace tutti
