// orchestra-heads: figures 3 and 4. Where the heads of two servers go during a second, and how soon a program comes back.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "lab/experiments/orchestra/heads_picture.h"
#include "lab/experiments/orchestra/testbed.h"
#include "lab/report/numbers.h"
#include "lab/sim/sim_cluster.h"

namespace tutti {
namespace {

using namespace orchestra;

constexpr std::uint32_t kWatched[] = {2, 5};
constexpr Nanos kFrom = 5_s;

// Reuse distances of the first program on a server, as its device sees them.
std::vector<double> reuse_distances(const std::vector<HeadMove>& moves, Bytes boundary) {
  std::vector<double> distances;
  Nanos last(-1);
  for (const HeadMove& move : moves) {
    if (move.address >= boundary) continue;
    if (last >= Nanos()) distances.push_back((move.at - last).seconds() * 1e3);
    last = move.at;
  }
  return distances;
}

Result<Report> run(const ExperimentOptions& options) {
  Report report;
  RunSpec spec;
  spec.programs.resize(2);
  spec.length = kFrom + 1_s;
  report.settings = settings(1, spec);
  std::vector<HeadTrace> traces;
  for (const std::size_t column : {kFcfs, kPaper}) {
    RunSpec each = in_column(spec, column);
    each.seed = options.seed;
    std::vector<HeadTrace> own;
    for (const std::uint32_t server : kWatched) own.push_back({server, std::string(column_name(column)), {}});
    bool hooked = false;
    Nanos began;
    each.watch = [&](SimCluster& cluster, Nanos at) {
      if (hooked || at < kFrom) return;
      hooked = true;
      began = cluster.simulation().now();
      for (HeadTrace& trace : own) {
        cluster.storage(trace.server).device()->on_io([&trace, &cluster, &began](const IoDescription& what) {
          trace.moves.push_back({cluster.simulation().now() - began, what.address});
        });
      }
    };
    const auto outcome = run_once(each);
    if (!outcome.ok()) return outcome.status();
    for (HeadTrace& trace : own) {
      Bytes low = Bytes::max();
      Bytes high;
      for (const HeadMove& move : trace.moves) {
        low = std::min(low, move.address);
        high = std::max(high, move.address);
      }
      std::vector<double> reuse = reuse_distances(trace.moves, low + (high - low) / 2);
      std::size_t turns = 0;
      for (std::size_t i = 1; i < trace.moves.size(); ++i) {
        const bool up = trace.moves[i].address > low + (high - low) / 2;
        const bool before = trace.moves[i - 1].address > low + (high - low) / 2;
        turns += up != before ? 1 : 0;
      }
      const auto large = std::count_if(reuse.begin(), reuse.end(), [](double value) { return value >= 20; });
      std::sort(reuse.begin(), reuse.end());
      report.rows.push_back({{"server", trace.server},
                             {"column", trace.column},
                             {"accesses", trace.moves.size()},
                             {"changes_of_file", turns},
                             {"reuse_median_ms", rounded(reuse.empty() ? 0 : reuse[reuse.size() / 2])},
                             {"reuse_20ms_and_more", large}});
      const std::string name =
          fmt::format("changes_per_second_{}_{}", trace.server, column == kFcfs ? "without" : "with");
      report.figure(name, turns);
      traces.push_back(std::move(trace));
    }
  }
  if (const char* path = std::getenv("TUTTI_LAB_PICTURE"); path != nullptr) {
    std::ofstream(path) << heads_picture(traces);
    report.notes.push_back(fmt::format("The picture is in {}.", path));
  } else {
    report.notes.push_back("TUTTI_LAB_PICTURE=heads.svg writes the picture.");
  }
  return report;
}

}  // namespace

constinit const Experiment known_experiments::orchestra_heads = {
    "orchestra-heads", "where the heads go during a second, with and without time slices", run};

}  // namespace tutti
