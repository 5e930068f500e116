#include "cli/cluster/choose_directory.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "client/cluster_config.h"

namespace tutti::cli {

Result<StateDirectory> choose_state_directory(const Globals& globals) {
  std::string path = globals.directory;
  const char* variable = std::getenv("TUTTI_DIR");
  if (path.empty() && variable != nullptr) path = variable;
  if (path.empty()) {
    const std::string base = home_directory();
    if (base.empty())
      return Status(Code::not_found, "there is no home directory; name a directory with --dir");
    path = base + "/.tutti";
  }
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  if (error) return Status::from_errno(error.value(), fmt::format("find directory {}", path));
  std::string normal = absolute.lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return StateDirectory(std::move(normal));
}

}  // namespace tutti::cli
