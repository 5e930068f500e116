// To be preloaded into MPICH programs of the tests: MPICH polls without end, so that with more processes than cores
// every message waits for a time slice. Here a poll that finds nothing gives the core away.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*progress)(void*);
  if (progress == 0) *(void**)&progress = dlsym(RTLD_NEXT, "ucp_worker_progress");
  const unsigned events = progress(worker);
  if (events == 0) sched_yield();
  return events;
}
