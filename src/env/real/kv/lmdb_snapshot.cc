#include "env/real/kv/lmdb_snapshot.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "env/real/file_descriptor.h"

namespace tutti {
namespace {

constexpr mode_t kFileMode = 0600;

Status failure(int error, const char* what, const std::string& path) {
  if (error == 0) return {};
  const bool foreign = error == MDB_VERSION_MISMATCH || error == MDB_INVALID;
  const Code code = foreign ? Code::malformed : error > 0 ? code_from_errno(error) : Code::io_error;
  return {code, fmt::format("{} {}: {}{}", what, path, mdb_strerror(error),
                            foreign ? ": not a metadata store, or damaged" : "")};
}

std::string_view view_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

class Reader final : public KvReader {
 public:
  Reader(MDB_txn* transaction, MDB_dbi database, const std::string& path)
      : transaction_(transaction), database_(database), path_(path) {}

  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
    MDB_val wanted{key.size(), const_cast<char*>(key.data())};  // LMDB only reads it
    MDB_val found{};
    const int error = mdb_get(transaction_, database_, &wanted, &found);
    if (error == MDB_NOTFOUND) return std::optional<std::string>();
    TUTTI_TRY(failure(error, "read", path_));
    return std::optional<std::string>(view_of(found));
  }

  [[nodiscard]] Status scan(
      std::string_view from,
      const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    MDB_cursor* cursor = nullptr;
    TUTTI_TRY(failure(mdb_cursor_open(transaction_, database_, &cursor), "scan", path_));
    const std::unique_ptr<MDB_cursor, void (*)(MDB_cursor*)> closing(cursor, &mdb_cursor_close);
    MDB_val key{from.size(), const_cast<char*>(from.data())};
    MDB_val value{};
    int error = mdb_cursor_get(cursor, &key, &value, from.empty() ? MDB_FIRST : MDB_SET_RANGE);
    while (error == 0 && visit(view_of(key), view_of(value)))
      error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    return error == MDB_NOTFOUND ? Status() : failure(error, "scan", path_);
  }

 private:
  MDB_txn* transaction_;
  MDB_dbi database_;
  const std::string& path_;
};

}  // namespace

class LmdbSnapshot::Impl {
 public:
  explicit Impl(std::string path) : path_(std::move(path)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    if (environment_ != nullptr) mdb_env_close(environment_);
  }

  Status open() {
    struct stat info {};
    if (::stat(path_.c_str(), &info) != 0) return Status::from_errno(errno, "open " + path_);
    const bool directory = S_ISDIR(info.st_mode);
    TUTTI_TRY(failure(mdb_env_create(&environment_), "open", path_));
    // Nobody writes to a single file: it needs no lock file beside it.
    const unsigned flags = MDB_RDONLY | MDB_NOTLS | (directory ? 0U : MDB_NOSUBDIR | MDB_NOLOCK);
    TUTTI_TRY(failure(mdb_env_open(environment_, path_.c_str(), flags, kFileMode), "open", path_));
    return {};
  }

  Status view(const std::function<Status(const KvReader&)>& body) const {
    MDB_txn* transaction = nullptr;
    TUTTI_TRY(failure(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction), "read", path_));
    const std::unique_ptr<MDB_txn, void (*)(MDB_txn*)> ending(transaction, &mdb_txn_abort);
    MDB_dbi database = 0;
    TUTTI_TRY(failure(mdb_dbi_open(transaction, nullptr, 0, &database), "read", path_));
    return body(Reader(transaction, database, path_));
  }

  Status copy(const std::string& file) const {
    const std::string fresh = file + ".new";
    const FileDescriptor out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
    if (!out.valid()) return Status::from_errno(errno, "create " + fresh);
    Status status = failure(mdb_env_copyfd2(environment_, out.get(), MDB_CP_COMPACT), "copy", path_);
    if (status.ok() && ::fsync(out.get()) != 0) status = Status::from_errno(errno, "sync " + fresh);
    if (status.ok() && ::rename(fresh.c_str(), file.c_str()) != 0)
      status = Status::from_errno(errno, "create " + file);
    if (!status.ok()) {
      ::unlink(fresh.c_str());
      return status;
    }
    const auto parent = std::filesystem::absolute(file).parent_path();
    const FileDescriptor directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.valid() || ::fsync(directory.get()) != 0)
      return Status::from_errno(errno, "sync " + parent.string());
    return {};
  }

 private:
  std::string path_;
  MDB_env* environment_ = nullptr;
};

Result<std::unique_ptr<LmdbSnapshot>> LmdbSnapshot::open(const std::string& path) {
  auto impl = std::make_unique<Impl>(path);
  TUTTI_TRY(impl->open());
  return std::unique_ptr<LmdbSnapshot>(new LmdbSnapshot(std::move(impl)));
}

LmdbSnapshot::LmdbSnapshot(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LmdbSnapshot::~LmdbSnapshot() = default;

Status LmdbSnapshot::view(const std::function<Status(const KvReader&)>& body) const {
  return impl_->view(body);
}
Status LmdbSnapshot::copy(const std::string& file) const { return impl_->copy(file); }

}  // namespace tutti
