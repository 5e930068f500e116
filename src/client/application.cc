#include "client/application.h"

#include "base/hash.h"

namespace tutti {

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

std::uint64_t choose_application(std::string_view launch, std::uint64_t random) {
  const std::uint64_t drawn = launch.empty() ? random : stable_hash(launch);
  return drawn == 0 ? 1 : drawn;
}

}  // namespace tutti
