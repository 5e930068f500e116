// themis: statistical tokens, as ThemisIO.
//
// Source: E. Karrels, L. Huang, Y. Kan, I. Arora, Y. Wang, D. S. Katz, W. Gropp, Z. Zhang, "Fine-grained Policy-driven I/O
// Sharing for Burst Buffers", SC '23 (arXiv 2306.11615).
//
// A token is the right to one request. Each application has a segment of [0, 1) as long as its share; a number is drawn
// for each request, and the application in whose segment it lies is served, first come, first served. Only those take
// part that have something to be served, so that what one does not use goes to the others ("opportunity fairness").
// Nothing is saved or owed.
//
// Parameters:
//   share           whose shares are equal:
//     job             applications
//     size            processes: an application's share is as large as the number of its processes that have asked
//     user            users, and within a user applications
//     user_size       users, and within a user processes
//   seed            of the draws, 1
//   dispatch_depth  requests in service at once, 16
//
// Differs: a job's size is counted in processes (clients) that were seen here, not in nodes from the batch system;
// servers draw each for itself, without the exchange by which ThemisIO makes shares hold over all servers together.
// Cost: O(log applications + log requests of the application).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "policy/request/application_queues.h"
#include "policy/request/flat_map.h"
#include "policy/request/guarded_policy.h"
#include "policy/request/weighted_draw.h"

namespace tutti {

struct ThemisOptions {
  enum class Share : std::uint8_t { job, size, user, user_size };
  Share share = Share::job;
  std::uint64_t seed = 1;
  std::uint64_t dispatch_depth = GuardedPolicy::kDefaultDepth;
};

class ThemisPolicy : public GuardedPolicy {
 public:
  static constexpr std::uint64_t kMostProcesses = 65536;  // of an application; beyond that none is counted
  explicit ThemisPolicy(const ThemisOptions& options)
      : GuardedPolicy(options.dispatch_depth), options_(options), random_(options.seed) {}
  [[nodiscard]] std::string name() const override;

 private:
  using Queue = ApplicationQueues::Queue;
  struct Application {
    FlatMap<std::uint64_t, HashOfNumber> processes;  // that have asked
    std::uint32_t user = kNone;  // in users_, and the place there, while somebody is in line
    std::uint32_t slot = 0;
  };
  // Applications that have somebody in line, of one user; of all where users do not count.
  struct User {
    std::uint64_t key = 0;
    WeightedDraw shares;
    std::vector<Queue> applications;  // by slot
    std::vector<std::uint32_t> free_slots;
    std::uint32_t place = 0;  // in present_
  };

  void enter(Handle handle, Nanos now) override;
  Choice choose(Nanos now) override;
  void left(Handle handle, Nanos now) override;
  void ended(Handle handle, Nanos now) override;

  [[nodiscard]] std::uint64_t weight_of(Queue queue) const;
  std::uint32_t user_of(std::uint64_t key);
  void take_part(Queue queue, std::uint64_t user_key);
  void leave_if_empty(Queue queue);

  ThemisOptions options_;
  Random random_;
  ApplicationQueues queues_;
  std::vector<Application> applications_;  // by queue
  std::vector<User> users_;
  std::vector<std::uint32_t> free_users_;
  FlatMap<std::uint64_t, HashOfNumber> by_user_;  // key to users_
  std::vector<std::uint32_t> present_;            // users with somebody in line
};

}  // namespace tutti
