// Reading and writing typed memory through a file view: independently, and collectively over a Group.
//
// What a collective call does is decided by a plan (policy/collective), purely, from facts that all ranks
// have in common; this room executes it. A collective call returns the same Status on every rank: the lowest
// failing rank's. An error of the group itself is returned as it is.
//
// The file, the group, the view and the memory must outlive the task. Destroying the task of a collective
// call leaves the group unusable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "client/file_system.h"
#include "env/group.h"
#include "layout/view.h"
#include "parallel/agreement.h"
#include "parallel/call_habit.h"
#include "policy/collective/plan.h"

namespace tutti {

class CollectiveFile;

// The hints of the same names; see docs/mpi-io.md.
struct CollectiveOptions {
  std::string plan = "auto";  // of policy/collective: name;key=value
  int cb_nodes = 0;           // aggregators; 0: chosen by the plan
  Bytes cb_buffer_size = 16_MiB;
  Toggle cb_read = Toggle::automatic;
  Toggle cb_write = Toggle::automatic;
  Toggle ds_read = Toggle::automatic;
  // enable: writes of the file may read, change and write back what lies between their bytes. So each write takes a lock
  // over all that it touches; not for callers that hold one.
  Toggle ds_write = Toggle::automatic;
  Bytes ind_rd_buffer_size = 4_MiB;
  Bytes ind_wr_buffer_size = 512_KiB;
  // disable: what a view shows is listed for the servers, each time; otherwise they are told the view once.
  Toggle views = Toggle::automatic;
  std::vector<int> aggregators;  // ranks that may aggregate, in order of preference; empty: all
};

// One rank's part of a read or write.
struct FileAccess {
  std::byte* base = nullptr;  // a write only reads it
  FlatType type;              // of the memory
  std::int64_t count = 0;
  const FileView* view = nullptr;
  ViewPointer declared;                // the same view as the file's servers know it; null: they do not
  std::int64_t data_offset = 0;        // in bytes of the view's data
  const DirectedCall* call = nullptr;  // of which it is part; null: of none
  CallHabit* habit = nullptr;          // of collective calls of this file and group, on all ranks or on none
  // Collective calls only: not ok if this rank's arguments were refused. It then takes part without bytes,
  // and every rank gets this Status.
  Status refused;

  [[nodiscard]] std::int64_t bytes() const { return type.size() * count; }
};

// How many bytes were read, counted in data order up to the last one that lies before the end of the file.
Task<Result<Bytes>> read_independent(OpenFile& file, FileAccess access, const CollectiveOptions& options);
// All or an error.
Task<Status> write_independent(OpenFile& file, FileAccess access, const CollectiveOptions& options);

// The options must be the same on all ranks.
Task<Result<Bytes>> read_collective(Group& group, OpenFile& file, FileAccess access,
                                    const CollectiveOptions& options);
Task<Status> write_collective(Group& group, OpenFile& file, FileAccess access,
                              const CollectiveOptions& options);

// By a plan that is none of the registry's, instead of the one that the options name. It must outlive the
// task.
Task<Result<Bytes>> read_collective(Group& group, OpenFile& file, FileAccess access,
                                    const CollectiveOptions& options, const CollectivePlan& plan);
Task<Status> write_collective(Group& group, OpenFile& file, FileAccess access,
                              const CollectiveOptions& options, const CollectivePlan& plan);

// Of a file that need not be on Tutti.
Task<Result<Bytes>> read_collective(Group& group, CollectiveFile& file, FileAccess access,
                                    const CollectiveOptions& options);
Task<Status> write_collective(Group& group, CollectiveFile& file, FileAccess access,
                              const CollectiveOptions& options);

// Whether a text makes a plan; Code::invalid with the known names if not.
Status check_collective_plan(std::string_view text);

}  // namespace tutti
