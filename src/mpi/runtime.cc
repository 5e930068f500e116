#include "mpi/runtime.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "mpi/errors.h"
#include "mpi/file.h"
#include "mpi/foreign_file.h"
#include "mpi/gate.h"
#include "mpi/library.h"
#include "mpi/request.h"

namespace tutti::mpi {
namespace {

constexpr Nanos kTurn = 200_us;
// A program that looks after its requests at least so often is there all the time.
constexpr Nanos kLongestGap = 100_ms;
constexpr std::chrono::milliseconds kFollow(20);

RealClientOptions client_options() {
  RealClientOptions options;
  options.log = client_log("tutti.mpi", LogLevel::warn, options.environment);
  if (gate_scope() != GateScope::none) options.gate = std::make_shared<TurnNumbers>();
  return options;
}

int finish_runtime(MPI_Comm /*comm*/, int /*key*/, void* /*value*/, void* /*extra*/) {
  const Call call;
  call.runtime.finish();
  return MPI_SUCCESS;
}

// Has finish() called in MPI_Finalize.
void attend_the_end() {
  int key = MPI_KEYVAL_INVALID;
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &finish_runtime, &key, nullptr) != MPI_SUCCESS) return;
  PMPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  PMPI_Comm_free_keyval(&key);  // goes with the attribute
}

}  // namespace

Runtime& Runtime::get() {
  // Never destroyed: exit handlers may still call MPI.
  static auto* const kRuntime = new Runtime;
  return *kRuntime;
}

Runtime::Runtime() : client_(client_options()), scope_(loop().executor()) {
  loop().clock().stand_still_after(kLongestGap);
  int initialized = 0;
  PMPI_Initialized(&initialized);
  if (initialized != 0) begin_with_mpi();
}

Runtime::~Runtime() = default;

void Runtime::begin_with_mpi() {
  if (std::exchange(begun_, true)) return;
  int provided = MPI_THREAD_SINGLE;
  if (PMPI_Query_thread(&provided) == MPI_SUCCESS && provided == MPI_THREAD_MULTIPLE) {
    lock_.enable();
    duplicates_.keep_none();
  }
  attend_the_end();
}

void Runtime::start() {
  begin_with_mpi();
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::uint64_t chosen = rank == 0 ? application() : 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = PMPI_Ibcast(&chosen, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, &request);
  for (int ended = 0; error == MPI_SUCCESS && ended == 0;) {
    error = library().Test(&request, &ended, MPI_STATUS_IGNORE);
    if (ended == 0) ::sched_yield();
  }
  if (error == MPI_SUCCESS) client_.set_application(chosen);
}

void Runtime::finish() {
  drive([this] {
    return std::all_of(requests_.begin(), requests_.end(),
                       [](const auto& each) { return each.second->ended; });
  });
  if (!files_.empty() || !foreign_files_.empty()) return;
  if (datatypes_) datatypes_->release();
  scope_.cancel();
  genuine_files_.close_all();
  duplicates_.release();
  client_.disconnect();
}

Datatypes& Runtime::datatypes() {
  if (!datatypes_) datatypes_ = std::make_unique<Datatypes>();
  return *datatypes_;
}

std::uint64_t Runtime::application() {
  const auto chosen = client_.application();
  if (chosen.ok()) return *chosen;
  log().warn("{}: ignored", chosen.status().to_string());
  client_.set_application(std::max<std::uint64_t>(1, random().next()));
  return *client_.application();
}

Result<FileSystem*> Runtime::file_system(std::uint64_t application) { return client_.files_of(application); }

void Runtime::take_turn() {
  if (!lock_.enabled()) {
    loop().run_once(Nanos::max());
    return;
  }
  if (driven_) {
    changed_.wait_for(lock_, kFollow);
    return;
  }
  driven_ = true;
  const std::uint64_t before = progress_;
  loop().run_once(kTurn);
  if (progress_ != before) changed_.notify_all();
  if (lock_.contended()) {
    lock_.unlock();
    lock_.lock();
  }
  driven_ = false;
}

void Runtime::add(std::unique_ptr<File> file) {
  const MPI_File handle = file->handle();
  files_[handle] = std::move(file);
}

File* Runtime::find(MPI_File handle) {
  const auto found = files_.find(handle);
  return found != files_.end() ? found->second.get() : nullptr;
}

std::unique_ptr<File> Runtime::remove(MPI_File handle) {
  auto node = files_.extract(handle);
  return node.empty() ? nullptr : std::move(node.mapped());
}

void Runtime::add(std::unique_ptr<ForeignFile> file) {
  const MPI_File handle = file->handle();
  foreign_files_[handle] = std::move(file);
}

ForeignFile* Runtime::find_foreign(MPI_File handle) {
  const auto found = foreign_files_.find(handle);
  return found != foreign_files_.end() ? found->second.get() : nullptr;
}

std::unique_ptr<ForeignFile> Runtime::remove_foreign(MPI_File handle) {
  auto node = foreign_files_.extract(handle);
  return node.empty() ? nullptr : std::move(node.mapped());
}

void Runtime::add(std::unique_ptr<Request> request) {
  const MPI_Request handle = request->handle;
  requests_[handle] = std::move(request);
  request_count_ = static_cast<int>(requests_.size());
}

Request* Runtime::find(MPI_Request handle) {
  const auto found = requests_.find(handle);
  return found != requests_.end() ? found->second.get() : nullptr;
}

void Runtime::remove(MPI_Request handle) {
  requests_.erase(handle);
  request_count_ = static_cast<int>(requests_.size());
}

void Runtime::note_failure(const Status& status) const {
  const int code = error_class(status);
  if (code == MPI_ERR_IO || code == MPI_ERR_NO_SPACE) {
    log().warn("{}", status.to_string());
  } else if (code != MPI_SUCCESS) {
    log().info("{}", status.to_string());
  }
}

void Runtime::report_hints(const Group& group, const HintReport& report) {
  // Of files that each rank opens for itself one tells it.
  int world = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &world);
  if (group.rank() != 0 || (group.size() == 1 && world != 0)) return;
  for (const std::string& key : report.ignored) {
    if (reported_.emplace(key, true).second) log().warn("the hint {} has no meaning for Tutti: ignored", key);
  }
  for (const std::string& text : report.refused) {
    if (reported_.emplace(text, true).second) log().warn("hint {}: ignored", text);
  }
}

}  // namespace tutti::mpi
