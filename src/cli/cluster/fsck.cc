// tutti fsck: whether metadata, objects and stores belong together.
#include <algorithm>
#include <map>
#include <memory>

#include "cli/cluster/choose_directory.h"
#include "cli/cluster/read_metadata.h"
#include "cli/command.h"
#include "cli/output.h"
#include "client/cluster_config.h"
#include "daemon/object_lists.h"
#include "env/real/kv/lmdb_kv.h"
#include "server/check/repair.h"

namespace tutti::cli {
namespace {

using check::Finding;
using check::Problem;

struct FsckOptions {
  bool repair = false;
  bool remove_newer = false;
  bool json = false;
};

struct Outcome {
  check::Report report;
  std::uint64_t repaired = 0;
};

constexpr std::size_t kShown = 100;  // of one kind; JSON has them all

bool of_object(Problem problem) {
  return problem == Problem::object_without_file || problem == Problem::object_newer_than_backup ||
         problem == Problem::object_outside_layout;
}

// An object whose file was removed after the objects were listed is gone, or will be in a moment.
Status drop_removed(ObjectLists& lists, std::vector<Finding>& problems) {
  std::vector<Finding> left;
  for (Finding& each : problems) {
    if (of_object(each.problem)) {
      const auto there = lists.exists(*each.server, ObjectId{each.inode});
      if (!there.ok()) return there.status();
      if (!*there) continue;
    }
    left.push_back(std::move(each));
  }
  problems = std::move(left);
  return {};
}

Status repair_metadata(const StateDirectory& state, const ClusterConfig& config) {
  const auto claimed = state.claim("meta");
  if (!claimed.ok()) return {Code::busy, "the metadata server runs: stop it to have its metadata repaired"};
  Loop loop;
  LmdbOptions lmdb;
  lmdb.map_size = config.metadata_limit;
  lmdb.create = false;
  auto kv = LmdbKv::open(loop, state.store_path("meta"), lmdb);
  if (!kv.ok()) return kv.status();
  std::function<Status(KvWriter&)> body = [wall = loop.clock().wall()](KvWriter& writer) -> Status {
    const auto snapshot = check::take_snapshot(writer);
    if (!snapshot.ok()) return snapshot.status();
    return check::repair(writer, *snapshot, wall);
  };
  return loop.run((*kv)->update(std::move(body)));
}

Status repair(const StateDirectory& state, const ClusterConfig& config, ObjectLists& lists,
              const FsckOptions& options, Outcome& outcome) {
  const auto cured = [&](const Finding& each) {
    return options.repair && (check::repairable(each.problem) ||
                              (options.remove_newer && each.problem == Problem::object_newer_than_backup));
  };
  std::vector<Finding> left;
  bool metadata = false;
  for (Finding& each : outcome.report.problems) {
    if (!cured(each)) {
      left.push_back(std::move(each));
      continue;
    }
    if (of_object(each.problem)) TUTTI_TRY(lists.remove(*each.server, ObjectId{each.inode}));
    metadata = metadata || !of_object(each.problem);
    ++outcome.repaired;
  }
  if (metadata) TUTTI_TRY(repair_metadata(state, config));
  outcome.report.problems = std::move(left);
  return {};
}

Result<Outcome> run_check(const Globals& globals, const FsckOptions& options) {
  const auto state = choose_state_directory(globals);
  if (!state.ok()) return state.status();
  TUTTI_TRY(state->check());
  const auto config = ClusterConfig::load(state->config_path());
  if (!config.ok()) return config.status();
  const auto key = ServerKey::load(state->key_path());
  if (!key.ok()) return key.status();
  ObjectLists lists(*state, *config, *key);
  const auto objects = lists.list();
  const auto snapshot = read_metadata(*state);
  if (!snapshot.ok()) return snapshot.status().with_context("fsck runs on the metadata server's host");
  Outcome outcome;
  outcome.report = check::check(*snapshot, objects);
  TUTTI_TRY(drop_removed(lists, outcome.report.problems));
  if (options.repair) TUTTI_TRY(repair(*state, *config, lists, options, outcome));
  return outcome;
}

Json to_json(const std::vector<Finding>& findings) {
  Json out = Json::array();
  for (const Finding& each : findings) {
    Json row = {
        {"problem", check::name_of(each.problem)}, {"text", each.text}, {"bytes", each.bytes.count()}};
    if (each.inode != 0) row["inode"] = each.inode;
    if (each.server) row["server"] = *each.server;
    out.push_back(row);
  }
  return out;
}

void print(const std::vector<Finding>& findings) {
  std::map<Problem, std::size_t> shown;
  for (const Finding& each : findings) {
    if (++shown[each.problem] <= kShown) fmt::print("{}: {}\n", check::name_of(each.problem), each.text);
  }
  for (const auto& [problem, count] : shown) {
    if (count > kShown) fmt::print("{}: {} more\n", check::name_of(problem), count - kShown);
  }
}

int run_fsck(const Globals& globals, const FsckOptions& options) {
  const auto outcome = run_check(globals, options);
  if (!outcome.ok()) return report("fsck", outcome.status());
  const check::Report& found = outcome->report;
  const int code = found.problems.empty() ? kSuccess : kFailure;
  if (options.json) {
    print_json({{"files", found.files},
                {"directories", found.directories},
                {"symlinks", found.symlinks},
                {"objects", found.objects},
                {"bytes", found.bytes.count()},
                {"orphans", found.orphans},
                {"repaired", outcome->repaired},
                {"problems", to_json(found.problems)},
                {"doubts", to_json(found.doubts)}});
    return code;
  }
  print(found.problems);
  print(found.doubts);
  fmt::print("{} files, {} directories, {} symbolic links; {} objects, {}; {} still to be removed\n",
             found.files, found.directories, found.symlinks, found.objects, to_string(found.bytes),
             found.orphans);
  fmt::print("{} problems{}, {} doubts\n", found.problems.size(),
             options.repair ? fmt::format(" left, {} repaired", outcome->repaired) : "", found.doubts.size());
  return code;
}

}  // namespace

void add_fsck(Command& root) {
  auto options = std::make_shared<FsckOptions>();
  Command fsck = root.add("fsck", "Check that metadata, objects and stores belong together; changes nothing",
                          "tutti fsck --json");
  fsck.flag("--repair", options->repair,
            "Remove objects without files, put names and counts right (the metadata server must be down for "
            "those)");
  fsck.flag("--remove-newer", options->remove_newer,
            "With --repair: also objects of files that were made after the backup that was restored");
  fsck.flag("--json", options->json, "Print JSON");
  fsck.action([&globals = root.globals(), options] { return run_fsck(globals, *options); });
}

}  // namespace tutti::cli
