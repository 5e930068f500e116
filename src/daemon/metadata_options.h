// What the cluster file says of the metadata server.
#pragma once

#include "client/cluster_config.h"
#include "server/meta/meta_server.h"

namespace tutti {

MetaServerOptions metadata_options(const ClusterConfig& config);

}  // namespace tutti
