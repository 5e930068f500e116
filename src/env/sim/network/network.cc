#include "env/sim/network/network.h"

#include <charconv>
#include <cmath>
#include <deque>

#include "env/sim/network/link.h"

namespace tutti {

namespace sim {

class SimListener final : public Listener {
 public:
  SimListener(Fabric& fabric, Node& node, std::string name, bool polls)
      : node_(&node), name_(std::move(name)), polls_(polls), arrived_(fabric.executor) {}
  ~SimListener() override {
    if (node_ != nullptr) node_->listeners.erase(name_);
  }

  Task<Result<std::unique_ptr<Connection>>> accept() override {
    while (waiting_.empty()) {
      if (node_ == nullptr) {
        co_return Status(Code::unavailable, "accept at " + name_ + ": the node went down; listen again");
      }
      arrived_.reset();
      co_await arrived_.wait();
    }
    auto connection = std::move(waiting_.front());
    waiting_.pop_front();
    co_return connection;
  }

  void add(std::unique_ptr<Connection> connection) {
    waiting_.push_back(std::move(connection));
    arrived_.set();
  }
  [[nodiscard]] bool polls() const { return polls_; }
  // The node is down.
  void break_off() {
    node_ = nullptr;
    waiting_.clear();
    arrived_.set();
  }

 private:
  Node* node_;
  std::string name_;
  bool polls_;
  std::deque<std::unique_ptr<Connection>> waiting_;
  Event arrived_;
};

namespace {

struct Address {
  NodeId node = 0;
  std::string name;
};

Result<Address> parse(const Fabric& fabric, const std::string& text) {
  Address address;
  const std::size_t slash = text.find('/');
  const char* digits = text.data() + 4;
  if (!text.starts_with("sim:") || slash == std::string::npos || slash + 1 == text.size() ||
      std::from_chars(digits, text.data() + slash, address.node).ptr != text.data() + slash || slash == 4) {
    return Status(Code::invalid, "address " + text + ": expected sim:NODE/NAME");
  }
  if (address.node >= fabric.nodes.size()) {
    return Status(Code::invalid, "address " + text + ": the fabric has no such node");
  }
  address.name = text.substr(slash + 1);
  return address;
}

Task<Result<std::unique_ptr<Connection>>> connect_from(Fabric& fabric, Node& from, Peer identity, bool polls,
                                                       std::string text) {
  const Result<Address> address = parse(fabric, text);
  if (!address.ok()) co_return address.status();
  Node& to = *fabric.nodes[address->node];
  Path& path = fabric.path(from.id, to.id);
  const Nanos loopback = fabric.options.loopback_latency;
  if (from.up && to.up && !path.cut) {
    co_await fabric.clock.sleep(&from == &to ? loopback : fabric.latency(from, to, path));
  }
  if (!from.up || !to.up || path.cut) {
    co_await fabric.clock.sleep(fabric.options.connect_timeout);
    co_return Status(Code::unavailable, "connect to " + text + ": the node is unreachable");
  }
  std::unique_ptr<Connection> mine;
  if (const auto listener = to.listeners.find(address->name); listener != to.listeners.end()) {
    const LinkRef link(new Link(fabric, path, from, to));  // NOLINT(cppcoreguidelines-owning-memory): counted
    link->ends[0].peer = to.peer;
    link->ends[1].peer = std::move(identity);
    link->ends[0].polls = polls;
    link->ends[1].polls = listener->second->polls();
    mine = make_connection(link, 0);
    listener->second->add(make_connection(link, 1));
  }
  co_await fabric.clock.sleep(&from == &to ? loopback : fabric.latency(to, from, path));
  if (!mine) co_return Status(Code::unavailable, "connect to " + text + ": nobody listens there");
  co_return mine;
}

class NodeNetwork final : public Network {
 public:
  NodeNetwork(Fabric& fabric, Node& node) : fabric_(fabric), node_(node) {}
  NodeNetwork(Fabric& fabric, Node& node, Peer peer, bool polls)
      : fabric_(fabric), node_(node), peer_(std::move(peer)), polls_(polls) {}

  Task<Result<std::unique_ptr<Connection>>> connect(const std::string& address) override {
    return connect_from(fabric_, node_, peer_ ? *peer_ : node_.peer, polls_, address);
  }

