// SocketConnection: a Connection on a connected stream socket; knows nothing of how the socket came to be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "env/network.h"
#include "env/real/loop/loop.h"
#include "env/real/network/frame_reader.h"
#include "env/real/network/frame_writer.h"
#include "env/real/network/mover.h"
#include "env/real/network/socket_mover.h"
#include "env/scope.h"

namespace tutti {

class SocketConnection final : public Connection {
 public:
  // Takes over the descriptor, which must be non-blocking. Until established(), only short frames are
  // accepted.
  static Result<std::unique_ptr<SocketConnection>> make(Loop& loop, int fd, std::size_t queue_limit);
  ~SocketConnection() override;

  [[nodiscard]] const Peer& peer() const override { return peer_; }
  Status send(std::uint16_t type, std::uint64_t id, std::span<const std::byte> payload) override;
  Task<Result<Frame>> receive() override;
  void close() override;
  [[nodiscard]] bool closed() const override { return closed_; }
  void release() override;
  std::uint64_t expose(std::span<const Segment> segments, Access access) override;
  void withdraw(std::uint64_t region) override;
  [[nodiscard]] bool needs_segments() const override { return mover().needs_segments(); }
  Task<Status> pull(const Region& from, Bytes offset, Places into) override;
  Task<Status> push(ConstPlaces from, const Region& to, Bytes offset) override;
  [[nodiscard]] bool moves_at_once() const override { return cma_ != nullptr; }
  [[nodiscard]] std::uint64_t moved() const override;

  [[nodiscard]] bool takes_files() const override { return takes_files_; }
  bool give(std::uint64_t key, const SharedFile& file) override;
  std::shared_ptr<const SharedFile> given(std::uint64_t key) override;
  [[nodiscard]] bool peer_is_own() const override { return peer_is_own_; }
  [[nodiscard]] bool peer_gone() override;

  // For the handshake: the next frame of any type.
  Task<Result<Frame>> receive_any();
  // The handshake is over: who the peer is, and how bulk data travels.
  void established(Peer peer, bool by_cross_memory_attach);
  // Of the local path: whether the peer may hand over files, and whether this end may.
  void take_files() {
    takes_files_ = true;
    reader_.take_files();
  }
  void give_files(bool peer_is_own) {
    gives_files_ = true;
    peer_is_own_ = peer_is_own;
  }
  void batch_bulk() { reader_.batch_bulk(); }
  // Of the server's end: its client may send bytes with its requests when they are taken at once.
  void allow_early() { socket_mover_.allow_early(); }
  // What the peer sends waits for grants, which must outlive this.
  void grant_reads(GrantsWatch& grants) { socket_mover_.grant_reads(grants, fd_); }
  // From now on every frame is protected, with `sending` here and `receiving` by the peer. Not Protection::none.
  void protect(const AuthKey& sending, const AuthKey& receiving, Protection protection) {
    writer_.protect(sending, protection);
    reader_.protect(receiving, protection);
  }
  // Closes when the process ends, even if another one still holds its end of the socket: its number may be
  // given to a stranger, whose memory must not be touched.
  void close_with_process(int pidfd);
  [[nodiscard]] int fd() const { return fd_; }

 private:
  SocketConnection(Loop& loop, int fd, std::size_t queue_limit);
  void lose(Status reason);
  // Of bulk data by cross-memory attach: whether the peer has closed while this process did not run.
  bool closed_unseen();
  Task<void> watch_process();
  // A frame of the transport.
  Status on_frame(const Frame& frame);
  [[nodiscard]] const Mover& mover() const { return cma_ ? static_cast<const Mover&>(*cma_) : socket_mover_; }
  [[nodiscard]] Mover& mover() { return cma_ ? static_cast<Mover&>(*cma_) : socket_mover_; }

  Loop& loop_;
  int fd_;
  int pidfd_ = -1;
  FdWatch watch_;
  FdWatch pid_watch_;
  Peer peer_;
  bool established_ = false;
  bool closed_ = false;
  Status reason_;
  int burst_ = 0;  // frames and reads since the loop was last waited for
  FrameReader reader_;
  FrameWriter writer_;
  SocketMover socket_mover_;
  std::unique_ptr<CmaMover> cma_;
  bool takes_files_ = false;
  bool gives_files_ = false;
  bool peer_is_own_ = false;
  std::map<std::uint64_t, std::shared_ptr<const SharedFile>> given_;  // by key, not claimed yet
  Scope scope_;
};

}  // namespace tutti
