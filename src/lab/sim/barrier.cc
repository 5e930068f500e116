#include "lab/sim/barrier.h"

#include <algorithm>

namespace tutti {

Barrier::Barrier(Executor& executor, std::size_t ranks, const NicModel& nic, Random random)
    : executor_(executor),
      ranks_(ranks),
      message_(nic.latency + nic.per_message * 2),
      jitter_(nic.jitter),
      random_(random),
      round_(std::make_shared<Round>(executor, ranks)) {}

Task<void> Barrier::arrive(std::size_t rank, Clock& clock) {
  const std::shared_ptr<Round> round = round_;
  round->times[rank] = clock.now();
  if (++arrived_ == ranks_) {
    arrived_ = 0;
    round_ = std::make_shared<Round>(executor_, ranks_);
    disseminate(round->times);
    round->all.set();
  }
  co_await round->all.wait();
  co_await clock.sleep_until(round->times[rank]);
}

void Barrier::disseminate(std::vector<Nanos>& times) {
  const auto most = static_cast<std::uint64_t>(jitter_.count()) + 1;
  for (std::size_t step = 1; step < ranks_; step *= 2) {
    std::vector<Nanos> heard(ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      const Nanos arrival = times[(rank + ranks_ - step) % ranks_] + message_ +
                            Nanos(static_cast<std::int64_t>(random_.below(most)));
      heard[rank] = std::max(times[rank], arrival);
    }
    times = std::move(heard);
  }
}

}  // namespace tutti
