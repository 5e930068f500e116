// Scrub: has every data server compare what it stores with its checksums, at a bounded rate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "client/cluster_config.h"
#include "env/real/loop/loop.h"
#include "env/store.h"
#include "server/capability.h"

namespace tutti {

struct RottenBlock {
  ObjectId object;
  Bytes offset;  // in the object
};

// What one data server has found.
struct ScrubbedServer {
  Status status;  // why it could not be asked, or not to the end
  bool checksums = false;
  std::uint64_t objects = 0;
  Bytes bytes;    // in its objects
  Bytes checked;  // of them agree with their checksums
  Bytes summed;   // of them had none, and have one now
  std::vector<RottenBlock> rotten;
};

struct ScrubOptions {
  Bytes rate;  // a second, of each server; 0: as fast as it can
  // Called with all bytes that are to be looked at, once, and then with those that were.
  std::function<void(Bytes)> begins;
  std::function<void(Bytes)> advances;
};

// Asks all data servers at the same time. They must run.
std::vector<ScrubbedServer> scrub(Loop& loop, const ClusterConfig& config, const ServerKey& key,
                                  const ScrubOptions& options);

}  // namespace tutti
