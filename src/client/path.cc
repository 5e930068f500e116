#include "client/path.h"

namespace tutti {
namespace {

constexpr std::string_view kPrefix = "tutti:";

}  // namespace

bool has_cluster_prefix(std::string_view name) { return name.starts_with(kPrefix); }

std::string cluster_path(std::string_view name) {
  if (has_cluster_prefix(name)) name.remove_prefix(kPrefix.size());
  while (name.starts_with('/')) name.remove_prefix(1);
  return "/" + std::string(name);
}

}  // namespace tutti
