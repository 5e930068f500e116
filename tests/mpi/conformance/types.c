#include "types.h"

static MPI_Datatype commit(MPI_Datatype type) {
  OK(MPI_Type_commit(&type));
  return type;
}

static MPI_Datatype contiguous(void) {
  MPI_Datatype type;
  OK(MPI_Type_contiguous(7, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype vector(void) {
  MPI_Datatype type;
  OK(MPI_Type_vector(5, 3, 7, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype hvector(void) {
  MPI_Datatype type;
  OK(MPI_Type_create_hvector(4, 2, 36, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype indexed(void) {
  MPI_Datatype type;
  const int lengths[] = {1, 0, 3, 2};
  const int places[] = {0, 2, 4, 9};
  OK(MPI_Type_indexed(4, lengths, places, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype hindexed(void) {
  MPI_Datatype type;
  const int lengths[] = {2, 1, 4};
  const MPI_Aint places[] = {0, 12, 32};
  OK(MPI_Type_create_hindexed(3, lengths, places, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype indexed_block(void) {
  MPI_Datatype type;
  const int places[] = {0, 4, 7, 20};
  OK(MPI_Type_create_indexed_block(4, 3, places, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype hindexed_block(void) {
  MPI_Datatype type;
  const MPI_Aint places[] = {0, 12, 40};
  OK(MPI_Type_create_hindexed_block(3, 2, places, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype structure(void) {
  MPI_Datatype inner = vector();
  MPI_Datatype type;
  const int lengths[] = {2, 1, 3};
  const MPI_Aint places[] = {0, 12, 160};
  const MPI_Datatype types[] = {MPI_INT, inner, MPI_INT};
  OK(MPI_Type_create_struct(3, lengths, places, types, &type));
  OK(MPI_Type_free(&inner));
  return commit(type);
}

static MPI_Datatype resized(void) {
  MPI_Datatype inner = indexed();
  MPI_Datatype type;
  OK(MPI_Type_create_resized(inner, 0, 64, &type));
  OK(MPI_Type_free(&inner));
  return commit(type);
}

static MPI_Datatype nested_vector(void) {
  MPI_Datatype inner;
  MPI_Datatype type;
  OK(MPI_Type_vector(3, 2, 4, MPI_INT, &inner));
  OK(MPI_Type_create_hvector(4, 1, 64, inner, &type));
  OK(MPI_Type_free(&inner));
  return commit(type);
}

static MPI_Datatype subarray(void) {
  MPI_Datatype type;
  const int sizes[] = {4, 5, 6};
  const int parts[] = {2, 3, 2};
  const int starts[] = {1, 1, 3};
  OK(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype subarray_fortran(void) {
  MPI_Datatype type;
  const int sizes[] = {4, 5, 6};
  const int parts[] = {2, 3, 2};
  const int starts[] = {1, 1, 3};
  OK(MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype darray_block(void) {
  MPI_Datatype type;
  const int sizes[] = {9, 7};
  const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[] = {2, 2};
  OK(MPI_Type_create_darray(4, 3, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype darray_cyclic(void) {
  MPI_Datatype type;
  const int sizes[] = {9, 10};
  const int kinds[] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC};
  const int arguments[] = {2, MPI_DISTRIBUTE_DFLT_DARG};
  const int grid[] = {2, 3};
  OK(MPI_Type_create_darray(6, 4, 2, sizes, kinds, arguments, grid, MPI_ORDER_FORTRAN, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype darray_none(void) {
  MPI_Datatype type;
  const int sizes[] = {5, 8};
  const int kinds[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
  const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 3};
  const int grid[] = {1, 3};
  OK(MPI_Type_create_darray(3, 1, 2, sizes, kinds, arguments, grid, MPI_ORDER_C, MPI_INT, &type));
  return commit(type);
}

static MPI_Datatype duplicate(void) {
  MPI_Datatype inner = hindexed();
  MPI_Datatype type;
  OK(MPI_Type_dup(inner, &type));
  OK(MPI_Type_free(&inner));
  return commit(type);
}

const struct maker makers[] = {
    {"contiguous", contiguous},
    {"vector", vector},
    {"hvector", hvector},
    {"indexed", indexed},
    {"hindexed", hindexed},
    {"indexed_block", indexed_block},
    {"hindexed_block", hindexed_block},
    {"struct", structure},
    {"resized", resized},
    {"nested_vector", nested_vector},
    {"subarray", subarray},
    {"subarray_fortran", subarray_fortran},
    {"darray_block", darray_block},
    {"darray_cyclic", darray_cyclic},
    {"darray_none", darray_none},
    {"duplicate", duplicate},
};
const int maker_count = sizeof(makers) / sizeof(makers[0]);
