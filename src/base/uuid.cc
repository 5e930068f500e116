#include "base/uuid.h"

#include <fmt/format.h>

#include <charconv>

namespace tutti {

std::string to_string(const Uuid& uuid) {
  if (uuid.none()) return "none";
  const std::string digits = fmt::format("{:016x}{:016x}", uuid.high, uuid.low);
  return fmt::format("{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4), digits.substr(12, 4),
                     digits.substr(16, 4), digits.substr(20));
}

Result<Uuid> parse_uuid(std::string_view text) {
  if (text == "none") return Uuid();
  std::string digits;
  for (const char c : text) {
    if (c != '-') digits.push_back(c);
  }
  Uuid uuid;
  const char* middle = digits.data() + 16;
  const auto sound = [](const char* from, const char* to, std::uint64_t& into) {
    const auto [end, error] = std::from_chars(from, to, into, 16);
    return error == std::errc() && end == to;
  };
  if (digits.size() != 32 || !sound(digits.data(), middle, uuid.high) ||
      !sound(middle, digits.data() + 32, uuid.low)) {
    return Status(Code::malformed, fmt::format("'{}' is not a UUID", text));
  }
  return uuid;
}

}  // namespace tutti
