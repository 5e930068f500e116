// Moving whole files between the local system and the cluster, in large pieces with several under way.
#pragma once

#include <cstdint>
#include <string>

#include "cli/client.h"
#include "client/file_system.h"
#include "env/real/local_files.h"
#include "env/task.h"

namespace tutti::cli {

inline constexpr std::size_t kPiece = 8U << 20U;
inline constexpr std::size_t kPiecesUnderWay = 4;

// Bytes from a descriptor, in order, into an empty file; holes of a regular file are left out. A pipe or terminal is
// waited for through the loop, so that signals are seen.
Task<Status> copy_in(Client& client, int from, std::string name, OpenFile& to);
// Bytes into an empty regular file, in any order; where there are only zeros it gets holes, and holes are not read.
Task<Status> copy_out(Client& client, OpenFile& from, int to, std::string name);
// Bytes to any descriptor, in order.
Task<Status> copy_to_stream(OpenFile& from, int to, std::string name);

}  // namespace tutti::cli
