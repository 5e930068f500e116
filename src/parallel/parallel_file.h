// ParallelFile: a file as MPI sees it: opened by a group of processes, each with a view, an individual file pointer and
// a part in a shared one.
//
// One object per rank. Methods marked collective are called by all ranks in the same order and return the same Status
// on each (an error of the group itself excepted). Offsets and positions are in etypes of the view unless a name says
// bytes. Any number of transfers may be under way; collective ones run one after the other, in the order in which their
// tasks are first resumed, so a caller resumes them in program order. Of one thread; tasks must not outlive the file,
// nor memory and group their tasks. A shared file pointer that no rank moves for a week is forgotten by the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/file_system.h"
#include "env/group.h"
#include "env/sync.h"
#include "layout/view.h"
#include "parallel/collective.h"
#include "parallel/hints.h"

namespace tutti {

struct ParallelOpen {
  std::string path;
  bool read = true;
  bool write = false;
  bool create = false;
  bool exclusive = false;
  bool append = false;      // file pointers begin at the end of the file
  bool sequential = false;  // only the shared file pointer may be used
  bool delete_on_close = false;
  std::uint32_t mode = 0644;  // of a new file; that of rank 0 counts
  FileHints hints;            // the same on all ranks
  // Whether the servers know all ranks as the same user, the same on all ranks. Then they share what rank 0 has opened;
  // otherwise each opens the file itself.
  bool same_user = false;
  // Whether every rank has a file system, the same on all ranks: with `same_user` a rank that hears of the opening then
  // needs nothing else.
  bool all_ready = false;
};

struct Opening;

enum class Representation : std::uint8_t { native, external32 };
enum class FilePointer : std::uint8_t { given, individual, shared };
enum class SeekFrom : std::uint8_t { start, current, end };

struct ParallelTransfer {
  bool write = false;
  bool collective = false;  // with the shared file pointer: in order of rank
  FilePointer pointer = FilePointer::given;
  std::int64_t offset = 0;    // FilePointer::given
  std::byte* base = nullptr;  // a write only reads it
  FlatType type;              // of the memory
  std::int64_t count = 0;
  Status
      refused;  // not ok if the caller refuses its arguments: in a collective call the others must hear of it
};

// A change of the view, as one rank asks for it.
struct ViewChange {
  FileView view;  // of the bytes in the file; one whose filetype has no bytes is for ranks that move none
  Representation representation = Representation::native;
  bool at_shared_pointer =
      false;  // it begins where the shared file pointer is: the displacement counts from there
  std::optional<HintList> hints;  // those of rank 0 count for all if any rank has some
  Status refused;                 // as in ParallelTransfer
};

class ParallelFile {
 public:
  // Collective. Executor, file system and group must outlive the file. A rank that has no file system passes the reason,
  // and all ranks hear of it. `counter_key` of rank 0 counts.
  static Task<Result<std::unique_ptr<ParallelFile>>> open(Executor& executor, Result<FileSystem*> system,
                                                          Group& group, ParallelOpen options,
                                                          std::uint64_t counter_key);
  ParallelFile(const ParallelFile&) = delete;
  ParallelFile& operator=(const ParallelFile&) = delete;
  ~ParallelFile() = default;

  // Collective. Waits for collective transfers under way, flushes, and removes the file if it was opened so. The object
  // is unusable afterwards.
  Task<Status> close();

  // Takes the place of the transfer now (an individual file pointer moves at once, whatever will become of the
  // transfer), and returns the task that does it: how many bytes of memory were read or written.
  Task<Result<Bytes>> transfer(ParallelTransfer transfer);

  // Collective. Both file pointers go to 0. Transfers under way keep the view that they began with. Of hints that could
  // not be honoured `report` tells.
  Task<Status> set_view(ViewChange change, HintReport& report);
  [[nodiscard]] const FileView& view() const { return terms_->view; }
  [[nodiscard]] Representation representation() const { return terms_->representation; }

  // Code::invalid if the position would be negative.
  Task<Status> seek(std::int64_t offset, SeekFrom from);
  Task<Status> seek_shared(std::int64_t offset, SeekFrom from);  // collective
  [[nodiscard]] std::int64_t position() const { return individual_; }
  Task<Result<std::int64_t>> position_shared();

