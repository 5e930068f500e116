#include "lab/experiments/gate/foreign.h"

#include <algorithm>
#include <memory>
#include <span>

#include "env/sim/store/memory_store.h"
#include "env/sim/store/modelled_device.h"

namespace tutti::gatelab {
namespace {

// A write goes through the page cache in pieces, as through the kernel's file system, and ends when the file is on the device.
class DirectoryStorage final : public SharedStorage {
 public:
  explicit DirectoryStorage(Simulation& simulation) : clock_(simulation) {
    ModelledDevice wanted;
    wanted.store.cache.size = kForeignMemory;
    wanted.store.inodes = false;
    auto made = make_modelled_device(clock_, bytes_, wanted);
    if (made.ok()) device_ = *std::move(made);
  }

  Task<void> write(std::uint64_t /*job*/, std::vector<std::uint32_t> /*servers*/, Bytes size) override {
    const ObjectId file{next_++};
    const std::vector<std::byte> piece(kPiece.count());
    for (Bytes at; at < size; at += kPiece) {
      const Bytes length = std::min(kPiece, size - at);
      co_await clock_.sleep(kHandOver);
      MemorySource source(std::span<const std::byte>(piece.data(), length.count()));
      (co_await device_->write(file, at, length, source)).ignore();
    }
    (co_await device_->sync(file)).ignore();
    (co_await device_->remove(file)).ignore();
  }
  [[nodiscard]] std::uint64_t jumps() const override { return device_->device_motion().jumps; }
  [[nodiscard]] Nanos busy() const override { return device_->device_statistics().busy; }

 private:
  static constexpr Bytes kPiece = 128_KiB;
  // What a write of one piece through the mount takes while the disk has nothing to do (48 MB in 0.06 s): writers take turns in
  // filling the page cache.
  static constexpr Nanos kHandOver = 160_us;
  SimClock clock_;
  MemoryStore bytes_;
  std::unique_ptr<DeviceStore> device_;
  std::uint64_t next_ = 1;
};

}  // namespace

std::vector<JobSpec> foreign_jobs(std::uint64_t seed, Nanos within) {
  Random random(seed * 611'953);
  std::vector<JobSpec> jobs(kForeignJobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    jobs[i].name = "job " + std::to_string(i + 1);
    jobs[i].compute = kForeignCompute;
    jobs[i].checkpoint = kForeignCheckpoint;
    jobs[i].checkpoints = kForeignCheckpoints;
    jobs[i].start =
        Nanos(static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(within.count()))));
  }
  return jobs;
}

StorageMaker foreign_storage() {
  return [](Simulation& simulation, Random) -> std::unique_ptr<SharedStorage> {
    return std::make_unique<DirectoryStorage>(simulation);
  };
}

}  // namespace tutti::gatelab
