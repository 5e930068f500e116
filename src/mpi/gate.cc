#include "mpi/gate.h"

#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "mpi/library.h"

namespace tutti::mpi {
namespace {

constexpr int kLooks = 200;            // before the first nap
constexpr long kShortestNap = 50'000;  // nanoseconds
constexpr long kLongestNap = 2'000'000;

GateScope read_scope() {
  const char* scope = std::getenv(door::kScopeVariable);
  if (scope == nullptr || !door::present()) return GateScope::none;
  if (std::strcmp(scope, "call") == 0) return GateScope::call;
  if (std::strcmp(scope, "manual") == 0) return GateScope::manual;
  return GateScope::file;
}

// POSIX calls below these directories are counted by the library that stands in front of them.
bool counted_elsewhere() {
  const char* directories = std::getenv(door::kDirectoryVariable);
  return directories != nullptr && *directories != 0;
}

// ROMIO's names may begin with that of a file system: "ufs:/a/b".
const char* without_scheme(const char* name) {
  const char* colon = std::strchr(name, ':');
  const char* slash = std::strchr(name, '/');
  return colon != nullptr && slash == colon + 1 ? slash : name;
}

}  // namespace

GateScope gate_scope() {
  static const GateScope kScope = read_scope();
  return kScope;
}

std::unique_ptr<GateWay> GateWay::make(MPI_Comm comm, const std::string& name) {
  int inter = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0)
    return nullptr;
  MPI_Comm duplicate = MPI_COMM_NULL;
  if (PMPI_Comm_dup(comm, &duplicate) != MPI_SUCCESS) return nullptr;
  return std::unique_ptr<GateWay>(new GateWay(duplicate, name));
}

GateWay::GateWay(MPI_Comm comm, std::string name) : comm_(comm), name_(std::move(name)) {
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &size_);
}

GateWay::~GateWay() {
  abandon();
  int ended = 0;
  PMPI_Finalized(&ended);
  if (ended == 0) PMPI_Comm_free(&comm_);
}

// A barrier that gives way: rank 0 may come minutes after the others.
void GateWay::meet() const {
  if (size_ == 1) return;
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(comm_, &request) != MPI_SUCCESS) return;
  int ended = 0;
  long nap = kShortestNap;
  for (int looks = 0; library().Test(&request, &ended, MPI_STATUS_IGNORE) == MPI_SUCCESS && ended == 0;
       ++looks) {
    if (looks < kLooks) {
      ::sched_yield();
      continue;
    }
    const timespec length{0, nap};
    ::nanosleep(&length, nullptr);
    nap = nap * 2 < kLongestNap ? nap * 2 : kLongestNap;
  }
}

void GateWay::begin() {
  if (depth_++ > 0) return;
  if (rank_ == 0) {
    door::Want want;
    want.label = name_.c_str();
    want.linger = size_ == 1;  // a file for each process: others of the same checkpoint follow
    if (!servers_.empty()) {
      want.servers = servers_.data();
      want.server_count = static_cast<std::uint32_t>(servers_.size());
    } else {
      want.device = door::device_of(without_scheme(name_.c_str()));
    }
    if (want.device != 0 || want.servers != nullptr) turn_ = door::begin(want);
  } else {
    door::fetch_page();
  }
  meet();
}

void GateWay::end() {
  if (depth_ == 0 || --depth_ > 0) return;
  meet();
  if (rank_ == 0) door::end(turn_);
}

void GateWay::abandon() {
  depth_ = 0;
  if (rank_ == 0) door::end(turn_);
}

Gates& Gates::get() {
  static auto* const kGates = new Gates;  // never destroyed, as the runtime
  return *kGates;
}

void Gates::add(MPI_File file, std::unique_ptr<GateWay> way) {
  const std::lock_guard lock(mutex_);
  files_[file] = std::move(way);
}

GateWay* Gates::find(MPI_File file) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find(file);
  return found != files_.end() ? found->second.get() : nullptr;
}

std::unique_ptr<GateWay> Gates::take(MPI_File file) {
  const std::lock_guard lock(mutex_);
  auto node = files_.extract(file);
  return node.empty() ? nullptr : std::move(node.mapped());
}

int Gates::add(std::unique_ptr<GateWay> way) {
  const std::lock_guard lock(mutex_);
  own_[next_] = std::move(way);
  return next_++;
}

std::unique_ptr<GateWay> Gates::take_own(int number) {
  const std::lock_guard lock(mutex_);
  auto node = own_.extract(number);
  return node.empty() ? nullptr : std::move(node.mapped());
}

std::unique_ptr<GateWay> gate_way(MPI_Comm comm, const char* name, int amode) {
  if (gate_scope() == GateScope::none || name == nullptr) return nullptr;
  if ((amode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) == 0) return nullptr;
  return GateWay::make(comm, name);
}

GateCall::GateCall(MPI_File file, bool collective_write) {
  if (!collective_write || gate_scope() != GateScope::call) return;
  way_ = Gates::get().find(file);
  if (way_ != nullptr) way_->begin();
}

GateCall::~GateCall() {
  if (way_ != nullptr) way_->end();
}

void GateCall::end(MPI_File file) {
  if (gate_scope() != GateScope::call) return;
  if (GateWay* way = Gates::get().find(file)) way->end();
}

void note_written(MPI_Count count, MPI_Datatype type) {
  if (gate_scope() == GateScope::none || counted_elsewhere() || count <= 0) return;
  MPI_Count size = 0;
  if (PMPI_Type_size_x(type, &size) == MPI_SUCCESS && size > 0)
    door::progress(static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size));
}

}  // namespace tutti::mpi

// ---- the API of tutti/gate_mpi.h; the stub finds these by name ----
namespace tutti::mpi {

int gate_begin(MPI_Comm comm, const char* path, int* turn) {
  *turn = 0;
  if (gate_scope() == GateScope::none) return MPI_SUCCESS;
  auto way = GateWay::make(comm, path);
  if (!way) return MPI_ERR_COMM;
  way->begin();
  *turn = Gates::get().add(std::move(way));
  return MPI_SUCCESS;
}

int gate_end(int turn) {
  if (const auto way = Gates::get().take_own(turn)) way->end();
  return MPI_SUCCESS;
}

int gate_begin_file(MPI_File file) {
  if (GateWay* way = Gates::get().find(file)) way->begin();
  return MPI_SUCCESS;
}

int gate_end_file(MPI_File file) {
  if (GateWay* way = Gates::get().find(file)) way->end();
  return MPI_SUCCESS;
}

}  // namespace tutti::mpi
