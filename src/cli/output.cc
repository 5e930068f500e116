#include "cli/output.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

namespace tutti::cli {

int print_json(const Json& value) {
  const std::string text = value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  std::fputs(text.c_str(), stdout);
  return 0;
}

std::string type_name(FileType type) {
  switch (type) {
    case FileType::file:
      return "file";
    case FileType::directory:
      return "directory";
    case FileType::symlink:
      return "symlink";
  }
  return "unknown";
}

std::string mode_text(FileType type, std::uint32_t mode) {
  std::string text = type == FileType::directory ? "d" : type == FileType::symlink ? "l" : "-";
  for (unsigned shift = 9; shift > 0; shift -= 3) {
    const std::uint32_t bits = mode >> (shift - 3);
    text += (bits & 4U) != 0 ? 'r' : '-';
    text += (bits & 2U) != 0 ? 'w' : '-';
    text += (bits & 1U) != 0 ? 'x' : '-';
  }
  if ((mode & 04000U) != 0) text[3] = text[3] == 'x' ? 's' : 'S';
  if ((mode & 02000U) != 0) text[6] = text[6] == 'x' ? 's' : 'S';
  if ((mode & 01000U) != 0) text[9] = text[9] == 'x' ? 't' : 'T';
  return text;
}

std::string user_name(std::uint32_t uid) {
  const passwd* user = ::getpwuid(uid);
  return user != nullptr ? user->pw_name : std::to_string(uid);
}

std::string group_name(std::uint32_t gid) {
  const group* found = ::getgrgid(gid);
  return found != nullptr ? found->gr_name : std::to_string(gid);
}

namespace {

std::string format_time(const std::tm& time, const char* format) {
  std::array<char, 64> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), format, &time);
  return {text.data(), length};
}

}  // namespace

std::string time_text(Nanos wall) {
  const std::time_t seconds = wall.count() / 1'000'000'000;
  std::tm time{};
  ::localtime_r(&seconds, &time);
  return format_time(time, "%Y-%m-%d %H:%M:%S");
}

std::string time_utc(Nanos wall) {
  const std::time_t seconds = wall.count() / 1'000'000'000;
  std::tm time{};
  ::gmtime_r(&seconds, &time);
  return format_time(time, "%Y-%m-%dT%H:%M:%S") + fmt::format(".{:09}Z", wall.count() % 1'000'000'000);
}

Json attributes_json(const Attributes& attributes) {
  Json out = {{"inode", attributes.inode},
              {"type", type_name(attributes.type)},
              {"mode", fmt::format("{:04o}", attributes.mode)},
              {"uid", attributes.uid},
              {"gid", attributes.gid},
              {"links", attributes.links},
              {"size", attributes.size_unknown.ok() ? Json(attributes.size.count()) : Json()},
              {"accessed", time_utc(attributes.accessed)},
              {"modified", time_utc(attributes.modified)},
              {"changed", time_utc(attributes.changed)}};
  if (!attributes.size_unknown.ok()) out["size_unknown"] = attributes.size_unknown.message();
  if (attributes.type == FileType::symlink) out["target"] = attributes.target;
  return out;
}

}  // namespace tutti::cli
