// The C++ API of Tutti: Client and File, over the C API, in this header alone.
//
// Client and File own their handles and are movable. Results carry a value or an Error and cannot be ignored; nothing
// throws but std::bad_alloc. A Client must outlive its Files; both belong to one thread at a time.
#ifndef TUTTI_TUTTI_HPP
#define TUTTI_TUTTI_HPP

#include <fcntl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tutti/tutti.h"

namespace tutti {

struct Error {
  int number = 0;  // an errno value
  std::string message;
};

// A value or an Error. Outcome<void> is an optional Error.
template <typename T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Outcome(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  T& operator*() { return std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Outcome<void> {
 public:
  Outcome() = default;
  Outcome(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  explicit operator bool() const { return !error_; }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

namespace api {
inline Error last_error(long negative) { return Error{static_cast<int>(-negative), tutti_error()}; }
inline Outcome<void> done(long result) {
  return result < 0 ? Outcome<void>(last_error(result)) : Outcome<void>();
}
inline Outcome<std::size_t> count(long result) {
  if (result < 0) return last_error(result);
  return static_cast<std::size_t>(result);
}
}  // namespace api

// What a view of a file shows; must not outlive the File.
class View {
 public:
  // Fewer bytes than asked for only at the end of the file. `offset` counts the bytes that the view shows.
  Outcome<std::size_t> read(std::uint64_t offset, std::span<std::byte> buffer) {
    return api::count(tutti_view_read(handle_.get(), buffer.data(), buffer.size(), offset));
  }
  Outcome<void> write(std::uint64_t offset, std::span<const std::byte> buffer) {
    return api::done(tutti_view_write(handle_.get(), buffer.data(), buffer.size(), offset));
  }

 private:
  friend class File;
  struct Free {
    void operator()(tutti_view* view) const { tutti_view_free(view); }
  };
  explicit View(tutti_view* view) : handle_(view) {}
  std::unique_ptr<tutti_view, Free> handle_;
};

class File {
 public:
  // Fewer bytes than asked for only at the end of the file.
  Outcome<std::size_t> read(std::uint64_t offset, std::span<std::byte> buffer) {
    return api::count(tutti_pread(handle_.get(), buffer.data(), buffer.size(), offset));
  }
  Outcome<void> write(std::uint64_t offset, std::span<const std::byte> buffer) {
    return api::done(tutti_pwrite(handle_.get(), buffer.data(), buffer.size(), offset));
  }
  Outcome<std::size_t> read_list(std::span<const tutti_extent> extents, std::span<const iovec> buffers) {
    return api::count(
        tutti_read_list(handle_.get(), extents.data(), extents.size(), buffers.data(), buffers.size()));
  }
  Outcome<void> write_list(std::span<const tutti_extent> extents, std::span<const iovec> buffers) {
    return api::done(
        tutti_write_list(handle_.get(), extents.data(), extents.size(), buffers.data(), buffers.size()));
  }
  // See tutti_view_strided() and tutti_view_blocks().
  Outcome<View> strided_view(std::uint64_t displacement, std::uint64_t block, std::span<const tutti_level> levels,
                             std::uint64_t extent = 0) {
    tutti_view* view = nullptr;
    const int result = tutti_view_strided(handle_.get(), displacement, block, levels.data(), levels.size(),
                                          extent, &view);
    if (result < 0) return api::last_error(result);
    return View(view);
  }
  Outcome<View> view_of_blocks(std::uint64_t displacement, std::span<const tutti_extent> blocks,
                               std::uint64_t extent = 0) {
    tutti_view* view = nullptr;
    const int result =
        tutti_view_blocks(handle_.get(), displacement, blocks.data(), blocks.size(), extent, &view);
    if (result < 0) return api::last_error(result);
    return View(view);
  }
  Outcome<void> sync() { return api::done(tutti_fsync(handle_.get())); }
  Outcome<void> truncate(std::uint64_t length) { return api::done(tutti_ftruncate(handle_.get(), length)); }
  Outcome<tutti_attributes> stat() {
    tutti_attributes attributes{};
    const int result = tutti_fstat(handle_.get(), &attributes);
    if (result < 0) return api::last_error(result);
    return attributes;
  }
  // Reports what the destructor would swallow.
  Outcome<void> close() { return api::done(tutti_close(handle_.release())); }

 private:
  friend class Client;
  struct Close {
    void operator()(tutti_file* file) const { tutti_close(file); }
  };
  explicit File(tutti_file* file) : handle_(file) {}
  std::unique_ptr<tutti_file, Close> handle_;
};

class Client {
 public:
  // An empty name: as NULL for tutti_connect().
  static Outcome<Client> connect(const std::string& cluster_file = {}, const tutti_options& options = {}) {
    tutti_client* client = nullptr;
    const int result =
        tutti_connect(cluster_file.empty() ? nullptr : cluster_file.c_str(), &options, &client);
    if (result < 0) return api::last_error(result);
    return Client(client);
  }

  // `flags` as for open(2).
  Outcome<File> open(const std::string& path, int flags, mode_t mode = 0644,
                     const tutti_layout* layout = nullptr) {
    tutti_file* file = nullptr;
    const int result = tutti_open(handle_.get(), path.c_str(), flags, mode, layout, &file);
    if (result < 0) return api::last_error(result);
    return File(file);
  }
  Outcome<tutti_attributes> stat(const std::string& path, bool follow = true) {
    tutti_attributes attributes{};
    const int result = follow ? tutti_stat(handle_.get(), path.c_str(), &attributes)
                              : tutti_lstat(handle_.get(), path.c_str(), &attributes);
    if (result < 0) return api::last_error(result);
    return attributes;
  }
  struct Entry {
    std::string name;
    int type = 0;
    std::uint64_t inode = 0;
  };
  Outcome<std::vector<Entry>> list(const std::string& path) {
    std::vector<Entry> entries;
    const auto visit = [](const char* name, int type, std::uint64_t inode, void* context) {
      static_cast<std::vector<Entry>*>(context)->push_back(Entry{name, type, inode});
      return 0;
    };
    const int result = tutti_list(handle_.get(), path.c_str(), visit, &entries);
    if (result < 0) return api::last_error(result);
    return entries;
  }
  Outcome<void> make_directory(const std::string& path, mode_t mode = 0755,
                               const tutti_layout* layout = nullptr) {
    return api::done(tutti_mkdir(handle_.get(), path.c_str(), mode, layout));
  }
  Outcome<void> remove_directory(const std::string& path) {
    return api::done(tutti_rmdir(handle_.get(), path.c_str()));
  }
  Outcome<void> unlink(const std::string& path) {
    return api::done(tutti_unlink(handle_.get(), path.c_str()));
  }
  Outcome<void> rename(const std::string& from, const std::string& to) {
    return api::done(tutti_rename(handle_.get(), from.c_str(), to.c_str()));
  }
  Outcome<void> truncate(const std::string& path, std::uint64_t length) {
    return api::done(tutti_truncate(handle_.get(), path.c_str(), length));
  }
  Outcome<void> change_mode(const std::string& path, mode_t mode) {
    return api::done(tutti_chmod(handle_.get(), path.c_str(), mode));
  }
  // The C handle, for calls that this class does not have. Stays owned by the Client.
  [[nodiscard]] tutti_client* get() const { return handle_.get(); }

 private:
  struct Disconnect {
    void operator()(tutti_client* client) const { tutti_disconnect(client); }
  };
  explicit Client(tutti_client* client) : handle_(client) {}
  std::unique_ptr<tutti_client, Disconnect> handle_;
};

}  // namespace tutti

#endif
