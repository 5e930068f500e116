// tutti chmod, tutti chown, tutti truncate.
#include <fmt/format.h>

#include <memory>

#include "base/parse.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/files/mode.h"

namespace tutti::cli {
namespace {

struct ChangeOptions {
  std::string what;  // mode, owner or size
  std::vector<std::string> paths;
  bool recursive = false;
};

using Change = std::function<Status(Client&, const std::string& path)>;

Status change_tree(Client& client, const std::string& path, const Change& change) {
  TUTTI_TRY(change(client, path));
  const auto there = client.run(client.files().stat(path, false));
  if (!there.ok()) return there.status();
  if (there->type != FileType::directory) return {};
  const auto entries = client.run(client.files().list(path, false));
  if (!entries.ok()) return entries.status();
  for (const DirectoryEntry& entry : *entries) {
    if (entry.type == FileType::symlink) continue;
    TUTTI_TRY(change_tree(client, join_path(path, entry.name), change).with_context(entry.name));
  }
  return {};
}

int run_change(const Globals& globals, const std::string& command, const ChangeOptions& options,
               const Change& change) {
  return for_each_path(globals, command, options.paths, [&](Client& client, const std::string& path) {
    return options.recursive ? change_tree(client, path, change) : change(client, path);
  });
}

Status change_mode(Client& client, const std::string& path, const std::string& mode) {
  const auto there = client.run(client.files().stat(path));
  if (!there.ok()) return there.status();
  const auto parsed = parse_mode(mode, there->mode, there->type == FileType::directory);
  if (!parsed.ok()) return parsed.status();
  AttributeChange change;
  change.mode = *parsed;
  return client.run(client.files().set_attributes(path, change));
}

int run_chmod(const Globals& globals, const ChangeOptions& options) {
  return run_change(globals, "chmod", options, [&](Client& client, const std::string& path) {
    return change_mode(client, path, options.what);
  });
}

int run_chown(const Globals& globals, const ChangeOptions& options) {
  const auto owner = parse_owner(options.what);
  if (!owner.ok()) return report("chown", owner.status());
  AttributeChange change;
  change.uid = owner->uid;
  change.gid = owner->gid;
  return run_change(globals, "chown", options, [&](Client& client, const std::string& path) {
    return client.run(client.files().set_attributes(path, change));
  });
}

int run_truncate(const Globals& globals, const ChangeOptions& options) {
  const auto size = parse_bytes(options.what);
  if (!size.ok()) return report("truncate", size.status());
  return for_each_path(globals, "truncate", options.paths, [&](Client& client, const std::string& path) {
    OpenOptions open;
    open.write = true;
    open.read = false;
    open.create = true;
    auto file = client.run(client.files().open(path, open));
    if (!file.ok()) return file.status();
    TUTTI_TRY(client.run((*file)->truncate(*size)));
    return client.run((*file)->close());
  });
}

}  // namespace

void add_attribute_commands(Command& root) {
  auto mode = std::make_shared<ChangeOptions>();
  Command chmod = root.add("chmod", "Change permissions", "tutti chmod -R u+rwX,go-w /archive");
  chmod.option("mode", mode->what, "Octal, or symbolic as in u+x,go-w")
      .required()
      .checked([](const std::string& text) { return parse_mode(text, 0, false).status(); });
  chmod.option("paths", mode->paths, "Files and directories").required().not_empty();
  chmod.flag("-R,--recursive", mode->recursive, "Directories with all they hold");
  chmod.action([&globals = root.globals(), mode] { return run_chmod(globals, *mode); });

  auto owner = std::make_shared<ChangeOptions>();
  Command chown = root.add("chown", "Change owner and group", "tutti chown -R alice:physics /runs");
  chown.option("owner", owner->what, "user, user:group or :group; names or numbers")
      .required()
      .checked([](const std::string& text) { return parse_owner(text).status(); });
  chown.option("paths", owner->paths, "Files and directories").required().not_empty();
  chown.flag("-R,--recursive", owner->recursive, "Directories with all they hold");
  chown.action([&globals = root.globals(), owner] { return run_chown(globals, *owner); });

  auto size = std::make_shared<ChangeOptions>();
  Command truncate =
      root.add("truncate", "Set the length of files; makes missing ones", "tutti truncate -s 10MiB /scratch");
  truncate.option("-s,--size", size->what, "Bytes, or with a unit as in 10MiB")
      .required()
      .checked([](const std::string& text) { return parse_bytes(text).status(); });
  truncate.option("paths", size->paths, "Files").required().not_empty();
  truncate.action([&globals = root.globals(), size] { return run_truncate(globals, *size); });
}

}  // namespace tutti::cli
