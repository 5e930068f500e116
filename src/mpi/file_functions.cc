// The functions of MPI's file chapter other than reads and writes, and those that begin and end a program.
#include "mpi/errors.h"
#include "mpi/file.h"
#include "mpi/foreign_file.h"
#include "mpi/gate.h"
#include "mpi/library.h"
#include "mpi/runtime.h"

namespace tutti::mpi::entry {
namespace {

std::optional<SeekFrom> origin_of(int whence) {
  if (whence == MPI_SEEK_SET) return SeekFrom::start;
  if (whence == MPI_SEEK_CUR) return SeekFrom::current;
  if (whence == MPI_SEEK_END) return SeekFrom::end;
  return std::nullopt;
}

// Of a call that takes the same size on all ranks. Its error is that of all, so all come here together to find out
// whether the size was wrong or differed.
int outcome_of_size(Runtime& runtime, File& file, MPI_Offset size, const Status& status) {
  if (status.code() != Code::invalid) return file.outcome(status);
  const auto largest = runtime.run(file.file().largest(size));
  const auto smallest = runtime.run(file.file().largest(-size));
  const bool same = largest.ok() && smallest.ok() && *largest == -*smallest;
  return same ? file.outcome(status) : file.raise(MPI_ERR_NOT_SAME);
}

std::vector<std::uint32_t> servers_of(const Layout& layout) {
  std::vector<std::uint32_t> servers;
  for (std::uint32_t i = 0; i < layout.stripe_count; ++i)
    servers.push_back((layout.first_server + i) % layout.server_total);
  return servers;
}

// The turn of a file ends after it was closed.
class GateClosing {
 public:
  explicit GateClosing(MPI_File file) {
    if (gate_scope() != GateScope::none) way_ = Gates::get().take(file);
  }
  GateClosing(const GateClosing&) = delete;
  GateClosing& operator=(const GateClosing&) = delete;
  ~GateClosing() {
    if (way_) way_->end();
  }

 private:
  std::unique_ptr<GateWay> way_;
};

// Collective calls of a file of another file system may be ours (mpi/foreign_file.h).
void open_foreign(MPI_Comm comm, const char* name, int amode, MPI_Info info, MPI_File handle) {
  if (!ForeignFile::asked_for(info)) return;
  const Call call;
  if (auto file = ForeignFile::make(call.runtime, comm, name, amode, info, handle))
    call.runtime.add(std::move(file));
}

int begin_program(int code) {
  if (code == MPI_SUCCESS) Runtime::get().start();
  return code;
}

}  // namespace

// Ours for a file on Tutti, the MPI library's for others. The lock is not held in the latter: a collective call may wait
// for a thread of another rank whose fellow here wants it.
#define TUTTI_DISPATCH(fh, ours, theirs)                           \
  do {                                                             \
    {                                                              \
      const Call call;                                             \
      if (File* file = call.runtime.find(fh)) return [&]() ours(); \
    }                                                              \
    return library().theirs;                                       \
  } while (false)

int Init(int* argc, char*** argv) { return begin_program(library().Init(argc, argv)); }

int Init_thread(int* argc, char*** argv, int required, int* provided) {
  return begin_program(library().Init_thread(argc, argv, required, provided));
}

int File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* fh) {
  const auto path = path_on_tutti(filename);
  std::unique_ptr<GateWay> way = gate_way(comm, filename, amode);
  const bool turn = way && gate_scope() == GateScope::file;
  // On Tutti the file says which servers it is on, and opening it moves no bytes.
  if (turn && !path) way->begin();
  int code = MPI_SUCCESS;
  if (!path) {
    code = library().File_open(comm, filename, amode, info, fh);
    if (code == MPI_SUCCESS) open_foreign(comm, filename, amode, info, *fh);
  } else {
    const Call call;
    code = File::open(call.runtime, comm, *path, amode, info, fh);
    if (code == MPI_SUCCESS && way) way->set_servers(servers_of(call.runtime.find(*fh)->file().layout()));
  }
  if (!way || code != MPI_SUCCESS) return code;
  if (turn && path) way->begin();
  Gates::get().add(*fh, std::move(way));
  return code;
}

int File_close(MPI_File* fh) {
  const GateClosing closing(*fh);
  const auto ours = [&](Runtime& runtime, File& file) {
    const int code = file.close();
    const MPI_File handle = std::exchange(*fh, MPI_FILE_NULL);
    runtime.remove(handle);  // first: once it is closed, the library may give it to another thread
    runtime.genuine_files().give_back(handle);
    return code;
  };
  {
    const Call call;
    if (File* file = call.runtime.find(*fh)) return ours(call.runtime, *file);
    call.runtime.remove_foreign(*fh);
  }
  return library().File_close(fh);
}

int File_delete(const char* filename, MPI_Info info) {
  const auto path = path_on_tutti(filename);
  if (!path) return library().File_delete(filename, info);
  const Call call;
  const auto system = call.runtime.file_system(call.runtime.application());
  const Status gone = system.ok() ? call.runtime.run((*system)->unlink(*path)) : system.status();
  return raise(MPI_FILE_NULL, error_class(gone));
}

