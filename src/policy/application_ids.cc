#include "policy/application_ids.h"

#include <fmt/format.h>

#include <charconv>

#include "base/random.h"

namespace tutti {
namespace {

std::optional<std::uint64_t> parse_id(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (id < kLeastApplicationId || id > kMostApplicationId) return std::nullopt;
  return id;
}

}  // namespace

Result<ApplicationRange> ApplicationRange::parse(std::string_view text) {
  const auto dash = text.find('-');
  const auto low = parse_id(text.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : parse_id(text.substr(dash + 1));
  if (low && high && *low <= *high) return ApplicationRange{*low, *high};
  return Status(Code::invalid,
                fmt::format("'{}' names no application ids: use a number from {} to {}, or \"LOW-HIGH\"",
                            text, kLeastApplicationId, kMostApplicationId));
}

std::string ApplicationRange::text() const {
  return low == high ? fmt::format("{}", low) : fmt::format("{}-{}", low, high);
}

std::uint64_t ApplicationRange::fit(std::uint64_t application) const {
  if (application >= low && application <= high) return application;
  return low + mix64(application) % (high - low + 1);
}

ApplicationRange ApplicationRules::range_for(std::uint32_t uid, std::string_view program) const {
  if (const auto user = users.find(uid); user != users.end()) return user->second;
  if (const auto named = programs.find(program); named != programs.end()) return named->second;
  return all.value_or(ApplicationRange());
}

}  // namespace tutti
