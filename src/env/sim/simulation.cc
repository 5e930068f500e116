#include "env/sim/simulation.h"

namespace tutti {

bool Simulation::step() {
  std::size_t ran = executor_.run_ready();
  const Nanos next = executor_.next_deadline();
  if (next == Nanos::max()) return ran > 0;
  if (next > now_) now_ = next;
  ran += executor_.fire_due(now_);
  ran += executor_.run_ready();
  trace_ = (trace_ ^ static_cast<std::uint64_t>(now_.count()) ^ (static_cast<std::uint64_t>(ran) << 56U)) *
           0x9e3779b97f4a7c15U;
  trace_ ^= trace_ >> 29U;
  return true;
}

void Simulation::run_until(Nanos deadline) {
  executor_.run_ready();
  while (executor_.next_deadline() <= deadline) step();
  if (deadline > now_) now_ = deadline;
}

}  // namespace tutti
