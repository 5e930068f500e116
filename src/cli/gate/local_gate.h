// A gate without a file system: the state directory of a coordinator alone.
#pragma once

#include <string>

#include "base/status.h"
#include "daemon/state_directory.h"

namespace tutti::cli {

// What is empty stays as stored, or is the default.
struct GateServeOptions {
  std::string listen;        // address
  std::string lease, limit;  // durations
  std::string order;
};

// Makes the state directory, or takes over what is asked for anew. Code::exists if it holds a cluster with files.
Status prepare_gate(const StateDirectory& state, const GateServeOptions& options);

}  // namespace tutti::cli
