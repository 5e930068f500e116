#include "lab/experiments/window/lab_policy.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace tutti {
namespace {
constexpr Bytes kQuantum = 128_KiB;
}  // namespace

void LabPolicy::changed(std::uint64_t /*application*/, std::int64_t /*bytes*/) {}

void LabPolicy::add(const QueuedRequest& request, Nanos /*now*/) {
  const auto [lane, fresh] = lanes_.try_emplace(request.application);
  if (fresh) lane->second = sweeps_.open();
  sweeps_.push(lane->second, request.id, {request.object, request.offset});
  requests_.emplace(request.id, Entry{request.application, request.length});
  changed(request.application, static_cast<std::int64_t>(request.length.count()));
}

Decision LabPolicy::next(Nanos now) {
  if (sweeps_.in_service() > 0) return Decision::idle();
  std::optional<Sweeps::Lane> best;
  std::uint64_t least = 0;
  for (const auto& [application, lane] : lanes_) {
    if (sweeps_.empty(lane)) continue;
    const std::uint64_t place = rank(application, now);
    if (best && place >= least) continue;
    best = lane;
    least = place;
  }
  return best ? Decision::dispatch(sweeps_.take(*best), kQuantum) : Decision::idle();
}

void LabPolicy::served(std::uint64_t id, Bytes bytes, bool finished, Nanos /*now*/) {
  if (finished) return forget(id);
  Entry& entry = requests_.at(id);
  const Bytes gone = std::min(bytes, entry.left);
  entry.left -= gone;
  changed(entry.application, -static_cast<std::int64_t>(gone.count()));
  sweeps_.give_back(id);
}

void LabPolicy::drop(std::uint64_t id, Nanos /*now*/) { forget(id); }

void LabPolicy::forget(std::uint64_t id) {
  const Entry& entry = requests_.at(id);
  changed(entry.application, -static_cast<std::int64_t>(entry.left.count()));
  sweeps_.forget(id);
  requests_.erase(id);
}

GivenOrder::GivenOrder(const std::vector<std::uint64_t>& order) {
  for (std::size_t i = 0; i < order.size(); ++i) places_.emplace(order[i], i);
}

std::uint64_t GivenOrder::rank(std::uint64_t application, Nanos /*now*/) {
  const auto found = places_.find(application);
  return found == places_.end() ? places_.size() : found->second;
}

void GroupOrder::changed(std::uint64_t application, std::int64_t bytes) {
  std::uint64_t& backlog = board_->own[server_][application];
  backlog = static_cast<std::uint64_t>(static_cast<std::int64_t>(backlog) + bytes);
}

void GroupOrder::exchange(Nanos now) {
  if (now < board_->next_exchange) return;
  board_->next_exchange = Nanos(now.count() / period_.count() * period_.count()) + period_;
  board_->told.clear();
  for (const auto& server : board_->own) {
    for (const auto& [application, backlog] : server) {
      std::uint64_t& largest = board_->told[application];
      largest = std::max(largest, backlog);
    }
  }
}

std::uint64_t GroupOrder::rank(std::uint64_t application, Nanos now) {
  exchange(now);
  const auto told = board_->told.find(application);
  return std::max(told == board_->told.end() ? 0 : told->second, board_->own[server_][application]);
}

std::vector<std::size_t> best_order(const std::vector<std::vector<double>>& work) {
  const std::size_t count = work.size();
  const std::size_t servers = work.front().size();
  const std::size_t all = (std::size_t{1} << count) - 1;
  std::vector<double> least(all + 1, std::numeric_limits<double>::max());
  std::vector<std::size_t> last(all + 1);
  std::vector<double> sums(servers);
  least[0] = 0;
  for (std::size_t set = 1; set <= all; ++set) {
    for (std::size_t server = 0; server < servers; ++server) {
      sums[server] = 0;
      for (std::size_t i = 0; i < count; ++i) sums[server] += (set >> i & 1U) != 0 ? work[i][server] : 0;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if ((set >> i & 1U) == 0) continue;
      // If it is the last of the set, it is done when all of the set is on the servers that it uses.
      double done = 0;
      for (std::size_t server = 0; server < servers; ++server) {
        if (work[i][server] > 0) done = std::max(done, sums[server]);
      }
      const double sum = least[set & ~(std::size_t{1} << i)] + done;
      if (sum < least[set]) {
        least[set] = sum;
        last[set] = i;
      }
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t set = all; set != 0; set &= ~(std::size_t{1} << last[set])) order.push_back(last[set]);
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace tutti
