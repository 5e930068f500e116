// tutti mv, tutti ln.
#include <fmt/format.h>

#include <memory>

#include "cli/client.h"
#include "cli/command.h"

namespace tutti::cli {
namespace {

struct NameOptions {
  std::vector<std::string> paths;  // sources, then the destination
  bool symbolic = false;
  bool no_clobber = false;
};

using Action = std::function<Status(Client&, const std::string& from, const std::string& to)>;

// As mv and ln do: a destination that is a directory takes the sources in.
int for_each_pair(const Globals& globals, const std::string& command, const NameOptions& options,
                  const Action& action) {
  auto client = Client::open(globals);
  if (!client.ok()) return report(command, client.status());
  const std::string destination = cluster_path(options.paths.back());
  const auto there = (*client)->run((*client)->files().stat(destination));
  const bool into = there.ok() && there->type == FileType::directory;
  if (!into && options.paths.size() > 2) {
    return report(command, Status(Code::not_directory, options.paths.back() + " is not a directory"));
  }
  int code = kSuccess;
  for (std::size_t i = 0; i + 1 < options.paths.size(); ++i) {
    const std::string& from = options.paths[i];
    const std::string to = into ? join_path(destination, base_name(cluster_path(from))) : destination;
    const Status status = action(**client, from, to);
    if (!status.ok()) {
      print_error(fmt::format("{} {} {}", command, from, options.paths.back()), status);
      code = kFailure;
    }
  }
  return code;
}

int run_mv(const Globals& globals, const NameOptions& options) {
  return for_each_pair(globals, "mv", options,
                       [&](Client& client, const std::string& from, const std::string& to) {
                         return client.run(client.files().rename(cluster_path(from), to, options.no_clobber));
                       });
}

int run_ln(const Globals& globals, const NameOptions& options) {
  return for_each_pair(globals, "ln", options,
                       [&](Client& client, const std::string& from, const std::string& to) {
                         // The text of a symbolic link stays as it was given.
                         if (options.symbolic) return client.run(client.files().symlink(from, to));
                         return client.run(client.files().link(cluster_path(from), to));
                       });
}

}  // namespace

void add_name_commands(Command& root) {
  auto mv_options = std::make_shared<NameOptions>();
  Command mv = root.add("mv", "Rename or move", "tutti mv /results.new /results");
  mv.option("paths", mv_options->paths, "SOURCE... DESTINATION").required().at_least(2).not_empty();
  mv.flag("-n,--no-clobber", mv_options->no_clobber, "Fail if the destination exists");
  mv.action([&globals = root.globals(), mv_options] { return run_mv(globals, *mv_options); });

  auto ln_options = std::make_shared<NameOptions>();
  Command ln = root.add("ln", "Make links", "tutti ln -s /runs/42 /latest");
  ln.option("paths", ln_options->paths, "TARGET... LINK").required().at_least(2).not_empty();
  ln.flag("-s,--symbolic", ln_options->symbolic, "A symbolic link");
  ln.action([&globals = root.globals(), ln_options] { return run_ln(globals, *ln_options); });
}

}  // namespace tutti::cli
