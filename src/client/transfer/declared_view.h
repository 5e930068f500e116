// DeclaredView: a file view as a client's transfers use it, and which servers know it on which connection.
//
// The message that declares it goes out right before the first request that needs it: frames of a connection are handled
// in order. A server that has forgotten the view says so, and is told again; one that refuses it gets lists from then on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "client/file_system.h"
#include "env/channel.h"
#include "layout/layout.h"
#include "layout/view.h"

namespace tutti {

class DeclaredView {
 public:
  // `number` names it towards all servers of this client and is never used again.
  DeclaredView(FileView view, std::uint64_t number, std::uint64_t file, const Layout& layout);
  DeclaredView(const DeclaredView&) = delete;
  DeclaredView& operator=(const DeclaredView&) = delete;
  // Those who know it are told that it is not needed any more.
  ~DeclaredView();

  [[nodiscard]] const FileView& view() const { return view_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t file() const { return file_; }

  // Whether the server of the slot may be asked by it.
  [[nodiscard]] bool usable(std::uint32_t slot, bool write) const;
  // Tells the server, unless it knows.
  void tell(std::uint32_t slot, const std::shared_ptr<Channel>& channel);
  // What a server that was asked by it said: it knows it, does not (any more), or refuses it.
  void known(std::uint32_t slot) { servers_[slot].forgotten = 0; }
  void forgotten(std::uint32_t slot);
  void refused(std::uint32_t slot) { servers_[slot].refused = true; }

 private:
  static constexpr int kMostForgotten = 64;
  struct Server {
    std::weak_ptr<Channel> knows;  // on this connection
    int forgotten = 0;
    bool refused = false;
  };
  void send(std::uint32_t slot, Channel& channel, bool drop) const;

  FileView view_;
  std::uint64_t number_;
  std::uint64_t file_;
  Layout layout_;
  std::vector<std::byte> filetype_;  // encoded; empty: it is too long, or contiguous
  std::vector<Server> servers_;      // by slot
};

// How a transfer uses a view: the bytes from `offset` of its data on are those of the memory from `address` on. And the call
// that it is part of.
struct ViewUse {
  DeclaredView* view = nullptr;  // null: not at all
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  const DirectedCall* call = nullptr;  // null: of none
  bool last_of_call = true;            // no other transfer of this client is part of it
};

}  // namespace tutti
