/* The C API of Tutti, a striped parallel file system.
 *
 * Functions return 0 or a non-negative count when they succeed, and a negative errno value when they fail;
 * tutti_error() then tells in words what went wrong. Calls block; a client and its files belong to one thread at a
 * time. There are no hidden threads. Paths are those of the cluster: "/a/b", "a/b" and "tutti:/a/b" are the same.
 * While a server is away, requests are repeated until the patience of the client is over.
 */
#ifndef TUTTI_TUTTI_H
#define TUTTI_TUTTI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TUTTI_API __attribute__((visibility("default")))
#else
#define TUTTI_API
#endif

typedef struct tutti_client tutti_client;
typedef struct tutti_file tutti_file;

/* Zero in a field means its default. */
typedef struct tutti_options {
  /* Id of the application that requests are counted for. Default: $TUTTI_APPLICATION (a number, or a name that stands
   * for its hash), else one for this launch by PMIx, Slurm or PBS, else drawn at random. */
  uint64_t application;
  /* How long to go on without an answer from a server, at most ten years. Default: $TUTTI_PATIENCE, else 60,000. */
  uint64_t patience_ms;
  /* Id of the batch job, for accounting. Default: that of Slurm, PBS, LSF or Grid Engine. */
  const char* job;
} tutti_options;

/* How a new file is striped. Zero in stripe_size or stripe_count, or -1 in first_server, means the default of the
 * directory, else of the cluster. */
typedef struct tutti_layout {
  uint64_t stripe_size;
  uint32_t stripe_count;
  int32_t first_server;
} tutti_layout;

enum { TUTTI_FILE = 1, TUTTI_DIRECTORY = 2, TUTTI_SYMLINK = 3 };

typedef struct tutti_attributes {
  uint64_t inode;
  int type; /* TUTTI_FILE, ... */
  uint32_t mode, uid, gid, links;
  uint64_t size;
  int64_t accessed_ns, modified_ns, changed_ns; /* since 1970 */
  uint64_t stripe_size; /* of a file, or what new files in a directory get; 0: no default of its own */
  uint32_t stripe_count, first_server, server_total;
} tutti_attributes;

typedef struct tutti_extent {
  uint64_t offset;
  uint64_t length;
} tutti_extent;

TUTTI_API const char* tutti_version(void);

/* Connects to the cluster whose cluster.toml is given; NULL: $TUTTI_CLUSTER, else that in $TUTTI_DIR, else that in
 * ~/.tutti, which `tutti up` makes. `options` may be NULL. Servers are contacted when they are first needed. With
 * $TUTTI_LOG (debug, info, warn, error) the client logs to standard error. */
TUTTI_API int tutti_connect(const char* cluster_file, const tutti_options* options, tutti_client** client);
/* Files of the client must be closed before. NULL is allowed. */
TUTTI_API void tutti_disconnect(tutti_client* client);
/* What went wrong in the calling thread's last failed call; valid until its next call. */
TUTTI_API const char* tutti_error(void);

/* `flags` as for open(2): O_RDONLY, O_WRONLY or O_RDWR, with O_CREAT, O_EXCL, O_TRUNC. `layout` may be NULL and counts
 * when the file is created. `mode` is used as it is: the caller applies its umask. */
TUTTI_API int tutti_open(tutti_client* client, const char* path, int flags, mode_t mode,
                         const tutti_layout* layout, tutti_file** file);
/* Frees the handle in any case. */
TUTTI_API int tutti_close(tutti_file* file);
/* Fewer bytes than asked for only at the end of the file. */
TUTTI_API ssize_t tutti_pread(tutti_file* file, void* buffer, size_t length, uint64_t offset);
/* All bytes, or an error. */
TUTTI_API ssize_t tutti_pwrite(tutti_file* file, const void* buffer, size_t length, uint64_t offset);
/* List I/O: the bytes of the extents, one behind the other, are those of the buffers, one behind the other. */
TUTTI_API ssize_t tutti_read_list(tutti_file* file, const tutti_extent* extents, size_t extent_count,
                                  const struct iovec* buffers, size_t buffer_count);
