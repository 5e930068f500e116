#include "lab/experiments/gate/testbed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lab/experiments/window/testbed.h"

namespace tutti::gatelab {

StorageMaker paper_storage(std::uint32_t servers) {
  return [servers](Simulation& simulation, Random random) -> std::unique_ptr<SharedStorage> {
    NfsOptions options;
    options.servers = servers;
    return std::make_unique<NfsStorage>(simulation, options, random);
  };
}

StorageMaker curve_storage(double alone, std::function<double(std::size_t)> share) {
  return [alone, share = std::move(share)](Simulation& simulation, Random) -> std::unique_ptr<SharedStorage> {
    return std::make_unique<CurveStorage>(simulation,
                                          [alone, share](std::size_t n) { return alone * share(n); });
  };
}

gate::BackoffOptions backoff_options(const StorageMaker& storage) {
  gate::BackoffOptions options;
  options.max_count = 6;
  options.base = 2;
  options.starting_exponent = 3;
  options.time_constant = 2_s;
  options.fixed_sleep = 5_s;
  options.pause = Nanos(1'950'000'000);  // two of them and three probes: the paper's 4.03 s on a quiet system
  const double quiet = static_cast<double>(options.data_size.count()) / quiet_probe(storage, options);
  options.threshold = Bytes(static_cast<std::uint64_t>(0.85 * quiet));
  return options;
}

std::vector<JobSpec> calibration_mix(std::uint64_t seed) {
  MixRanges ranges;
  ranges.start_high = kStarts;
  return random_mix(5, ranges, Random(900'000 + seed));
}

const std::vector<Method>& usual_columns() {
  static const std::vector<Method> kColumns = {Method::nothing, Method::stagger, Method::backoff,
                                               Method::lock, Method::gate};
  return kColumns;
}

double Column::mean(const std::function<double(const RunResult&)>& of) const {
  double all = 0;
  for (const RunResult& run : runs) all += of(run);
  return all / static_cast<double>(runs.size());
}

double Column::io() const {
  return mean([](const RunResult& run) { return run.mean_io(); });
}

std::vector<Column> run_columns(const ExperimentOptions& options, const std::vector<Method>& methods,
                                std::size_t seeds, const StorageMaker& storage,
                                const std::function<std::vector<JobSpec>(std::uint64_t seed)>& jobs,
                                const std::function<void(RunOptions&)>& change) {
  const gate::BackoffOptions backoff = backoff_options(paper_storage());
  std::vector<RunOptions> all;
  for (const Method method : methods) {
    for (std::size_t i = 0; i < seeds; ++i) {
      RunOptions& run = all.emplace_back();
      run.seed = options.seed + i;
      run.method = method;
      run.jobs = jobs(run.seed);
      run.backoff = backoff;
      run.storage = storage;
      if (change) change(run);
    }
  }
  std::vector<RunResult> results = run_mixes(all, options);
  std::vector<Column> columns;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i % seeds == 0) {
      columns.emplace_back();
      columns.back().method = all[i].method;
      columns.back().name = method_name(all[i].method);
    }
    columns.back().runs.push_back(std::move(results[i]));
  }
  return columns;
}

std::vector<Column> run_on_tutti(const ExperimentOptions& options, std::size_t seeds,
                                 const std::function<std::vector<JobSpec>(std::uint64_t seed)>& jobs) {
  std::vector<Column> columns;
  const auto add = [&](const std::string& policy, Method method) {
    std::vector<Column> one = run_columns(options, {method}, seeds, {}, jobs, [&](RunOptions& run) {
      run.tutti = policy;
      run.nodes = static_cast<std::uint32_t>(run.jobs.size());
    });
    one.front().name =
        method == Method::nothing ? "tutti " + policy : "tutti " + policy + ", " + one.front().name;
    columns.push_back(std::move(one.front()));
  };
  for (const char* policy : {"fcfs", "window", "orchestrated"}) add(policy, Method::nothing);
  add("fcfs", Method::lock);
  add("fcfs", Method::gate);
  return columns;
}

void add_tutti(Report& report, Json parameters, const std::vector<Column>& columns) {
  add_rows(report, std::move(parameters), columns);
  const double fcfs = columns.front().io();
  double best = fcfs;  // of what takes no turns
  for (const Column& each : columns) {
    if (each.method == Method::nothing) best = std::min(best, each.io());
  }
  for (std::size_t i = 1; i < columns.size(); ++i) {
    const Column& each = columns[i];
    const std::string name =
        each.method == Method::nothing ? each.name.substr(6) : std::string(method_name(each.method));
    report.figure("tutti_" + name + "_reduction", rounded(reduction(fcfs, each.io())));
    if (each.method == Method::lock) report.figure("tutti_lock_adds", rounded(reduction(best, each.io())));
  }
}

const Column& column(const std::vector<Column>& columns, Method method) {
  return *std::find_if(columns.begin(), columns.end(),
                       [method](const Column& each) { return each.method == method; });
}

std::vector<double> savings(const std::vector<Column>& columns, Method method) {
  const Column& nothing = column(columns, Method::nothing);
  const Column& with = column(columns, method);
  std::vector<double> all;
  for (std::size_t i = 0; i < with.runs.size(); ++i) {
    all.push_back(reduction(nothing.runs[i].total_io(), with.runs[i].total_io()));
  }
  return all;
}

double saving(const std::vector<Column>& columns, Method method) {
  return reduction(column(columns, Method::nothing).io(), column(columns, method).io());
}

void add_rows(Report& report, Json parameters, const std::vector<Column>& columns) {
  for (const Column& each : columns) {
    std::vector<double> io;
    for (const RunResult& run : each.runs) io.push_back(run.mean_io());
    const auto per_job = [](double JobResult::*part) {
      return [part](const RunResult& run) {
        double all = 0;
        for (const JobResult& job : run.jobs) all += job.*part;
        return all / static_cast<double>(run.jobs.size());
      };
    };
    Json row = parameters;
    row["column"] = each.name;
    row["io_per_job"] = rounded(tutti::mean(io));
    row["least"] = rounded(*std::min_element(io.begin(), io.end()));
    row["most"] = rounded(*std::max_element(io.begin(), io.end()));
    row["wait"] = rounded(each.mean(per_job(&JobResult::wait)));
    row["probe"] = rounded(each.mean(per_job(&JobResult::probe)));
    row["write"] = rounded(each.mean(per_job(&JobResult::write)));
    row["makespan"] = rounded(each.mean([](const RunResult& run) { return run.makespan; }));
    row["deviation"] = rounded(each.mean([](const RunResult& run) { return run.deviation(); }));
    row["core_hours_waiting"] =
        rounded(each.mean([](const RunResult& run) { return run.core_hours_waiting; }));
    const auto count = [&each](std::uint64_t RunResult::*what) {
      return rounded(each.mean([what](const RunResult& run) { return static_cast<double>(run.*what); }));
    };
    row["probes"] = count(&RunResult::probes);
    row["misses"] = count(&RunResult::misses);
    row["false_alarms"] = count(&RunResult::false_alarms);
    row["gave_up"] = count(&RunResult::gave_up);
    row["jumps"] = count(&RunResult::jumps);
    report.rows.push_back(std::move(row));
  }
}

double add_efficiency(Report& report, const StorageMaker& storage) {
  double alone = 0;
  double two = 0;
  for (std::uint32_t writers = 1; writers <= 10; ++writers) {
    const Efficiency measured = measure_efficiency(storage, writers, Bytes(256'000'000));
    if (writers == 1) alone = measured.rate;
    const double eta = measured.rate / alone;
    if (writers == 2) two = eta;
    report.rows.push_back({{"writers", writers},
                           {"eta", rounded(eta)},
                           {"mb_per_second", rounded(measured.rate / 1e6)},
                           {"jumps_per_gb", rounded(measured.jumps_per_gigabyte)},
                           {"disk_busy", rounded(measured.busy)}});
    if (writers == 2) report.figure("eta_2", rounded(eta), 0.485, "0.44 to 0.53");
    if (writers == 10) report.figure("eta_10", rounded(eta));
  }
  return two;
}

void add_picture(Report& report, const std::string& name, const Column& column,
                 const std::vector<JobSpec>& jobs) {
  std::vector<std::string> names;
  for (const JobSpec& job : jobs) names.push_back(job.name);
  report.pictures.push_back(
      {name + "-" + column.name + ".svg",
       timeline_svg(fmt::format("{}, {}: MB/s above each checkpoint", name, column.name), names,
                    column.runs.front().phases)});
}

std::string settings(std::size_t seeds, const gate::BackoffOptions& backoff) {
  return fmt::format(
      "one NFSv3 server that writes through to one disk, outer 24 GiB, 16 requests of 32 KiB per client, 8 "
      "threads, Gigabit "
      "Ethernet; the lock table behind messages of 30 us; backoff {}; {} seeds of start times",
      backoff.to_string(), seeds);
}

}  // namespace tutti::gatelab
