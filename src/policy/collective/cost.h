// What a collective call will cost under each plan, as far as the ranks can know. Pure.
//
// The costs that tell plans apart are counted: bytes that pass cards twice, places between which heads jump, runs that servers
// are told one by one, messages, and ranks that wait for each other. The figures of the machine are those of a kind (disks and
// Gigabit Ethernet, or anything faster): what counts is which plan is cheapest, and that changes only where one of these
// terms outgrows another by far.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "policy/collective/plan.h"

namespace tutti {

struct MachineFigures {
  double device = 0;   // bytes per second of a server
  double network = 0;  // bytes per second of a card
  double jump = 0;     // seconds
  double message = 0;  // seconds, from sending to the receiver's work on it
  double run = 0;      // seconds of a server for each run of a list
  double step = 0;     // seconds of one step of ranks that synchronize
  double copy = 0;     // bytes per second of memory
};
MachineFigures figures_of(bool rotational);

// A plan by the text that makes it, and seconds.
struct Prediction {
  std::string plan;
  double seconds = 0;
};

// For independent, two_phase with cyclic domains, with contiguous ones, and resonant, in this order: of equals the first is best. The ranks must
// know their bytes by slot.
std::vector<Prediction> predict(const CollectiveFacts& facts);

}  // namespace tutti
