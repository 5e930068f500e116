// tutti stat: attributes and striping of files.
#include <memory>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/printable.h"

namespace tutti::cli {
namespace {

struct StatOptions {
  std::vector<std::string> paths;
  bool follow = false;
  bool json = false;
};

// The servers that hold the file, in the order of its stripes.
std::vector<std::uint32_t> servers_of(const Layout& layout) {
  std::vector<std::uint32_t> servers;
  for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot)
    servers.push_back(layout.server_of_slot(slot));
  return servers;
}

bool has_layout(const Attributes& attributes) {
  return attributes.type != FileType::symlink && attributes.layout.stripe_size > Bytes(0);
}

Json to_json(const std::string& path, const Attributes& attributes, const ClusterMap& map) {
  Json out = {{"path", path}};
  out.update(attributes_json(attributes));
  if (!has_layout(attributes)) return out;
  const Layout& layout = attributes.layout;
  out["stripe_size"] = layout.stripe_size.count();
  out["stripe_count"] = layout.stripe_count;
  if (attributes.type != FileType::file) return out;
  out["first_server"] = layout.first_server;
  out["servers"] = servers_of(layout);
  Json addresses = Json::array();
  for (const std::uint32_t server : servers_of(layout)) {
    addresses.push_back(server < map.data.size() ? map.data[server] : "");
  }
  out["addresses"] = addresses;
  return out;
}

void print_striping(const Attributes& attributes) {
  const Layout& layout = attributes.layout;
  if (attributes.type == FileType::file) {
    fmt::print(" Striping: {} on {} servers, beginning with {}: {}\n", to_string(layout.stripe_size),
               layout.stripe_count, layout.first_server, fmt::join(servers_of(layout), " "));
  } else if (has_layout(attributes)) {
    const std::string count = layout.stripe_count == 0 || layout.stripe_count == 0xffffffffU
                                  ? "the cluster's number of"
                                  : std::to_string(layout.stripe_count);
    fmt::print(" Striping: new files get {} on {} servers\n", to_string(layout.stripe_size), count);
  } else if (attributes.type == FileType::directory) {
    fmt::print(" Striping: new files get the default of the cluster\n");
  }
}

void print_text(const std::string& path, const Attributes& attributes) {
  const bool link = attributes.type == FileType::symlink;
  fmt::print("     Path: {}{}\n", shown(path), link ? " -> " + shown(attributes.target) : "");
  fmt::print("     Type: {}, inode {}, {} link{}\n", type_name(attributes.type), attributes.inode,
             attributes.links, attributes.links == 1 ? "" : "s");
  if (attributes.type == FileType::file && attributes.size_unknown.ok()) {
    fmt::print("     Size: {} ({})\n", attributes.size.count(), to_string(attributes.size));
  } else if (attributes.type == FileType::file) {
    fmt::print("     Size: unknown: {}\n", attributes.size_unknown.message());
  }
  fmt::print("   Access: {:04o}/{}, {}:{}\n", attributes.mode, mode_text(attributes.type, attributes.mode),
             user_name(attributes.uid), group_name(attributes.gid));
  print_striping(attributes);
  fmt::print(" Modified: {}\n  Changed: {}\n", time_text(attributes.modified), time_text(attributes.changed));
}

int run_stat(const Globals& globals, const StatOptions& options) {
  Json out = Json::array();
  const int code =
      for_each_path(globals, "stat", options.paths, [&](Client& client, const std::string& path) {
        const auto attributes = client.run(client.files().stat(path, options.follow));
        if (!attributes.ok()) return attributes.status();
        if (options.json) {
          out.push_back(to_json(path, *attributes, client.files().map()));
        } else {
          print_text(path, *attributes);
        }
        return Status();
      });
  // One path gives one object, several an array.
  if (options.json && !out.empty()) print_json(options.paths.size() == 1 ? out[0] : out);
  return code;
}

}  // namespace

void add_stat(Command& root) {
  auto options = std::make_shared<StatOptions>();
  Command stat = root.add("stat", "Show attributes and striping", "tutti stat --json /results.h5");
  stat.option("paths", options->paths, "Files and directories").required().not_empty();
  stat.flag("-L,--dereference", options->follow, "What symbolic links point to");
  stat.flag("--json", options->json, "Print JSON: an object, or an array for several paths");
  stat.action([&globals = root.globals(), options] { return run_stat(globals, *options); });
}

}  // namespace tutti::cli
