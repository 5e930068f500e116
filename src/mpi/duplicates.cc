#include "mpi/duplicates.h"

#include <utility>

namespace tutti::mpi {
namespace {

// The attribute of a communicator holds a shared pointer. Duplicates do not inherit it.
int forget(MPI_Comm /*comm*/, int /*key*/, void* value, void* /*extra*/) {
  const std::unique_ptr<std::shared_ptr<Origin>> origin(static_cast<std::shared_ptr<Origin>*>(value));
  (*origin)->alive = false;
  if ((*origin)->spare != MPI_COMM_NULL) PMPI_Comm_free(&(*origin)->spare);
  return MPI_SUCCESS;
}

}  // namespace

std::shared_ptr<Origin> Duplicates::origin(MPI_Comm comm) {
  if (!keeps_) return std::make_shared<Origin>(Origin{false, MPI_COMM_NULL});
  if (key_ == MPI_KEYVAL_INVALID) PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, &forget, &key_, nullptr);
  std::shared_ptr<Origin>* found = nullptr;
  int there = 0;
  PMPI_Comm_get_attr(comm, key_, static_cast<void*>(&found), &there);
  if (there != 0) return *found;
  auto made = std::make_unique<std::shared_ptr<Origin>>(std::make_shared<Origin>());
  std::shared_ptr<Origin> origin = *made;
  if (PMPI_Comm_set_attr(comm, key_, made.get()) != MPI_SUCCESS) {
    origin->alive = false;  // it could not tell us of its end
    return origin;
  }
  static_cast<void>(made.release());
  origins_.push_back(origin);
  return origin;
}

void Duplicates::release() {
  for (const auto& each : std::exchange(origins_, {})) {
    const auto origin = each.lock();
    if (!origin) continue;
    origin->alive = false;
    if (origin->spare != MPI_COMM_NULL) PMPI_Comm_free(&origin->spare);
  }
}

void give_back(Origin& origin, MPI_Comm duplicate) {
  if (origin.alive && origin.spare == MPI_COMM_NULL) {
    origin.spare = duplicate;
  } else {
    PMPI_Comm_free(&duplicate);
  }
}

}  // namespace tutti::mpi
