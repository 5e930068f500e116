// The testbed of paper 1 (section 5.1), the same for all its experiments, and what they share.
//
// One device model each for HDD and SSD. HDDs have Gigabit Ethernet and SSDs InfiniBand 4x DDR (the paper says 4x; DDR was the
// common rate of its year), but for figures 3 and 5, where both have InfiniBand. Every process has a node of its own. Caches
// are cold, and servers write through to the medium, so that memory hides neither reads nor writes.
//
// Four policies are compared everywhere. Without coordination: `fcfs`, 16 requests at once as PVFS2 2.8 has them, which is
// what the paper's platform really did; and `fcfs;dispatch_depth=1`, a single file, which is what its figures resemble. With
// coordination: the paper to the letter ("the trove module handles operations one by one from the head of the shared
// queue"), and the `window` that a user gets.
//
// Chance, and where it comes from:
//  - A process that a message is for runs 0 to 500 us after the message came, uniformly: interrupts that cards hold back
//    and the scheduling of a busy node. So one request reaches its servers at different times, which the paper calls
//    nonuniform network delays. Without it fcfs would serve all servers in the same order by itself.
//  - Processes that start together do so within 200 us, as after a barrier. Barriers cost messages (lab/sim/barrier.h).
//  - Application ids are random, as the paper generates them; a burst falls anywhere into a window; files lie anywhere on
//    the disks, alike on all servers (env/sim/device/placement.h). FilePlaces tells of the other ways they may lie.
// The times are assumed; no experiment but coord-model, which is about none of it, changes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lab/experiments/experiment.h"
#include "lab/report/numbers.h"
#include "lab/scenario/scenario.h"

namespace tutti {

enum class Medium : std::uint8_t { hdd, ssd };
std::string_view medium_name(Medium medium);

// Without coordination.
std::string fcfs_deep();
std::string fcfs_single();
// With it: the paper to the letter, with its default interval for the medium or this one; and what a user gets.
std::string letter(Medium medium);
std::string letter(Nanos interval);
std::string default_window(Medium medium);
std::string default_auto(Medium medium);

// Where files lie on the disks.
struct FilePlaces {
  bool adjacent = false;  // one behind the other, as on a new file system; otherwise anywhere
  bool alike = true;      // at the same places on all servers
};
std::string_view places_name(const FilePlaces& places);

// An empty testbed.
Scenario make_testbed(Medium medium, std::uint32_t servers, const std::string& policy, std::uint64_t seed);
// Changes it.
void use_infiniband(Scenario& scenario);
void place_files(Scenario& scenario, const FilePlaces& places);
// `count` applications alike; names, random ids and a random common start within a second are given here, by the
// scenario's seed. Call once, when all are there.
void add_applications(Scenario& scenario, const ApplicationSpec& like, std::uint32_t count);
void settle(Scenario& scenario);

std::string testbed_settings(std::uint64_t seeds);

// Runs all, several at a time, and returns results in the order of the scenarios; the first error if one fails, also
// if a request failed.
Result<std::vector<ScenarioResult>> run_all(const std::vector<Scenario>& scenarios,
                                            const ExperimentOptions& options);

// Seconds from the application's first request to its last answer.
double completion(const ApplicationResult& application);
// Mean over applications.
double mean_completion(const ScenarioResult& result);
// When the last server is done with an application over when the first is; each the mean over the applications.
double spread(const ScenarioResult& result);
// The same as the mean of each application's own ratio, which a single early server makes large.
double spread_of_each(const ScenarioResult& result);
// Bytes per second from the first request to the last answer.
double bandwidth(const ScenarioResult& result);
// The 99th percentile of the times of all requests, in seconds.
double p99(const std::vector<const ScenarioResult*>& results);
// Jain's index of the applications' completions.
double fairness(const ScenarioResult& result);
// Jain's index of the values: 1 if all are equal, 1/n if one has all.
double jain(const std::vector<double>& values);

// What is saved of `without`, as a fraction of it.
inline double reduction(double without, double with) { return (without - with) / without; }

}  // namespace tutti
