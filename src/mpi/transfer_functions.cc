// The reads and writes of MPI's file chapter: one line for each, in families that differ in their arguments only.
#include "mpi/file.h"
#include "mpi/foreign_file.h"
#include "mpi/gate.h"
#include "mpi/library.h"
#include "mpi/runtime.h"

namespace tutti::mpi::entry {
namespace {

constexpr FilePointer kGiven = FilePointer::given;
constexpr FilePointer kOwn = FilePointer::individual;
constexpr FilePointer kShared = FilePointer::shared;

constexpr Form read_form(FilePointer pointer) { return {false, false, pointer}; }
constexpr Form write_form(FilePointer pointer) { return {true, false, pointer}; }
constexpr Form read_all_form(FilePointer pointer) { return {false, true, pointer}; }
constexpr Form write_all_form(FilePointer pointer) { return {true, true, pointer}; }

// Counts what a write has written when it has returned.
struct Writing {
  Writing(const Form& form, MPI_Count elements, MPI_Datatype element)
      : counts(form.write), count(elements), type(element) {}
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    if (counts) note_written(count, type);
  }
  bool counts;
  MPI_Count count;
  MPI_Datatype type;
};

struct GateCallEnd {
  GateCallEnd(MPI_File handle, bool turn) : file(handle), ends(turn) {}
  GateCallEnd(const GateCallEnd&) = delete;
  GateCallEnd& operator=(const GateCallEnd&) = delete;
  ~GateCallEnd() {
    if (ends) GateCall::end(file);
  }
  MPI_File file;
  bool ends;
};

// What we do for a file of another file system; nothing if the call is the library's.
std::optional<int> transfer_foreign(Runtime& runtime, MPI_File fh, Form form, MPI_Offset offset,
                                    const Buffer& buffer, MPI_Status* status) {
  ForeignFile* file = form.pointer != FilePointer::shared ? runtime.find_foreign(fh) : nullptr;
  if (file == nullptr) return std::nullopt;
  return form.collective ? file->transfer(form, offset, buffer, status)
                         : file->transfer_alone(form, offset, buffer, status);
}

bool takes_turn(const Form& form) { return form.write && form.collective; }

}  // namespace

// The lock is not held in a call of the MPI library's, see file_functions.cc.
#define TUTTI_DISPATCH(fh, ours, theirs)                       \
  {                                                            \
    const Call call;                                           \
    if (File* file = call.runtime.find(fh)) return file->ours; \
  }                                                            \
  return library().theirs

// The same of a call that may be ours also of a file that is not.
#define TUTTI_TRANSFER(fh, form, offset, buffer, status, theirs)                                          \
  {                                                                                                       \
    const Call call;                                                                                      \
    if (File* file = call.runtime.find(fh)) return file->transfer(form, offset, buffer, status);          \
    if (const auto code = transfer_foreign(call.runtime, fh, form, offset, buffer, status)) return *code; \
  }                                                                                                       \
  return library().theirs

#define TUTTI_BLOCKING_AT(name, form, address, number)                                            \
  int name(MPI_File fh, MPI_Offset offset, address buf, number count, MPI_Datatype type,          \
           MPI_Status* status) {                                                                  \
    const GateCall turn(fh, takes_turn(form));                                                    \
    const Writing writing(form, count, type);                                                     \
    const Buffer buffer{buf, count, type};                                                        \
    TUTTI_TRANSFER(fh, form, offset, buffer, status, name(fh, offset, buf, count, type, status)); \
  }
#define TUTTI_BLOCKING(name, form, address, number)                                         \
  int name(MPI_File fh, address buf, number count, MPI_Datatype type, MPI_Status* status) { \
    const GateCall turn(fh, takes_turn(form));                                              \
    const Writing writing(form, count, type);                                               \
    const Buffer buffer{buf, count, type};                                                  \
    TUTTI_TRANSFER(fh, form, 0, buffer, status, name(fh, buf, count, type, status));        \
  }
#define TUTTI_STARTING_AT(name, form, address, number)                                   \
  int name(MPI_File fh, MPI_Offset offset, address buf, number count, MPI_Datatype type, \
           MPI_Request* request) {                                                       \
    TUTTI_DISPATCH(fh, start(form, offset, {buf, count, type}, request),                 \
                   name(fh, offset, buf, count, type, request));                         \
  }
#define TUTTI_STARTING(name, form, address, number)                                                       \
  int name(MPI_File fh, address buf, number count, MPI_Datatype type, MPI_Request* request) {             \
    TUTTI_DISPATCH(fh, start(form, 0, {buf, count, type}, request), name(fh, buf, count, type, request)); \
  }
