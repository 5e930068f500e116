// Scenario: a cluster, the applications that use it and what befalls it, as a TOML file; see scenarios/ for
// examples.
//
// parse_scenario() checks every key. run_scenario() runs it on a SimCluster; the same scenario and seed give
// the same result to the bit. Files that are read exist before the first application starts; all processes
// have opened their files by then, and times count from that moment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "lab/sim/sim_cluster.h"

namespace tutti {

enum class AccessPattern : std::uint8_t {
  sequential,  // each process its own block of the file, one request behind the other
  strided,     // request i of process p lies at i * processes + p
  random,      // each place once, in random order
  tiles,  // each process a tile of a matrix of pieces: a request is a column of them, see ApplicationSpec
};

struct ApplicationSpec {
  std::string name;
  std::uint64_t id = 0;
  std::uint32_t processes = 1;
  Nanos start;
  Nanos start_jitter;  // each process starts up to so much later, at random
  bool write = false;
  AccessPattern pattern = AccessPattern::sequential;
  Bytes request = 1_MiB;
  std::uint64_t requests = 1;  // of each process
  // tiles: a request consists of pieces of this size. They lie `columns` to a row of the file, one behind the other in
  // their column; processes are numbered along the rows. 0 columns: as many as processes, so that all interleave.
  Bytes piece = 4_KiB;
  std::uint32_t columns = 0;
  bool shared = true;  // one file for all processes, or one for each
  LayoutWish layout;
  Nanos think;           // between two requests of a process
  bool barrier = false;  // all processes wait for each other before each request
  bool sync = false;     // at the end
  // Requests are collective calls of the processes, as MPI-IO makes them, by this plan (policy/collective). Empty: every
  // process for itself. Of a shared file, and not at random places.
  std::string collective;
  int cb_nodes = 0;  // 0: chosen by the plan
  Bytes cb_buffer_size = 16_MiB;
};

enum class EventAction : std::uint8_t { stop, lose_power, cut, slow };

struct EventSpec {
  EventAction action = EventAction::stop;
  Nanos at;
  Nanos duration;            // then it is undone
  bool meta = false;         // the metadata server
  std::uint32_t server = 0;  // or this data server
  double factor = 10;        // slow: everything to and from it takes so many times as long
};

struct Scenario {
  std::string name;
  SimClusterOptions cluster;
  std::string target_order = "alternate";  // of the clients: those of the papers ask all servers at once
  std::uint32_t processes_per_node = 1;
  Nanos limit = 3600_s;  // of virtual time; a run that takes longer has failed
  std::vector<ApplicationSpec> applications;
  std::vector<EventSpec> events;
};

struct ApplicationResult {
  std::string name;
  std::uint64_t id = 0;
  std::uint32_t processes = 0;
  std::uint64_t requests = 0;  // done
  std::uint64_t failed = 0;
  std::string first_error;
  Bytes bytes;
  Nanos start;               // of the first request
  Nanos end;                 // of the last, or of its sync
  std::vector<Nanos> times;  // of each request, from its begin to its end, in the order of the ends
  // When each data server was done with the application, from its start; negative if it had nothing to do.
  std::vector<Nanos> server_finish;
};

struct ServerResult {
  Bytes bytes_read;
  Bytes bytes_written;
  Nanos busy;                  // of the device, 0 if it has none
  std::uint64_t jumps = 0;     // of its heads: accesses that did not begin where the one before ended
  std::uint64_t requests = 0;  // reads and writes that the server served
};

struct ScenarioResult {
  std::vector<ApplicationResult> applications;
  std::vector<ServerResult> servers;
  Nanos duration;  // virtual, from the common start to the end of the last application
  std::uint64_t events = 0;
};

// `name` stands for the file in messages.
Result<Scenario> parse_scenario(std::string_view text, const std::string& name);
Result<Scenario> load_scenario(const std::string& path);
Result<ScenarioResult> run_scenario(const Scenario& scenario);

}  // namespace tutti
