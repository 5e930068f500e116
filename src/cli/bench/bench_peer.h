// RawTcpPeer: bare TCP over the loopback device, as the measure of Tutti's TCP path: a minimal sender and receiver that
// move a transfer at a time, each acknowledged.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"
#include "env/real/local_files.h"

namespace tutti::cli {

class RawTcpPeer {
 public:
  // Starts a child at the other end of a connection.
  static Result<std::unique_ptr<RawTcpPeer>> start();
  RawTcpPeer(const RawTcpPeer&) = delete;
  RawTcpPeer& operator=(const RawTcpPeer&) = delete;
  ~RawTcpPeer();

  // Sends the buffer and waits for one byte, or asks for as many bytes and receives them.
  Status transfer(bool write, std::span<std::byte> buffer);

 private:
  RawTcpPeer(Fd socket, pid_t child) : socket_(std::move(socket)), child_(child) {}
  Fd socket_;
  pid_t child_;
};

}  // namespace tutti::cli
