#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "policy/request/fcfs.h"
#include "policy/request/parameters.h"
#include "policy/request/policy.h"
#include "policy/request/window.h"

namespace tutti {
namespace {

struct Known {
  std::string_view name;
  std::vector<std::string_view> parameters;
  Result<std::unique_ptr<RequestPolicy>> (*make)(const Parameters&);
};

// One line for each policy.
const std::vector<Known>& known() {
  static const std::vector<Known> kKnown = {
      {"fcfs", {"dispatch_depth"}, FcfsPolicy::make},
      {"window", WindowPolicy::parameters(), WindowPolicy::make},
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
    return Status(Code::invalid, fmt::format("request policy '{}' is not known: use {}", name,
                                             fmt::join(request_policy_names(), ", ")));
  }
  const auto parameters = Parameters::parse(name, text.substr(name.size()), policy->parameters);
  if (!parameters.ok()) return parameters.status();
  return policy->make(*parameters);
}

}  // namespace tutti
