#include "cli/command.h"

#include <fmt/format.h>

#include <cstdio>

namespace tutti::cli {

CLI::App* add_command(CLI::App& root, const std::string& name, const std::string& description,
                      const std::string& example) {
  CLI::App* command = root.add_subcommand(name, description);
  command->footer("Example:\n  " + example);
  command->fallthrough();
  return command;
}

void print_error(std::string_view what, const Status& status) {
  const std::string line = what.empty() ? fmt::format("tutti: {}\n", status.to_string())
                                        : fmt::format("tutti: {}: {}\n", what, status.to_string());
  std::fputs(line.c_str(), stderr);
}

int report(std::string_view what, const Status& status) {
  if (status.ok()) return kSuccess;
  print_error(what, status);
  return kFailure;
}

}  // namespace tutti::cli
