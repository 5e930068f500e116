// What all commands share: the global options, and how a command is added to the command line.
//
// add_NAME() declares the options and help of one command; parsing sets Context::action to what was asked
// for, and main() runs it. An action returns the exit code: 0 success, 1 failure, 2 wrong usage.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace tutti::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;
inline constexpr int kInterrupted = 130;  // as shells report SIGINT

struct Globals {
  std::string directory;  // --dir; empty: $TUTTI_DIR, else ~/.tutti
  std::string cluster;    // --cluster; empty: cluster.toml in the directory
  std::string patience = "60s";
  std::string application;  // --application; empty: $TUTTI_APPLICATION, else the process itself
  bool verbose = false;
};

struct Context {
  Globals globals;
  std::function<int()> action;
};

// A subcommand with its description and an example that --help shows.
CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& description,
                      const std::string& example);

// "tutti: put a.txt: permission: ..." on standard error.
void print_error(std::string_view what, const Status& status);
// Prints the error, if there is one, and returns the exit code for it.
int report(std::string_view what, const Status& status);

// The commands; one function per file or family.
void add_serve(CLI::App& root, Context& context);
void add_up(CLI::App& root, Context& context);
void add_down(CLI::App& root, Context& context);
void add_status(CLI::App& root, Context& context);
void add_ls(CLI::App& root, Context& context);
void add_put(CLI::App& root, Context& context);
void add_get(CLI::App& root, Context& context);
void add_cat(CLI::App& root, Context& context);
void add_rm(CLI::App& root, Context& context);
void add_directory_commands(CLI::App& root, Context& context);  // mkdir, rmdir
void add_name_commands(CLI::App& root, Context& context);       // mv, ln
void add_attribute_commands(CLI::App& root, Context& context);  // chmod, chown, truncate
void add_stat(CLI::App& root, Context& context);
void add_df(CLI::App& root, Context& context);
void add_demo(CLI::App& root, Context& context);
void add_sim(CLI::App& root, Context& context);
void add_bench(CLI::App& root, Context& context);  // with its parts: sim, ...
void add_bench_sim(CLI::App& bench, Context& context);
void add_bench_data(CLI::App& bench, Context& context);
void add_bench_latency(CLI::App& bench, Context& context);
void add_bench_worker(CLI::App& root, Context& context);  // a process of the two above

}  // namespace tutti::cli
