#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "policy/request/fcfs.h"
#include "policy/request/policy.h"

namespace tutti {
namespace {

using Parameters = std::map<std::string, std::string, std::less<>>;

struct Known {
  std::string_view name;
  std::vector<std::string_view> parameters;
  Result<std::unique_ptr<RequestPolicy>> (*make)(const Parameters&);
};

Result<std::uint64_t> number(const Parameters& parameters, std::string_view key, std::uint64_t otherwise,
                             std::uint64_t low, std::uint64_t high) {
  const auto found = parameters.find(key);
  if (found == parameters.end()) return otherwise;
  const std::string& text = found->second;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < low || value > high) {
    return Status(Code::invalid, fmt::format("{}={}: use a whole number from {} to {}", key, text, low, high));
  }
  return value;
}

Result<std::unique_ptr<RequestPolicy>> make_fcfs(const Parameters& parameters) {
  auto depth = number(parameters, "dispatch_depth", FcfsPolicy::kDefaultDepth, 1, 65536);
  if (!depth.ok()) return depth.status();
  return std::unique_ptr<RequestPolicy>(std::make_unique<FcfsPolicy>(*depth));
}

// One line for each policy.
const std::vector<Known>& known() {
  static const std::vector<Known> kKnown = {
      {"fcfs", {"dispatch_depth"}, make_fcfs},
  };
  return kKnown;
}

}  // namespace

std::vector<std::string> request_policy_names() {
  std::vector<std::string> names;
  for (const Known& policy : known()) names.emplace_back(policy.name);
  return names;
}

Result<std::unique_ptr<RequestPolicy>> make_request_policy(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(';'));
  const auto policy =
      std::find_if(known().begin(), known().end(), [&](const Known& each) { return each.name == name; });
  if (policy == known().end()) {
    return Status(Code::invalid,
                  fmt::format("request policy '{}' is not known: use {}", name, fmt::join(request_policy_names(), ", ")));
  }
  Parameters parameters;
  std::string_view rest = text.substr(name.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view pair = rest.substr(0, rest.find(';'));
    rest.remove_prefix(pair.size());
    const auto equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    if (equals == std::string_view::npos ||
        std::find(policy->parameters.begin(), policy->parameters.end(), key) == policy->parameters.end()) {
      return Status(Code::invalid, fmt::format("request policy {}: '{}' is not one of its parameters: use {}=VALUE",
                                               name, pair, fmt::join(policy->parameters, "=VALUE, ")));
    }
    parameters.insert_or_assign(std::string(key), std::string(pair.substr(equals + 1)));
  }
  return policy->make(parameters);
}

}  // namespace tutti
