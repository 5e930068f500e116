// The gate around MPI-IO: a job's files are written in turns with other jobs (docs/gate.md).
//
// `tutti run --gate` says in the environment what a turn is for. Rank 0 of the file's communicator asks at the door
// (env/real/door/door.h), then all ranks go on together; the turn ends when all have ended. It makes no difference whether the
// file is on Tutti or the MPI library's own. Nothing here fails: without a door there are no turns.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/transfer/gate.h"
#include "env/real/door/door.h"

namespace tutti::mpi {

enum class GateScope : std::uint8_t { none, file, call, manual };
// Of this launch.
GateScope gate_scope();

// Writes of this process to Tutti name the turn in which they are made: data servers refuse those in turns that were lost. It
// lets everything through: the ranks have their turn before they write.
class TurnNumbers final : public TransferGate {
 public:
  Task<Status> enter(const TransferFacts& /*facts*/) override { co_return Status(); }
  [[nodiscard]] std::uint64_t turn(std::uint32_t server) const override { return door::fence_of(server); }
  void leave(const TransferFacts& /*facts*/) override {}
};

// Turns of the ranks of one communicator, over a duplicate of it. All methods but the destructor's sibling abandon() are
// collective.
class GateWay {
 public:
  // Null if `comm` is none that ranks can meet on.
  static std::unique_ptr<GateWay> make(MPI_Comm comm, const std::string& name);
  GateWay(const GateWay&) = delete;
  GateWay& operator=(const GateWay&) = delete;
  ~GateWay();

  // On Tutti: the data servers of the file.
  void set_servers(std::vector<std::uint32_t> servers) { servers_ = std::move(servers); }
  void begin();
  // After all ranks have come here.
  void end();
  // The same without meeting the others, where some may have failed.
  void abandon();

 private:
  GateWay(MPI_Comm comm, std::string name);
  void meet() const;

  MPI_Comm comm_;  // a duplicate
  int rank_ = 0;
  int size_ = 1;
  std::string name_;
  std::vector<std::uint32_t> servers_;
  int depth_ = 0;  // turns inside a turn are one
  door::Turn turn_;
};

// The ways of open files, and those that the program began itself.
class Gates {
 public:
  static Gates& get();

  void add(MPI_File file, std::unique_ptr<GateWay> way);
  // Null for a file that needs no turns. It stays until it is taken.
  GateWay* find(MPI_File file);
  std::unique_ptr<GateWay> take(MPI_File file);

  int add(std::unique_ptr<GateWay> way);
  std::unique_ptr<GateWay> take_own(int number);

 private:
  std::mutex mutex_;
  std::map<MPI_File, std::unique_ptr<GateWay>> files_;
  std::map<int, std::unique_ptr<GateWay>> own_;
  int next_ = 1;
};

// A way for a file that is about to be opened so; null if it needs none.
std::unique_ptr<GateWay> gate_way(MPI_Comm comm, const char* name, int amode);

// A turn for the length of a collective write, where turns are for calls.
class GateCall {
 public:
  GateCall(MPI_File file, bool collective_write);
  GateCall(const GateCall&) = delete;
  GateCall& operator=(const GateCall&) = delete;
  ~GateCall();
  // The call goes on after this function: somebody else ends the turn.
  void keep() { way_ = nullptr; }
  static void end(MPI_File file);

 private:
  GateWay* way_ = nullptr;
};

// What programs call themselves: include/tutti/gate_mpi.h.
int gate_begin(MPI_Comm comm, const char* path, int* turn);
int gate_end(int turn);
int gate_begin_file(MPI_File file);
int gate_end_file(MPI_File file);

// Tells that so much was written to the file, if turns are taken at all.
void note_written(MPI_Count count, MPI_Datatype type);

}  // namespace tutti::mpi
