// ApplicationRules: which application ids an administrator gives to whom. Pure.
//
// A rule is a range of ids; a single id is a range of one. Whoever claims an id inside keeps it, any other claim is
// mapped into the range, alike everywhere. A user's rule goes before a program's, that before the one for all.
// Clients follow the rules by themselves. Servers apply them too if `enforce` says so, and then the user is the one
// that the transport vouches for; the name of a program remains the client's word, so enforce users' rules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tutti {

// The ids that the window policy takes as they are (paper_application_id); 0 stands for no claim.
inline constexpr std::uint64_t kLeastApplicationId = 1;
inline constexpr std::uint64_t kMostApplicationId = 32767;

struct ApplicationRange {
  std::uint64_t low = 0;
  std::uint64_t high = ~std::uint64_t{0};

  // "7" or "100-199".
  static Result<ApplicationRange> parse(std::string_view text);
  [[nodiscard]] std::string text() const;
  // The claimed id, or the one that stands for it.
  [[nodiscard]] std::uint64_t fit(std::uint64_t application) const;
  bool operator==(const ApplicationRange&) const = default;
};

struct ApplicationRules {
  std::optional<ApplicationRange> all;
  std::map<std::uint32_t, ApplicationRange> users;                // by uid
  std::map<std::string, ApplicationRange, std::less<>> programs;  // by the name of the executable
  bool enforce = false;

  [[nodiscard]] ApplicationRange range_for(std::uint32_t uid, std::string_view program) const;
  [[nodiscard]] bool empty() const { return !all && users.empty() && programs.empty() && !enforce; }
};

}  // namespace tutti
