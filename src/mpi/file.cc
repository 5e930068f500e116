#include "mpi/file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <utility>

#include "base/hash.h"
#include "client/path.h"
#include "mpi/errors.h"
#include "mpi/genuine.h"
#include "mpi/info.h"
#include "mpi/library.h"
#include "mpi/request.h"

namespace tutti::mpi {
namespace {

// The class of what is wrong with an access mode.
int check_amode(int amode) {
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
  const bool one = access == MPI_MODE_RDONLY || access == MPI_MODE_RDWR || access == MPI_MODE_WRONLY;
  if (!one) return MPI_ERR_AMODE;
  if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0) return MPI_ERR_AMODE;
  if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0) return MPI_ERR_AMODE;
  return MPI_SUCCESS;
}

int check_buffer(const Buffer& buffer) {
  if (buffer.count < 0) return MPI_ERR_COUNT;
  return buffer.type == MPI_DATATYPE_NULL ? MPI_ERR_TYPE : MPI_SUCCESS;
}

void print_hints(const HintList& list) {
  for (const auto& [key, value] : list)
    std::fprintf(stderr, "key = %-25s value = %-10s\n", key.c_str(), value.c_str());
}

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  PMPI_Get_processor_name(name.data(), &length);
  return name.data();
}

// A number that is the same in processes that are the same user to the servers. Root of another host may not be.
std::int64_t user_number() {
  const uid_t user = ::geteuid();
  return user != 0 ? std::int64_t{user} : static_cast<std::int64_t>(stable_hash(host_name()) >> 1U);
}

}  // namespace

std::optional<std::string> path_on_tutti(const char* name) {
  if (name == nullptr) return std::nullopt;
  return path_on_cluster(name, environment_variable("TUTTI_PREFIX"));
}

void set_status(MPI_Status* status, Bytes bytes) {
  if (status == MPI_STATUS_IGNORE) return;
  PMPI_Status_set_elements_x(status, MPI_BYTE, static_cast<MPI_Count>(bytes.count()));
}

int File::open(Runtime& runtime, MPI_Comm comm, const std::string& path, int amode, MPI_Info info,
               MPI_File* handle) {
  int inter = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0)
    return mpi::raise(MPI_FILE_NULL, MPI_ERR_COMM);
  std::unique_ptr<File> file(new File(runtime, amode));
  const int code = file->open_here(comm, path, info);
  if (code != MPI_SUCCESS) return mpi::raise(MPI_FILE_NULL, code);
  *handle = file->handle_;
  runtime.add(std::move(file));
  return MPI_SUCCESS;
}

int File::open_here(MPI_Comm comm, const std::string& path, MPI_Info info) {
  const std::int64_t user = user_number();
  const bool ready = runtime_.file_system(runtime_.application()).ok();
  std::array<std::int64_t, 6> checks = {check_amode(amode_), amode_, -amode_, user, -user, ready ? 0 : 1};
  auto group = runtime_.run(MpiGroup::duplicate(runtime_.loop(), runtime_.duplicates(), comm, checks));
  if (!group.ok()) return error_class(group.status());
  group_ = *std::move(group);
  if (checks[0] != MPI_SUCCESS) return static_cast<int>(checks[0]);
  if (checks[1] != -checks[2]) return MPI_ERR_NOT_SAME;
  same_user_ = checks[3] == -checks[4];
  all_ready_ = checks[5] == 0;

  HintList list = hints_of(info);
  if (group_->rank() == 0) {
    add_environment(list);
    add_default_hints({{"tutti_app_id", std::to_string(runtime_.application())}}, list);
    if (const std::string plan = runtime_.collective(); !plan.empty())
      add_default_hints({{"tutti_collective", plan}}, list);
  }
  const auto text = runtime_.run(broadcast_text(*group_, 0, encode_hints(list)));
  const Status opened = text.ok() ? open_file(path, decode_hints(*text)) : text.status();
  if (!opened.ok()) {
    runtime_.log().info("open {}: {}", path, opened.to_string());
    return error_class(opened);
  }
  if (const int code = runtime_.genuine_files().take(&handle_); code != MPI_SUCCESS) return code;
  if (group_->rank() == 0 && !environment_variable("ROMIO_PRINT_HINTS").empty()) print_hints(file_->hints());
  return MPI_SUCCESS;
}

