// How people and programs name a file on the cluster: "tutti:/a/b", "/a/b" and "a/b" are the same. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tutti {

// Whether the name has the prefix "tutti:", so that it means a file on the cluster wherever others are meant too.
bool has_cluster_prefix(std::string_view name);

// The path inside the cluster that the name means where names of other files are meant too: one with the prefix, or one
// under `directory`, an absolute name that stands for the cluster ($TUTTI_PREFIX; empty: none). None for other files.
std::optional<std::string> path_on_cluster(std::string_view name, std::string_view directory);

// The path inside the cluster, as FileSystem takes it: without the prefix, and with one slash in front. The prefix alone
// is the root.
std::string cluster_path(std::string_view name);

}  // namespace tutti
