// TuttiStorage: the jobs' files on a simulated cluster of Tutti, made of the product's own servers and clients.
//
// The disks, and where files lie on them, are those of NfsStorage; before them is the page cache of Tutti's data servers. A job has a
// node and 16 ranks, each of which writes its part of the checkpoint in calls of 1 MiB; then the file is synced and closed. Bytes
// are not kept.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lab/experiments/gate/storage.h"
#include "lab/sim/sim_cluster.h"

namespace tutti::gatelab {

class TuttiStorage final : public SharedStorage {
 public:
  // With so many data servers under this request policy.
  static Result<std::unique_ptr<TuttiStorage>> make(std::uint64_t seed, const std::string& policy,
                                                    std::uint32_t servers);
  ~TuttiStorage() override;

  Task<void> write(std::uint64_t job, std::vector<std::uint32_t> servers, Bytes size) override;
  [[nodiscard]] std::uint64_t jumps() const override;
  [[nodiscard]] Nanos busy() const override;
  // The time that it has brought.
  [[nodiscard]] Simulation& simulation() { return cluster_->simulation(); }

 private:
  explicit TuttiStorage(std::unique_ptr<SimCluster> cluster);
  FileSystem& files_of(std::uint64_t job);
  static Task<void> write_rank(OpenFile& file, Bytes offset, Bytes size, std::span<const std::byte> buffer,
                               Status& failed);

  std::unique_ptr<SimCluster> cluster_;
  std::map<std::uint64_t, std::unique_ptr<SimClient>> clients_;  // by job
  std::uint64_t next_file_ = 1;
};

}  // namespace tutti::gatelab
