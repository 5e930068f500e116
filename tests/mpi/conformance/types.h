// Datatypes of every constructor, as file and as memory types.
#pragma once

#include "conform.h"

struct maker {
  const char* name;
  MPI_Datatype (*make)(
      void);  // committed; of MPI_INT only, ascending from 0: ROMIO errs where a type begins later
};
extern const struct maker makers[];
extern const int maker_count;
