#include "mpi/group.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "mpi/errors.h"
#include "mpi/library.h"

namespace tutti::mpi {
namespace {

constexpr int kTag = 1;
// Counts of MPI are ints.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30U;

// Until all requests have ended. `error` is what starting them returned.
Task<Status> finish(Loop& loop, int error, std::span<MPI_Request> requests, const char* what) {
  int ended = requests.empty() ? 1 : 0;
  while (error == MPI_SUCCESS && ended == 0) {
    error =
        library().Testall(static_cast<int>(requests.size()), requests.data(), &ended, MPI_STATUSES_IGNORE);
    if (ended != 0 || error != MPI_SUCCESS) break;
    ::sched_yield();
    co_await loop.next_turn();
  }
  co_return status_of(error, what);
}

MPI_Op operation(Reduce reduce) {
  switch (reduce) {
    case Reduce::max:
      return MPI_MAX;
    case Reduce::min:
      return MPI_MIN;
    case Reduce::sum:
      return MPI_SUM;
    case Reduce::bit_or:
      break;
  }
  return MPI_BOR;
}

}  // namespace

Task<Result<std::unique_ptr<MpiGroup>>> MpiGroup::duplicate(Loop& loop, Duplicates& duplicates, MPI_Comm comm,
                                                            std::span<std::int64_t> values) {
  std::shared_ptr<Origin> origin = duplicates.origin(comm);
  MPI_Comm copy = std::exchange(origin->spare, MPI_COMM_NULL);
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int error = MPI_SUCCESS;
  if (copy == MPI_COMM_NULL) error = PMPI_Comm_idup(comm, &copy, &requests[0]);
  if (error == MPI_SUCCESS) {
    error = PMPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                            MPI_MAX, comm, &requests[1]);
  }
  Status made = co_await finish(loop, error, requests, "duplicate the communicator of a file");
  if (!made.ok()) co_return made;
  co_return std::unique_ptr<MpiGroup>(new MpiGroup(loop, copy, std::move(origin)));
}

MpiGroup::MpiGroup(Loop& loop, MPI_Comm comm, std::shared_ptr<Origin> origin)
    : loop_(loop), comm_(comm), origin_(std::move(origin)) {
  PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  PMPI_Comm_rank(comm_, &rank_);
  PMPI_Comm_size(comm_, &size_);
}

MpiGroup::~MpiGroup() { give_back(*origin_, comm_); }

Task<Status> MpiGroup::barrier() {
  if (size_ == 1) co_return Status();
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = PMPI_Ibarrier(comm_, &request);
  co_return co_await finish(loop_, error, {&request, 1}, "barrier");
}

Task<Status> MpiGroup::broadcast(int root, std::span<std::byte> bytes) {
  if (size_ == 1) co_return Status();
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), kMostAtOnce));
    bytes = bytes.subspan(part.size());
    MPI_Request request = MPI_REQUEST_NULL;
    const int error =
        PMPI_Ibcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, comm_, &request);
    TUTTI_CO_TRY(co_await finish(loop_, error, {&request, 1}, "broadcast"));
  }
  co_return Status();
}

Task<Status> MpiGroup::allgather(std::span<const std::byte> mine, std::span<std::byte> all) {
  if (mine.size() > kMostAtOnce)
    co_return Status(Code::too_large, "gather from all ranks: more than 1 GiB from each");
  const auto count = static_cast<int>(mine.size());
  MPI_Request request = MPI_REQUEST_NULL;
  const int error =
      PMPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE, comm_, &request);
  co_return co_await finish(loop_, error, {&request, 1}, "gather from all ranks");
}

Task<Status> MpiGroup::allreduce(Reduce reduce, std::span<std::int64_t> values) {
  if (size_ == 1) co_return Status();
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = PMPI_Iallreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_INT64_T,
                                    operation(reduce), comm_, &request);
  co_return co_await finish(loop_, error, {&request, 1}, "reduce over all ranks");
}

Task<Status> MpiGroup::exchange(std::span<const Outgoing> send, std::span<const Incoming> receive) {
  std::vector<MPI_Request> requests;
  requests.reserve(send.size() + receive.size());
  int error = MPI_SUCCESS;
  for (const Incoming& each : receive) {
    for (std::size_t at = 0; at < each.bytes.size() && error == MPI_SUCCESS; at += kMostAtOnce) {
      const auto part = each.bytes.subspan(at, std::min(each.bytes.size() - at, kMostAtOnce));
      error = PMPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, each.from, kTag, comm_,
                         &requests.emplace_back(MPI_REQUEST_NULL));
    }
  }
  for (const Outgoing& each : send) {
    for (std::size_t at = 0; at < each.bytes.size() && error == MPI_SUCCESS; at += kMostAtOnce) {
      const auto part = each.bytes.subspan(at, std::min(each.bytes.size() - at, kMostAtOnce));
      error = PMPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, each.to, kTag, comm_,
                         &requests.emplace_back(MPI_REQUEST_NULL));
    }
  }
  co_return co_await finish(loop_, error, requests, "exchange between ranks");
}

}  // namespace tutti::mpi
