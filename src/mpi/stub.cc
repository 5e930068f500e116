// libtutti_mpi.so: what programs preload or link. It has the file functions of MPI under both their names and hands
// each call to the implementation that was built for the MPI library of this process.
//
// Nothing happens at load: a shell or a launcher that inherits LD_PRELOAD never notices. The first call looks which
// MPI library is loaded and loads libtutti_mpi_NAME.so from the stub's own directory. Without it, calls go on to the
// MPI library. Arguments pass through as machine words: every function of the table has at most six, integers or
// pointers, which all 64-bit calling conventions pass in registers.
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "mpi/entry_points.h"

namespace {

using Function = long (*)(long, long, long, long, long, long);
using Lookup = void* (*)(const char* name, void* mpi_library);

enum Index : unsigned {
#define TUTTI_INDEX(name) k##name,
  TUTTI_MPI_ALL(TUTTI_INDEX)
#undef TUTTI_INDEX
      kCount
};

constexpr const char* kNames[] = {
#define TUTTI_NAME(name) "PMPI_" #name,
    TUTTI_MPI_ALL(TUTTI_NAME)
#undef TUTTI_NAME
};

// The first kCount are for PMPI_, the others for MPI_.
std::atomic<Function> entries[2 * kCount];

struct Found {
  void* mpi = nullptr;         // handle of the MPI library
  Lookup lookup = nullptr;     // of the implementation; none: calls go to the MPI library
  const void* base = nullptr;  // where the MPI library is loaded
};
Found found;
pthread_once_t once = PTHREAD_ONCE_INIT;

constexpr int kMostCandidates = 8;
struct Candidates {
  char path[kMostCandidates][4096];
  int count;
};
Candidates candidates;  // too large for a small thread's stack

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash != nullptr ? slash + 1 : path;
}

int note_candidate(dl_phdr_info* info, std::size_t /*size*/, void* /*data*/) {
  const char* name = base_name(info->dlpi_name);
  const bool likely = std::strncmp(name, "libmpi.so", 9) == 0 || std::strncmp(name, "libmpich.so", 11) == 0;
  if (likely && candidates.count < kMostCandidates &&
      std::strlen(info->dlpi_name) < sizeof(candidates.path[0]))
    std::strcpy(candidates.path[candidates.count++], info->dlpi_name);
  return 0;
}

// The implementation stands beside the stub.
void load_implementation(const char* flavour) {
  Dl_info self{};
  char path[4096 + 64];
  if (::dladdr(reinterpret_cast<void*>(&load_implementation), &self) == 0) return;
  const auto directory = static_cast<int>(base_name(self.dli_fname) - self.dli_fname);
  std::snprintf(path, sizeof(path), "%.*slibtutti_mpi_%s.so", directory, self.dli_fname, flavour);
  void* handle = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::fprintf(stderr, "tutti: no MPI-IO on Tutti in this program: %s\n", ::dlerror());
    return;
  }
  found.lookup = reinterpret_cast<Lookup>(::dlsym(handle, "tutti_mpi_entry"));
}

void find_library() {
  ::dl_iterate_phdr(&note_candidate, nullptr);
  for (int i = 0; i < candidates.count; ++i) {
    void* handle = ::dlopen(candidates.path[i], RTLD_LAZY | RTLD_NOLOAD);
    void* function = handle != nullptr ? ::dlsym(handle, "PMPI_File_open") : nullptr;
    if (function == nullptr) continue;
    Dl_info where{};
    ::dladdr(function, &where);
    found.mpi = handle;
    found.base = where.dli_fbase;
    load_implementation(::dlsym(handle, "ompi_mpi_comm_world") != nullptr ? "openmpi" : "mpich");
    return;
  }
}

// A tool between the program and the MPI library (a profiler that has MPI_X and calls PMPI_X) is given MPI_X; what it
// does with it comes back here as PMPI_X.
Function tool(const char* name) {
  void* next = ::dlsym(RTLD_NEXT, name);
  Dl_info where{};
  if (next == nullptr || ::dladdr(next, &where) == 0 || where.dli_fbase == found.base) return nullptr;
  return reinterpret_cast<Function>(next);
}

Function resolve(unsigned index) {
  pthread_once(&once, &find_library);
  const char* name = kNames[index % kCount];
  Function function = index >= kCount ? tool(name + 1) : nullptr;
  if (function == nullptr && found.lookup != nullptr)
    function = reinterpret_cast<Function>(found.lookup(name, found.mpi));
  if (function == nullptr) {
    void* own = found.mpi != nullptr ? ::dlsym(found.mpi, name) : ::dlsym(RTLD_NEXT, name);
    function = reinterpret_cast<Function>(own);
  }
  if (function == nullptr) {
    std::fprintf(stderr, "tutti: the program calls %s, but no MPI library that has it is loaded\n", name);
    std::abort();
  }
  entries[index].store(function, std::memory_order_release);
  return function;
}

inline Function entry(unsigned index) {
  const Function function = entries[index].load(std::memory_order_acquire);
  return function != nullptr ? function : resolve(index);
}

}  // namespace

extern "C" {
#define TUTTI_EXPORT __attribute__((visibility("default")))
#define TUTTI_FORWARD(name)                                                       \
  TUTTI_EXPORT long PMPI_##name(long a, long b, long c, long d, long e, long f) { \
    return entry(k##name)(a, b, c, d, e, f);                                      \
  }                                                                               \
  TUTTI_EXPORT long MPI_##name(long a, long b, long c, long d, long e, long f) {  \
    return entry(kCount + k##name)(a, b, c, d, e, f);                             \
  }
TUTTI_MPI_ALL(TUTTI_FORWARD)

// Turns that a program takes itself (tutti/gate_mpi.h). Without an implementation it has them at once.
#define TUTTI_FORWARD_GATE(name)                                                             \
  TUTTI_EXPORT long name(long a, long b, long c) {                                           \
    pthread_once(&once, &find_library);                                                      \
    void* function = found.lookup != nullptr ? found.lookup(#name, found.mpi) : nullptr;     \
    return function != nullptr ? reinterpret_cast<Function>(function)(a, b, c, 0, 0, 0) : 0; \
  }
TUTTI_FORWARD_GATE(tutti_gate_begin)
TUTTI_FORWARD_GATE(tutti_gate_end)
TUTTI_FORWARD_GATE(tutti_gate_begin_file)
TUTTI_FORWARD_GATE(tutti_gate_end_file)
}
