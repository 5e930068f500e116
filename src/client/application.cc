#include "client/application.h"

#include <charconv>
#include <optional>

#include "base/hash.h"

namespace tutti {
namespace {

std::optional<std::uint64_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::string_view digits = text.substr(hex ? 2 : 0);
  std::uint64_t number = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
  if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return number;
}

std::uint64_t not_zero(std::uint64_t id) { return id == 0 ? 1 : id; }

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

}  // namespace

JobIdentity job_identity(const Environment& environment) {
  return {launch_name(environment), batch_job(environment)};
}

Result<std::uint64_t> parse_application(std::string_view text) {
  if (text.empty()) return Status(Code::invalid, "an application has a number or a name");
  const auto number = parse_number(text);
  if (!number) return not_zero(stable_hash(text));
  if (*number == 0) return Status(Code::invalid, "no application has the number 0: use another, or a name");
  return *number;
}

Result<std::uint64_t> choose_application(std::string_view wanted, const Environment& environment,
                                         std::uint64_t random) {
  if (!wanted.empty()) return parse_application(wanted);
  if (const std::string named = environment("TUTTI_APPLICATION"); !named.empty()) {
    auto id = parse_application(named);
    if (!id.ok()) return id.status().with_context("TUTTI_APPLICATION");
    return id;
  }
  const std::string launch = launch_name(environment);
  return not_zero(launch.empty() ? random : stable_hash(launch));
}

}  // namespace tutti
