#include "cli/gate/prober.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/hash.h"
#include "cli/gate/background.h"
#include "client/real/process.h"
#include "env/real/local_files.h"
#include "env/real/loop/loop.h"
#include "env/real/system_random.h"

namespace tutti::cli {
namespace {

constexpr const char* kPrefix = ".tutti-probe-";
constexpr std::time_t kOldest = 60;  // seconds
constexpr std::size_t kPiece = 1U << 20U;
constexpr double kShareOfQuiet = 0.85;
constexpr std::uint32_t kCalibrations = 7;  // probings

Nanos now() {
  Executor executor;
  return RealClock(executor).now();
}

// What processes that died have left.
void remove_old(const std::string& directory) {
  DIR* list = ::opendir(directory.c_str());
  if (list == nullptr) return;
  while (const dirent* entry = ::readdir(list)) {
    if (std::strncmp(entry->d_name, kPrefix, std::strlen(kPrefix)) != 0) continue;
    const std::string path = directory + "/" + entry->d_name;
    struct stat info {};
    if (::lstat(path.c_str(), &info) == 0 && info.st_uid == ::geteuid() && S_ISREG(info.st_mode) &&
        info.st_mtime + kOldest < ::time(nullptr))
      ::unlink(path.c_str());
  }
  ::closedir(list);
}

}  // namespace

Result<Nanos> probe(const std::string& directory, Bytes size) {
  const std::vector<std::byte> zeros(std::min<std::size_t>(kPiece, size.count()));
  const Nanos started = now();
  std::string name;
  Fd file(::open(directory.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600));
  if (!file.valid()) {
    remove_old(directory);
    name = fmt::format("{}/{}{:016x}", directory, kPrefix, system_random());
    file = Fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.valid()) return Status::from_errno(errno, fmt::format("create a probe file in {}", directory));
  }
  Status status;
  for (std::uint64_t done = 0; status.ok() && done < size.count();) {
    const std::size_t piece = std::min<std::size_t>(zeros.size(), size.count() - done);
    status = write_all(file.get(), std::span(zeros).first(piece), "a probe file");
    done += piece;
  }
  if (status.ok() && ::fdatasync(file.get()) != 0) status = Status::from_errno(errno, "flush a probe file");
  file.reset();
  const Nanos took = now() - started;
  if (!name.empty()) ::unlink(name.c_str());
  if (!status.ok()) return status;
  return took;
}

Task<Result<Probed>> back_off(Loop& loop, Env env, std::string directory, gate::BackoffOptions options,
                              Random random, Nanos limit) {
  gate::Backoff backoff(options, random);
  using Step = gate::Backoff::Step;
  const Nanos started = env.clock.now();
  for (Step step = backoff.next(); step.kind != Step::proceed; step = backoff.next()) {
    if (step.kind == Step::prime || step.kind == Step::probe) {
      std::function<Result<Nanos>()> work = [directory, size = step.size] { return probe(directory, size); };
      const Result<Nanos> took = co_await in_background(loop, std::move(work));
      if (took.ok()) {
        backoff.done(*took);
      } else {
        env.log.warn("gate: {}", took.status().to_string());
        backoff.failed();
      }
      continue;
    }
    if (step.kind == Step::sleep) {
      if (limit > 0_s && env.clock.now() - started + step.duration > limit)
        co_return Probed{backoff.count(), backoff.rate(), true, env.clock.now() - started};
      env.log.info("gate: {}/s where {}/s is the least when it is quiet: {} is busy, probing again in {}",
                   to_string(backoff.rate()), to_string(options.threshold), directory,
                   to_string(step.duration));
    }
    co_await env.clock.sleep(step.duration);
    backoff.done(step.duration);
  }
  co_return Probed{backoff.count(), backoff.rate(), backoff.gave_up(), env.clock.now() - started};
}

// The threshold is compared with the slowest of several probes, so that is what is measured.
Result<Quiet> measure_quiet(const std::string& directory) {
  Quiet quiet;
  if (const auto primed = probe(directory, quiet.options.priming); !primed.ok()) return primed.status();
  std::vector<double> rates;
  for (std::uint32_t i = 0; i < kCalibrations; ++i) {
    Nanos slowest;
    for (std::uint32_t j = 0; j < quiet.options.probes; ++j) {
      const auto took = probe(directory, quiet.options.data_size);
      if (!took.ok()) return took.status();
      slowest = std::max(slowest, *took);
    }
    rates.push_back(static_cast<double>(quiet.options.data_size.count()) / std::max(slowest.seconds(), 1e-6));
  }
  std::sort(rates.begin(), rates.end());
  quiet.slowest = Bytes(static_cast<std::uint64_t>(rates.front()));
  const double median = rates[rates.size() / 2];
  quiet.rate = Bytes(static_cast<std::uint64_t>(median));
  quiet.options.threshold = Bytes(static_cast<std::uint64_t>(median * kShareOfQuiet));
  return quiet;
}

std::string calibration_path(const std::string& resource) {
  std::string base = environment_variable("XDG_STATE_HOME");
  if (base.empty()) base = environment_variable("HOME") + "/.local/state";
  return fmt::format("{}/tutti/gate/{:016x}", base, stable_hash(resource));
}

Status store_calibration(const std::string& resource, const gate::BackoffOptions& options) {
  const std::filesystem::path path = calibration_path(resource);
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  std::ofstream file(path);
  file << resource << "\n" << options.to_string() << "\n";
  file.close();
  return file ? Status() : Status(Code::io_error, fmt::format("write {}", path.string()));
}

std::optional<gate::BackoffOptions> load_calibration(const std::string& resource) {
  std::ifstream file(calibration_path(resource));
  std::string name;
  std::string text;
  if (std::getline(file, name) && std::getline(file, text) && name == resource) {
    if (auto options = gate::BackoffOptions::parse(text); options.ok()) return *options;
  }
  return std::nullopt;
}

}  // namespace tutti::cli
