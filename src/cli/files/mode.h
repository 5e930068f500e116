// Permissions and owners as chmod and chown take them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tutti::cli {

// Octal ("0644") or symbolic ("u+x,go-w", "a=rX"), applied to `old`.
Result<std::uint32_t> parse_mode(std::string_view text, std::uint32_t old, bool directory);

struct Owner {
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
};
// "user", "user:group", ":group", "user:" (the user's own group); names or numbers.
Result<Owner> parse_owner(const std::string& text);

}  // namespace tutti::cli
