// Generalized requests, and the functions that wait for and test requests. The MPI library does not know how to move a
// read or write of ours on, so these functions drive the loop; the rest is the library's.
#include "mpi/request.h"

#include <sched.h>

#include <memory>
#include <vector>

#include "mpi/errors.h"
#include "mpi/file.h"
#include "mpi/library.h"
#include "mpi/runtime.h"

namespace tutti::mpi {
namespace {

int query(void* state, MPI_Status* status) {
  const auto* request = static_cast<const Request*>(state);
  set_status(status, request->bytes);
  PMPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = MPI_UNDEFINED;
  status->MPI_TAG = MPI_UNDEFINED;
  return MPI_SUCCESS;  // a failure is reported to the file, not to the communicator that the library would choose
}

int release(void* state) {
  const Call call;
  call.runtime.remove(static_cast<const Request*>(state)->handle);
  return MPI_SUCCESS;
}

int cancel(void* /*state*/, int /*complete*/) { return MPI_SUCCESS; }

Task<void> follow(Runtime* runtime, Request* request, Task<Result<Bytes>> task) {
  const Result<Bytes> result = co_await std::move(task);
  runtime->note_failure(result.status());
  request->code = error_class(result.status());
  if (result.ok()) request->bytes = *result;
  request->ended = true;
  runtime->note_progress();
  PMPI_Grequest_complete(request->handle);  // after this it may be gone
}

// What became of requests of ours, noted before the MPI library frees them.
struct Outcome {
  bool ours = false;
  int code = MPI_SUCCESS;
  MPI_File file = MPI_FILE_NULL;
};

// Of one call: its requests, of which some may be ours.
class Waiting {
 public:
  Waiting(int count, const MPI_Request* requests) : outcomes_(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      Request* request = call_.runtime.find(requests[i]);
      if (request == nullptr) continue;
      ours_.push_back(request);
      outcomes_[i] = {true, MPI_SUCCESS, request->file};
      index_.push_back(i);
    }
  }
  [[nodiscard]] bool any_ours() const { return !ours_.empty(); }

  void drive_all() {
    call_.runtime.drive([this] {
      for (const Request* each : ours_) {
        if (!each->ended) return false;
      }
      return true;
    });
    note();
  }
  void poll() {
    call_.runtime.poll();
    note();
  }

  // The MPI library's answer for one request that has ended, or ours.
  int result(std::size_t i, int code) const {
    if (code != MPI_SUCCESS || i >= outcomes_.size()) return code;
    return raise(outcomes_[i].file, outcomes_[i].code);
  }
  // For a list of requests that have ended; statuses are those of the library.
  int results(const std::vector<int>& ended, MPI_Status* statuses, int code) const {
    bool failed = false;
    for (const int i : ended) failed = failed || outcomes_[static_cast<std::size_t>(i)].code != MPI_SUCCESS;
    if (!failed || code != MPI_SUCCESS) return code;
    for (std::size_t at = 0; at < ended.size(); ++at) {
      const Outcome& outcome = outcomes_[static_cast<std::size_t>(ended[at])];
      if (statuses != MPI_STATUSES_IGNORE) statuses[at].MPI_ERROR = outcome.code;
      raise(outcome.file, outcome.code);
    }
    return MPI_ERR_IN_STATUS;
  }

 private:
  void note() {
    for (std::size_t i = 0; i < ours_.size(); ++i) {
      if (ours_[i]->ended) outcomes_[index_[i]].code = ours_[i]->code;
    }
  }
  Call call_;
  std::vector<Outcome> outcomes_;
  std::vector<Request*> ours_;
  std::vector<std::size_t> index_;
};

std::vector<int> all_of(int count) {
  std::vector<int> indices(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) indices[static_cast<std::size_t>(i)] = i;
  return indices;
}

}  // namespace

int start_request(Runtime& runtime, MPI_File file, Task<Result<Bytes>> task, MPI_Request* handle) {
  auto request = std::make_unique<Request>();
  request->file = file;
  const int error = PMPI_Grequest_start(&query, &release, &cancel, request.get(), &request->handle);
  if (error != MPI_SUCCESS) return error;
  *handle = request->handle;
  Request* started = request.get();
  runtime.add(std::move(request));
  runtime.spawn(follow(&runtime, started, std::move(task)));
  runtime.poll();
  return MPI_SUCCESS;
}

namespace entry {

int Test(MPI_Request* request, int* flag, MPI_Status* status) {
  if (!Runtime::get().has_requests()) return library().Test(request, flag, status);
  Waiting waiting(1, request);
  waiting.poll();
  const int code = library().Test(request, flag, status);
  return *flag != 0 ? waiting.result(0, code) : code;
}

int Wait(MPI_Request* request, MPI_Status* status) {
  if (!Runtime::get().has_requests()) return library().Wait(request, status);
  {
    Waiting waiting(1, request);
    if (waiting.any_ours()) {
      waiting.drive_all();
      return waiting.result(0, library().Wait(request, status));
    }
  }
  int ended = 0;
  for (;;) {  // others of ours move on meanwhile
    const int code = Test(request, &ended, status);
    if (ended != 0 || code != MPI_SUCCESS) return code;
    ::sched_yield();
  }
}

int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  if (!Runtime::get().has_requests()) return library().Testall(count, requests, flag, statuses);
  Waiting waiting(count, requests);
  waiting.poll();
  const int code = library().Testall(count, requests, flag, statuses);
  return *flag != 0 ? waiting.results(all_of(count), statuses, code) : code;
}

int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (!Runtime::get().has_requests()) return library().Waitall(count, requests, statuses);
  Waiting(count, requests).drive_all();
  int ended = 0;
  for (;;) {
    const int code = Testall(count, requests, &ended, statuses);
    if (ended != 0 || code != MPI_SUCCESS) return code;
    ::sched_yield();
  }
}

int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (!Runtime::get().has_requests()) return library().Testany(count, requests, index, flag, status);
  Waiting waiting(count, requests);
  waiting.poll();
  const int code = library().Testany(count, requests, index, flag, status);
  return *flag != 0 && *index != MPI_UNDEFINED ? waiting.result(static_cast<std::size_t>(*index), code)
                                               : code;
}

int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (!Runtime::get().has_requests()) return library().Waitany(count, requests, index, status);
  int ended = 0;
  for (;;) {
    const int code = Testany(count, requests, index, &ended, status);
    if (ended != 0 || code != MPI_SUCCESS) return code;
    ::sched_yield();
  }
}

int Testsome(int count, MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses) {
  if (!Runtime::get().has_requests()) return library().Testsome(count, requests, ended, indices, statuses);
  Waiting waiting(count, requests);
  waiting.poll();
  const int code = library().Testsome(count, requests, ended, indices, statuses);
  if (code != MPI_SUCCESS || *ended == MPI_UNDEFINED) return code;
  return waiting.results({indices, indices + *ended}, statuses, code);
}

int Waitsome(int count, MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses) {
  if (!Runtime::get().has_requests()) return library().Waitsome(count, requests, ended, indices, statuses);
  for (;;) {
    const int code = Testsome(count, requests, ended, indices, statuses);
    if (code != MPI_SUCCESS || *ended != 0) return code;
    ::sched_yield();
  }
}

int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (Runtime::get().has_requests()) {
    const Call call;
    call.runtime.poll();
  }
  return library().Request_get_status(request, flag, status);
}

}  // namespace entry
}  // namespace tutti::mpi
