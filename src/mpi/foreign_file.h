// ForeignFile: a file of another file system whose collective calls are carried out by our plans (docs/resonant.md), and
// whose servers each rank visits in an order of its own (docs/target-order.md).
//
// The program's handle stays the MPI library's own, and all calls but blocking reads and writes go there. Collective ones
// are planned by the file's striping and carried out with the library's independent calls: what a rank moves for itself
// through the program's handle, what an agent moves for all through a handle of its own, which has no view. So each stripe
// object has one client in a call. If hints name an order, what a rank moves for itself is moved stripe by stripe in that order,
// where it is contiguous in file and memory; independent calls too.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mpi/file.h"
#include "parallel/collective_file.h"
#include "parallel/hints.h"
#include "policy/target/order.h"

namespace tutti::mpi {

class ForeignFile final : public CollectiveFile {
 public:
  // Whether hints name a plan or an order, in the info or in the environment.
  static bool asked_for(MPI_Info info);
  // After the library has opened the file on all ranks. Null unless hints name a plan (tutti_collective) or an order
  // (tutti_target_order), and the striping is known: by hints (striping_unit and striping_factor), or by the file system.
  // Whether hints ask for it must be the same on all ranks. Collective if they do.
  static std::unique_ptr<ForeignFile> make(Runtime& runtime, MPI_Comm comm, const std::string& name,
                                           int amode, MPI_Info info, MPI_File handle);
  ~ForeignFile() override;

  [[nodiscard]] MPI_File handle() const { return handle_; }
  // Of a collective call. Nothing if the library is to do it: in atomic mode, and with other data representations.
  std::optional<int> transfer(Form form, MPI_Offset offset, const Buffer& buffer, MPI_Status* status);
  // Of an independent call. Nothing if the library is to do it: also unless there is an order to keep.
  std::optional<int> transfer_alone(Form form, MPI_Offset offset, const Buffer& buffer, MPI_Status* status);
  void view_changed() { view_taken_ = view_agreed_ = false; }

  [[nodiscard]] const Layout& layout() const override { return layout_; }
  // Nobody says. A plan that was asked for by name counts on disks; otherwise ranks exchange what is small and interleaved.
  [[nodiscard]] bool rotational() const override { return plan_named_; }
  [[nodiscard]] bool solid() const override { return false; }
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
  [[nodiscard]] std::string describe() const;
  // Whether it is a view that plans can go by.
  bool view_serves();
  bool take_view();
  FileAccess access_of(Form form, MPI_Offset offset, const Buffer& buffer);
  // The part of the file, if the access is one part in file and memory, of several stripes, and there is an order to keep.
  [[nodiscard]] std::optional<Extent> to_stagger(const FileAccess& access) const;
  [[nodiscard]] std::vector<Extent> route(Extent whole, bool write) const;
  Result<Bytes> read_staggered(Extent whole, std::byte* to);
  Status write_staggered(Extent whole, const std::byte* from);

  Runtime& runtime_;
  int amode_;
  MPI_File handle_;                 // the program's
  MPI_File bytes_ = MPI_FILE_NULL;  // of this process alone, without a view
  std::unique_ptr<MpiGroup> group_;
  Layout layout_;
  CollectiveOptions options_;
  bool plan_named_ = false;
  std::unique_ptr<TargetOrder> order_;  // null: none is to be kept
  Bytes block_;                         // the largest part that is moved at a time
  FileView view_;
  bool view_taken_ = false;  // this process knows it
  bool view_serves_ = false;
  bool view_agreed_ = false;  // all ranks know whether the next holds
  bool view_serves_all_ = false;
  Current current_;
};

}  // namespace tutti::mpi
