// Sockets that listen at, or are connected to, an Address; with the settings that Tutti wants on them.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "env/real/file_descriptor.h"
#include "env/real/loop/loop.h"
#include "env/real/network/address.h"
#include "env/task.h"

namespace tutti {

// Non-blocking and bound; it listens after start_listening(). A local socket replaces the file of a dead
// listener. Code::busy if somebody answers at the address.
Result<FileDescriptor> bind_socket(const Address& address);
// `mode` is that of a local socket's file: until it listens nobody can connect.
Status start_listening(int fd, const Address& address, std::uint32_t mode);
// Where it is bound; the port is known even if the kernel chose it.
Address bound_address(int fd, const Address& asked);

// A connected, non-blocking socket. Waits as long as the kernel does where the caller does not bound it; a
// host with several addresses gets a share of the time for each. Code::unavailable where another attempt may
// help.
Task<Result<FileDescriptor>> open_connection(Loop& loop, Address address);

// No delay of small frames, and a peer that is gone without a word is noticed within some ten seconds.
void tune_tcp(int fd);

}  // namespace tutti
