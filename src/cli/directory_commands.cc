// tutti mkdir, tutti rmdir.
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <memory>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/mode.h"
#include "cli/striping.h"

namespace tutti::cli {
namespace {

struct MkdirOptions {
  std::vector<std::string> paths;
  bool parents = false;
  std::string mode;
  StripingOptions striping;
};

Status make_with_parents(Client& client, const std::string& path, std::uint32_t mode, LayoutWish layout) {
  for (std::size_t slash = path.find('/', 1);; slash = path.find('/', slash + 1)) {
    const bool last = slash == std::string::npos;
    const std::string part = path.substr(0, slash);
    const LayoutWish wish = last ? layout : LayoutWish();
    const Status made = client.run(client.files().make_directory(part, last ? mode : 0755U, wish));
    if (!made.ok()) {
      const auto there = client.run(client.files().stat(part));
      if (!there.ok() || there->type != FileType::directory) return made;
    }
    if (last) return {};
  }
}

int run_mkdir(const Globals& globals, const MkdirOptions& options) {
  const auto layout = layout_wish(options.striping);
  if (!layout.ok()) return report("mkdir", layout.status());
  const mode_t mask = ::umask(0);
  ::umask(mask);
  std::uint32_t mode = 0777U & ~mask;
  if (!options.mode.empty()) {
    const auto parsed = parse_mode(options.mode, 0777U, true);
    if (!parsed.ok()) return report("mkdir", parsed.status());
    mode = *parsed;
  }
  return for_each_path(globals, "mkdir", options.paths, [&](Client& client, std::string path) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    return options.parents ? make_with_parents(client, path, mode, *layout)
                           : client.run(client.files().make_directory(path, mode, *layout));
  });
}

}  // namespace

void add_directory_commands(CLI::App& root, Context& context) {
  auto options = std::make_shared<MkdirOptions>();
  CLI::App* mkdir = add_command(root, "mkdir", "Make directories; new files in them inherit the striping",
                                "tutti mkdir -p /archive/run42 --stripe-size 1MiB --stripe-count 2");
  mkdir->add_option("paths", options->paths, "Directories")->required();
  mkdir->add_flag("-p,--parents", options->parents, "Make missing parents; no error if it exists");
  mkdir->add_option("-m,--mode", options->mode, "Permissions, octal or symbolic");
  add_striping(mkdir, options->striping);
  mkdir->callback([&context, options] {
    context.action = [&context, options] { return run_mkdir(context.globals, *options); };
  });

  auto paths = std::make_shared<std::vector<std::string>>();
  CLI::App* rmdir = add_command(root, "rmdir", "Remove empty directories", "tutti rmdir /archive/empty");
  rmdir->add_option("paths", *paths, "Directories")->required();
  rmdir->callback([&context, paths] {
    context.action = [&context, paths] {
      return for_each_path(context.globals, "rmdir", *paths, [](Client& client, const std::string& path) {
        return client.run(client.files().remove_directory(path));
      });
    };
  });
}

}  // namespace tutti::cli
