#include "client/real/process.h"

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace tutti {

std::string environment_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  return value != nullptr ? value : "";
}

std::optional<std::uint32_t> find_umask(std::string_view status) {
  constexpr std::string_view kField = "\nUmask:";
  const auto at = status.find(kField);
  if (at == std::string_view::npos) return std::nullopt;
  status.remove_prefix(at + kField.size());
  while (status.starts_with(' ') || status.starts_with('\t')) status.remove_prefix(1);
  std::uint32_t mask = 0;
  const auto [stop, error] = std::from_chars(status.data(), status.data() + status.size(), mask, 8);
  if (error != std::errc() || mask > 0777) return std::nullopt;
  return mask;
}

std::uint32_t process_umask() {
  constexpr std::uint32_t kUsual = 022;
  std::ifstream file("/proc/self/status");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return find_umask(text).value_or(kUsual);
}

}  // namespace tutti
