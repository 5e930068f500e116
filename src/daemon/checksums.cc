#include "daemon/checksums.h"

#include <filesystem>
#include <utility>

#include "env/combine.h"

namespace tutti {
namespace {

constexpr Nanos kLeavingPatience = 3_s;

ChecksumOptions with_log(Log log) {
  ChecksumOptions options;
  options.log = std::move(log);
  return options;
}

Result<std::unique_ptr<FileStore>> open_sums(Daemon& daemon, const FileStore& data, const std::string& path) {
  FileStoreOptions options;
  options.log = daemon.log;
  options.open_files = 128;
  options.buffers = 16;
  options.buffer_size = 64U << 10U;
  auto sums = FileStore::open(daemon.loop, path, options);
  if (sums.code() == Code::not_found) {
    // A new store, or one from before there were checksums: its bytes get theirs when they are read or verified.
    TUTTI_TRY(FileStore::create(path, data.identity()));
    daemon.log.info("checksums: {} is new; `tutti scrub` sums what is stored already", path);
    sums = FileStore::open(daemon.loop, path, options);
  }
  if (sums.ok() && (*sums)->identity().uuid != data.identity().uuid)
    return Status(Code::invalid,
                  path + " has the checksums of another store: remove it, and run `tutti scrub`");
  return sums;
}

}  // namespace

std::string sums_directory(const std::string& store) { return store + "/sums"; }

Result<std::unique_ptr<Checksums>> Checksums::open(Daemon& daemon, FileStore& data,
                                                   const std::string& directory) {
  const std::string path = sums_directory(directory);
  const std::string& wish = daemon.config.checksums;
  if (wish == "off" || (wish == "auto" && data.traits().in_memory)) {
    std::error_code error;
    if (std::filesystem::remove_all(path, error) > 0)
      daemon.log.info("checksums are off: {} is removed", path);
    if (error) return Status(Code::io_error, "remove " + path + ": " + error.message());
    return std::unique_ptr<Checksums>();
  }
  auto sums = open_sums(daemon, data, path);
  if (!sums.ok()) return sums.status();
  auto opened = std::make_unique<Checksums>(daemon.loop.clock(), data, *std::move(sums), daemon.log);
  TUTTI_TRY(daemon.loop.run(opened->store_.open()));
  return opened;
}

Checksums::Checksums(Clock& clock, FileStore& data, std::unique_ptr<FileStore> sums, Log log)
    : sums_(std::move(sums)),
      store_(clock, data, *sums_, with_log(log)),
      clock_(clock),
      log_(std::move(log)) {}

void Checksums::settle(Loop& loop) {
  const Status status = loop.run(with_timeout(clock_, kLeavingPatience, store_.settle(), "store checksums"));
  if (!status.ok()) log_.warn("{}", status.message());
}

}  // namespace tutti
