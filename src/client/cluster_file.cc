#include "client/cluster_file.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>

namespace tutti {
namespace {

Result<std::string> absolute(const std::string& path) {
  std::error_code error;
  const auto found = std::filesystem::absolute(path, error);
  if (error) return Status::from_errno(error.value(), fmt::format("find {}", path));
  std::string normal = found.lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
  return normal;
}

std::string home_directory(const Environment& environment) {
  if (std::string home = environment("HOME"); !home.empty()) return home;
  const passwd* user = ::getpwuid(::getuid());
  return user != nullptr ? user->pw_dir : "";
}

}  // namespace

Result<std::string> state_directory(const std::string& wanted, const Environment& environment) {
  std::string path = wanted.empty() ? environment("TUTTI_DIR") : wanted;
  if (path.empty()) {
    const std::string home = home_directory(environment);
    if (home.empty()) {
      return Status(Code::not_found,
                    "there is no home directory; name a state directory with --dir or TUTTI_DIR");
    }
    path = home + "/.tutti";
  }
  return absolute(path);
}

Result<std::string> cluster_file(const ClusterChoice& choice, const Environment& environment) {
  if (!choice.file.empty()) return absolute(choice.file);
  if (choice.directory.empty()) {
    if (const std::string file = environment("TUTTI_CLUSTER"); !file.empty()) return absolute(file);
  }
  const auto directory = state_directory(choice.directory, environment);
  if (!directory.ok()) return directory.status();
  return *directory + "/cluster.toml";
}

Result<ClusterConfig> load_cluster(const ClusterChoice& choice, const Environment& environment) {
  const auto path = cluster_file(choice, environment);
  if (!path.ok()) return path.status();
  auto config = ClusterConfig::load(*path);
  if (config.ok() || config.code() != Code::not_found) return config;
  return Status(
      Code::not_found,
      fmt::format("there is no cluster at {}: start one with `tutti up`, or name one with --cluster, "
                  "--dir, TUTTI_CLUSTER or TUTTI_DIR",
                  *path));
}

}  // namespace tutti