  Result<std::unique_ptr<Listener>> listen(const std::string& address) override {
    const Result<Address> parsed = parse(fabric_, address);
    if (!parsed.ok()) return parsed.status();
    if (parsed->node != node_.id) {
      return Status(Code::invalid, "listen at " + address + ": that is another node's address");
    }
    if (!node_.up) return Status(Code::unavailable, "listen at " + address + ": the node is down");
    if (node_.listeners.contains(parsed->name)) {
      return Status(Code::exists, "listen at " + address + ": somebody listens there already");
    }
    auto listener = std::make_unique<SimListener>(fabric_, node_, parsed->name, polls_);
    node_.listeners.emplace(parsed->name, listener.get());
    return std::unique_ptr<Listener>(std::move(listener));
  }

 private:
  Fabric& fabric_;
  Node& node_;
  std::optional<Peer> peer_;
  bool polls_ = false;
};

}  // namespace

}  // namespace sim

SimNetwork::SimNetwork(Simulation& simulation, FabricOptions options, Random random)
    : fabric_(std::make_unique<sim::Fabric>(simulation, options, random)) {}
SimNetwork::~SimNetwork() = default;

NodeId SimNetwork::add_node(const NicModel& nic) {
  const auto id = static_cast<NodeId>(fabric_->nodes.size());
  auto node = std::make_unique<sim::Node>();
  node->id = id;
  node->set_nic(nic);
  node->peer.name = "node " + std::to_string(id);
  fabric_->networks.push_back(std::make_unique<sim::NodeNetwork>(*fabric_, *node));
  fabric_->nodes.push_back(std::move(node));
  return id;
}

std::size_t SimNetwork::size() const { return fabric_->nodes.size(); }
Network& SimNetwork::node(NodeId node) { return *fabric_->networks.at(node); }
void SimNetwork::set_peer(NodeId node, Peer peer) { fabric_->nodes.at(node)->peer = std::move(peer); }
std::unique_ptr<Network> SimNetwork::process(NodeId node, Peer peer, bool polls) {
  return std::make_unique<sim::NodeNetwork>(*fabric_, *fabric_->nodes.at(node), std::move(peer), polls);
}
std::string SimNetwork::address(NodeId node, std::string_view name) {
  return "sim:" + std::to_string(node) + "/" + std::string(name);
}
void SimNetwork::set_nic(NodeId node, const NicModel& nic) { fabric_->nodes.at(node)->set_nic(nic); }
NodeTraffic SimNetwork::traffic(NodeId node) const { return fabric_->nodes.at(node)->traffic; }
void SimNetwork::set_phantom_data(bool phantom) { fabric_->options.phantom_data = phantom; }

namespace {

// Severs the links that `chosen` picks. The list may change under a lost link's owner only later, from the
// run queue, so it can be walked.
template <typename Chosen>
void sever_links(sim::Fabric& fabric, Nanos detection, Chosen chosen) {
  for (sim::Link* link = fabric.links; link != nullptr; link = link->next) {
    if (chosen(link->ends[0].node->id, link->ends[1].node->id)) link->sever(detection);
  }
}

}  // namespace

void SimNetwork::cut(NodeId a, NodeId b) {
  fabric_->path(a, b).cut = true;
  sever_links(*fabric_, fabric_->options.detection_delay, [a, b](NodeId client, NodeId server) {
    return (client == a && server == b) || (client == b && server == a);
  });
}

void SimNetwork::heal(NodeId a, NodeId b) { fabric_->path(a, b).cut = false; }

void SimNetwork::slow(NodeId a, NodeId b, double factor) {
  fabric_->path(a, b).factor_q10 = std::llround(factor * 1024);
}

void SimNetwork::delay(NodeId a, NodeId b, Nanos extra) { fabric_->path(a, b).extra = extra; }

void SimNetwork::down(NodeId id) {
  sim::Node& node = *fabric_->nodes.at(id);
  node.up = false;
  auto listeners = std::exchange(node.listeners, {});
  for (const auto& [name, listener] : listeners) listener->break_off();
  sever_links(*fabric_, Nanos(), [id](NodeId client, NodeId server) { return client == id || server == id; });
}

void SimNetwork::up(NodeId id) {
  sim::Node& node = *fabric_->nodes.at(id);
  node.up = true;
  node.transmit_free = fabric_->simulation.now();
  node.reception.clear();
}

}  // namespace tutti
