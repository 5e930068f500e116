// FileSystem and OpenFile: a client of one cluster, as coroutines, in either world.
//
// The blocking API of include/tutti/ is a thin skin over this. Paths are absolute inside the cluster ("/a/b");
// "." and empty parts are dropped, ".." is refused. Requests are repeated after a lost connection until the
// patience is over; all of them may be repeated without harm. A FileSystem must outlive its open files, and belongs
// to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/applications.h"
#include "env/env.h"
#include "layout/layout.h"
#include "layout/view.h"
#include "policy/application_ids.h"
#include "policy/target/order.h"

namespace tutti {

class TransferGate;

// Where the servers are. The order of `data` gives their numbers.
struct ClusterMap {
  std::uint64_t id = 0;
  std::string meta;
  std::vector<std::string> data;
  std::string coordinator = {};  // if it is not the metadata server
};

struct ClientOptions {
  std::uint64_t client = 0;            // 0: drawn at random
  std::uint64_t application = 0;       // 0: the client's id
  ApplicationRange application_range;  // what the administrator allows: any other id is mapped into it
  std::string job;                     // of the batch system, for accounting
  std::string program;
  Nanos patience = 60_s;       // how long an operation goes on without word from a server before it fails
  Nanos first_patience = 5_s;  // the same for a server that has never answered
  Bytes piece = 4_MiB;         // the largest part of a transfer in one message: the schedule block
  std::size_t pieces_in_flight = 0;   // of one operation; 0: 16, but one for each server in any case
  std::size_t pieces_per_server = 0;  // of one operation at once; 0: any number
  bool views = true;  // views are declared to the servers; false: every transfer lists its extents
  std::uint32_t inline_limit = 8192;  // reads of at most so many bytes come inside the reply
  Bytes read_ahead = 16_MiB;          // how far one that reads on would like to read without asking,
  Bytes write_ahead = 16_MiB;         // and one that writes on to write
  std::string target_order = std::string(kDefaultTargetOrder);  // of the servers of a transfer: policy/target
  std::uint32_t rank = 0;   // among clients that work together: dense, from 0
  std::uint32_t ranks = 0;  // how many they are; 0: this one has no rank
  std::shared_ptr<TransferGate>
      gate;  // what transfers pass before they begin (client/transfer/gate.h); null: nothing
  // Whether request times are the cluster's (env/cluster_clock.h) or those of the own wall clock as it is.
  bool correct_clock = true;
};

enum class FileType : std::uint8_t { file = 1, directory = 2, symlink = 3 };

struct Attributes {
  std::uint64_t inode = 0;
  FileType type = FileType::file;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint32_t links = 0;
  Bytes size;                         // files: what the data servers say
  Status size_unknown;                // why `size` does not count: a data server is away; ok if it does
  Nanos accessed, modified, changed;  // wall
  Layout layout;                      // directories: the default for new files; stripe_size 0 if it has none
  std::string target;                 // symlinks
};

struct DirectoryEntry {
  std::string name;
  std::uint64_t inode = 0;
  FileType type = FileType::file;
  std::optional<Attributes> attributes;
};

// What a creator wants; unset: the directory's default, else the cluster's. stripe_count 0xffffffff means all.
struct LayoutWish {
  Bytes stripe_size;               // 0: default
  std::uint32_t stripe_count = 0;  // 0: default
  std::int32_t first_server = -1;  // -1: chosen by the metadata server
};

// How the servers of a file are visited, see policy/target; what is left out is as the client has it.
struct VisitWish {
  std::string order;           // "hash"
  Bytes block;                 // the largest piece, 4 KiB to 8 MiB
  std::size_t in_flight = 0;   // pieces of one operation, 1 to 16
  std::size_t per_server = 0;  // of them, to one server
};

struct OpenOptions {
  bool read = true;
  bool write = false;
  bool create = false;
  bool exclusive = false;  // with create: fail if the file exists
  bool truncate = false;   // with write: cut to 0
  bool unnamed =
      false;  // with create: the path is a directory; the new file has no name, and goes when it is closed
              // without having got one (OpenFile::give_name)
  std::uint32_t mode = 0644;
  LayoutWish layout;
  VisitWish visit;
};

// Which attributes to set.
struct AttributeChange {
  std::optional<std::uint32_t> mode, uid, gid;
  std::optional<Nanos> accessed, modified;
  std::optional<LayoutWish> layout;  // of a directory
};

// A data server's session with the coordinator, in the cluster's time.
struct ServerLease {
  std::uint32_t index = 0;
  bool connected = false;
  Nanos since;  // connected or not; 0: never was
  Nanos heard;  // 0: never
};

// A program as the orchestrator sees it: policy/orchestra/orchestrator.h.
struct OrchestraProgramStatus {
  std::uint64_t application = 0;
  double gap = 0, ratio = 0, spread = 0, reuse = 0, part = 0;
  std::uint32_t files = 0;
  std::uint8_t eligibility = 0;
};
struct OrchestraStatus {
  double jump = 0, with = 0, without = 0, predicted = 0;
  Nanos window;
  std::vector<OrchestraProgramStatus> programs;
};

struct ServerStatus {
  std::string address;
  std::string kind;  // "meta", "data" or, if it runs alone, "coordinator"
  Status reachable;  // ok if it answered; the rest counts only then
  std::uint32_t index = 0;
  std::string version, policy;
  Nanos uptime;
  Bytes total, free;
  std::uint64_t disk = 0;  // data servers with the same number share a disk; 0: not known
  std::uint32_t sessions = 0, queued = 0, in_service = 0;
  std::uint64_t reads = 0, writes = 0, files = 0;
  Bytes bytes_read, bytes_written;
  double requests_per_second = 0;            // data servers: over the last ten seconds
  std::vector<ServerLease> leases;           // of whoever is the coordinator: one for each data server
  std::optional<OrchestraStatus> orchestra;  // of the coordinator, while programs get time slices
  std::uint64_t switches = 0, filled = 0;    // of a data server: PolicyCounters
  Nanos drain, longest_drain;
};

// The order of requests in the data servers.
struct ClusterPolicy {
  std::string policy;
  std::uint64_t version = 0;
  Nanos from;            // cluster's time from which it holds on all servers; 0: always did
  std::string previous;  // what holds until then
  Nanos now;             // cluster's time when this was said
};

// As df has it: `used` and `free` need not sum up to `total`.
struct SpaceInfo {
  Bytes total, used;  // of the disks under all data servers, each counted once
  Bytes free;         // what files that are striped over all servers can still take: the fullest disk decides
};

using LockId = std::uint64_t;

// What to do with a counter: see FileSystem::counter.
enum class CounterOp : std::uint8_t { get = 0, set = 1, fetch_add = 2, remove = 3, make = 4 };

// The space of a cluster from that of its data servers, of which there is at least one, and all have answered. Pure.
SpaceInfo space_of(const std::vector<ServerStatus>& data_servers);

class FileSystem;
// See client/transfer/declared_view.h.
class DeclaredView;
using ViewPointer = std::shared_ptr<DeclaredView>;

// A call in which several clients take part. Each of the file's servers waits for a short time until all those that have
// bytes on it have asked, and then serves them in the order of its own disk.
struct DirectedCall {
  std::uint64_t id = 0;                // the same for all who take part, drawn at random
  std::vector<std::uint32_t> members;  // by slot: how many of them will ask the server
};

class OpenFile {
 public:
  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] const Attributes& attributes() const;  // as of open
  [[nodiscard]] const Layout& layout() const { return attributes().layout; }
  // Whether a server of the file has said that it keeps it on a rotating disk; those say so that were talked to.
  [[nodiscard]] bool rotational() const;
  // Whether servers of the file have been heard, and none of them is.
  [[nodiscard]] bool solid() const;
  [[nodiscard]] Clock& clock() const;
  [[nodiscard]] const Log& log() const;