  Task<Result<Bytes>> size() { return file_->size(); }
  Task<Status> set_size(std::int64_t bytes);     // collective
  Task<Status> preallocate(std::int64_t bytes);  // collective
  Task<Status> sync();                           // collective
  Task<Status> set_atomic(bool atomic);          // collective
  [[nodiscard]] bool atomic() const { return terms_->atomic; }
  // Code::unsupported in sequential mode.
  [[nodiscard]] Status random_access() const;

  // The largest of all ranks. Collective.
  Task<Result<std::int64_t>> largest(std::int64_t mine);

  // `list` of rank 0 counts. Collective. What could not be honoured is added to `report` on every rank.
  Task<Status> change_hints(HintList list, HintReport& report);
  [[nodiscard]] HintList hints() const;
  [[nodiscard]] const Layout& layout() const { return file_->layout(); }
  [[nodiscard]] Group& group() const { return group_; }

 private:
  // What a transfer goes by: as it was when the transfer began, whatever is changed meanwhile.
  struct Terms {
    FileView view;
    ViewPointer declared;     // null: contiguous
    bool empty_view = false;  // it shows no byte
    Representation representation = Representation::native;
    bool atomic = false;
    CollectiveOptions options;
  };
  using TermsPointer = std::shared_ptr<const Terms>;
  // A transfer and where it goes.
  struct Begun {
    ParallelTransfer transfer;
    std::int64_t offset = 0;  // in etypes
    std::int64_t etypes = 0;
    TermsPointer terms;
  };
  ParallelFile(Executor& executor, FileSystem* system, Group& group, ParallelOpen options,
               std::uint64_t counter_key);

  // These four are in opening.cc.
  Task<Status> open_on_all(Status mine);
  Task<Status> open_first();
  Task<Status> open_here(bool first);
  Task<Status> follow(const Opening& first);
  Task<Status> rank_0_does(Task<Status> task);
  Task<Status> flush_and_close();
  Task<Status> tidy_up(bool counter_made);
  Task<Result<std::int64_t>> agree_on_view(const ViewChange& change, bool shared_used);
  Task<Status> take_hints(HintList list, HintReport& report);
  Task<Status> make_room(Bytes bytes);
  Status check(const ParallelTransfer& transfer, std::int64_t file_bytes) const;
  Task<Result<Bytes>> run(Begun begun);
  Task<Result<Bytes>> run_in_turn(Begun begun);
  Task<Result<std::int64_t>> use_shared(CounterOp op, std::int64_t value);
  Task<Result<std::int64_t>> claim_ordered(std::int64_t etypes);
  Task<Result<Bytes>> move(const Begun& begun, FileAccess access);
  Task<Result<Bytes>> move_external(const Begun& begun, FileAccess access);
  Task<Result<Bytes>> move_native(const Begun& begun, FileAccess access);
  Task<Result<Bytes>> move_atomically(const Begun& begun, FileAccess access);
  Task<Result<std::int64_t>> place(std::int64_t offset, SeekFrom from, std::int64_t current);

  FileSystem* system_;  // not null once the file is open
  Group& group_;
  ParallelOpen options_;
  // The shared file pointer is a counter of the metadata server's, made by the first rank that uses the pointer: most
  // programs never do.
  std::uint64_t counter_key_;
  std::int64_t shared_start_ = 0;  // where the pointer is as long as nobody has made the counter
  bool shared_used_ = false;       // by this rank
  bool counter_made_ = false;      // this rank knows that the counter is there
  std::unique_ptr<OpenFile> file_;
  TermsPointer terms_;  // never null
  std::int64_t individual_ = 0;
  CallHabit habit_;
  bool dirty_ = false;  // written or resized by this rank since the last flush
  Semaphore turn_;      // of collective calls
};

// What rank `root` has, on all ranks.
Task<Result<std::string>> broadcast_text(Group& group, int root, std::string text);

// The ranks that may aggregate by the hints, from the host name of each. Collective. Empty: any.
Task<Result<std::vector<int>>> choose_aggregators(Group& group, const FileHints& hints, std::string host);

}  // namespace tutti
