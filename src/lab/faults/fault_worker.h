// FaultWorker: one stream of operations of a client in a fault schedule, checked against the oracles.
//
// Destroying it in the middle of an operation is what the death of its process looks like to the oracles: the
// operation is in doubt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lab/faults/fault_world.h"

namespace tutti {

class FaultWorker {
 public:
  // `lane` names its private directory; `left` counts down the operations to do, over the deaths of the
  // worker.
  FaultWorker(FaultWorld& world, SimClient& client, std::size_t lane, std::uint64_t& left, Random random);
  FaultWorker(const FaultWorker&) = delete;
  FaultWorker& operator=(const FaultWorker&) = delete;
  ~FaultWorker() = default;

  Task<void> run();

 private:
  class Doubt;
  Task<void> step();
  // Null if the file cannot be opened now.
  Task<OpenFile*> open(std::size_t file);
  Task<void> write(std::size_t file);
  Task<void> read(std::size_t file);
  Task<void> truncate(std::size_t file);
  Task<void> sync(std::size_t file);
  Task<void> ask_size(std::size_t file);
  // The same by name: the metadata server may know it.
  Task<void> stat_size(std::size_t file);
  Task<void> close(std::size_t file);
  // See AppendLog.
  Task<OpenFile*> open_log(std::size_t lane);
  Task<void> append();
  Task<void> read_log(std::size_t lane);
  void check_log(std::size_t lane, const std::string& what, Bytes offset, Bytes least,
                 std::span<const std::byte> bytes);

  // See GuardedBlock.
  Task<void> change_guarded();
  Task<void> read_and_change();
  // As ended(); a lost lock is no surprise.
  void ended_locked(const std::string& what, Nanos began, const Status& status);

  Task<void> write_and_cut();
  Task<Status> cut_soon(OpenFile& file);

  Task<void> create(std::string name);
  // Goes on with a file that has lost its name, by removal or because another file got it.
  Task<void> use_removed(std::string name, std::string other);
  // Whether the name is gone for sure.
  Task<bool> take_name(std::string name, std::string other);
  Task<void> read_removed(OpenFile& file, const std::vector<bool>& written);
  Task<bool> write_private(OpenFile& file, std::string name, Bytes offset);
  [[nodiscard]] Bytes choose_private_offset();
  Task<void> read_private(std::string name);
  Task<void> remove(std::string name);
  Task<void> rename(std::string from, std::string to);
  Task<void> look_up(std::string name);
  Task<void> list();

  // Where an operation goes, and how it says so: one extent, a list, or a range of a view.
  struct Target {
    std::vector<Extent> extents;
    bool list = false;
    ViewPointer view;
    Bytes offset{};  // in the view's data
  };
  Target choose_target(std::size_t file, OpenFile& handle);
  Target choose_range(std::size_t file, OpenFile& handle);
  std::vector<Extent> choose_extents(const WatchedFile& file, bool list);
  [[nodiscard]] std::string choose_name();
  [[nodiscard]] std::string path(const std::string& name) const;
  NameOracle& names() { return world_.names[lane_]; }
  void note_written(std::size_t file, const std::vector<Extent>& extents);
  void forget_told(std::size_t file);
  void check_sync(std::size_t file, const std::string& what, const Status& status,
                  const std::vector<std::uint64_t>& losses);
  // Logs how an operation ended and counts it; an error that no fault explains is a violation.
  void ended(const std::string& what, Nanos began, const Status& status, bool plain_errors = false);
  void check(const std::string& what, const Status& verdict);

  FaultWorld& world_;
  SimClient& client_;
  std::size_t lane_;
  std::uint64_t& left_;
  Random random_;
  std::vector<std::unique_ptr<OpenFile>> open_;  // by file
  // By file: a view that is declared once, for some time.
  struct Shown {
    ViewPointer view;
    FileView bytes;
    std::uint64_t length = 0;  // of its data before the file's reach
  };
  std::vector<Shown> shown_;
  std::vector<std::unique_ptr<OpenFile>> logs_;  // by lane
  std::unique_ptr<OpenFile> guarded_;
  std::uint64_t cuts_ = 0;
  // What the handle wrote and did not sync, by file and data server.
  struct Unsynced {
    std::uint64_t losses = 0;  // of the server, when it was written
    bool told = false;         // lost, and a sync has failed: so must all until it is written again
  };
  std::vector<std::map<std::uint32_t, Unsynced>> unsynced_;
};

}  // namespace tutti