  // Reads up to buffer.size() bytes; fewer only at the end of the file.
  Task<Result<Bytes>> read(Bytes offset, std::span<std::byte> buffer);
  // All or an error.
  Task<Status> write(Bytes offset, std::span<const std::byte> buffer);

  // List I/O: the bytes of `file`, one extent behind the other, are those of `memory`, one segment behind the
  // other; both sum up to the same. Any number of either. A read returns how many bytes came, counted through the
  // extents up to the last one that begins before the end of the file; holes are zeros.
  // `call`: see DirectedCall; it must outlive the task.
  Task<Result<Bytes>> read_list(std::span<const Extent> file, std::span<const std::span<std::byte>> memory,
                                const DirectedCall* call = nullptr);
  Task<Status> write_list(std::span<const Extent> file, std::span<const std::span<const std::byte>> memory,
                          const DirectedCall* call = nullptr);

  // View I/O: the bytes that the view shows, from `offset` of its data on, are those of the buffer. The view is told to
  // each server once on a connection, in a form that does not grow with its blocks, and a server finds its extents by
  // itself; one that is too long for that, or that a server refuses, is sent as lists. A read counts as read_list() does.
  // The view is one of this file and lives as long as anybody needs it.
  [[nodiscard]] ViewPointer declare(FileView view);
  // An id for a DirectedCall.
  [[nodiscard]] std::uint64_t new_call();
  Task<Result<Bytes>> read_view(ViewPointer view, Bytes offset, std::span<std::byte> buffer,
                                const DirectedCall* call = nullptr);
  Task<Status> write_view(ViewPointer view, Bytes offset, std::span<const std::byte> buffer,
                          const DirectedCall* call = nullptr);

  // From the next call on. Code::invalid if a part of the wish is not known: nothing is changed then.
  Status set_visit(const VisitWish& wish);
  // Which of those that have the file open this client is: dense, from 0. Orders of servers go by it.
  void set_rank(std::uint32_t rank, std::uint32_t ranks);
  // The order in effect, with its parameters, and the schedule block.
  [[nodiscard]] std::string target_order() const;
  [[nodiscard]] Bytes schedule_block() const;

