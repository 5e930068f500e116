#include "client/application.h"

#include <charconv>

#include "base/hash.h"

namespace tutti {
namespace {

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string launch_name(const Environment& environment) {
  if (const std::string space = environment("PMIX_NAMESPACE"); !space.empty()) {
    // Open MPI numbers its namespaces by a hash of 16 bits; the address of its launcher tells two of them apart.
    return "pmix:" + space + ":" + environment("OMPI_MCA_orte_hnp_uri");
  }
  const std::string step = environment("SLURM_STEP_ID");
  if (const std::string job = environment("SLURM_JOB_ID"); !job.empty() && !step.empty())
    return "slurm:" + environment("SLURM_CLUSTER_NAME") + ":" + job + "." + step;
  const std::string task = environment("PBS_TASKNUM");
  if (const std::string job = environment("PBS_JOBID"); !job.empty() && !task.empty())
    return "pbs:" + job + "." + task;
  return "";
}

std::string batch_job(const Environment& environment) {
  for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"}) {
    if (std::string job = environment(name); !job.empty()) return job;
  }
  return "";
}

Result<ApplicationRange> parse_application_range(std::string_view text) {
  if (text.empty()) return ApplicationRange{};
  const auto dash = text.find('-');
  const auto low = number(text.substr(0, dash));
  const auto high = dash == std::string_view::npos ? low : number(text.substr(dash + 1));
  if (!low || !high || *low == 0 || *high < *low)
    return Status(Code::invalid,
                  "'" + std::string(text) + "' is neither a number above 0 nor a range of them, as 100-199");
  return ApplicationRange{*low, *high};
}

std::uint64_t choose_application(const ApplicationRange& setting, std::string_view launch,
                                 std::uint64_t random) {
  const std::uint64_t drawn = launch.empty() ? random : stable_hash(launch);
  if (setting.high == 0) return drawn == 0 ? 1 : drawn;
  const std::uint64_t span = setting.high - setting.low;
  return setting.low + (span + 1 == 0 ? drawn : drawn % (span + 1));
}

}  // namespace tutti
