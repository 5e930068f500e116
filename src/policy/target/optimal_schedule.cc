#include "policy/target/optimal_schedule.h"

#include <algorithm>
#include <limits>

namespace tutti {
namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

// A square of loads whose rows and columns all have the same sum: clients and resting servers by servers and resting clients.
class Square {
 public:
  explicit Square(const ScheduleProblem& problem)
      : clients_(problem.clients.size()),
        servers_(problem.servers.size()),
        size_(clients_ + servers_),
        load_(size_ * size_),
        total_(schedule_bound(problem)) {
    std::vector<std::uint64_t> of_client(clients_);
    std::vector<std::uint64_t> of_server(servers_);
    for (const ScheduleTransfer& each : problem.transfers) {
      at(each.client, each.server) += each.length;
      // The mirror image keeps the sums of the resting ones equal.
      at(clients_ + each.server, servers_ + each.client) += each.length;
      of_client[each.client] += each.length;
      of_server[each.server] += each.length;
    }
    for (std::size_t i = 0; i < clients_; ++i) at(i, servers_ + i) = total_ - of_client[i];
    for (std::size_t j = 0; j < servers_; ++j) at(clients_ + j, j) = total_ - of_server[j];
    row_of_.assign(size_, kNone);
    column_of_.assign(size_, kNone);
  }

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::size_t server_of(std::size_t client) const {
    return column_of_[client] < servers_ ? column_of_[client] : kNone;
  }
  // A partner for every row; those of the step before stay where they can.
  void match() {
    for (std::size_t row = 0; row < size_; ++row) {
      if (column_of_[row] != kNone && at(row, column_of_[row]) == 0) {
        row_of_[column_of_[row]] = kNone;
        column_of_[row] = kNone;
      }
    }
    for (std::size_t row = 0; row < size_; ++row) {
      if (column_of_[row] != kNone) continue;
      seen_.assign(size_, false);
      find(row);
    }
  }
  // How long all partners have something to do.
  [[nodiscard]] std::uint64_t step() const {
    std::uint64_t least = total_;
    for (std::size_t row = 0; row < size_; ++row) least = std::min(least, at(row, column_of_[row]));
    return least;
  }
  void spend(std::uint64_t time) {
    for (std::size_t row = 0; row < size_; ++row) at(row, column_of_[row]) -= time;
  }

 private:
  std::uint64_t& at(std::size_t row, std::size_t column) { return load_[row * size_ + column]; }
  [[nodiscard]] std::uint64_t at(std::size_t row, std::size_t column) const {
    return load_[row * size_ + column];
  }
  // By an augmenting path.
  bool find(std::size_t row) {
    for (std::size_t column = 0; column < size_; ++column) {
      if (seen_[column] || at(row, column) == 0) continue;
      seen_[column] = true;
      if (row_of_[column] != kNone && !find(row_of_[column])) continue;
      row_of_[column] = row;
      column_of_[row] = column;
      return true;
    }
    return false;
  }

  std::size_t clients_;
  std::size_t servers_;
  std::size_t size_;
  std::vector<std::uint64_t> load_;
  std::uint64_t total_;
  std::vector<std::size_t> row_of_;     // by column
  std::vector<std::size_t> column_of_;  // by row
  std::vector<bool> seen_;
};

}  // namespace

Schedule optimal_schedule(const ScheduleProblem& problem) {
  Square square(problem);
  Schedule schedule;
  schedule.length = square.total();
  const std::size_t servers = problem.servers.size();
  // What is left of the transfers between each pair, in order of arrival.
  std::vector<std::vector<std::size_t>> waiting(problem.clients.size() * servers);
  std::vector<std::uint64_t> left(problem.transfers.size());
  for (std::size_t i = problem.transfers.size(); i-- > 0;) {
    const ScheduleTransfer& each = problem.transfers[i];
    waiting[each.client * servers + each.server].push_back(i);
    left[i] = each.length;
  }
  for (std::uint64_t now = 0; now < square.total();) {
    square.match();
    const std::uint64_t step = square.step();
    for (std::size_t client = 0; client < problem.clients.size(); ++client) {
      const std::size_t server = square.server_of(client);
      if (server == kNone) continue;
      auto& queue = waiting[client * servers + server];
      for (std::uint64_t spent = 0; spent < step;) {
        const std::size_t index = queue.back();
        const std::uint64_t part = std::min(left[index], step - spent);
        schedule.parts.push_back({index, now + spent, part});
        left[index] -= part;
        spent += part;
        if (left[index] == 0) queue.pop_back();
      }
    }
    square.spend(step);
    now += step;
  }
  return schedule;
}

}  // namespace tutti
