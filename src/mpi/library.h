// Library: the MPI library's own functions behind those that Tutti stands in front of.
//
// Inside this room these are called through library(), all other MPI functions as PMPI_X: so nothing comes back to us.
#pragma once

#include <mpi.h>

#include "mpi/entry_points.h"

// MPI 4 libraries have functions with counts of type MPI_Count.
#if MPI_VERSION >= 4
#define TUTTI_MPI_PRESENT(X) TUTTI_MPI_ALL(X)
#else
#define TUTTI_MPI_PRESENT(X) \
  TUTTI_MPI_FUNCTIONS(X)     \
  TUTTI_MPI_TRANSFERS(X)
#endif

namespace tutti::mpi {

struct Library {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator
#define TUTTI_MEMBER(name) decltype(&PMPI_##name) name = nullptr;
  TUTTI_MPI_PRESENT(TUTTI_MEMBER)
#undef TUTTI_MEMBER
};

// Filled in before the first entry is handed out.
const Library& library();

// Our functions, named as those of MPI without the prefix.
namespace entry {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator
#define TUTTI_DECLARE(name) extern decltype(PMPI_##name) name;
TUTTI_MPI_PRESENT(TUTTI_DECLARE)
#undef TUTTI_DECLARE
}  // namespace entry

}  // namespace tutti::mpi
