// Registry: the policies of one kind, each made from its name and parameters, "name;key=value;...".
//
// A kind has one list file (request/policies.def, collective/plans.def) with a line for each policy, and one
// header that declares a Registration for each line. A policy's own file defines its Registration, so that
// adding one is that file pair and that line. Registrations are constants: nothing runs before main, and a
// linker that drops unused objects cannot lose one.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "policy/parameters.h"

namespace tutti {

template <typename Policy>
struct Registration {
  std::string_view name;
  std::span<const std::string_view> parameters;  // the keys that make() reads
  Result<std::unique_ptr<Policy>> (*make)(const Parameters& parameters);
};

// Code::invalid: "request policy 'x' is not known: use a, b".
Status unknown_policy(std::string_view kind, std::string_view name, std::span<const std::string> known);
// "request policy fcfs: what is wrong".
Status wrong_parameters(std::string_view kind, std::string_view name, const Status& wrong);

template <typename Policy>
class Registry {
 public:
  // `kind` is how messages call it, "request policy".
  constexpr Registry(std::string_view kind, std::span<const Registration<Policy>* const> known)
      : kind_(kind), known_(known) {}

  // In the order of the list.
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto* each : known_) names.emplace_back(each->name);
    return names;
  }

  // Code::invalid for unknown names, keys and values, with those that are known.
  [[nodiscard]] Result<std::unique_ptr<Policy>> make(std::string_view text) const {
    const std::string_view name = text.substr(0, text.find(';'));
    for (const auto* each : known_) {
      if (each->name != name) continue;
      const auto parameters = Parameters::parse(text.substr(name.size()), each->parameters);
      if (!parameters.ok()) return wrong_parameters(kind_, name, parameters.status());
      auto made = each->make(*parameters);
      if (!made.ok()) return wrong_parameters(kind_, name, made.status());
      return made;
    }
    return unknown_policy(kind_, name, names());
  }

 private:
  std::string_view kind_;
  std::span<const Registration<Policy>* const> known_;
};

}  // namespace tutti
