// tutti meta: backup and restore of the metadata, on the metadata server's host.
#include <memory>

#include "cli/cluster/choose_directory.h"
#include "cli/command.h"
#include "cli/output.h"
#include "client/cluster_config.h"
#include "daemon/metadata_copy.h"

namespace tutti::cli {
namespace {

struct MetaOptions {
  std::string file;
  std::optional<std::uint64_t> epoch;
  bool json = false;
};

struct Place {
  StateDirectory state;
  ClusterConfig config;
};

Result<Place> find_place(const Globals& globals) {
  auto state = choose_state_directory(globals);
  if (!state.ok()) return state.status();
  TUTTI_TRY(state->check());
  auto config = ClusterConfig::load(state->config_path());
  if (!config.ok()) return config.status();
  return Place{*std::move(state), *std::move(config)};
}

int run_backup(const Globals& globals, const MetaOptions& options) {
  const auto place = find_place(globals);
  if (!place.ok()) return report("meta backup", place.status());
  const auto done = back_up_metadata(place->state, place->config, options.file);
  if (!done.ok()) return report("meta backup", done.status());
  if (options.json)
    return print_json({{"file", options.file}, {"files", done->files}, {"bytes", done->bytes.count()}});
  fmt::print("{} files in {} ({})\n", done->files, options.file, to_string(done->bytes));
  return kSuccess;
}

int run_restore(const Globals& globals, const MetaOptions& options) {
  const auto place = find_place(globals);
  if (!place.ok()) return report("meta restore", place.status());
  const auto done = restore_metadata(place->state, place->config, options.file, options.epoch);
  if (!done.ok()) return report("meta restore", done.status());
  if (options.json) return print_json({{"files", done->files}, {"epoch", done->epoch}, {"kept", done->kept}});
  fmt::print("{} files restored; new ones get numbers of epoch {}\n", done->files, done->epoch);
  if (!done->kept.empty()) fmt::print("The metadata of before are in {}\n", done->kept);
  fmt::print("`tutti fsck` tells what is newer than the backup\n");
  return kSuccess;
}

}  // namespace

void add_meta(Command& root) {
  auto options = std::make_shared<MetaOptions>();
  Command meta = root.add("meta", "Back up and restore the metadata, on the metadata server's host",
                          "tutti meta backup /backup/tutti.mdb");
  meta.needs_command();
  Command backup = meta.add("backup", "Copy one consistent state of the metadata, also while they are served",
                            "tutti meta backup /backup/tutti.mdb");
  backup.option("file", options->file, "Where to; an earlier backup there is replaced").required();
  backup.flag("--json", options->json, "Print JSON");
  backup.action([&globals = root.globals(), options] { return run_backup(globals, *options); });
  Command restore =
      meta.add("restore", "Put a backup in place of the metadata, while the metadata server is down",
               "tutti meta restore /backup/tutti.mdb");
  restore.option("file", options->file, "A file that `tutti meta backup` made").required();
  restore.option("--epoch", options->epoch,
                 "Begin inode numbers in this epoch or a later one, as an error said");
  restore.flag("--json", options->json, "Print JSON");
  restore.action([&globals = root.globals(), options] { return run_restore(globals, *options); });
}

}  // namespace tutti::cli
