// The tutti command.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "base/parse.h"
#include "base/version.h"
#include "cli/command.h"

namespace tutti::cli {
namespace {

void add_globals(CLI::App& app, Globals& globals) {
  app.add_option("--dir", globals.directory,
                 "State directory of a local cluster ($TUTTI_DIR, else ~/.tutti)");
  app.add_option("--cluster", globals.cluster,
                 "A cluster.toml, instead of the one in the state directory ($TUTTI_CLUSTER)");
  app.add_option("--patience", globals.patience,
                 "How long requests are repeated while a server is away ($TUTTI_PATIENCE, else 60s)")
      ->check([](const std::string& text) { return parse_duration(text).status().message(); });
  app.add_option("--application", globals.application,
                 "Application id that requests carry; a number or a name ($TUTTI_APPLICATION)");
  app.add_flag("--verbose", globals.verbose, "Log what the client does to standard error");
}

void add_commands(Command root) {
#define TUTTI_COMMAND(name) add_##name(root);
#include "cli/commands.def"
#undef TUTTI_COMMAND
}

const CLI::App* find_command(const CLI::App& app, const std::string& word) {
  const auto same = app.get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
  return same.empty() ? nullptr : same.front();
}

int say_unknown(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command :
       app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    names.push_back(command->get_name());
  }
  const auto meant = nearest(word, names);
  const std::string hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                 : fmt::format("`{} --help` lists them", app.get_name());
  fmt::print(stderr, "tutti: unknown command '{}'; {}\n", word, hint);
  return kUsage;
}

// Complains if a word that is none stands where a command is expected. CLI11 would only say that a command is missing.
bool said_unknown(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* level = &app;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--verbose" || argument.find('=') != std::string::npos) continue;
    if (argument == "--dir" || argument == "--cluster" || argument == "--patience" ||
        argument == "--application") {
      ++i;
      continue;
    }
    if (argument.starts_with('-')) return false;
    const CLI::App* command = find_command(*level, argument);
    if (command == nullptr) return say_unknown(*level, argument) != kSuccess;
    if (command->get_subcommands([](const CLI::App*) { return true; }).empty()) return false;
    level = command;
  }
  return false;
}

int run(int argc, char** argv) {
  Context context;
  CLI::App app("A striped parallel file system in which I/O is coordinated.", "tutti");
  app.set_version_flag("--version", fmt::format("tutti {}", kVersion));
  app.footer(
      "`tutti COMMAND --help` explains a command.\n\nExample:\n  tutti up && tutti put data.bin /data.bin && "
      "tutti stat /data.bin");
  app.require_subcommand(1);
  add_globals(app, context.globals);
  add_commands(Command(&app, &context));
  if (argc < 2) {
    fmt::print(stderr, "{}", app.help());
    return kUsage;
  }
  if (said_unknown(app, {argv + 1, argv + argc})) return kUsage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& wanted) {
    return app.exit(wanted);
  } catch (const CLI::CallForAllHelp& wanted) {
    return app.exit(wanted);
  } catch (const CLI::CallForVersion& wanted) {
    return app.exit(wanted);
  } catch (const CLI::ParseError& wrong) {
    const CLI::App* command = &app;
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    fmt::print(stderr, "tutti: {}\n`tutti --help` and `tutti COMMAND --help` explain.\n", wrong.what());
    if (command != &app) fmt::print(stderr, "{}\n", command->get_footer());
    return kUsage;
  }
  const int code = context.action();
  // A full disk behind standard output must not pass for success.
  if (std::fflush(stdout) != 0 && code == kSuccess) {
    fmt::print(stderr, "tutti: cannot write to standard output\n");
    return kFailure;
  }
  return code;
}

}  // namespace
}  // namespace tutti::cli

int main(int argc, char** argv) {
  try {
    return tutti::cli::run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "tutti: internal: {}\n", failure.what());
    return tutti::cli::kFailure;
  }
}
