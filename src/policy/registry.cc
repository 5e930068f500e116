#include "policy/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace tutti {

Status unknown_policy(std::string_view kind, std::string_view name, std::span<const std::string> known) {
  return {Code::invalid, fmt::format("{} '{}' is not known: use {}", kind, name, fmt::join(known, ", "))};
}

Status wrong_parameters(std::string_view kind, std::string_view name, const Status& wrong) {
  return wrong.with_context(fmt::format("{} {}", kind, name));
}

}  // namespace tutti
