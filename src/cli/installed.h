// Where the parts are that belong to this command.
#pragma once

#include <string>

#include "base/status.h"

namespace tutti::cli {

// The path of `name`: in an installation in the directory `in_libraries` below that of the libraries, in a build
// directory in `in_build`, seen from the command's own. Code::not_found if it is in neither.
Result<std::string> find_installed(const std::string& name, const std::string& in_libraries,
                                   const std::string& in_build);

}  // namespace tutti::cli
