// Which objects the data servers of a cluster hold, for `tutti fsck`, and their removal.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/status.h"
#include "client/cluster_config.h"
#include "daemon/state_directory.h"
#include "env/channel.h"
#include "env/env.h"
#include "env/real/loop/loop.h"
#include "env/real/network/socket_network.h"
#include "server/capability.h"
#include "server/check/check.h"

namespace tutti {

// What a server that runs says, page by page, to who shows the servers' key.
Task<Result<check::ServerObjects>> list_server(Env env, const ServerKey& key, Channel& channel);

// A server that runs is asked, with the servers' key; the store of one that does not is opened, if it is in the state
// directory. Where neither can be done the list says why.
class ObjectLists {
 public:
  ObjectLists(StateDirectory state, ClusterConfig config, ServerKey key);
  ObjectLists(const ObjectLists&) = delete;
  ObjectLists& operator=(const ObjectLists&) = delete;

  // By data server.
  std::vector<check::ServerObjects> list();
  // Whether the object is there still.
  Result<bool> exists(std::uint32_t server, ObjectId object);
  Status remove(std::uint32_t server, ObjectId object);

 private:
  class Held;  // one data server's objects
  Result<Held*> hold(std::uint32_t server);
  Result<check::ServerObjects> list_one(std::uint32_t server);

  StateDirectory state_;
  ClusterConfig config_;
  ServerKey key_;
  Loop loop_;
  SocketNetwork network_;
  Random random_;
  std::vector<std::shared_ptr<Held>> held_;
};

}  // namespace tutti
