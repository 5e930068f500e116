// TemporaryGate: a gate in a temporary directory that is gone afterwards, whatever happened.
#pragma once

#include <memory>
#include <utility>

#include "cli/cluster/daemon.h"
#include "cli/gate/local_gate.h"
#include "cli/temporary_directory.h"

namespace tutti::cli {

class TemporaryGate {
 public:
  static Result<std::unique_ptr<TemporaryGate>> start() {
    auto directory = TemporaryDirectory::create("tutti-gate", 64_MiB);
    if (!directory.ok()) return directory.status();
    std::unique_ptr<TemporaryGate> gate(new TemporaryGate(*std::move(directory)));
    TUTTI_TRY(prepare_gate(gate->state_, {}));
    auto starting = start_daemon(gate->state_, "coordinator");
    if (!starting.ok()) return starting.status();
    TUTTI_TRY(wait_until_ready(gate->state_, *starting, 20_s));
    return gate;
  }
  TemporaryGate(const TemporaryGate&) = delete;
  TemporaryGate& operator=(const TemporaryGate&) = delete;
  ~TemporaryGate() { stop_daemons(state_, {"coordinator"}, 5_s); }
  [[nodiscard]] const StateDirectory& state() const { return state_; }

 private:
  explicit TemporaryGate(std::unique_ptr<TemporaryDirectory> directory)
      : directory_(std::move(directory)), state_(directory_->path()) {}
  std::unique_ptr<TemporaryDirectory> directory_;
  StateDirectory state_;
};

}  // namespace tutti::cli