int File_set_size(MPI_File fh, MPI_Offset size) {
  TUTTI_DISPATCH(
      fh,
      {
        const Status status = call.runtime.run(file->file().set_size(size));
        return outcome_of_size(call.runtime, *file, size, status);
      },
      File_set_size(fh, size));
}

int File_preallocate(MPI_File fh, MPI_Offset size) {
  TUTTI_DISPATCH(
      fh,
      {
        const Status status = call.runtime.run(file->file().preallocate(size));
        return outcome_of_size(call.runtime, *file, size, status);
      },
      File_preallocate(fh, size));
}

int File_get_size(MPI_File fh, MPI_Offset* size) {
  TUTTI_DISPATCH(
      fh, { return file->run(file->file().size(), size); }, File_get_size(fh, size));
}

int File_get_group(MPI_File fh, MPI_Group* group) {
  TUTTI_DISPATCH(
      fh, { return file->raise(PMPI_Comm_group(file->comm(), group)); }, File_get_group(fh, group));
}

int File_get_amode(MPI_File fh, int* amode) {
  TUTTI_DISPATCH(
      fh,
      {
        *amode = file->amode();
        return MPI_SUCCESS;
      },
      File_get_amode(fh, amode));
}

int File_set_info(MPI_File fh, MPI_Info info) {
  TUTTI_DISPATCH(
      fh, { return file->set_info(info); }, File_set_info(fh, info));
}

int File_get_info(MPI_File fh, MPI_Info* info) {
  TUTTI_DISPATCH(
      fh, { return file->get_info(info); }, File_get_info(fh, info));
}

int File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep, MPI_Info info) {
  {
    const Call call;
    if (File* file = call.runtime.find(fh)) return file->set_view(disp, etype, filetype, datarep, info);
    if (ForeignFile* file = call.runtime.find_foreign(fh)) file->view_changed();
  }
  return library().File_set_view(fh, disp, etype, filetype, datarep, info);
}

int File_get_view(MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep) {
  TUTTI_DISPATCH(
      fh, { return file->get_view(disp, etype, filetype, datarep); },
      File_get_view(fh, disp, etype, filetype, datarep));
}

int File_seek(MPI_File fh, MPI_Offset offset, int whence) {
  const auto ours = [&](File& file) {
    const auto origin = origin_of(whence);
    if (!origin) return file.raise(MPI_ERR_ARG);
    if (const Status allowed = file.file().random_access(); !allowed.ok()) return file.outcome(allowed);
    return file.run(file.file().seek(offset, *origin));
  };
  TUTTI_DISPATCH(
      fh, { return ours(*file); }, File_seek(fh, offset, whence));
}

int File_seek_shared(MPI_File fh, MPI_Offset offset, int whence) {
  const auto ours = [&](File& file) {
    const auto origin = origin_of(whence);
    return origin ? file.run(file.file().seek_shared(offset, *origin)) : file.raise(MPI_ERR_ARG);
  };
  TUTTI_DISPATCH(
      fh, { return ours(*file); }, File_seek_shared(fh, offset, whence));
}

int File_get_position(MPI_File fh, MPI_Offset* offset) {
  const auto ours = [&](File& file) {
    *offset = file.file().position();
    return file.outcome(file.file().random_access());
  };
  TUTTI_DISPATCH(
      fh, { return ours(*file); }, File_get_position(fh, offset));
}

int File_get_position_shared(MPI_File fh, MPI_Offset* offset) {
  TUTTI_DISPATCH(
      fh, { return file->run(file->file().position_shared(), offset); },
      File_get_position_shared(fh, offset));
}

int File_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset* disp) {
  const auto ours = [&](File& file) {
    if (offset < 0) return file.raise(MPI_ERR_ARG);
    const FileView& view = file.file().view();
    *disp = view.file_offset(offset * view.etype_size);
    return file.outcome(file.file().random_access());
  };
  TUTTI_DISPATCH(
      fh, { return ours(*file); }, File_get_byte_offset(fh, offset, disp));
}

int File_get_type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Aint* extent) {
  const auto ours = [&](File& file) {
    MPI_Count wide = 0;
    const int code = file.type_extent(datatype, &wide);
    *extent = static_cast<MPI_Aint>(wide);
    return code;
  };
  TUTTI_DISPATCH(
      fh, { return ours(*file); }, File_get_type_extent(fh, datatype, extent));
}

#if MPI_VERSION >= 4
int File_get_type_extent_c(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent) {
  TUTTI_DISPATCH(
      fh, { return file->type_extent(datatype, extent); }, File_get_type_extent_c(fh, datatype, extent));
}
#endif

int File_set_atomicity(MPI_File fh, int flag) {
  TUTTI_DISPATCH(
      fh, { return file->run(file->file().set_atomic(flag != 0)); }, File_set_atomicity(fh, flag));
}

int File_get_atomicity(MPI_File fh, int* flag) {
  TUTTI_DISPATCH(
      fh,
      {
        *flag = file->file().atomic() ? 1 : 0;
        return MPI_SUCCESS;
      },
      File_get_atomicity(fh, flag));
}

int File_sync(MPI_File fh) {
  TUTTI_DISPATCH(
      fh, { return file->run(file->file().sync()); }, File_sync(fh));
}

}  // namespace tutti::mpi::entry