TUTTI_API ssize_t tutti_write_list(tutti_file* file, const tutti_extent* extents, size_t extent_count,
                                   const struct iovec* buffers, size_t buffer_count);

/* View I/O: a view shows some bytes of a file as if they were all of it. It is told to the servers once, in a form that
 * does not grow with its blocks, and they find by themselves what a range of it touches. The blocks are repeated every
 * `extent` bytes from `displacement` on; extent 0: right behind their last byte. They ascend. Those that overlap, also
 * those of one repetition and the next, may be read only. A view is freed before its file is closed. */
typedef struct tutti_view tutti_view;
/* `count` times what the levels before it make, `stride` bytes apart. */
typedef struct tutti_level {
  uint64_t count;
  uint64_t stride;
} tutti_level;
/* Blocks of `block` bytes, repeated by the levels, the innermost first. */
TUTTI_API int tutti_view_strided(tutti_file* file, uint64_t displacement, uint64_t block,
                                 const tutti_level* levels, size_t level_count, uint64_t extent,
                                 tutti_view** view);
/* Blocks without a rule. */
TUTTI_API int tutti_view_blocks(tutti_file* file, uint64_t displacement, const tutti_extent* blocks,
                                size_t block_count, uint64_t extent, tutti_view** view);
/* NULL is allowed. */
TUTTI_API void tutti_view_free(tutti_view* view);
/* `offset` counts the bytes that the view shows. Fewer bytes than asked for only at the end of the file. */
TUTTI_API ssize_t tutti_view_read(tutti_view* view, void* buffer, size_t length, uint64_t offset);
/* All bytes, or an error. */
TUTTI_API ssize_t tutti_view_write(tutti_view* view, const void* buffer, size_t length, uint64_t offset);

/* Afterwards what was written survives loss of power. */
TUTTI_API int tutti_fsync(tutti_file* file);
TUTTI_API int tutti_ftruncate(tutti_file* file, uint64_t length);
TUTTI_API int tutti_fstat(tutti_file* file, tutti_attributes* attributes);

/* tutti_stat follows symbolic links, tutti_lstat does not. */
TUTTI_API int tutti_stat(tutti_client* client, const char* path, tutti_attributes* attributes);
TUTTI_API int tutti_lstat(tutti_client* client, const char* path, tutti_attributes* attributes);
TUTTI_API int tutti_truncate(tutti_client* client, const char* path, uint64_t length);
TUTTI_API int tutti_unlink(tutti_client* client, const char* path);
TUTTI_API int tutti_rename(tutti_client* client, const char* from, const char* to);
TUTTI_API int tutti_link(tutti_client* client, const char* from, const char* to);
TUTTI_API int tutti_symlink(tutti_client* client, const char* target, const char* path);
/* As readlink(2): no NUL is added, a longer target is cut. */
TUTTI_API ssize_t tutti_readlink(tutti_client* client, const char* path, char* buffer, size_t length);
/* `layout` may be NULL; otherwise it is the default of files made in the directory. */
TUTTI_API int tutti_mkdir(tutti_client* client, const char* path, mode_t mode, const tutti_layout* layout);
TUTTI_API int tutti_rmdir(tutti_client* client, const char* path);
/* Calls `visit` for each entry in order of name, until it returns other than 0, which is then returned. */
TUTTI_API int tutti_list(tutti_client* client, const char* path,
                         int (*visit)(const char* name, int type, uint64_t inode, void* context),
                         void* context);
TUTTI_API int tutti_chmod(tutti_client* client, const char* path, mode_t mode);
/* (uid_t)-1 or (gid_t)-1 leaves that one as it is. */
TUTTI_API int tutti_chown(tutti_client* client, const char* path, uid_t uid, gid_t gid);
TUTTI_API int tutti_utimes(tutti_client* client, const char* path, int64_t accessed_ns, int64_t modified_ns);
TUTTI_API int tutti_space(tutti_client* client, uint64_t* total, uint64_t* free_bytes);

#ifdef __cplusplus
}
#endif

#endif
