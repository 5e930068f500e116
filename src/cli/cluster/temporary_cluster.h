// TemporaryCluster: a cluster in a temporary directory that is gone afterwards, whatever happened.
#pragma once

#include <memory>
#include <utility>

#include "cli/cluster/local_cluster.h"
#include "cli/temporary_directory.h"

namespace tutti::cli {

class TemporaryCluster {
 public:
  explicit TemporaryCluster(std::unique_ptr<TemporaryDirectory> directory)
      : directory_(std::move(directory)), state_(directory_->path()) {}
  TemporaryCluster(const TemporaryCluster&) = delete;
  TemporaryCluster& operator=(const TemporaryCluster&) = delete;
  ~TemporaryCluster() { bring_down(state_).status().ignore(); }
  [[nodiscard]] const StateDirectory& state() const { return state_; }

 private:
  std::unique_ptr<TemporaryDirectory> directory_;
  StateDirectory state_;
};

}  // namespace tutti::cli
