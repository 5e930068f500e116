// tutti serve: one daemon in the foreground.
#include <fmt/format.h>

#include <cstdint>
#include <memory>

#include "cli/command.h"
#include "daemon/coordinator_daemon.h"
#include "daemon/data_daemon.h"
#include "daemon/meta_daemon.h"

namespace tutti::cli {
namespace {

struct ServeOptions {
  DaemonOptions daemon;
  std::uint32_t index = 0;
};

int run_serve(const DaemonOptions& options, const std::string& name,
              const std::function<Status(Daemon&)>& serve) {
  return report("serve " + name, run_daemon(options, name, serve));
}

void add_common(Command& command, DaemonOptions& options) {
  command.option("--config", options.config, "The cluster.toml of the state directory").required();
  command.option("--log", options.log, "Append the log to this file instead of standard error");
  command.option("--ready-fd", options.ready_fd, "Tell this descriptor when it serves").hidden();
}

}  // namespace

void add_serve(Command& root) {
  auto options = std::make_shared<ServeOptions>();
  Command serve = root.add("serve", "Run one daemon in the foreground, for service managers",
                           "tutti serve data --index 0 --config ~/.tutti/cluster.toml");
  serve.needs_command();
  Command meta = serve.add("meta", "The metadata server", "tutti serve meta --config D/cluster.toml");
  add_common(meta, options->daemon);
  meta.action([options] { return run_serve(options->daemon, "meta", serve_meta); });
  Command data = serve.add("data", "A data server", "tutti serve data --index 2 --config D/cluster.toml");
  add_common(data, options->daemon);
  data.option("--index", options->index, "Its number in the cluster, from 0").required();
  data.action([options] {
    return run_serve(options->daemon, fmt::format("data.{}", options->index),
                     [index = options->index](Daemon& daemon) { return serve_data(daemon, index); });
  });
  Command coordinator =
      serve.add("coordinator", "The coordinator, where the cluster file names one beside the metadata server",
                "tutti serve coordinator --config D/cluster.toml");
  add_common(coordinator, options->daemon);
  coordinator.action([options] { return run_serve(options->daemon, "coordinator", serve_coordinator); });
}

}  // namespace tutti::cli
