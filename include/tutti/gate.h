/* Turns at the gate, for programs that say themselves when they write (docs/gate.md).
 *
 * The functions are in libtutti_gate.so, which `tutti run --gate ...` preloads; they are weak here, so that a program that uses
 * them also runs without Tutti: then every turn is there at once. Ask ahead, compute on, and test at each step:
 *
 *     tutti_gate_turn* turn = tutti_gate_begin_asking("/scratch/checkpoint", bytes);
 *     while (!tutti_gate_ready(turn)) step();
 *     write_checkpoint();
 *     tutti_gate_finish(turn);
 */
#ifndef TUTTI_GATE_H
#define TUTTI_GATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tutti_gate_turn tutti_gate_turn;

/* Asks for a turn to write `path`, of about so many bytes (0: not known), and does not wait. NULL: there is no gate. */
__attribute__((weak)) tutti_gate_turn* tutti_gate_ask(const char* path, uint64_t bytes);
/* 1 if the program may write now, 0 if it should wait. */
__attribute__((weak)) int tutti_gate_test(tutti_gate_turn* turn);
/* Waits until it may. 1 if a turn was granted, 0 if it goes on without one. */
__attribute__((weak)) int tutti_gate_wait(tutti_gate_turn* turn);
/* Gives the turn back, or takes back the question, and frees it. */
__attribute__((weak)) void tutti_gate_release(tutti_gate_turn* turn);

/* The same, also where libtutti_gate.so is not loaded. */
static inline tutti_gate_turn* tutti_gate_begin_asking(const char* path, uint64_t bytes) {
  return tutti_gate_ask != NULL ? tutti_gate_ask(path, bytes) : NULL;
}
static inline int tutti_gate_ready(tutti_gate_turn* turn) {
  return turn == NULL || tutti_gate_test == NULL || tutti_gate_test(turn);
}
static inline void tutti_gate_finish(tutti_gate_turn* turn) {
  if (turn != NULL && tutti_gate_release != NULL) tutti_gate_release(turn);
}

#ifdef __cplusplus
}
#endif

#endif
