#include "daemon/gate_state.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "env/real/kv/lmdb_kv.h"

namespace tutti {
namespace {

constexpr Bytes kMost = 256_MiB;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Result<std::unique_ptr<Kv>> open_gate_state(Daemon& daemon) {
  const std::filesystem::path directory = daemon.state.path() + "/run/gate." + daemon.name;
  const std::filesystem::path mark = directory / "boot";
  const std::string boot = read_text("/proc/sys/kernel/random/boot_id");
  std::error_code error;
  if (boot.empty() || read_text(mark) != boot) {
    std::filesystem::remove_all(directory, error);
    std::filesystem::create_directories(directory, error);
    if (error) return Status::from_errno(error.value(), "create directory " + directory.string());
    std::ofstream(mark) << boot;
  }
  LmdbOptions options;
  options.map_size = kMost;
  options.synced = false;
  auto kv = LmdbKv::open(daemon.loop, directory.string(), options);
  if (!kv.ok()) return kv.status();
  return std::unique_ptr<Kv>(*std::move(kv));
}

}  // namespace tutti
