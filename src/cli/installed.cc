#include "cli/installed.h"

#include <filesystem>
#include <system_error>

namespace tutti::cli {

Result<std::string> find_installed(const std::string& name, const std::string& in_libraries,
                                   const std::string& in_build) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return Status(Code::io_error, "cannot tell where this command is: " + error.message());
  std::filesystem::path up;
  for (const auto& part : std::filesystem::path(TUTTI_BINDIR)) up /= part.empty() ? "" : "..";
  const auto here = self.parent_path();
  for (const auto& directory : {here / up / TUTTI_LIBDIR / in_libraries, here / in_build}) {
    const auto path = (directory / name).lexically_normal();
    if (std::filesystem::exists(path, error)) return path.string();
  }
  return Status(Code::not_found, "there is no " + name);
}

}  // namespace tutti::cli
