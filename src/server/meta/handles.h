// Handles: which files are open, and by whom. A removed file lives on until its last handle is closed.
//
// A handle belongs to a client, which is a user and the number that the client goes by, and outlives a session: one that
// comes back finds its handles, one that has had no session for the grace loses them. Nothing is stored: after a restart
// clients claim what they have open. Whoever is told of the last close (`closed`) removes what has lost its names.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "env/env.h"
#include "env/scope.h"

namespace tutti::meta {

struct ClientName {
  std::uint32_t uid = 0;
  std::uint64_t client = 0;
  auto operator<=>(const ClientName&) const = default;
};

// What a client says of its writes when it closes a file: all of them lie before `end`, and nothing was truncated, if
// `exact`.
struct Closing {
  bool exact = false;
  std::uint64_t end = 0;
};

class Handles {
 public:
  static constexpr std::size_t kMostOfClient = 65'536;

  struct Closed {
    std::uint64_t inode = 0;
    bool write = false;    // the handle was for writing
    Closing closing;       // the client's word; nothing exact if it is gone
    bool returned = true;  // by its client: it will not use the capability again
    bool last = false;     // nobody has the file open now
  };

  // What `env` refers to must outlive it. `closed` is called for each handle that ends.
  Handles(Env env, Nanos grace, std::function<void(const Closed&)> closed);
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  // A session of the client begins or ends.
  void join(const ClientName& client, std::uint64_t application = 0);
  void leave(const ClientName& client);

  // Repeating it changes nothing. Code::invalid if the client has too many.
  Status open(const ClientName& client, std::uint64_t handle, std::uint64_t inode, bool write);
  void close(const ClientName& client, std::uint64_t handle, const Closing& closing);

  // How many files each application has open.
  [[nodiscard]] std::map<std::uint64_t, std::size_t> files_by_application() const;
  [[nodiscard]] bool is_open(std::uint64_t inode) const { return files_.contains(inode); }
  [[nodiscard]] bool is_written(std::uint64_t inode) const;
  [[nodiscard]] bool has(const ClientName& client, std::uint64_t inode) const;

 private:
  struct Handle {
    std::uint64_t inode = 0;
    bool write = false;
  };
  struct Owner {
    std::map<std::uint64_t, Handle> handles;
    std::uint32_t sessions = 0;
    std::uint64_t application = 0;
    std::uint64_t absences = 0;  // how often it has been without a session
  };
  struct File {
    std::uint32_t handles = 0;
    std::uint32_t writers = 0;
  };

  Task<void> expire(ClientName client, std::uint64_t absence);
  void end(const Handle& handle, const Closing& closing, bool returned);

  Env env_;
  Nanos grace_;
  std::function<void(const Closed&)> closed_;
  std::map<ClientName, Owner> owners_;
  std::unordered_map<std::uint64_t, File> files_;
  Scope scope_;
};

}  // namespace tutti::meta
