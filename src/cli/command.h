// What all commands share: the global options, exit codes, and how a command is added to the command line.
//
// add_NAME() declares the options and help of one command and what to do; parsing notes what was asked for,
// and main() runs it. An action returns the exit code. Values that options fill must live as long as the
// action: they are held by shared pointers that the action captures.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// The parser stays behind this header: including it costs seconds in every file.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tutti::cli {

inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;
inline constexpr int kUsage = 2;
inline constexpr int kInterrupted = 130;  // as shells report SIGINT

struct Globals {
  // As given; what is empty is decided by client/cluster_file.h and client/real/real_client.h.
  std::string directory;    // --dir
  std::string cluster;      // --cluster
  std::string patience;     // --patience
  std::string application;  // --application
  bool verbose = false;
};

// What parsing leaves behind.
struct Context {
  Globals globals;
  std::function<int()> action;
};

// An option just declared; each call returns it again.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& required();
  // A positional argument that takes this many values or more.
  Option& at_least(int count);
  // An option that may be repeated and takes one value each time.
  Option& one_at_a_time();
  Option& range(std::int64_t low, std::int64_t high);
  Option& one_of(const std::vector<std::string>& words);
  // What a value must be like; the message of a failure is for the user, who used the command wrongly.
  Option& checked(std::function<Status(const std::string&)> check);
  // A value that must not be empty.
  Option& not_empty();
  Option& show_default();
  Option& hidden();

 private:
  CLI::Option* option_;
};

// A command, or the root of them. A handle: cheap to copy.
class Command {
 public:
  Command(CLI::App* app, Context* context) : app_(app), context_(context) {}

  // A command below this one, with an example that --help shows.
  [[nodiscard]] Command add(const std::string& name, const std::string& description,
                            const std::string& example) const;
  // Names as "-r,--recursive"; without dashes it is a positional argument.
  Option option(const std::string& names, std::string& value, const std::string& help);
  Option option(const std::string& names, std::vector<std::string>& value, const std::string& help);
  Option option(const std::string& names, int& value, const std::string& help);
  Option option(const std::string& names, std::uint32_t& value, const std::string& help);
  Option option(const std::string& names, std::uint64_t& value, const std::string& help);
  Option option(const std::string& names, std::optional<std::string>& value, const std::string& help);
  Option option(const std::string& names, std::optional<std::int32_t>& value, const std::string& help);
  Option option(const std::string& names, std::optional<std::uint32_t>& value, const std::string& help);
  Option option(const std::string& names, std::optional<std::uint64_t>& value, const std::string& help);
  Option flag(const std::string& names, bool& value, const std::string& help);
  // One of the commands below must be named.
  void needs_command();
  // Not listed by --help.
  void hide();
  // What the command does; runs after parsing.
  void action(std::function<int()> action);

  [[nodiscard]] const Globals& globals() const { return context_->globals; }

 private:
  CLI::App* app_;
  Context* context_;
};

// "tutti: put a.txt: permission: ..." on standard error. Control characters in it are shown as such.
void print_error(std::string_view what, const Status& status);
// Prints the error, if there is one, and returns the exit code for it.
int report(std::string_view what, const Status& status);

// add_NAME() for each command of commands.def, add_bench_NAME() for each benchmark of bench/benchmarks.def. A
// command is one file that defines its function, and one line there.
#define TUTTI_COMMAND(name) void add_##name(Command& root);
#include "cli/commands.def"
#undef TUTTI_COMMAND
#define TUTTI_BENCHMARK(name) void add_bench_##name(Command& bench);
#include "cli/bench/benchmarks.def"
#undef TUTTI_BENCHMARK

}  // namespace tutti::cli
