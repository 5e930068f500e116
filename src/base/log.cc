#include "base/log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace tutti {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warn:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::shared_ptr<spdlog::logger> make(std::string_view name, LogLevel level, spdlog::sink_ptr sink) {
  auto logger = std::make_shared<spdlog::logger>(std::string(name), std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %n: %v", spdlog::pattern_time_type::utc);
  logger->set_level(to_spdlog(level));
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace

Log Log::to_stderr(std::string_view name, LogLevel level) {
  return Log(make(name, level, std::make_shared<spdlog::sinks::stderr_sink_st>()));
}

Result<Log> Log::to_file(const std::string& path, std::string_view name, LogLevel level) {
  try {
    return Log(make(name, level, std::make_shared<spdlog::sinks::basic_file_sink_st>(path)));
  } catch (const spdlog::spdlog_ex& failure) {
    return Status(Code::io_error, fmt::format("open log file {}: {}", path, failure.what()));
  }
}

bool Log::enabled(LogLevel level) const { return logger_ && logger_->should_log(to_spdlog(level)); }

void Log::write(LogLevel level, std::string_view line) const { logger_->log(to_spdlog(level), line); }

Result<LogLevel> parse_log_level(std::string_view text) {
  if (text == "debug") return LogLevel::debug;
  if (text == "info") return LogLevel::info;
  if (text == "warn") return LogLevel::warn;
  if (text == "error") return LogLevel::error;
  return Status(Code::invalid, fmt::format("log level '{}': use debug, info, warn or error", text));
}

}  // namespace tutti