#define TUTTI_BEGIN_AT(name, form, address, number)                                                  \
  int name(MPI_File fh, MPI_Offset offset, address buf, number count, MPI_Datatype type) {           \
    GateCall turn(fh, takes_turn(form));                                                             \
    turn.keep();                                                                                     \
    const Writing writing(form, count, type);                                                        \
    TUTTI_DISPATCH(fh, begin(form, offset, {buf, count, type}), name(fh, offset, buf, count, type)); \
  }
#define TUTTI_BEGIN(name, form, address, number)                                        \
  int name(MPI_File fh, address buf, number count, MPI_Datatype type) {                 \
    GateCall turn(fh, takes_turn(form));                                                \
    turn.keep();                                                                        \
    const Writing writing(form, count, type);                                           \
    TUTTI_DISPATCH(fh, begin(form, 0, {buf, count, type}), name(fh, buf, count, type)); \
  }
#define TUTTI_END(name, form, address)                            \
  int name(MPI_File fh, address buf, MPI_Status* status) {        \
    const GateCallEnd turn(fh, takes_turn(form));                 \
    TUTTI_DISPATCH(fh, end(form, status), name(fh, buf, status)); \
  }

// Each with an int for the count and, in an MPI 4 library, with MPI_Count.
#if MPI_VERSION >= 4
#define TUTTI_BOTH(family, name, form, address) \
  family(name, form, address, int) family(name##_c, form, address, MPI_Count)
#else
#define TUTTI_BOTH(family, name, form, address) family(name, form, address, int)
#endif

TUTTI_BOTH(TUTTI_BLOCKING_AT, File_read_at, read_form(kGiven), void*)
TUTTI_BOTH(TUTTI_BLOCKING_AT, File_read_at_all, read_all_form(kGiven), void*)
TUTTI_BOTH(TUTTI_BLOCKING_AT, File_write_at, write_form(kGiven), const void*)
TUTTI_BOTH(TUTTI_BLOCKING_AT, File_write_at_all, write_all_form(kGiven), const void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_read, read_form(kOwn), void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_read_all, read_all_form(kOwn), void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_write, write_form(kOwn), const void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_write_all, write_all_form(kOwn), const void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_read_shared, read_form(kShared), void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_write_shared, write_form(kShared), const void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_read_ordered, read_all_form(kShared), void*)
TUTTI_BOTH(TUTTI_BLOCKING, File_write_ordered, write_all_form(kShared), const void*)

TUTTI_BOTH(TUTTI_STARTING_AT, File_iread_at, read_form(kGiven), void*)
TUTTI_BOTH(TUTTI_STARTING_AT, File_iread_at_all, read_all_form(kGiven), void*)
TUTTI_BOTH(TUTTI_STARTING_AT, File_iwrite_at, write_form(kGiven), const void*)
TUTTI_BOTH(TUTTI_STARTING_AT, File_iwrite_at_all, write_all_form(kGiven), const void*)
TUTTI_BOTH(TUTTI_STARTING, File_iread, read_form(kOwn), void*)
TUTTI_BOTH(TUTTI_STARTING, File_iread_all, read_all_form(kOwn), void*)
TUTTI_BOTH(TUTTI_STARTING, File_iwrite, write_form(kOwn), const void*)
TUTTI_BOTH(TUTTI_STARTING, File_iwrite_all, write_all_form(kOwn), const void*)
TUTTI_BOTH(TUTTI_STARTING, File_iread_shared, read_form(kShared), void*)
TUTTI_BOTH(TUTTI_STARTING, File_iwrite_shared, write_form(kShared), const void*)

TUTTI_BOTH(TUTTI_BEGIN_AT, File_read_at_all_begin, read_all_form(kGiven), void*)
TUTTI_BOTH(TUTTI_BEGIN_AT, File_write_at_all_begin, write_all_form(kGiven), const void*)
TUTTI_BOTH(TUTTI_BEGIN, File_read_all_begin, read_all_form(kOwn), void*)
TUTTI_BOTH(TUTTI_BEGIN, File_write_all_begin, write_all_form(kOwn), const void*)
TUTTI_BOTH(TUTTI_BEGIN, File_read_ordered_begin, read_all_form(kShared), void*)
TUTTI_BOTH(TUTTI_BEGIN, File_write_ordered_begin, write_all_form(kShared), const void*)

TUTTI_END(File_read_at_all_end, read_all_form(kGiven), void*)
TUTTI_END(File_write_at_all_end, write_all_form(kGiven), const void*)
TUTTI_END(File_read_all_end, read_all_form(kOwn), void*)
TUTTI_END(File_write_all_end, write_all_form(kOwn), const void*)
TUTTI_END(File_read_ordered_end, read_all_form(kShared), void*)
TUTTI_END(File_write_ordered_end, write_all_form(kShared), const void*)

}  // namespace tutti::mpi::entry
