// Group: the port for processes of one program that work together: an MPI communicator, or simulated ranks.
//
// All ranks make the same calls in the same order; exchange() is called by those that have something to send
// or receive. A Status that is not ok means that the group is broken and cannot be used again; it need not be
// the same on all ranks. At most one call is under way on a rank. Nothing is promised about who returns
// first, except that barrier(), allgather() and allreduce() do not end before every rank has called them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "env/task.h"

namespace tutti {

enum class Reduce : std::uint8_t { max, min, sum, bit_or };

// A message of exchange(). The memory must stay until the call ends.
struct Outgoing {
  int to = 0;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int from = 0;
  std::span<std::byte> bytes;
};

class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  virtual Task<Status> barrier() = 0;
  // `bytes` is equally long on all ranks.
  virtual Task<Status> broadcast(int root, std::span<std::byte> bytes) = 0;
  // `mine` is equally long on all ranks; `all` has room for size() of it, in the order of ranks.
  virtual Task<Status> allgather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  // In place, element by element; equally many on all ranks.
  virtual Task<Status> allreduce(Reduce reduce, std::span<std::int64_t> values) = 0;
  // Sends and receives messages whose lengths both sides know: at most one from each rank to each other in
  // one call, none of length 0, none to oneself. Messages of consecutive exchanges between two ranks do not
  // overtake.
  virtual Task<Status> exchange(std::span<const Outgoing> send, std::span<const Incoming> receive) = 0;
};

}  // namespace tutti
