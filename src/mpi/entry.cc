// tutti_mpi_entry: all that the stub knows of an implementation.
#include <dlfcn.h>

#include <cstring>
#include <mutex>

#include "mpi/gate.h"
#include "mpi/library.h"

namespace tutti::mpi {
namespace {

Library& mutable_library() {
  static Library functions;
  return functions;
}

void fill(void* mpi) {
  Library& functions = mutable_library();
#define TUTTI_FILL(name) \
  functions.name = reinterpret_cast<decltype(functions.name)>(::dlsym(mpi, "PMPI_" #name));
  TUTTI_MPI_PRESENT(TUTTI_FILL)
#undef TUTTI_FILL
}

void* find(const char* name) {
#define TUTTI_FIND(function) \
  if (std::strcmp(name, "PMPI_" #function) == 0) return reinterpret_cast<void*>(&entry::function);
  TUTTI_MPI_PRESENT(TUTTI_FIND)
#undef TUTTI_FIND
  if (std::strcmp(name, "tutti_gate_begin") == 0) return reinterpret_cast<void*>(&gate_begin);
  if (std::strcmp(name, "tutti_gate_end") == 0) return reinterpret_cast<void*>(&gate_end);
  if (std::strcmp(name, "tutti_gate_begin_file") == 0) return reinterpret_cast<void*>(&gate_begin_file);
  if (std::strcmp(name, "tutti_gate_end_file") == 0) return reinterpret_cast<void*>(&gate_end_file);
  return nullptr;
}

}  // namespace

const Library& library() { return mutable_library(); }

}  // namespace tutti::mpi

// Our function for "PMPI_X"; null if there is none for this MPI library. `mpi` is the handle of the MPI library.
extern "C" __attribute__((visibility("default"))) void* tutti_mpi_entry(const char* name, void* mpi) {
  static std::once_flag filled;
  std::call_once(filled, [mpi] { tutti::mpi::fill(mpi); });
  return tutti::mpi::find(name);
}
