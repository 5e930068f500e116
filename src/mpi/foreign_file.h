// ForeignFile: a file of another file system whose collective calls are carried out by our plans (docs/resonant.md).
//
// The program's handle stays the MPI library's own, and all calls but blocking collective reads and writes go there. Those
// are planned by the file's striping and carried out with the library's independent calls: what a rank moves for itself
// through the program's handle, what an agent moves for all through a handle of its own, which has no view. So each stripe
// object has one client in a call.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>

#include "mpi/file.h"
#include "parallel/collective_file.h"
#include "parallel/hints.h"

namespace tutti::mpi {

class ForeignFile final : public CollectiveFile {
 public:
  // Whether hints name a plan, in the info or in the environment.
  static bool asked_for(MPI_Info info);
  // After the library has opened the file on all ranks. Null unless hints name a plan (tutti_collective), and the striping is
  // known: by hints (striping_unit and striping_factor), or by the file system. Whether hints ask for it must be the same
  // on all ranks. Collective if they do.
  static std::unique_ptr<ForeignFile> make(Runtime& runtime, MPI_Comm comm, const std::string& name,
                                           int amode, MPI_Info info, MPI_File handle);
  ~ForeignFile() override;

  [[nodiscard]] MPI_File handle() const { return handle_; }
  // Of a collective call. Nothing if the library is to do it: in atomic mode, and with other data representations.
  std::optional<int> transfer(Form form, MPI_Offset offset, const Buffer& buffer, MPI_Status* status);
  void view_changed() { view_known_ = false; }

  [[nodiscard]] const Layout& layout() const override { return layout_; }
  // Nobody says. The plan was asked for by name.
  [[nodiscard]] bool rotational() const override { return true; }
  [[nodiscard]] Clock& clock() const override { return runtime_.loop().clock(); }
  [[nodiscard]] const Log& log() const override { return runtime_.log(); }
  [[nodiscard]] std::uint64_t new_call() override { return 1; }
  Task<Result<Bytes>> read_own(FileAccess access, const CollectiveOptions& options) override;
  Task<Status> write_own(FileAccess access, const CollectiveOptions& options) override;
  Task<Result<Bytes>> read_list(std::span<const Extent> file,
                                std::span<const std::span<std::byte>> memory) override;
  Task<Status> write_list(std::span<const Extent> file, std::span<const std::span<const std::byte>> memory,
                          const CollectiveOptions& options) override;
  // The library has no such call: whoever reads will wait.
  Task<Status> prefetch(std::span<const Extent> /*file*/) override { co_return Status(); }
  Task<Result<Bytes>> size() override;

 private:
  // The call that is being carried out.
  struct Current {
    MPI_Offset offset = 0;
    Buffer buffer;
  };

  ForeignFile(Runtime& runtime, int amode, MPI_File handle)
      : runtime_(runtime), amode_(amode), handle_(handle) {}
  Status prepare(MPI_Comm comm, const std::string& name, const HintList& list);
  Status find_striping(const std::string& name, const FileHints& hints);
  bool take_view();
  FileAccess access_of(Form form, MPI_Offset offset, const Buffer& buffer);

  Runtime& runtime_;
  int amode_;
  MPI_File handle_;                 // the program's
  MPI_File bytes_ = MPI_FILE_NULL;  // of this process alone, without a view
  std::unique_ptr<MpiGroup> group_;
  Layout layout_;
  CollectiveOptions options_;
  FileView view_;
  bool view_known_ = false;  // and all ranks have agreed on the next
  bool view_serves_ = false;
  Current current_;
};

}  // namespace tutti::mpi
