// Runtime: all that Tutti has in a process of an MPI program. The one object that the C API of MPI forces to be global.
//
// No threads of its own: a thread that waits for something drives the loop until it has come, and everything else that
// is under way makes progress with it. No call returns while a lock is held or asked for, which atomic mode does: others
// wait for the lock, and nobody knows when the program calls in again. In programs with MPI_THREAD_MULTIPLE one of the waiting threads drives for all, and lets
// newcomers in between turns of a fraction of a millisecond; in all others nothing is locked.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "client/real/real_client.h"
#include "env/group.h"
#include "env/scope.h"
#include "mpi/datatype.h"
#include "mpi/duplicates.h"
#include "mpi/fair_lock.h"
#include "mpi/genuine.h"

namespace tutti::mpi {

class File;
class ForeignFile;
struct Request;

class Runtime {
 public:
  // Made by the first call.
  static Runtime& get();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
  ~Runtime();

  // After MPI_Init: agrees on the application id.
  void start();
  // In MPI_Finalize, after the program's own last words: those are functions that MPI calls when MPI_COMM_SELF lets go of
  // its attributes, the last one first, and ours is there before any other. Ends what is under way and lets go of all
  // that belongs to MPI; but a file that is still open stays, should somebody close it after us.
  void finish();

  // Held while anything below is used. drive() gives it up between turns.
  FairLock& lock() { return lock_; }
  [[nodiscard]] Loop& loop() { return client_.loop(); }
  [[nodiscard]] const Log& log() const { return client_.log(); }
  [[nodiscard]] Random& random() { return client_.random(); }
  [[nodiscard]] Datatypes& datatypes();
  [[nodiscard]] GenuineFiles& genuine_files() { return genuine_files_; }
  [[nodiscard]] Duplicates& duplicates() { return duplicates_; }

  // The id of this program; chosen here if it was not agreed on in start(), because MPI began without us.
  std::uint64_t application();
  // The file system for an application. Reads the cluster's configuration the first time.
  Result<FileSystem*> file_system(std::uint64_t application);
  // The cluster's plan of collective calls; empty before a file system was asked for.
  [[nodiscard]] std::string collective() const {
    return client_.connected() ? client_.config().collective : "";
  }

  // Starts a task that runs whenever the loop is driven.
  void spawn(Task<void> task) { scope_.spawn(std::move(task)); }
  // Runs the task, and what else is under way, until it has ended.
  template <typename T>
  T run(Task<T> task) {
    std::optional<T> result;
    scope_.spawn(store(this, std::move(task), &result));
    drive([&result] { return result.has_value(); });
    return std::move(*result);
  }
  template <typename Condition>
  void drive(const Condition& ended) {
    for (;;) {
      loop().executor().run_ready();
      if (ended() && !client_.locking()) break;
      take_turn();
    }
    if (lock_.enabled()) changed_.notify_all();  // another may have to drive now
  }
  // Something that a thread may wait for has come.
  void note_progress() { ++progress_; }
  // Moves on what can be moved on without waiting.
  void poll() {
    loop().run_once(Nanos(0));
    if (client_.locking()) drive([] { return true; });
  }

  void add(std::unique_ptr<File> file);
  // Null for a file of the MPI library's.
  File* find(MPI_File handle);
  std::unique_ptr<File> remove(MPI_File handle);
  // The same of files whose collective calls we carry out for the MPI library.
  void add(std::unique_ptr<ForeignFile> file);
  ForeignFile* find_foreign(MPI_File handle);
  std::unique_ptr<ForeignFile> remove_foreign(MPI_File handle);

  void add(std::unique_ptr<Request> request);
  Request* find(MPI_Request handle);
  void remove(MPI_Request handle);
  // Whether there are requests of ours, started and not yet freed. Without the lock.
  [[nodiscard]] bool has_requests() const { return request_count_.load(std::memory_order_relaxed) > 0; }

  // Tells the log of a read or write that failed, at once: the program hears a class only, perhaps much later, and perhaps
  // does not look.
  void note_failure(const Status& status) const;
  // Tells once per process and key that a hint had no effect, on one rank of the group.
  void report_hints(const Group& group, const HintReport& report);

 private:
  Runtime();

  template <typename T>
  static Task<void> store(Runtime* runtime, Task<T> task, std::optional<T>* result) {
    result->emplace(co_await std::move(task));
    runtime->note_progress();
  }
  void take_turn();
  void begin_with_mpi();

  FairLock lock_;
  std::condition_variable_any changed_;
  bool begun_ = false;          // MPI has begun, and we know
  bool driven_ = false;         // a thread drives for all
  std::uint64_t progress_ = 0;  // counts note_progress()
  RealClient client_;
  GenuineFiles genuine_files_{lock_};
  Duplicates duplicates_;
  std::unique_ptr<Datatypes> datatypes_;
  std::map<MPI_File, std::unique_ptr<File>> files_;
  std::map<MPI_File, std::unique_ptr<ForeignFile>> foreign_files_;
  std::map<MPI_Request, std::unique_ptr<Request>> requests_;
  std::atomic<int> request_count_ = 0;
  std::map<std::string, bool> reported_;
  Scope scope_;  // last: its tasks use the rest
};

// Holds the runtime's lock for the length of a call.
class Call {
 public:
  Call() : runtime(Runtime::get()) { runtime.lock().lock(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() { runtime.lock().unlock(); }
  Runtime& runtime;
};

}  // namespace tutti::mpi