  // These bytes will be read soon, by anybody: the servers fetch them from their devices, in the order of their policy and
  // as far as they have room. Ends when that is queued: what is asked for later comes behind it. A hint; the bytes of one
  // call on one server should not be more than wire::kMaxPrefetch.
  Task<Status> prefetch(std::span<const Extent> file);

  Task<Result<Bytes>> size();
  // The first byte at or after `from` that may not be in a hole; Bytes::max() if there is none. For a file open for
  // reading.
  Task<Result<Bytes>> next_data(Bytes from);
  // Names a file that was opened `unnamed`, and from then on it is there like any other. `replace`: the file that has the
  // name loses it in the same moment; else Code::exists.
  Task<Status> give_name(std::string path, bool replace);
  Task<Status> truncate(Bytes length);
  // After it, what was written through this handle survives loss of power. Code::io_error if a server has lost power
  // since, and with it writes that had been acknowledged.
  Task<Status> sync();

  // Locks bytes of the file against other locks, of this client too; reads and writes go on regardless. Locks that
  // conflict are granted in the order of asking. `range` may reach past the end; Bytes::max() as its length means all
  // that follows. Code::timed_out if it is not granted within `patience`. An exclusive lock needs a file open for
  // writing. A lock that is asked for and given up (the task is destroyed) is released.
  Task<Result<LockId>> lock(Extent range, bool exclusive, Nanos patience = 600_s);
  // Code::stale if the lock was lost meanwhile, so that others may have come in between: the connection to the
  // metadata server broke, or the server was away for too long. A quick restart of it costs no lock.
  Task<Status> unlock(LockId lock);

  // Makes the sessions with the file's servers that are not there yet, one attempt each, so that the first transfer finds
  // them: one that nobody drives for a while after it began cannot make any. What fails shows in the transfers.
  Task<void> connect(Nanos patience);

  // What FileSystem::adopt() needs. It holds the capability: only for processes of the same user.
  [[nodiscard]] std::vector<std::byte> share() const;

  // Tells the metadata server when the file was last written. The handle is unusable afterwards.
  Task<Status> close();

 private:
  friend class FileSystem;
  class Impl;
  explicit OpenFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

class FileSystem {
 public:
  FileSystem(Env env, ClusterMap map, ClientOptions options);
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;
  ~FileSystem();

  Task<Result<std::unique_ptr<OpenFile>>> open(std::string path, OpenOptions options);
  // The file that another client of the same user has opened, from what its share() returned: open for the same, and no
  // server is asked. Code::malformed if it is something else.
  Result<std::unique_ptr<OpenFile>> adopt(std::string path, std::span<const std::byte> shared);
  Task<Result<Attributes>> stat(std::string path, bool follow = true);
  Task<Status> make_directory(std::string path, std::uint32_t mode, LayoutWish layout);
  Task<Status> remove_directory(std::string path);
  Task<Status> unlink(std::string path);
  Task<Status> rename(std::string from, std::string to, bool exclusive = false);
  Task<Status> link(std::string from, std::string to);
  Task<Status> symlink(std::string target, std::string path);
  Task<Result<std::vector<DirectoryEntry>>> list(std::string path, bool attributes);
  Task<Status> set_attributes(std::string path, AttributeChange change, bool follow = true);
  Task<Status> truncate(std::string path, Bytes length);
  Task<Result<SpaceInfo>> space();
  // A number kept by the metadata server; it survives a restart, and a repeated request counts once. It belongs to
  // the user that set it. Draw the key at random. `set` makes it; `make` does so unless it is there, and returns its
  // value; `fetch_add` returns the value before; `get` and `fetch_add` of one that is not there: Code::not_found.
  // Removed when nobody has changed it for a week.
  Task<Result<std::int64_t>> counter(std::uint64_t key, CounterOp op, std::int64_t value);
  // One row for the metadata server and each data server, also for those that do not answer within `patience`.
  Task<std::vector<ServerStatus>> status(Nanos patience);
  Task<Result<ClusterPolicy>> policy();
  // Changes it on all data servers from the same moment, or fails with the name of one that cannot be reached and
  // changes nothing. Only root and the cluster's owner may.
  Task<Result<ClusterPolicy>> set_policy(std::string policy);
  // The accounts of the data servers together; those that do not answer within `patience` are named.
  Task<ApplicationReport> applications(Nanos patience);
  // The same for each data server alone, in the order of their numbers.
  Task<std::vector<ApplicationReport>> applications_by_server(Nanos patience);

  // Whether a lock is held or asked for: others may wait for it, so the client should be driven until it is not.
  [[nodiscard]] bool locking() const;

  [[nodiscard]] const ClusterMap& map() const;
  [[nodiscard]] std::uint64_t client_id() const;
  [[nodiscard]] std::uint64_t application() const;

 private:
  friend class OpenFile;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti
