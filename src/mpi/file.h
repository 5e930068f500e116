// File: what stands behind an MPI_File that is on Tutti.
//
// The program holds a genuine handle of the MPI library's, opened on /dev/null: error handlers and the conversion to
// Fortran handles are the library's own. All methods return an MPI error code and have called the error handler.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>

#include "mpi/group.h"
#include "mpi/runtime.h"
#include "parallel/parallel_file.h"

namespace tutti::mpi {

// What a read or write function asks for, besides memory.
struct Form {
  bool write = false;
  bool collective = false;
  FilePointer pointer = FilePointer::given;
};

// The memory of a read or write, as MPI passes it.
struct Buffer {
  const void* address = nullptr;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_BYTE;
};

// The path of a file on Tutti, named "tutti:/path" or under $TUTTI_PREFIX; none for other files.
std::optional<std::string> path_on_tutti(const char* name);

class File {
 public:
  static int open(Runtime& runtime, MPI_Comm comm, const std::string& path, int amode, MPI_Info info,
                  MPI_File* handle);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // The caller then removes the object from the runtime, and gives the handle back.
  int close();

  [[nodiscard]] MPI_File handle() const { return handle_; }
  [[nodiscard]] int amode() const { return amode_; }
  [[nodiscard]] MPI_Comm comm() const { return group_->comm(); }
  [[nodiscard]] ParallelFile& file() { return *file_; }
  [[nodiscard]] Runtime& runtime() { return runtime_; }

  int transfer(Form form, MPI_Offset offset, Buffer buffer, MPI_Status* status);
  int start(Form form, MPI_Offset offset, Buffer buffer, MPI_Request* request);
  // Split collective calls do everything in `begin`, as the standard allows.
  int begin(Form form, MPI_Offset offset, Buffer buffer);
  int end(Form form, MPI_Status* status);

  int set_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
               MPI_Info info);
  int get_view(MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep);
  int set_info(MPI_Info info);
  int get_info(MPI_Info* info);
  int type_extent(MPI_Datatype type, MPI_Count* extent);

  // Runs a task of the file and turns what became of it into an error code.
  int run(Task<Status> task) { return outcome(runtime_.run(std::move(task))); }
  // Stores the value, if there is one.
  template <typename T, typename U>
  int run(Task<Result<T>> task, U* value) {
    const Result<T> result = runtime_.run(std::move(task));
    if (result.ok() && value != nullptr) *value = number(*result);
    return outcome(result.status());
  }
  int outcome(const Status& status);
  // Of a read or write. MPI has finer classes for wrong arguments than Status has codes; where one rank of a collective
  // call had some, all ranks tell its class.
  int outcome(Form form, const Buffer& buffer, const Status& status);
  int raise(int code);

 private:
  File(Runtime& runtime, int amode) : runtime_(runtime), amode_(amode) {}
  int open_here(MPI_Comm comm, const std::string& path, MPI_Info info);
  Status open_file(const std::string& path, const HintList& list);
  ViewChange view_change(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                         const char* datarep, MPI_Info info);
  ParallelTransfer prepare(Form form, MPI_Offset offset, Buffer buffer);
  void free_types();
  static std::int64_t number(std::int64_t value) { return value; }
  static std::int64_t number(Bytes value) { return static_cast<std::int64_t>(value.count()); }

  struct Split {
    Form form;
    Bytes bytes;
    int code = MPI_SUCCESS;
  };

  Runtime& runtime_;
  int amode_;
  bool same_user_ = false;  // all ranks are the same user to the servers
  bool all_ready_ = false;  // all ranks know the cluster
  MPI_File handle_ = MPI_FILE_NULL;
  std::unique_ptr<MpiGroup> group_;
  std::unique_ptr<ParallelFile> file_;
  MPI_Datatype etype_ = MPI_BYTE;  // these two as hold() made them
  MPI_Datatype filetype_ = MPI_BYTE;
  std::optional<Split> split_;
};

// What MPI_Get_count and its like are to find in a status.
void set_status(MPI_Status* status, Bytes bytes);

}  // namespace tutti::mpi
