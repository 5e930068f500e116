// An environment for tests: the variables that are given, and no others.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "client/application.h"

namespace tutti {

inline Environment environment_of(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const std::string& name) {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second : std::string();
  };
}

}  // namespace tutti
