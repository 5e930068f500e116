// tutti scrub: whether the data servers' disks still give the bytes that were written.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/parse.h"
#include "cli/cluster/choose_directory.h"
#include "cli/cluster/read_metadata.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/printable.h"
#include "cli/progress.h"
#include "client/cluster_config.h"
#include "daemon/scrub.h"

namespace tutti::cli {
namespace {

struct Arguments {
  std::string rate = "100MiB";
  bool json = false;
};

// A rotten block, as people know it.
struct Place {
  std::uint32_t server = 0;
  std::uint64_t inode = 0;
  Bytes object_offset;
  std::string path;             // "inode 17" if it has no name, or the metadata are not here
  std::optional<Bytes> offset;  // in the file, if its layout is known
};

std::optional<std::uint32_t> slot_of(const Layout& layout, std::uint32_t server) {
  for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot) {
    if (layout.server_of_slot(slot) == server) return slot;
  }
  return std::nullopt;
}

std::vector<Place> places_of(const StateDirectory& state, const std::vector<ScrubbedServer>& servers) {
  std::vector<Place> places;
  std::optional<check::Snapshot> metadata;
  const bool some =
      std::any_of(servers.begin(), servers.end(), [](const auto& each) { return !each.rotten.empty(); });
  if (some) {
    auto snapshot = read_metadata(state);
    if (snapshot.ok()) metadata = *std::move(snapshot);
  }
  for (std::uint32_t server = 0; server < servers.size(); ++server) {
    for (const RottenBlock& block : servers[server].rotten) {
      Place place{server, block.object.value, block.offset, fmt::format("inode {}", block.object.value), {}};
      if (metadata && metadata->inodes.contains(place.inode)) {
        const Layout& layout = metadata->inodes.at(place.inode).layout;
        place.path = metadata->path_of(place.inode);
        if (const auto slot = slot_of(layout, server)) place.offset = layout.file_offset(*slot, block.offset);
      }
      places.push_back(std::move(place));
    }
  }
  return places;
}

Json to_json(const std::vector<ScrubbedServer>& servers, const std::vector<Place>& places) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const ScrubbedServer& each = servers[i];
    Json row = {{"server", i},
                {"checksums", each.checksums},
                {"objects", each.objects},
                {"bytes", each.bytes.count()},
                {"checked", each.checked.count()},
                {"summed", each.summed.count()}};
    if (!each.status.ok()) row["error"] = each.status.to_string();
    rows.push_back(row);
  }
  Json rotten = Json::array();
  for (const Place& each : places) {
    Json row = {{"server", each.server},
                {"inode", each.inode},
                {"path", each.path},
                {"object_offset", each.object_offset.count()}};
    if (each.offset) row["offset"] = each.offset->count();
    rotten.push_back(row);
  }
  return {{"servers", rows}, {"rotten", rotten}};
}

void print(const std::vector<ScrubbedServer>& servers, const std::vector<Place>& places) {
  for (const Place& each : places) {
    fmt::print("rotten: {}, offset {}, on data server {} (object {:016x}, offset {})\n", printable(each.path),
               each.offset ? fmt::format("{}", each.offset->count()) : "unknown", each.server, each.inode,
               each.object_offset.count());
  }
  Bytes bytes;
  Bytes checked;
  Bytes summed;
  std::vector<std::string> without;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    const ScrubbedServer& each = servers[i];
    bytes += each.bytes;
    checked += each.checked;
    summed += each.summed;
    if (!each.status.ok()) fmt::print("data server {}: {}\n", i, each.status.message());
    if (each.status.ok() && !each.checksums) without.push_back(std::to_string(i));
  }
  if (!without.empty())
    fmt::print("no checksums are kept by data servers {}: `checksums` in cluster.toml\n",
               fmt::join(without, ", "));
  fmt::print(
      "{} stored, holes included: {} agree with their checksums, {} had none and have now; {} rotten "
      "blocks\n",
      to_string(bytes), to_string(checked), to_string(summed), places.size());
}

int run_scrub(const Globals& globals, const Arguments& arguments) {
  const auto rate = parse_bytes(arguments.rate);
  if (!rate.ok()) return report("scrub", rate.status().with_context("--rate"));
  const auto state = choose_state_directory(globals);
  if (!state.ok()) return report("scrub", state.status());
  if (const Status status = state->check(); !status.ok()) return report("scrub", status);
  const auto config = ClusterConfig::load(state->config_path());
  if (!config.ok()) return report("scrub", config.status());
  const auto key = ServerKey::load(state->key_path());
  if (!key.ok()) return report("scrub", key.status());
  Loop loop;
  std::optional<Progress> progress;
  ScrubOptions options;
  options.rate = *rate;
  options.begins = [&](Bytes total) { progress.emplace(loop.clock(), "scrub", total); };
  options.advances = [&](Bytes bytes) { progress->advance(bytes); };
  const std::vector<ScrubbedServer> servers = scrub(loop, *config, *key, options);
  progress.reset();
  const std::vector<Place> places = places_of(*state, servers);
  if (arguments.json) {
    print_json(to_json(servers, places));
  } else {
    print(servers, places);
  }
  const bool asked =
      std::all_of(servers.begin(), servers.end(), [](const auto& each) { return each.status.ok(); });
  return places.empty() && asked ? kSuccess : kFailure;
}

}  // namespace

void add_scrub(Command& root) {
  auto arguments = std::make_shared<Arguments>();
  Command scrub = root.add(
      "scrub", "Compare all stored bytes with their checksums, while the cluster runs; exit 1 if some differ",
      "tutti scrub --rate 200MiB");
  scrub.option("--rate", arguments->rate, "Bytes a second that each data server reads at most; 0: no limit")
      .show_default()
      .checked([](const std::string& text) { return parse_bytes(text).status(); });
  scrub.flag("--json", arguments->json, "Print JSON");
  scrub.action([&globals = root.globals(), arguments] { return run_scrub(globals, *arguments); });
}

}  // namespace tutti::cli
