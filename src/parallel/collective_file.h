// CollectiveFile: the file of a collective call, as far as carrying it out needs to know it.
//
// Plans go by the striping alone. So they serve a file on Tutti, and a file of another file system whose striping is known
// (mpi/foreign_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "env/clock.h"
#include "parallel/collective.h"

namespace tutti {

class CollectiveFile {
 public:
  CollectiveFile() = default;
  CollectiveFile(const CollectiveFile&) = delete;
  CollectiveFile& operator=(const CollectiveFile&) = delete;
  virtual ~CollectiveFile() = default;

  [[nodiscard]] virtual const Layout& layout() const = 0;
  [[nodiscard]] virtual bool rotational() const = 0;
  // Whether something is known of its devices, and none of those known rotates.
  [[nodiscard]] virtual bool solid() const = 0;
  [[nodiscard]] virtual Clock& clock() const = 0;
  [[nodiscard]] virtual const Log& log() const = 0;
  // An id for a DirectedCall.
  [[nodiscard]] virtual std::uint64_t new_call() = 0;

  // What the rank itself wants, by itself; as read_independent() and write_independent().
  virtual Task<Result<Bytes>> read_own(FileAccess access, const CollectiveOptions& options) = 0;
  virtual Task<Status> write_own(FileAccess access, const CollectiveOptions& options) = 0;
  // For others too; as OpenFile's functions of these names.
  virtual Task<Result<Bytes>> read_list(std::span<const Extent> file,
                                        std::span<const std::span<std::byte>> memory) = 0;
  virtual Task<Status> write_list(std::span<const Extent> file,
                                  std::span<const std::span<const std::byte>> memory,
                                  const CollectiveOptions& options) = 0;
  virtual Task<Status> prefetch(std::span<const Extent> file) = 0;
  virtual Task<Result<Bytes>> size() = 0;
};

// A file on Tutti, which must outlive this.
class TuttiFile final : public CollectiveFile {
 public:
  explicit TuttiFile(OpenFile& file) : file_(file) {}

  [[nodiscard]] const Layout& layout() const override { return file_.layout(); }
  [[nodiscard]] bool rotational() const override { return file_.rotational(); }
  [[nodiscard]] bool solid() const override { return file_.solid(); }
  [[nodiscard]] Clock& clock() const override { return file_.clock(); }
  [[nodiscard]] const Log& log() const override { return file_.log(); }
  [[nodiscard]] std::uint64_t new_call() override { return file_.new_call(); }
  Task<Result<Bytes>> read_own(FileAccess access, const CollectiveOptions& options) override {
    return read_independent(file_, std::move(access), options);
  }
  Task<Status> write_own(FileAccess access, const CollectiveOptions& options) override {
    return write_independent(file_, std::move(access), options);
  }
  Task<Result<Bytes>> read_list(std::span<const Extent> file,
                                std::span<const std::span<std::byte>> memory) override {
    return file_.read_list(file, memory);
  }
  Task<Status> write_list(std::span<const Extent> file, std::span<const std::span<const std::byte>> memory,
                          const CollectiveOptions& options) override;
  Task<Status> prefetch(std::span<const Extent> file) override { return file_.prefetch(file); }
  Task<Result<Bytes>> size() override { return file_.size(); }

 private:
  OpenFile& file_;
};

}  // namespace tutti
