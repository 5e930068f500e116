// tutti server: the stores of a cluster's daemons, which come into being by these commands and by `tutti up` only.
#include <filesystem>
#include <memory>

#include "cli/cluster/choose_directory.h"
#include "cli/command.h"
#include "cli/output.h"
#include "client/cluster_config.h"
#include "daemon/make_store.h"

namespace tutti::cli {
namespace {

struct ServerOptions {
  std::vector<std::string> names;
  bool replace = false;
};

int run_on_each(
    const Globals& globals, const char* command, const ServerOptions& options,
    const std::function<Status(const StateDirectory&, const ClusterConfig&, const std::string&)>& act) {
  const auto state = choose_state_directory(globals);
  if (!state.ok()) return report(command, state.status());
  if (const Status status = state->check(); !status.ok()) return report(command, status);
  const auto config = ClusterConfig::load(state->config_path());
  if (!config.ok()) return report(command, config.status());
  std::error_code ignored;
  std::filesystem::create_directory(state->path() + "/run", ignored);
  for (const std::string& name : options.names) {
    if (const Status status = act(*state, *config, name); !status.ok())
      return report(fmt::format("{} {}", command, name), status);
    fmt::print("{}\n", state->store_path(name));
  }
  return kSuccess;
}

}  // namespace

void add_server(Command& root) {
  auto options = std::make_shared<ServerOptions>();
  Command server = root.add("server", "Make or upgrade the stores of daemons that are started one by one",
                            "tutti --dir /var/lib/tutti server init meta data.0");
  server.needs_command();
  const char* names = "meta, coordinator, data.0 and so on";
  Command init = server.add("init", "Make new stores in the state directory; refuses those that exist",
                            "tutti --dir /var/lib/tutti server init data.1");
  init.option("name", options->names, names).required();
  init.flag("--replace", options->replace,
            "Take the place of a data server's store that is lost: its objects are gone");
  init.action([&globals = root.globals(), options] {
    return run_on_each(globals, "server init", *options,
                       [replace = options->replace](const StateDirectory& state, const ClusterConfig& config,
                                                    const std::string& name) {
                         return make_store(state, config, name, replace);
                       });
  });
  Command upgrade =
      server.add("upgrade", "Give stores of an older format an identity; nothing may serve them",
                 "tutti --dir /var/lib/tutti server upgrade meta data.0");
  upgrade.option("name", options->names, names).required();
  upgrade.action([&globals = root.globals(), options] {
    return run_on_each(globals, "server upgrade", *options,
                       [](const StateDirectory& state, const ClusterConfig& config, const std::string& name) {
                         return upgrade_store(state, config, name);
                       });
  });
}

}  // namespace tutti::cli
