#include <fmt/format.h>

#include <array>
#include <set>

#include "base/config.h"
#include "lab/scenario/scenario.h"
#include "policy/collective/plan.h"
#include "policy/target/order.h"

namespace tutti {
namespace {

constexpr Nanos kLongest = 1'000'000_s;
constexpr Bytes kLargest = Bytes(std::uint64_t{1} << 50U);

const std::array<std::string, 4> kPatterns = {"sequential", "strided", "random", "tiles"};
const std::array<std::string, 2> kOperations = {"read", "write"};
const std::array<std::string, 2> kFiles = {"shared", "own"};
const std::array<std::string, 4> kActions = {"stop", "power-loss", "cut", "slow"};
const std::array<std::string, 3> kNetworks = {"gigabit-ethernet", "infiniband-4x-sdr", "infiniband-4x-ddr"};

template <typename Choices>
std::size_t index_of(ConfigReader& reader, std::string_view key, std::size_t fallback,
                     const Choices& choices) {
  const std::string chosen = reader.choice(key, choices[fallback], choices);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == chosen) return i;
  }
  return fallback;
}

LayoutWish read_layout(ConfigReader& reader, std::uint32_t servers) {
  LayoutWish wish;
  wish.stripe_size = reader.bytes("stripe_size", 0_B, Layout::kMinStripe, Layout::kMaxStripe);
  wish.stripe_count = static_cast<std::uint32_t>(reader.integer("stripe_count", 0, 1, servers));
  wish.first_server =
      static_cast<std::int32_t>(reader.integer("first_server", -1, 0, std::int64_t{servers} - 1));
  return wish;
}

// A named network, its figures changed where the file gives others.
NicModel read_network(ConfigReader& cluster, ConfigReader network) {
  NicModel nic;
  switch (index_of(cluster, "network", 0, kNetworks)) {
    case 1:
      nic = NicModel::infiniband_4x_sdr();
      break;
    case 2:
      nic = NicModel::infiniband_4x_ddr();
      break;
    default:
      nic = NicModel::gigabit_ethernet();
      break;
  }
  nic.bandwidth = network.bytes("bandwidth", Bytes(nic.bandwidth), 1_KiB, kLargest).count();
  nic.latency = network.duration("latency", nic.latency, Nanos(), kLongest);
  nic.jitter = network.duration("jitter", nic.jitter, Nanos(), kLongest);
  nic.per_message = network.duration("per_message", nic.per_message, Nanos(), kLongest);
  nic.chunk = network.bytes("chunk", nic.chunk, 512_B, 64_MiB);
  return nic;
}

void read_cluster(ConfigReader reader, ConfigReader root, Scenario& scenario) {
  SimClusterOptions& options = scenario.cluster;
  options.seed = reader.identifier("seed", 1);
  options.servers = static_cast<std::uint32_t>(reader.integer("servers", 4, 1, 4096));
  options.nic = read_network(reader, root.table("network"));
  options.policy = reader.string("policy", "fcfs");
  if (const auto policy = make_request_policy(options.policy); !policy.ok()) {
    reader.fail("policy", policy.status().message());
  }
  scenario.target_order = reader.string("target_order", kDefaultTargetOrder);
  if (const auto order = make_target_order(scenario.target_order); !order.ok()) {
    reader.fail("target_order", order.status().message());
  }
  read_storage(reader, options.storage);
  options.meta.stripe_size = reader.bytes("stripe_size", 64_KiB, Layout::kMinStripe, Layout::kMaxStripe);
  scenario.processes_per_node = static_cast<std::uint32_t>(reader.integer("processes_per_node", 1, 1, 65536));
  scenario.limit = reader.duration("limit", 3600_s, 1_ms, kLongest);
}

