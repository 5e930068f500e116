/* Turns at the gate for MPI programs that say themselves when they write (docs/gate.md); `tutti run --gate ... --gate-scope manual`.
 *
 * All calls are collective over the communicator. The functions are in libtutti_mpi.so, which `tutti run` preloads; they are weak
 * here, so that a program that uses them also runs without Tutti: then every turn is there at once. They return an MPI error
 * code.
 */
#ifndef TUTTI_GATE_MPI_H
#define TUTTI_GATE_MPI_H

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns when the job may write `path`. `turn` is for tutti_gate_end(). */
__attribute__((weak)) int tutti_gate_begin(MPI_Comm comm, const char* path, int* turn);
__attribute__((weak)) int tutti_gate_end(int turn);
/* The same for an open file. */
__attribute__((weak)) int tutti_gate_begin_file(MPI_File file);
__attribute__((weak)) int tutti_gate_end_file(MPI_File file);

#ifdef __cplusplus
}
#endif

#endif
