#include "cli/command.h"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <cstdio>
#include <utility>

#include "cli/printable.h"

namespace tutti::cli {

Option& Option::required() { return option_->required(), *this; }

Option& Option::at_least(int count) { return option_->expected(count, -1), *this; }

Option& Option::one_at_a_time() { return option_->allow_extra_args(false), *this; }

Option& Option::range(std::int64_t low, std::int64_t high) {
  return option_->check(CLI::Range(low, high)), *this;
}

Option& Option::one_of(const std::vector<std::string>& words) {
  return option_->check(CLI::IsMember(words)), *this;
}

Option& Option::checked(std::function<Status(const std::string&)> check) {
  const auto message = [check = std::move(check)](const std::string& text) { return check(text).message(); };
  return option_->check(message), *this;
}

Option& Option::not_empty() {
  return checked([](const std::string& text) {
    return text.empty() ? Status(Code::invalid, "must not be empty") : Status();
  });
}

Option& Option::show_default() { return option_->capture_default_str(), *this; }

Option& Option::hidden() { return option_->group(""), *this; }

Command Command::add(const std::string& name, const std::string& description,
                     const std::string& example) const {
  CLI::App* command = app_->add_subcommand(name, description);
  command->footer("Example:\n  " + example);
  command->fallthrough();
  return {command, context_};
}

Option Command::option(const std::string& names, std::string& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, std::vector<std::string>& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, int& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, std::uint32_t& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, std::uint64_t& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, std::optional<std::string>& value, const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, std::optional<std::int32_t>& value,
                       const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, std::optional<std::uint32_t>& value,
                       const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::option(const std::string& names, std::optional<std::uint64_t>& value,
                       const std::string& help) {
  return Option(app_->add_option(names, value, help));
}

Option Command::flag(const std::string& names, bool& value, const std::string& help) {
  return Option(app_->add_flag(names, value, help));
}

void Command::needs_command() { app_->require_subcommand(1); }

void Command::hide() { app_->group(""); }

void Command::action(std::function<int()> action) {
  app_->callback([context = context_, action = std::move(action)] { context->action = action; });
}

void print_error(std::string_view what, const Status& status) {
  const std::string line =
      what.empty() ? status.to_string() : fmt::format("{}: {}", what, status.to_string());
  std::fputs(fmt::format("tutti: {}\n", printable(line)).c_str(), stderr);
}

int report(std::string_view what, const Status& status) {
  if (status.ok()) return kSuccess;
  print_error(what, status);
  return kFailure;
}

}  // namespace tutti::cli
