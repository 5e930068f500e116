// RawTcpPeer: bare TCP over the loopback device, as the measure of Tutti's TCP path: a minimal sender and receiver that
// move a transfer at a time, each acknowledged. The other end keeps one buffer, which stays in the processor's cache, or has
// the bytes of a file in memory, as a server of files does.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "env/real/local_files.h"

namespace tutti::cli {

class RawTcpPeer {
 public:
  // Starts a child at the other end of a connection. With a file, which it maps whole, it moves the bytes of that.
  static Result<std::unique_ptr<RawTcpPeer>> start(int file = -1);
  RawTcpPeer(const RawTcpPeer&) = delete;
  RawTcpPeer& operator=(const RawTcpPeer&) = delete;
  ~RawTcpPeer();

  // Sends the buffer and waits for one byte, or asks for as many bytes and receives them. `offset` is in the file.
  Status transfer(bool write, std::span<std::byte> buffer, std::uint64_t offset);

 private:
  RawTcpPeer(Fd socket, pid_t child) : socket_(std::move(socket)), child_(child) {}
  Fd socket_;
  pid_t child_;
};

}  // namespace tutti::cli
