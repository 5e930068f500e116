#include "cli/files/mode.h"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <charconv>

namespace tutti::cli {
namespace {

Status bad_mode(std::string_view text) {
  return {Code::invalid, fmt::format("mode '{}': write it as 0644 or u+rwx,go-w", text)};
}

// The nine bits that "u", "g", "o" select, for one permission pattern of three bits.
std::uint32_t spread(std::uint32_t who, std::uint32_t bits) {
  std::uint32_t mode = 0;
  if ((who & 4U) != 0) mode |= bits << 6U;
  if ((who & 2U) != 0) mode |= bits << 3U;
  if ((who & 1U) != 0) mode |= bits;
  return mode;
}

// One clause, "go+rX".
std::optional<std::uint32_t> apply_clause(std::string_view clause, std::uint32_t mode, bool directory) {
  std::uint32_t who = 0;
  std::size_t at = 0;
  for (; at < clause.size(); ++at) {
    const auto found = std::string_view("ogua").find(clause[at]);
    if (found == std::string_view::npos) break;
    who |= found == 3 ? 7U : 1U << found;
  }
  if (who == 0) who = 7;
  if (at == clause.size() || std::string_view("+-=").find(clause[at]) == std::string_view::npos)
    return std::nullopt;
  const char operation = clause[at++];
  std::uint32_t bits = 0;
  std::uint32_t special = 0;
  for (; at < clause.size(); ++at) {
    switch (clause[at]) {
      case 'r':
        bits |= 4U;
        break;
      case 'w':
        bits |= 2U;
        break;
      case 'x':
        bits |= 1U;
        break;
      case 'X':
        bits |= directory || (mode & 0111U) != 0 ? 1U : 0U;
        break;
      case 's':
        special |= ((who & 4U) != 0 ? 04000U : 0U) | ((who & 2U) != 0 ? 02000U : 0U);
        break;
      case 't':
        special |= 01000U;
        break;
      default:
        return std::nullopt;
    }
  }
  const std::uint32_t chosen = spread(who, bits) | special;
  if (operation == '+') return mode | chosen;
  if (operation == '-') return mode & ~chosen;
  return (mode & ~spread(who, 7)) | chosen;
}

std::optional<std::uint32_t> parse_number(std::string_view text, int base) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace

Result<std::uint32_t> parse_mode(std::string_view text, std::uint32_t old, bool directory) {
  if (const auto octal = parse_number(text, 8)) {
    if (*octal > 07777U) return bad_mode(text);
    return *octal;
  }
  std::uint32_t mode = old;
  std::string_view rest = text;
  do {
    const std::size_t comma = rest.find(',');
    const auto changed = apply_clause(rest.substr(0, comma), mode, directory);
    if (!changed) return bad_mode(text);
    mode = *changed;
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  } while (!rest.empty());
  return mode;
}

Result<Owner> parse_owner(const std::string& text) {
  Owner owner;
  const std::size_t colon = text.find(':');
  const std::string user = text.substr(0, colon);
  if (!user.empty()) {
    const passwd* known = ::getpwnam(user.c_str());
    owner.uid = known != nullptr ? std::optional<std::uint32_t>(known->pw_uid) : parse_number(user, 10);
    if (!owner.uid) return Status(Code::invalid, fmt::format("there is no user '{}'", user));
    if (colon != std::string::npos && colon + 1 == text.size() && known != nullptr) owner.gid = known->pw_gid;
  }
  const std::string group = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (!group.empty()) {
    const struct group* known = ::getgrnam(group.c_str());
    owner.gid = known != nullptr ? std::optional<std::uint32_t>(known->gr_gid) : parse_number(group, 10);
    if (!owner.gid) return Status(Code::invalid, fmt::format("there is no group '{}'", group));
  }
  if (!owner.uid && !owner.gid)
    return Status(Code::invalid, fmt::format("owner '{}': write user, user:group or :group", text));
  return owner;
}

}  // namespace tutti::cli
