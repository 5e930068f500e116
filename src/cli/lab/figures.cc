#include "cli/lab/figures.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>

#include "cli/output.h"
#include "lab/experiments/experiment.h"
#include "lab/report/figures.h"

namespace tutti::cli {
namespace {

namespace fs = std::filesystem;

struct FiguresOptions {
  std::vector<std::string> results;
  std::vector<std::string> experiments;
  std::string root = ".";
  bool check = false;
};

Result<std::string> read_text(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file.good() && !file.eof()) return Status(Code::io_error, "cannot read " + path.string());
  return text;
}

Status write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return {Code::io_error, "cannot write " + path.string()};
  return {};
}

// README.md and its like, and those in docs/, by name.
Result<std::vector<fs::path>> documents(const fs::path& root) {
  std::vector<fs::path> found;
  for (const fs::path& directory : {root, root / "docs"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      if (entry.path().extension() == ".md") found.push_back(entry.path());
    }
    if (error) return Status(Code::not_found, directory.string() + ": " + error.message());
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<std::vector<Json>> new_results(const FiguresOptions& options) {
  std::vector<Json> results;
  for (const std::string& path : options.results) {
    const auto text = read_text(path);
    if (!text.ok()) return text.status();
    results.push_back(Json::parse(*text, nullptr, false));
  }
  for (const std::string& name : options.experiments) {
    const auto experiment = find_experiment(name);
    if (!experiment.ok()) return experiment.status();
    const ExperimentOptions wanted;
    const auto report = (*experiment)->run(wanted);
    if (!report.ok()) return report.status().with_context(name);
    results.push_back(to_json({(*experiment)->name, (*experiment)->shows, wanted.seed}, *report));
  }
  return results;
}

// Writes the documents anew, or says which of them differ from what would be written.
Status fill_in(const FiguresOptions& options, const FigureStore& store) {
  const fs::path tables_path = fs::path(options.root) / "docs" / "figures.toml";
  const auto tables_text = read_text(tables_path);
  if (!tables_text.ok()) return tables_text.status();
  const auto tables = parse_figure_tables(*tables_text, tables_path.string());
  if (!tables.ok()) return tables.status();
  const auto paths = documents(options.root);
  if (!paths.ok()) return paths.status();
  std::vector<std::string> differing;
  for (const fs::path& path : *paths) {
    const auto text = read_text(path);
    if (!text.ok()) return text.status();
    const auto filled = fill_in_figures(*text, store, *tables);
    if (!filled.ok()) return filled.status().with_context(path.string());
    if (*filled == *text) continue;
    differing.push_back(path.string());
    if (!options.check) TUTTI_TRY(write_text(path, *filled));
  }
  if (options.check && !differing.empty()) {
    return {Code::invalid, fmt::format("{} differ from docs/figures.json: run `tutti lab figures`",
                                       fmt::join(differing, ", "))};
  }
  for (const std::string& path : differing) fmt::print("{}\n", path);
  return {};
}

Status run_figures(const FiguresOptions& options) {
  if (options.check && !(options.results.empty() && options.experiments.empty()))
    return {Code::invalid, "--check takes no results: it looks at what is stored"};
  const fs::path store_path = fs::path(options.root) / "docs" / "figures.json";
  const auto stored = read_text(store_path);
  if (!stored.ok()) return stored.status();
  auto store = FigureStore::parse(*stored);
  if (!store.ok()) return store.status().with_context(store_path.string());
  const auto results = new_results(options);
  if (!results.ok()) return results.status();
  if (!results->empty()) {
    TUTTI_TRY(store->add(*results));
    TUTTI_TRY(write_text(store_path, store->to_json().dump(2) + "\n"));
  }
  return fill_in(options, *store);
}

}  // namespace

void add_lab_figures(Command& lab) {
  auto options = std::make_shared<FiguresOptions>();
  Command figures = lab.add("figures", "Write the figures that documents quote, from results",
                            "tutti bench data --json > data.json && tutti lab figures data.json");
  figures.option("results", options->results,
                 "What `tutti bench NAME --json` or `tutti lab run NAME --json` printed; those of one name "
                 "are its runs and "
                 "replace what docs/figures.json has of it");
  figures.option("--run", options->experiments, "An experiment to run now, as a further result")
      .one_at_a_time();
  figures.option("--root", options->root, "Where README.md and docs are").show_default();
  figures.flag("--check", options->check, "Write nothing; fail if a document differs from docs/figures.json");
  figures.action([options] { return report("lab figures", run_figures(*options)); });
}

}  // namespace tutti::cli