Status File::open_file(const std::string& path, const HintList& list) {
  ParallelOpen options;
  const HintReport report = apply_hints(list, options.hints);
  runtime_.report_hints(*group_, report);
  const auto system = runtime_.file_system(options.hints.application.value_or(runtime_.application()));
  auto aggregators = runtime_.run(choose_aggregators(*group_, options.hints, host_name()));
  if (!aggregators.ok()) return aggregators.status();
  options.hints.collective.aggregators = *std::move(aggregators);
  options.path = path;
  options.read = (amode_ & MPI_MODE_WRONLY) == 0;
  options.write = (amode_ & MPI_MODE_RDONLY) == 0;
  options.create = (amode_ & MPI_MODE_CREATE) != 0;
  options.exclusive = (amode_ & MPI_MODE_EXCL) != 0;
  options.append = (amode_ & MPI_MODE_APPEND) != 0;
  options.sequential = (amode_ & MPI_MODE_SEQUENTIAL) != 0;
  options.delete_on_close = (amode_ & MPI_MODE_DELETE_ON_CLOSE) != 0;
  if (options.create && group_->rank() == 0) options.mode = 0666U & ~process_umask();
  options.same_user = same_user_;
  options.all_ready = all_ready_;
  auto opened = runtime_.run(ParallelFile::open(runtime_.loop().executor(), system, *group_,
                                                std::move(options), runtime_.random().next()));
  if (!opened.ok()) return opened.status();
  file_ = *std::move(opened);
  return {};
}

File::~File() {
  free_types();
  file_.reset();
}

int File::close() { return split_ ? raise(MPI_ERR_IO) : run(file_->close()); }

int File::raise(int code) { return mpi::raise(handle_, code); }

int File::outcome(const Status& status) {
  runtime_.note_failure(status);
  return raise(error_class(status));
}

int File::outcome(Form form, const Buffer& buffer, const Status& status) {
  if (status.code() != Code::invalid) return outcome(status);
  std::int64_t finer = check_buffer(buffer);
  if (form.collective) {
    const auto largest = runtime_.run(file_->largest(finer));
    finer = largest.ok() ? *largest : MPI_ERR_IO;
  }
  return finer != MPI_SUCCESS ? raise(static_cast<int>(finer)) : outcome(status);
}

ParallelTransfer File::prepare(Form form, MPI_Offset offset, Buffer buffer) {
  ParallelTransfer transfer;
  transfer.write = form.write;
  transfer.collective = form.collective;
  transfer.pointer = form.pointer;
  transfer.offset = offset;
  transfer.base = static_cast<std::byte*>(const_cast<void*>(buffer.address));
  transfer.count = buffer.count;
  auto type = runtime_.datatypes().flatten(buffer.type);
  if (!type.ok()) {
    transfer.refused = type.status();
  } else if (buffer.count < 0) {
    transfer.refused = Status(Code::invalid, "the count is negative");
  } else {
    transfer.type = *std::move(type);
  }
  return transfer;
}

int File::transfer(Form form, MPI_Offset offset, Buffer buffer, MPI_Status* status) {
  const auto moved = runtime_.run(file_->transfer(prepare(form, offset, buffer)));
  set_status(status, moved.ok() ? *moved : Bytes(0));
  return outcome(form, buffer, moved.status());
}

int File::start(Form form, MPI_Offset offset, Buffer buffer, MPI_Request* request) {
  ParallelTransfer transfer = prepare(form, offset, buffer);
  if (!transfer.refused.ok() && !form.collective) return outcome(form, buffer, transfer.refused);
  return raise(start_request(runtime_, handle_, file_->transfer(std::move(transfer)), request));
}

int File::begin(Form form, MPI_Offset offset, Buffer buffer) {
  if (split_) return raise(MPI_ERR_IO);
  const auto moved = runtime_.run(file_->transfer(prepare(form, offset, buffer)));
  runtime_.note_failure(moved.status());
  split_ = Split{form, moved.ok() ? *moved : Bytes(0), error_class(moved.status())};
  return MPI_SUCCESS;
}

int File::end(Form form, MPI_Status* status) {
  const bool matches = split_ && split_->form.write == form.write && split_->form.pointer == form.pointer;
  if (!matches) return raise(MPI_ERR_IO);
  const Split split = *std::exchange(split_, std::nullopt);
  set_status(status, split.bytes);
  return raise(split.code);
}

}  // namespace tutti::mpi
