// tutti rm: removes files and trees.
#include <memory>

#include "cli/client.h"
#include "cli/command.h"

namespace tutti::cli {
namespace {

struct RmOptions {
  std::vector<std::string> paths;
  bool recursive = false;
  bool force = false;
};

Status remove_tree(Client& client, const std::string& path) {
  const auto entries = client.run(client.files().list(path, false));
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    const std::string child = join_path(path, entry.name);
    Status removed = entry.type == FileType::directory ? remove_tree(client, child)
                                                       : client.run(client.files().unlink(child));
    // Somebody else may have been faster.
    if (!removed.ok() && removed.code() != Code::not_found) return removed;
  }
  return client.run(client.files().remove_directory(path));
}

Status remove(Client& client, const std::string& path, const RmOptions& options) {
  const auto there = client.run(client.files().stat(path, false));
  if (!there.ok()) {
    return options.force && there.code() == Code::not_found ? Status() : there.status();
  }
  if (there->type != FileType::directory) return client.run(client.files().unlink(path));
  if (!options.recursive) return {Code::is_directory, "is a directory; use -r, or rmdir if it is empty"};
  if (path.find_first_not_of("/.") == std::string::npos) {
    return {Code::invalid, "will not remove the root; name what is in it"};
  }
  return remove_tree(client, path);
}

}  // namespace

void add_rm(Command& root) {
  auto options = std::make_shared<RmOptions>();
  Command rm = root.add("rm", "Remove files and, with -r, directories", "tutti rm -r /archive/run41");
  rm.option("paths", options->paths, "What to remove").required().not_empty();
  rm.flag("-r,-R,--recursive", options->recursive, "Directories with all they hold");
  rm.flag("-f,--force", options->force, "Say nothing of what does not exist");
  rm.action([&globals = root.globals(), options] {
    return for_each_path(globals, "rm", options->paths, [&](Client& client, const std::string& path) {
      return remove(client, path, *options);
    });
  });
}

}  // namespace tutti::cli