ApplicationSpec read_application(ConfigReader& reader, std::size_t index, std::uint32_t servers) {
  ApplicationSpec spec;
  spec.name = reader.string("name", fmt::format("app{}", index + 1));
  spec.id = reader.identifier("id", index + 1);
  spec.processes = static_cast<std::uint32_t>(reader.integer("processes", 1, 1, 65536));
  spec.start = reader.duration("start", Nanos(), Nanos(), kLongest);
  spec.start_jitter = reader.duration("start_jitter", Nanos(), Nanos(), kLongest);
  spec.write = index_of(reader, "operation", 0, kOperations) == 1;
  spec.pattern = static_cast<AccessPattern>(index_of(reader, "pattern", 0, kPatterns));
  spec.request = reader.bytes("request", 1_MiB, 1_B, 4_GiB);
  spec.requests = static_cast<std::uint64_t>(reader.integer("requests", 1, 1, 100'000'000));
  spec.shared = index_of(reader, "file", 0, kFiles) == 0;
  spec.piece = reader.bytes("piece", 4_KiB, 1_B, 4_GiB);
  spec.columns = static_cast<std::uint32_t>(reader.integer("columns", 0, 0, spec.processes));
  if (spec.pattern == AccessPattern::tiles && !spec.shared)
    reader.fail("pattern", "tiles are of a shared file");
  if (spec.pattern == AccessPattern::tiles && spec.request % spec.piece != 0_B) {
    reader.fail("piece", "a request must be a number of whole pieces");
  }
  if (spec.columns > 0 && spec.processes % spec.columns != 0) {
    reader.fail("columns", "the rows of processes must be full");
  }
  spec.layout = read_layout(reader, servers);
  spec.think = reader.duration("think", Nanos(), Nanos(), kLongest);
  spec.barrier = reader.boolean("barrier", false);
  spec.sync = reader.boolean("sync", false);
  spec.collective = reader.string("collective", "");
  spec.cb_nodes = static_cast<int>(reader.integer("cb_nodes", 0, 0, 1'000'000));
  spec.cb_buffer_size = reader.bytes("cb_buffer_size", spec.cb_buffer_size, 1_KiB, 4_GiB);
  if (!spec.collective.empty()) {
    if (const auto plan = make_collective_plan(spec.collective); !plan.ok())
      reader.fail("collective", plan.status().message());
    if (!spec.shared || spec.pattern == AccessPattern::random)
      reader.fail("collective", "collective calls are of a shared file, and not at random places");
  }
  if (spec.id == 0) reader.fail("id", "0 is no application: use another number");
  return spec;
}

EventSpec read_event(ConfigReader& reader, std::uint32_t servers) {
  EventSpec spec;
  spec.action = static_cast<EventAction>(index_of(reader, "action", 0, kActions));
  reader.require("at");
  spec.at = reader.duration("at", Nanos(), Nanos(), kLongest);
  spec.duration = reader.duration("for", 1_s, Nanos(), kLongest);
  spec.meta = reader.boolean("meta", false);
  spec.server = static_cast<std::uint32_t>(reader.integer("server", 0, 0, std::int64_t{servers} - 1));
  spec.factor = reader.number("factor", 10, 1, 1e6);
  return spec;
}

Result<Scenario> read(ConfigReader root) {
  Scenario scenario;
  scenario.name = root.string("name", "scenario");
  root.string("description");  // for people
  read_cluster(root.table("cluster"), root, scenario);
  std::uint32_t processes = 0;
  std::set<std::string> names;
  for (ConfigReader& reader : root.tables("application")) {
    scenario.applications.push_back(
        read_application(reader, scenario.applications.size(), scenario.cluster.servers));
    processes += scenario.applications.back().processes;
    if (!names.insert(scenario.applications.back().name).second) {
      reader.fail("name", "another application has this name");
    }
  }
  for (ConfigReader& reader : root.tables("event")) {
    scenario.events.push_back(read_event(reader, scenario.cluster.servers));
  }
  if (scenario.applications.empty())
    root.fail("application", "a scenario needs at least one [[application]]");
  TUTTI_TRY(root.finish());
  scenario.cluster.client_nodes = (processes + scenario.processes_per_node - 1) / scenario.processes_per_node;
  return scenario;
}

}  // namespace

Result<Scenario> parse_scenario(std::string_view text, const std::string& name) {
  auto reader = ConfigReader::parse(text, name);
  if (!reader.ok()) return reader.status();
  return read(*reader);
}

Result<Scenario> load_scenario(const std::string& path) {
  auto reader = ConfigReader::load(path);
  if (!reader.ok()) return reader.status();
  return read(*reader);
}

}  // namespace tutti
