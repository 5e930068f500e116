// tutti ls: lists directories.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/printable.h"

namespace tutti::cli {
namespace {

struct LsOptions {
  std::vector<std::string> paths;
  bool detailed = false;
  bool all = false;
  bool recursive = false;
  bool directory = false;
  bool json = false;
};

struct Row {
  std::string name;
  std::string path;
  FileType type = FileType::file;
  std::optional<Attributes> attributes;
};

class Lister {
 public:
  Lister(Client& client, const LsOptions& options) : client_(client), options_(options) {}

  // Files among the arguments come first and together, as with ls.
  int run() {
    std::vector<Row> files;
    std::vector<std::string> directories;
    for (const std::string& argument : options_.paths) {
      const std::string path = cluster_path(argument);
      const auto there = client_.run(client_.files().stat(path, !options_.detailed));
      if (!there.ok()) {
        fail(argument, there.status());
      } else if (there->type == FileType::directory && !options_.directory) {
        directories.push_back(path);
      } else {
        files.push_back({argument, path, there->type, *there});
      }
    }
    print(files);
    const bool headings = options_.recursive || directories.size() + files.size() > 1;
    for (const std::string& path : directories) list(path, headings);
    if (options_.json) print_json(json_);
    return code_;
  }

 private:
  void fail(const std::string& path, const Status& status) {
    print_error("ls " + path, status);
    code_ = kFailure;
  }

  void list(const std::string& path, bool heading) {
    const auto entries = client_.run(client_.files().list(path, options_.detailed || options_.json));
    if (!entries.ok()) return fail(path, entries.status());
    std::vector<Row> rows;
    for (const DirectoryEntry& entry : *entries) {
      if (!options_.all && entry.name.starts_with('.')) continue;
      rows.push_back({entry.name, join_path(path, entry.name), entry.type, entry.attributes});
    }
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.name < b.name; });
    if (heading && !options_.json) fmt::print("{}{}:\n", printed_ ? "\n" : "", shown(path));
    printed_ = true;
    print(rows);
    if (!options_.recursive) return;
    for (const Row& row : rows) {
      if (row.type == FileType::directory) list(row.path, true);
    }
  }

  void print(const std::vector<Row>& rows) {
    if (rows.empty()) return;
    printed_ = true;
    if (options_.json) {
      for (const Row& row : rows) {
        Json item = {{"name", row.name}, {"path", row.path}, {"type", type_name(row.type)}};
        if (row.attributes) item.update(attributes_json(*row.attributes));
        json_.push_back(item);
      }
    } else if (options_.detailed) {
      Table table({"", ">", "", "", ">", "", ""});
      for (const Row& row : rows) table.add(detailed(row));
      // The empty line of headings is dropped.
      const std::string text = table.text();
      std::fputs(text.c_str() + text.find('\n') + 1, stdout);
    } else {
      for (const Row& row : rows) fmt::print("{}\n", shown(row.name));
    }
  }

  static std::vector<std::string> detailed(const Row& row) {
    const Attributes attributes = row.attributes.value_or(Attributes());
    const bool link = row.type == FileType::symlink;
    return {mode_text(row.type, attributes.mode),
            std::to_string(attributes.links),
            user_name(attributes.uid),
            group_name(attributes.gid),
            attributes.size_unknown.ok() ? std::to_string(attributes.size.count()) : "?",
            time_text(attributes.modified),
            link ? shown(row.name) + " -> " + shown(attributes.target) : shown(row.name)};
  }

  Client& client_;
  const LsOptions& options_;
  Json json_ = Json::array();
  bool printed_ = false;
  int code_ = kSuccess;
};

int run_ls(const Globals& globals, LsOptions options) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("ls", client.status());
  if (options.paths.empty()) options.paths = {"/"};
  return Lister(**client, options).run();
}

}  // namespace

void add_ls(Command& root) {
  auto options = std::make_shared<LsOptions>();
  Command ls = root.add("ls", "List directories", "tutti ls -l /archive");
  ls.option("paths", options->paths, "Directories and files; the root if none is named").not_empty();
  ls.flag(
      "-l,--long", options->detailed,
      "Permissions, owner, size and time too; '?' is a size that a server which is away would have to tell");
  ls.flag("-a,--all", options->all, "Also names that begin with a dot");
  ls.flag("-R,--recursive", options->recursive, "Directories below too");
  ls.flag("-d,--directory", options->directory, "The directories themselves, not what they hold");
  ls.flag("--json", options->json, "Print JSON");
  ls.action([&globals = root.globals(), options] { return run_ls(globals, *options); });
}

}  // namespace tutti::cli
