// disk_directed: every rank names its own bytes, each server waits until it knows the whole call, and then pulls or pushes in
// the order of its own disk, as in D. Kotz, Disk-directed I/O for MIMD multiprocessors (1994).
//
// There is no exchange between ranks and no buffer of theirs: clients hold their bytes until a server asks for them, which is
// how every transfer goes here. What the plan adds is that servers hear of the ranks that have bytes on them, so that they
// know when they know all: server/data/directed_calls.h.
#include "policy/collective/registry.h"

namespace tutti {
namespace {

class DiskDirectedPlan : public CollectivePlan {
 public:
  [[nodiscard]] std::string name() const override { return "disk_directed"; }
  [[nodiscard]] bool wants_bytes_by_slot() const override { return true; }
  [[nodiscard]] bool directed() const override { return true; }
  [[nodiscard]] Schedule schedule(const CollectiveFacts& /*facts*/) const override { return {}; }
};

Result<std::unique_ptr<CollectivePlan>> make(const Parameters& /*none*/) {
  return std::unique_ptr<CollectivePlan>(std::make_unique<DiskDirectedPlan>());
}

}  // namespace

constinit const Registration<CollectivePlan> collective_plans::disk_directed = {"disk_directed", {}, make};

}  // namespace tutti
