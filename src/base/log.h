// Log: where a component says what happened. Passed as a value; there is no global logger.
//
// Cheap to copy. A default-constructed Log is silent, which is what most tests want. A line is
// "2026-11-15T20:53:00.123Z warn data.2: message".
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace spdlog {
class logger;
}

namespace tutti {

enum class LogLevel { debug, info, warn, error };

class Log {
 public:
  Log() = default;
  // Lines go to standard error.
  static Log to_stderr(std::string_view name, LogLevel level);
  // Lines are appended to a file.
  static Result<Log> to_file(const std::string& path, std::string_view name, LogLevel level);

  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(LogLevel::debug)) write(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(LogLevel::info)) write(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(LogLevel::warn)) write(LogLevel::warn, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void error(fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(LogLevel::error)) write(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  explicit Log(std::shared_ptr<spdlog::logger> logger) : logger_(std::move(logger)) {}
  [[nodiscard]] bool enabled(LogLevel level) const;
  void write(LogLevel level, std::string_view line) const;

  std::shared_ptr<spdlog::logger> logger_;
};

Result<LogLevel> parse_log_level(std::string_view text);

}  // namespace tutti
