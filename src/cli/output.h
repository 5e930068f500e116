// How commands print: JSON for scripts, tables and long listings for people.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <vector>

#include "client/file_system.h"
#include "lab/report/report.h"
#include "lab/report/table.h"

namespace tutti::cli {

using tutti::Json;
using tutti::Table;

// Pretty, with a newline; returns the exit code. Bytes that are not UTF-8 are replaced.
int print_json(const Json& value);

std::string type_name(FileType type);
// "drwxr-xr-x".
std::string mode_text(FileType type, std::uint32_t mode);
// Names where the system knows them, numbers otherwise.
std::string user_name(std::uint32_t uid);
std::string group_name(std::uint32_t gid);
// "2026-11-15 21:13:00" in the local time zone.
std::string time_text(Nanos wall);
// RFC 3339 in UTC, for JSON.
std::string time_utc(Nanos wall);

Json attributes_json(const Attributes& attributes);

}  // namespace tutti::cli
