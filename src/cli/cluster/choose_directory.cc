#include "cli/cluster/choose_directory.h"

#include <utility>

#include "client/cluster_file.h"
#include "client/real/process.h"

namespace tutti::cli {

Result<StateDirectory> choose_state_directory(const Globals& globals) {
  auto path = state_directory(globals.directory, &environment_variable);
  if (!path.ok()) return path.status();
  return StateDirectory(*std::move(path));
}

}  // namespace tutti::cli
