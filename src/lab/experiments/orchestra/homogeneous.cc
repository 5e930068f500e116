#include "lab/experiments/orchestra/homogeneous.h"

#include <algorithm>

#include "lab/report/numbers.h"

namespace tutti::orchestra {
namespace {

constexpr std::size_t kManySeeds = 40;

std::string_view stream_name(StreamKind stream) {
  constexpr std::string_view kNames[] = {"file", "operation", "client"};
  return kNames[static_cast<std::size_t>(stream)];
}

RunSpec two_of(Benchmark benchmark, bool write, const HomogeneousLoad& load) {
  RunSpec spec;
  ProgramSpec program;
  program.benchmark = benchmark;
  program.write = write;
  program.barrier = load.barrier;
  program.collective = load.collective;
  spec.programs = {program, program};
  return spec;
}

}  // namespace

Homogeneous::Homogeneous(const ExperimentOptions& options, HomogeneousLoad load)
    : load_(load), points_(options, options.quick ? 1 : 10) {
  for (const bool write : {false, true}) {
    for (const Benchmark benchmark : kAllBenchmarks) {
      if (options.quick && (write || benchmark != Benchmark::mpi_io_test)) continue;
      like_ = two_of(benchmark, write, load);
      const Json parameters = {{"benchmark", benchmark_name(benchmark)},
                               {"access", write ? "write" : "read"}};
      // All five requests of a call of mpi-tile-io are for one server: whether two programs meet there call after call is chance.
      const std::size_t seeds = benchmark == Benchmark::tile && !options.quick ? kManySeeds : 0;
      numbers_[{benchmark, write}] = points_.add(parameters, like_, seeds);
    }
  }
  if (!load.streams || options.quick) return;
  for (const StreamKind stream : {StreamKind::client, StreamKind::file}) {
    for (const std::size_t column : {kFcfs, kPaper}) {
      RunSpec spec = in_column(two_of(Benchmark::mpi_io_test, false, load), column);
      spec.stream = stream;
      points_.add_one({{"benchmark", benchmark_name(Benchmark::mpi_io_test)},
                       {"access", "read"},
                       {"column", column_name(column)},
                       {"stream", stream_name(stream)}},
                      spec);
    }
  }
}

double Homogeneous::mean_gain() const {
  std::vector<double> gains;
  for (const auto& [key, point] : numbers_) gains.push_back(points_.gain(point));
  return mean(gains);
}

double Homogeneous::mean_gain_of(bool write) const {
  std::vector<double> gains;
  for (const auto& [key, point] : numbers_) {
    if (key.second == write) gains.push_back(points_.gain(point));
  }
  return mean(gains);
}

double Homogeneous::largest_gain() const {
  double largest = -1;
  for (const auto& [key, point] : numbers_) largest = std::max(largest, points_.gain(point));
  return largest;
}

Report Homogeneous::report() const {
  Report report;
  report.settings = settings(points_.seeds(), like_);
  report.rows = points_.rows();
  report.figure("baseline_mpiio_read_mb",
                rounded(points_.cell(at(Benchmark::mpi_io_test, false), kFcfs).rate() / 1e6));
  if (has(Benchmark::hpio_nc, false))
    report.figure("baseline_hpio_nc_read_mb",
                  rounded(points_.cell(at(Benchmark::hpio_nc, false), kFcfs).rate() / 1e6));
  report.figure("never_loses_worst", rounded(points_.never_loses()), {}, ">= 0.97");
  report.figure("never_loses_same_read_ahead", rounded(points_.never_loses_same_read_ahead()));
  report.figure("busy_over_expected_farthest", rounded(points_.first_principles()), {}, "0.9 to 1.1");
  report.notes.push_back("Objects on server 0: " +
                         points_.cell(at(Benchmark::mpi_io_test, false), kFcfs).outcomes.front().addresses);
  return report;
}

}  // namespace tutti::orchestra
