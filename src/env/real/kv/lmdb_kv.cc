#include "env/real/kv/lmdb_kv.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <lmdb.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "env/real/file_descriptor.h"
#include "env/scope.h"
#include "env/sync.h"

namespace tutti {
namespace {

constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr std::size_t kLongestKey = 511;

Status lmdb_status(int error, const char* what) {
  if (error == 0) return {};
  Code code = error > 0 ? code_from_errno(error) : Code::io_error;
  std::string advice;
  if (error == MDB_MAP_FULL) {
    code = Code::no_space;
    advice = "; raise the map size of the metadata store";
  } else if (error == MDB_VERSION_MISMATCH || error == MDB_INVALID) {
    code = Code::version;
    advice = "; not a metadata store of this version";
  }
  return {code, fmt::format("{} metadata: {}{}", what, mdb_strerror(error), advice)};
}

MDB_val value_of(std::string_view bytes) {
  return {bytes.size(), const_cast<char*>(bytes.data())};  // LMDB only reads it
}
std::string_view view_of(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

Status check_key(std::string_view key) {
  if (!key.empty() && key.size() <= kLongestKey) return {};
  return {Code::invalid,
          fmt::format("metadata key of {} bytes: 1 to {} are allowed", key.size(), kLongestKey)};
}

// Reader and writer on one transaction.
class Access final : public KvWriter {
 public:
  Access(MDB_txn* transaction, MDB_dbi database) : transaction_(transaction), database_(database) {}

  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
    TUTTI_TRY(check_key(key));
    MDB_val wanted = value_of(key);
    MDB_val found{};
    const int error = mdb_get(transaction_, database_, &wanted, &found);
    if (error == MDB_NOTFOUND) return std::optional<std::string>();
    TUTTI_TRY(lmdb_status(error, "read"));
    return std::optional<std::string>(view_of(found));
  }

  [[nodiscard]] Status scan(
      std::string_view from,
      const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    MDB_cursor* cursor = nullptr;
    TUTTI_TRY(lmdb_status(mdb_cursor_open(transaction_, database_, &cursor), "scan"));
    const std::unique_ptr<MDB_cursor, void (*)(MDB_cursor*)> closing(cursor, &mdb_cursor_close);
    MDB_val key = value_of(from);
    MDB_val value{};
    int error = mdb_cursor_get(cursor, &key, &value, from.empty() ? MDB_FIRST : MDB_SET_RANGE);
    while (error == 0 && visit(view_of(key), view_of(value))) {
      error = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    return error == MDB_NOTFOUND ? Status() : lmdb_status(error, "scan");
  }

  Status put(std::string_view key, std::string_view value) override {
    TUTTI_TRY(check_key(key));
    wrote_ = true;
    MDB_val where = value_of(key);
    MDB_val what = value_of(value);
    return noted(lmdb_status(mdb_put(transaction_, database_, &where, &what, 0), "write"));
  }

  Status erase(std::string_view key) override {
    TUTTI_TRY(check_key(key));
    wrote_ = true;
    MDB_val where = value_of(key);
    const int error = mdb_del(transaction_, database_, &where, nullptr);
    return error == MDB_NOTFOUND ? Status() : noted(lmdb_status(error, "erase"));
  }

  // The first failure of the store itself: the transaction is lost even if the body goes on.
  [[nodiscard]] const Status& failed() const { return failed_; }
  // Whether a change was tried.
  [[nodiscard]] bool wrote() const { return wrote_; }

 private:
  Status noted(Status status) {
    if (!status.ok() && failed_.ok()) failed_ = status;
    return status;
  }
  MDB_txn* transaction_;
  MDB_dbi database_;
  Status failed_;
  bool wrote_ = false;
};

bool on_tmpfs(const std::string& directory) {
  struct statfs info {};
  return ::statfs(directory.c_str(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

struct Job {
  explicit Job(Executor& executor) : done(executor) {}
  std::function<Status(KvWriter&)> body;
  Status result;
  Event done;  // of the loop's thread
};

}  // namespace

class LmdbKv::Impl {
 public:
  explicit Impl(Loop& loop) : loop_(loop), batch_(*this), scope_(loop.executor()) {}
  ~Impl();
  Status open(const std::string& directory, const LmdbOptions& options);
  Status view(const std::function<Status(const KvReader&)>& body);
  Task<Status> update(std::function<Status(KvWriter&)> body);
  [[nodiscard]] std::uint64_t commits() const { return commits_; }

 private:
  using Jobs = std::vector<std::shared_ptr<Job>>;

  // Stands at the end of the run queue while updates wait: those that come before its turn are in its batch.
  struct InMemory : Ready {
    explicit InMemory(Impl& impl) : Ready(&run), impl(impl) {}
    static void run(Ready* self) { static_cast<InMemory*>(self)->impl.run_in_memory(); }
    Impl& impl;
  };

  // Of the Kv thread, or of the loop's if there is none.
  void run_thread();
  void run_batch(Jobs& jobs);
  Status run_together(Jobs& jobs, bool nested, bool& spoilt);
  Status run_nested(Job& job, MDB_txn* parent);

  // Of the loop's thread.
  Task<void> complete_when_signalled();
  void complete();
  void run_in_memory();

  Loop& loop_;
  MDB_env* environment_ = nullptr;
  MDB_dbi database_ = 0;
  MDB_txn* reader_ = nullptr;  // kept between views: renewing is cheaper than beginning
  std::atomic<std::uint64_t> commits_ = 0;

  std::mutex mutex_;
  std::condition_variable work_;
  Jobs queued_;
  Jobs finished_;
  bool ending_ = false;

  FileDescriptor event_;
  FdWatch watch_;
  std::thread thread_;
  bool in_memory_ = false;
  InMemory batch_;
  Scope scope_;
};

Status LmdbKv::Impl::open(const std::string& directory, const LmdbOptions& options) {
  if (!options.create && ::access((directory + "/data.mdb").c_str(), F_OK) != 0 && errno == ENOENT) {
    return {
        Code::not_found,
        fmt::format(
            "there is no store in {}: is its disk mounted? That of a new cluster is made by `tutti server "
            "init`, metadata come back by `tutti meta restore`",
            directory)};
  }
  if (options.create && ::mkdir(directory.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
    return Status::from_errno(errno, "make metadata directory " + directory);
  }
  const auto opened = [&](int error, const char* what) {
    return lmdb_status(error, what).with_context("open metadata store " + directory);
  };
  TUTTI_TRY(opened(mdb_env_create(&environment_), "set up"));
  TUTTI_TRY(opened(mdb_env_set_mapsize(environment_, options.map_size.count()), "map"));
  // Readers belong to their transaction, not to a thread, so that several may be open at once.
  in_memory_ = on_tmpfs(directory) || !options.synced;
  const unsigned flags = MDB_NOTLS | (in_memory_ ? MDB_NOSYNC : 0U);
  TUTTI_TRY(opened(mdb_env_open(environment_, directory.c_str(), flags, kFileMode), "open"));
  int dead = 0;
  TUTTI_TRY(opened(mdb_reader_check(environment_, &dead), "check readers of"));
  MDB_txn* transaction = nullptr;
  TUTTI_TRY(opened(mdb_txn_begin(environment_, nullptr, 0, &transaction), "begin"));
  if (const int error = mdb_dbi_open(transaction, nullptr, 0, &database_); error != 0) {
    mdb_txn_abort(transaction);
    return opened(error, "open");
  }
  TUTTI_TRY(opened(mdb_txn_commit(transaction), "commit"));

  if (in_memory_) return {};
  event_.reset(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!event_.valid()) return Status::from_errno(errno, "open an event descriptor");
  TUTTI_TRY(watch_.add(loop_, event_.get()));
  scope_.spawn(complete_when_signalled());
  thread_ = std::thread([this] { run_thread(); });
  return {};
}

LmdbKv::Impl::~Impl() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    work_.notify_one();
    thread_.join();
  }
  if (!queued_.empty()) run_batch(queued_);
  scope_.cancel();
  if (reader_ != nullptr) mdb_txn_abort(reader_);
  if (environment_ != nullptr) mdb_env_close(environment_);
}

Status LmdbKv::Impl::view(const std::function<Status(const KvReader&)>& body) {
  MDB_txn* transaction = std::exchange(reader_, nullptr);  // a view inside a view gets its own
  if (transaction != nullptr && mdb_txn_renew(transaction) != 0) {
    mdb_txn_abort(transaction);
    transaction = nullptr;
  }
  if (transaction == nullptr) {
    TUTTI_TRY(lmdb_status(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction), "begin to read"));
  }
  Status status = body(Access(transaction, database_));
  if (reader_ == nullptr) {
    mdb_txn_reset(transaction);
    reader_ = transaction;
  } else {
    mdb_txn_abort(transaction);
  }
  return status;
}

Task<Status> LmdbKv::Impl::update(std::function<Status(KvWriter&)> body) {
  const auto job = std::make_shared<Job>(loop_.executor());
  job->body = std::move(body);
  if (in_memory_) {
    queued_.push_back(job);
    loop_.executor().post(batch_);
  } else {
    const std::lock_guard lock(mutex_);
    queued_.push_back(job);
    work_.notify_one();
  }
  co_await job->done.wait();
  co_return std::move(job->result);
}

void LmdbKv::Impl::run_in_memory() {
  Jobs jobs;
  jobs.swap(queued_);
  run_batch(jobs);
  for (const std::shared_ptr<Job>& job : jobs) job->done.set();
}

Task<void> LmdbKv::Impl::complete_when_signalled() {
  for (;;) {
    co_await watch_.readable();
    watch_.drained();
    complete();
  }
}

void LmdbKv::Impl::complete() {
  Jobs finished;
  {
    const std::lock_guard lock(mutex_);
    finished.swap(finished_);
  }
  for (const std::shared_ptr<Job>& job : finished) job->done.set();
}

void LmdbKv::Impl::run_thread() {
  for (;;) {
    Jobs jobs;
    {
      std::unique_lock lock(mutex_);
      work_.wait(lock, [this] { return ending_ || !queued_.empty(); });
      if (queued_.empty()) return;
      jobs.swap(queued_);
    }
    run_batch(jobs);
    {
      const std::lock_guard lock(mutex_);
      finished_.insert(finished_.end(), std::make_move_iterator(jobs.begin()),
                       std::make_move_iterator(jobs.end()));
    }
    // Each signal is an edge for the loop, which never reads the counter.
    ::eventfd_write(event_.get(), 1);
  }
}

void LmdbKv::Impl::run_batch(Jobs& jobs) {
  bool spoilt = false;
  Status status = run_together(jobs, false, spoilt);
  if (spoilt) status = run_together(jobs, true, spoilt);
  if (status.ok()) return;
  for (const std::shared_ptr<Job>& job : jobs) {
    if (job->result.ok()) job->result = status;
  }
}

// The failure of the whole batch. `spoilt`: nothing was changed, because one of several failed after it had written.
Status LmdbKv::Impl::run_together(Jobs& jobs, bool nested, bool& spoilt) {
  MDB_txn* transaction = nullptr;
  TUTTI_TRY(lmdb_status(mdb_txn_begin(environment_, nullptr, 0, &transaction), "begin to write"));
  bool changed = false;
  spoilt = false;
  for (const std::shared_ptr<Job>& job : jobs) {
    if (nested) {
      job->result = run_nested(*job, transaction);
    } else {
      Access access(transaction, database_);
      job->result = job->body(access);
      if (job->result.ok()) job->result = access.failed();
      spoilt = !job->result.ok() && access.wrote();
    }
    changed = changed || job->result.ok();
    if (spoilt) break;
  }
  if (spoilt || !changed) {
    mdb_txn_abort(transaction);
    spoilt = spoilt && jobs.size() > 1;
    return {};
  }
  TUTTI_TRY(lmdb_status(mdb_txn_commit(transaction), "commit"));
  ++commits_;
  return {};
}

Status LmdbKv::Impl::run_nested(Job& job, MDB_txn* parent) {
  MDB_txn* own = nullptr;
  TUTTI_TRY(lmdb_status(mdb_txn_begin(environment_, parent, 0, &own), "begin to write"));
  Access access(own, database_);
  Status status = job.body(access);
  if (status.ok()) status = access.failed();
  if (!status.ok()) {
    mdb_txn_abort(own);
    return status;
  }
  return lmdb_status(mdb_txn_commit(own), "write");
}

Result<std::unique_ptr<LmdbKv>> LmdbKv::open(Loop& loop, const std::string& directory, LmdbOptions options) {
  auto impl = std::make_unique<Impl>(loop);
  TUTTI_TRY(impl->open(directory, options));
  return std::unique_ptr<LmdbKv>(new LmdbKv(std::move(impl)));
}

LmdbKv::LmdbKv(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LmdbKv::~LmdbKv() = default;

Status LmdbKv::view(const std::function<Status(const KvReader&)>& body) { return impl_->view(body); }
Task<Status> LmdbKv::update(std::function<Status(KvWriter&)> body) { return impl_->update(std::move(body)); }
std::uint64_t LmdbKv::commits() const { return impl_->commits(); }

}  // namespace tutti
