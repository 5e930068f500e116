// Which cluster a client or command means: where its state directory and its cluster.toml are.
#pragma once

#include <string>

#include "base/status.h"
#include "client/application.h"
#include "client/cluster_config.h"

namespace tutti {

// What the caller was told; both may be empty.
struct ClusterChoice {
  std::string file;       // a cluster.toml: --cluster, or the argument of tutti_connect()
  std::string directory;  // a state directory: --dir
};

// The state directory of a local cluster: `wanted`, else $TUTTI_DIR, else ~/.tutti; absolute. Code::not_found if there is
// no home directory.
Result<std::string> state_directory(const std::string& wanted, const Environment& environment);

// The cluster.toml, absolute: the file that was chosen, else that in the directory that was chosen, else $TUTTI_CLUSTER,
// else that in $TUTTI_DIR, else that in ~/.tutti. It need not exist.
Result<std::string> cluster_file(const ClusterChoice& choice, const Environment& environment);

// Reads it. Code::not_found says how to make or to name a cluster.
Result<ClusterConfig> load_cluster(const ClusterChoice& choice, const Environment& environment);

}  // namespace tutti
