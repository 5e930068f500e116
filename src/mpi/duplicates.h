// Duplicates: communicators for the files that are opened on a communicator, one after the other.
//
// To duplicate a communicator takes several messages between all ranks; files are opened and closed often. So one duplicate
// is kept with the communicator it was made of when its file is closed, and serves the next. All ranks open and close in
// the same order, so they agree on it without a word; not so where threads may close several files at once.
#pragma once

#include <mpi.h>

#include <memory>
#include <vector>

namespace tutti::mpi {

// A communicator of the program's, as long as it lives.
struct Origin {
  bool alive = true;  // and may keep a duplicate
  MPI_Comm spare = MPI_COMM_NULL;
};

class Duplicates {
 public:
  Duplicates() = default;
  Duplicates(const Duplicates&) = delete;
  Duplicates& operator=(const Duplicates&) = delete;
  ~Duplicates() = default;

  // From now on nothing is kept.
  void keep_none() { keeps_ = false; }
  // What is known of a communicator; it is told when the program frees it.
  std::shared_ptr<Origin> origin(MPI_Comm comm);
  // Before MPI ends: frees what is spare.
  void release();

 private:
  bool keeps_ = true;
  int key_ = MPI_KEYVAL_INVALID;
  std::vector<std::weak_ptr<Origin>> origins_;
};

// A duplicate that its file needs no longer. Collective.
void give_back(Origin& origin, MPI_Comm duplicate);

}  // namespace tutti::mpi
