// MpiGroup: the Group port over a communicator of its own.
//
// Everything is non-blocking inside MPI and polled from the loop, giving way to others between two looks: libraries that
// poll without giving way take milliseconds for what takes microseconds so when ranks share cores.
#pragma once

#include <mpi.h>

#include <memory>

#include "env/group.h"
#include "env/real/loop/loop.h"
#include "mpi/duplicates.h"

namespace tutti::mpi {

class MpiGroup final : public Group {
 public:
  // Collective over `comm`: over a duplicate of it. The loop must outlive the group. On the same way each of `values`,
  // equally many on all ranks, becomes the largest of all ranks.
  static Task<Result<std::unique_ptr<MpiGroup>>> duplicate(Loop& loop, Duplicates& duplicates, MPI_Comm comm,
                                                           std::span<std::int64_t> values);
  // Gives the communicator back, which is collective.
  ~MpiGroup() override;
  MpiGroup(const MpiGroup&) = delete;
  MpiGroup& operator=(const MpiGroup&) = delete;

  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  Task<Status> barrier() override;
  Task<Status> broadcast(int root, std::span<std::byte> bytes) override;
  Task<Status> allgather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  Task<Status> allreduce(Reduce reduce, std::span<std::int64_t> values) override;
  Task<Status> exchange(std::span<const Outgoing> send, std::span<const Incoming> receive) override;

 private:
  MpiGroup(Loop& loop, MPI_Comm comm, std::shared_ptr<Origin> origin);

  Loop& loop_;
  MPI_Comm comm_;
  std::shared_ptr<Origin> origin_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace tutti::mpi
