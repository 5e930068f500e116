// tutti mkdir, tutti rmdir.
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <memory>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/files/mode.h"
#include "cli/files/striping.h"

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
    Status made = client.run(client.files().make_directory(part, last ? mode : 0755U, wish));
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

void add_directory_commands(Command& root) {
  auto options = std::make_shared<MkdirOptions>();
  Command mkdir = root.add("mkdir", "Make directories; new files in them inherit the striping",
                           "tutti mkdir -p /archive/run42 --stripe-size 1MiB --stripe-count 2");
  mkdir.option("paths", options->paths, "Directories").required().not_empty();
  mkdir.flag("-p,--parents", options->parents, "Make missing parents; no error if it exists");
  mkdir.option("-m,--mode", options->mode, "Permissions, octal or symbolic")
      .checked([](const std::string& text) { return parse_mode(text, 0777U, true).status(); });
  add_striping(mkdir, options->striping);
  mkdir.action([&globals = root.globals(), options] { return run_mkdir(globals, *options); });

  auto paths = std::make_shared<std::vector<std::string>>();
  Command rmdir = root.add("rmdir", "Remove empty directories", "tutti rmdir /archive/empty");
  rmdir.option("paths", *paths, "Directories").required().not_empty();
  rmdir.action([&globals = root.globals(), paths] {
    return for_each_path(globals, "rmdir", *paths, [](Client& client, const std::string& path) {
      return client.run(client.files().remove_directory(path));
    });
  });
}

}  // namespace tutti::cli
