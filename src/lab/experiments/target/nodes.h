// The nodes that all experiments of the paper on the order of visiting share, and how a point on them is run.
//
// The paper's cluster: dual Pentium III with Myrinet, over which TCP gives 120 MB/s in each direction; what is written and
// read is in the servers' memory. Its processors are modelled on the servers' side: a cost per block, per byte written and per
// run. The three are fitted to one figure of the paper each and to nothing else (fit.md of the report's notes): per block so
// that reading with `hash` and 32 KiB gives 817 MB/s, per byte written so that writing with `hash` and 64 KiB gives 573 MB/s,
// per run so that reading BTIO with `hash` and 8 MiB takes 0.42 s. Everything else is a prediction.
// The latency of the fabric is assumed to be small: what TCP costs is in the cost per block.
//
// The letter: one block in flight per client, one transfer at a time per server, nothing inside replies.
// The user's: servers as they are by default, processors free: the fitted costs are those of a file system that handles a block
// after all of it has come, ours streams.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/sim/sim_cluster.h"

namespace tutti {

// What one client moves: extents of the shared file, in its order.
struct ClientLoad {
  std::vector<Extent> extents;
  std::optional<FileView> view =
      std::nullopt;  // that shows the same bytes in the same order, for TargetPoint::views
  [[nodiscard]] Bytes bytes() const;
};

// One simulation.
struct TargetPoint {
  Json parameters = Json::object();  // for the report
  std::uint64_t seed = 1;
  std::uint32_t servers = 8;
  NicModel nic;
  NicModel client_nic;
  SimStorageOptions storage;
  std::string policy = "fcfs";
  std::size_t sending = 16;  // see DataServerOptions
  double slow_server = 1;    // the first server's card and device take so many times as long
  Bytes stripe = 64_KiB;
  bool write = true;
  std::vector<ClientLoad> clients;
  VisitWish visit;
  bool today = false;  // in flight as by default; otherwise visit.in_flight
  bool ranked = true;  // clients know their rank
  bool views = false;  // extents are declared once, as a view
  std::uint32_t inline_limit = 8192;
  Nanos start_jitter = 20_us;  // clients begin within it
  bool in_order = false;       // they begin one after the other, in order of rank, a microsecond apart
  bool probe = false;          // a further client reads 4 KiB from one server after the other
};

struct TargetResult {
  double seconds = 0;  // from the first request to the last answer
  double bytes = 0;
  double queue = 0;  // requests at a server, waiting or under way, mean over servers and time
  double p99 = 0;    // of the probe's reads, in seconds
  double sent = 0;   // bytes that the clients' cards sent beside the data they wrote
  double bound = 0;  // see bound()
  [[nodiscard]] double mb_per_second() const { return bytes / seconds / 1e6; }
};

// The paper's nodes, processors free or as fitted.
NicModel myrinet();
CpuModel fitted_cpu();
TargetPoint paper_point(bool fitted);
// Makes it the letter's with this order and block. For reading the servers decide.
void to_the_letter(TargetPoint& point, const std::string& order, Bytes block);
// What users had before there was a choice.
void as_today(TargetPoint& point);
void with_order(TargetPoint& point, const std::string& order, Bytes block, std::size_t in_flight);

// Each client has `each` bytes of the file, one region behind the other.
std::vector<ClientLoad> contiguous(std::uint32_t clients, Bytes each);
// BTIO class C: 162 cubed points of 40 bytes, by a square number of clients.
std::vector<ClientLoad> btio(std::uint32_t clients);
// Each client has 16 transfers, lognormal in length (median 1 MiB, sigma 1), to servers drawn by Zipf(1); those of a client to
// one server lie together. Needs a stripe of kIrregularStripe.
inline constexpr Bytes kIrregularStripe = 256_MiB;
std::vector<ClientLoad> irregular(std::uint32_t clients, std::uint32_t servers, std::uint64_t seed);

// The shortest possible time, in seconds: the most loaded card, of a client or a server.
double bound(const TargetPoint& point);

Result<TargetResult> run_point(const TargetPoint& point);
// All, several at a time, in their order. A point is made when it is its turn: `make` is called by several threads.
Result<std::vector<TargetResult>> run_points(std::size_t count,
                                             const std::function<TargetPoint(std::size_t)>& make,
                                             const ExperimentOptions& options);

// Points with several seeds each.
class TargetSeries {
 public:
  explicit TargetSeries(const ExperimentOptions& options) : options_(options) {}

  // `make` is called once for each seed, in run(), by several threads. Returns the number of the point.
  std::size_t add(Json parameters, std::size_t seeds, std::function<TargetPoint(std::uint64_t seed)> make);
  // As many seeds more.
  void extend(std::size_t point, std::size_t seeds);
  // Simulates what was added since the last time.
  Status run();

  [[nodiscard]] const std::vector<TargetResult>& operator[](std::size_t point) const {
    return samples_[point].results;
  }
  [[nodiscard]] const Json& parameters(std::size_t point) const { return samples_[point].parameters; }
  // Means over the seeds.
  [[nodiscard]] double seconds(std::size_t point) const;
  [[nodiscard]] double mb_per_second(std::size_t point) const;
  // The standard error of the difference between two such means, as a share of the first. Seeds make the loads, the same for both, so
  // what is compared are the runs of one seed.
  [[nodiscard]] double error(std::size_t point, std::size_t other) const;
  [[nodiscard]] double queue(std::size_t point) const;
  [[nodiscard]] double p99(std::size_t point) const;
  [[nodiscard]] double sent(std::size_t point) const;
  // A row for each point, with its parameters.
  [[nodiscard]] Json rows() const;

 private:
  struct Sample {
    Json parameters;
    std::function<TargetPoint(std::uint64_t seed)> make;
    std::size_t seeds = 0;
    std::vector<TargetResult> results;  // of the first so many seeds
  };
  template <typename Value>
  [[nodiscard]] double mean(std::size_t point, Value value) const;

  const ExperimentOptions& options_;
  std::vector<Sample> samples_;
};

double mean_of(const std::vector<double>& values);
double rounded_to(double value, int digits = 4);

}  // namespace tutti
