// The table of MPI functions that Tutti stands in front of, each as MPI_ and PMPI_. Everything that must name them all
// is made from it: the stub's exports, the addresses of the MPI library's own, the entries of the implementation.
//
// None takes more than six arguments, all of them integers or pointers: the stub relies on it.
#pragma once

// clang-format off

// Functions with a count of type int.
#define TUTTI_MPI_TRANSFERS(X)                                                                              \
  X(File_read_at) X(File_read_at_all) X(File_write_at) X(File_write_at_all)                                 \
  X(File_iread_at) X(File_iwrite_at) X(File_iread_at_all) X(File_iwrite_at_all)                             \
  X(File_read) X(File_read_all) X(File_write) X(File_write_all)                                             \
  X(File_iread) X(File_iwrite) X(File_iread_all) X(File_iwrite_all)                                         \
  X(File_read_shared) X(File_write_shared) X(File_iread_shared) X(File_iwrite_shared)                       \
  X(File_read_ordered) X(File_write_ordered)                                                                \
  X(File_read_at_all_begin) X(File_write_at_all_begin) X(File_read_all_begin) X(File_write_all_begin)       \
  X(File_read_ordered_begin) X(File_write_ordered_begin)

#define TUTTI_MPI_FUNCTIONS(X)                                                                              \
  X(Init) X(Init_thread)                                                                                    \
  X(File_open) X(File_close) X(File_delete) X(File_set_size) X(File_preallocate) X(File_get_size)           \
  X(File_get_group) X(File_get_amode) X(File_set_info) X(File_get_info) X(File_set_view) X(File_get_view)   \
  X(File_seek) X(File_get_position) X(File_get_byte_offset) X(File_seek_shared)                             \
  X(File_get_position_shared) X(File_get_type_extent)                                                       \
  X(File_set_atomicity) X(File_get_atomicity) X(File_sync)                                                  \
  X(File_read_at_all_end) X(File_write_at_all_end) X(File_read_all_end) X(File_write_all_end)               \
  X(File_read_ordered_end) X(File_write_ordered_end)                                                        \
  X(Wait) X(Waitall) X(Waitany) X(Waitsome) X(Test) X(Testall) X(Testany) X(Testsome)                       \
  X(Request_get_status)

// The same with counts of type MPI_Count: of MPI 4 libraries only.
#define TUTTI_MPI_LARGE_FUNCTIONS(X)                                                                        \
  X(File_read_at_c) X(File_read_at_all_c) X(File_write_at_c) X(File_write_at_all_c)                         \
  X(File_iread_at_c) X(File_iwrite_at_c) X(File_iread_at_all_c) X(File_iwrite_at_all_c)                     \
  X(File_read_c) X(File_read_all_c) X(File_write_c) X(File_write_all_c)                                     \
  X(File_iread_c) X(File_iwrite_c) X(File_iread_all_c) X(File_iwrite_all_c)                                 \
  X(File_read_shared_c) X(File_write_shared_c) X(File_iread_shared_c) X(File_iwrite_shared_c)               \
  X(File_read_ordered_c) X(File_write_ordered_c)                                                            \
  X(File_read_at_all_begin_c) X(File_write_at_all_begin_c) X(File_read_all_begin_c)                         \
  X(File_write_all_begin_c) X(File_read_ordered_begin_c) X(File_write_ordered_begin_c)                      \
  X(File_get_type_extent_c)

// clang-format on

#define TUTTI_MPI_ALL(X) \
  TUTTI_MPI_FUNCTIONS(X) \
  TUTTI_MPI_TRANSFERS(X) \
  TUTTI_MPI_LARGE_FUNCTIONS(X)
