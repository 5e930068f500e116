// The inside of OpenFile: the state of one open file. Reads and writes go the way of transfer.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/file_system_impl.h"
#include "client/transfer/striped_file.h"

namespace tutti {

class OpenFile::Impl {
 public:
  Impl(FileSystem::Impl& system, std::string path, Attributes attributes, const wire::Capability& capability,
       std::uint32_t open_flags, std::uint64_t handle);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  // Closes the file, and reports to the servers what was read and written without asking.
  ~Impl();

  Status set_visit(const VisitWish& wish);
  void set_rank(std::uint32_t rank, std::uint32_t ranks);
  Task<Result<Bytes>> length();
  Task<Result<Bytes>> next_data(Bytes from);
  Task<Status> give_name(std::string path, bool replace);
  Task<Status> truncate(Bytes length);
  Task<Status> sync();
  Task<Status> close();
  Task<Result<LockId>> lock(Extent range, bool exclusive, Nanos patience);
  Task<Status> unlock(LockId lock);

  [[nodiscard]] std::vector<std::byte> share();

  [[nodiscard]] ViewPointer declare(FileView view);
  Task<Result<Bytes>> read_view(ViewPointer view, Bytes offset, std::span<std::byte> buffer,
                                const DirectedCall* call);
  Task<Status> write_view(ViewPointer view, Bytes offset, std::span<const std::byte> buffer,
                          const DirectedCall* call);
  [[nodiscard]] std::uint64_t new_call() { return system_.next_call(); }

  [[nodiscard]] const Attributes& attributes() const { return attributes_; }
  [[nodiscard]] StripedFile& file() { return file_; }

 private:
  [[nodiscard]] const std::string& path() const { return file_.path; }
  void tell(const std::shared_ptr<Channel>& channel, const wire::Took& report);

  FileSystem::Impl& system_;
  Attributes attributes_;
  StripedFile file_;
  std::uint64_t handle_;  // at the metadata server; 0: closed, or it knows of none
};

}  // namespace tutti
