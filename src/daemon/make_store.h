// Making the stores of a cluster: the one way in which a store comes into being.
#pragma once

#include <string>

#include "base/status.h"
#include "client/cluster_config.h"
#include "daemon/state_directory.h"

namespace tutti {

// Makes the store of the daemon NAME ("meta", "data.N" or "coordinator") in the state directory. `replace`: a data
// server's store that takes the place of a lost one. Code::exists if there is one, Code::invalid if the cluster has no
// such daemon.
Status make_store(const StateDirectory& state, const ClusterConfig& config, const std::string& name,
                  bool replace);
// Gives a store of the format before identities the one that this cluster file says. Nothing may use it.
Status upgrade_store(const StateDirectory& state, const ClusterConfig& config, const std::string& name);

}  // namespace tutti
