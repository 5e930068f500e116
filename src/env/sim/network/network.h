// SimNetwork: the fabric of a simulated cluster, and a Network for each of its nodes.
//
// Addresses are "sim:NODE/NAME", NODE the number that add_node() returned. Each node has one full-duplex card
// (nic.h). Frames of a connection arrive in order; bulk transfers are cut in chunks so that flows share a
// card. Bytes of pull and push move by plain copy between the addresses exposed and given, each chunk at the
// moment it arrives, and only if the region and the connection still stand: a withdrawn region is never
// touched. Nodes that talk to themselves use a loopback path that costs their card nothing.
//
// Ownership: the fabric must outlive all networks, listeners and connections made from it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "env/network.h"
#include "env/sim/network/nic.h"
#include "env/sim/simulation.h"

namespace tutti {

using NodeId = std::uint32_t;

struct FabricOptions {
  // Bulk bytes are charged for but not copied; what the receiver sees is whatever was there. For experiments.
  bool phantom_data = false;
  // A frame that has arrived waits for its process to run: 0 to so much, uniform, in order within a connection. Bulk
  // transfers are one-sided and do not wait, nor do frames for a process that polls.
  Nanos wake_jitter;
  // How long until both ends of a cut connection learn of it.
  Nanos detection_delay = 2_s;
  // How long a connect() to a node that is down or cut off tries.
  Nanos connect_timeout = 1_s;
  // Unread bytes of one direction at which a sender loses the connection.
  Bytes send_queue_limit = 64_MiB;
  // A node to itself.
  Nanos loopback_latency = 5_us;
  std::uint64_t loopback_bandwidth = 4'000'000'000;
};

struct NodeTraffic {
  std::uint64_t messages_sent = 0;
  Bytes bytes_sent;
  std::uint64_t messages_received = 0;
  Bytes bytes_received;
};

namespace sim {
class Fabric;
}

class SimNetwork {
 public:
  SimNetwork(Simulation& simulation, FabricOptions options, Random random);
  SimNetwork(const SimNetwork&) = delete;
  SimNetwork& operator=(const SimNetwork&) = delete;
  ~SimNetwork();

  NodeId add_node(const NicModel& nic = {});
  [[nodiscard]] std::size_t size() const;
  // The node's own network, lives as long as the fabric. Its identity is uid 0, gid 0, "node N" until set.
  Network& node(NodeId node);
  // Who connections made from node(id) from now on claim to be.
  void set_peer(NodeId node, Peer peer);
  // A network of another process on the node, with an identity of its own. One that `polls` need not be woken.
  std::unique_ptr<Network> process(NodeId node, Peer peer, bool polls = false);
  static std::string address(NodeId node, std::string_view name);

  // Also for experiments that slow one node down while it runs.
  void set_nic(NodeId node, const NicModel& nic);
  [[nodiscard]] NodeTraffic traffic(NodeId node) const;
  void set_phantom_data(bool phantom);

  // Connections between a and b lose what is on its way, carry nothing more, and end with Code::unavailable
  // at both ends after detection_delay, even if the path is healed before; connect() fails until heal().
  void cut(NodeId a, NodeId b);
  void heal(NodeId a, NodeId b);
  // Everything between a and b takes `factor` times as long on the wire (both cards are occupied as long).
  void slow(NodeId a, NodeId b, double factor);
  // Everything between a and b is on its way for so much longer.
  void delay(NodeId a, NodeId b, Nanos extra);
  // Power off: its connections end at once at both ends, its listeners break, connects to it time out.
  // Processes on it are the caller's to destroy.
  void down(NodeId node);
  void up(NodeId node);

 private:
  std::unique_ptr<sim::Fabric> fabric_;
};

}  // namespace tutti
