#include "client/path.h"

namespace tutti {
namespace {

constexpr std::string_view kPrefix = "tutti:";

}  // namespace

bool has_cluster_prefix(std::string_view name) { return name.starts_with(kPrefix); }

std::optional<std::string> path_on_cluster(std::string_view name, std::string_view directory) {
  if (has_cluster_prefix(name)) return cluster_path(name);
  while (directory.ends_with('/')) directory.remove_suffix(1);
  if (directory.empty() || !name.starts_with(directory)) return std::nullopt;
  name.remove_prefix(directory.size());
  if (!name.empty() && name.front() != '/') return std::nullopt;
  return cluster_path(name);
}

std::string cluster_path(std::string_view name) {
  if (has_cluster_prefix(name)) name.remove_prefix(kPrefix.size());
  while (name.starts_with('/')) name.remove_prefix(1);
  return "/" + std::string(name);
}

}  // namespace tutti
