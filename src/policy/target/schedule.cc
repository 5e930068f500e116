#include "policy/target/schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/random.h"
#include "policy/target/optimal_schedule.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 10> kNames = {
    "fcfs", "first", "hash", "random", "hdf", "hdf_distributed", "hcdf", "uar", "mpasses", "optimum"};
constexpr std::size_t kMostNodes = 1024;
constexpr std::size_t kMostTransfers = 100'000;
constexpr std::uint64_t kLongest = 1'000'000'000;

// Goes through time: whenever somebody is free, the method starts what it can.
class Scheduler {
 public:
  Scheduler(const ScheduleProblem& problem, ScheduleMethod method, std::uint64_t seed)
      : problem_(problem),
        method_(method),
        random_(mix64(seed)),
        client_free_(problem.clients.size()),
        server_free_(problem.servers.size()),
        client_left_(problem.clients.size()),
        server_left_(problem.servers.size()),
        done_(problem.transfers.size()),
        left_(problem.transfers.size()) {
    for (const ScheduleTransfer& each : problem.transfers) {
      ++client_left_[each.client];
      ++server_left_[each.server];
    }
    make_lists();
  }

  Schedule run() {
    while (left_ > 0) {
      start_some();
      advance();
    }
    for (const std::uint64_t end : client_free_) schedule_.length = std::max(schedule_.length, end);
    return std::move(schedule_);
  }

 private:
  [[nodiscard]] const ScheduleTransfer& transfer(std::size_t index) const {
    return problem_.transfers[index];
  }
  [[nodiscard]] bool may_start(std::size_t index) const {
    return !done_[index] && client_free_[transfer(index).client] <= now_ &&
           server_free_[transfer(index).server] <= now_;
  }
  void start(std::size_t index) {
    const ScheduleTransfer& each = transfer(index);
    schedule_.parts.push_back({index, now_, each.length});
    client_free_[each.client] = server_free_[each.server] = now_ + each.length;
    --client_left_[each.client];
    --server_left_[each.server];
    done_[index] = true;
    --left_;
  }
  // To the next moment at which somebody becomes free.
  void advance() {
    std::uint64_t next = std::numeric_limits<std::uint64_t>::max();
    for (const auto* list : {&client_free_, &server_free_}) {
      for (const std::uint64_t end : *list) {
        if (end > now_) next = std::min(next, end);
      }
    }
    if (left_ > 0) now_ = next;
  }

  // The order of each client that keeps to one.
  void make_lists() {
    lists_.resize(problem_.clients.size());
    for (std::size_t i = 0; i < problem_.transfers.size(); ++i) lists_[transfer(i).client].push_back(i);
    if (method_ == ScheduleMethod::random) {
      for (auto& list : lists_) random_.shuffle(std::span(list));
    }
    if (method_ != ScheduleMethod::hash) return;
    const std::size_t servers = problem_.servers.size();
    for (std::size_t client = 0; client < lists_.size(); ++client) {
      // Round after round over the servers, the first of those left for each.
      std::vector<std::vector<std::size_t>> by_server(servers);
      for (const std::size_t index : lists_[client]) by_server[transfer(index).server].push_back(index);
      std::vector<std::size_t> taken(servers);
      std::vector<std::size_t> order;
      for (std::size_t step = 0; order.size() < lists_[client].size(); ++step) {
        const std::size_t server = (client + step) % servers;
        if (taken[server] < by_server[server].size()) order.push_back(by_server[server][taken[server]++]);
      }
      lists_[client] = std::move(order);
    }
  }

  void start_some() {
    switch (method_) {
      case ScheduleMethod::first:
      case ScheduleMethod::hash:
      case ScheduleMethod::random:
        return start_heads();
      case ScheduleMethod::fcfs:
        return start_in_order(by_arrival());
      case ScheduleMethod::hcdf:
        return start_in_order(by_common_degree());
      case ScheduleMethod::hdf:
        return start_by_degree();
      case ScheduleMethod::hdf_distributed:
      case ScheduleMethod::uar:
        return bid();
      case ScheduleMethod::mpasses:
        for (std::uint32_t pass = 0; pass < kPasses; ++pass) bid();
        return;
      case ScheduleMethod::optimum:
        return;
    }
  }

  // The next one of each client, if its server is free; of several that want the same server, the one that came first at it:
  // it has waited longest, or has the lower number.
  void start_heads() {
    waiting_since_.resize(lists_.size(), 0);
    std::vector<std::size_t> clients(lists_.size());
    std::iota(clients.begin(), clients.end(), 0);
    std::stable_sort(clients.begin(), clients.end(),
                     [&](std::size_t a, std::size_t b) { return waiting_since_[a] < waiting_since_[b]; });
    for (const std::size_t client : clients) {
      auto& list = lists_[client];
      if (list.empty() || !may_start(list.front())) continue;
      const std::size_t index = list.front();
      list.erase(list.begin());
      start(index);
      waiting_since_[client] = client_free_[client];
    }
  }

  [[nodiscard]] std::vector<std::size_t> by_arrival() const {
    std::vector<std::size_t> list;
    for (std::size_t i = 0; i < done_.size(); ++i) {
      if (may_start(i)) list.push_back(i);
    }
    return list;
  }
  [[nodiscard]] std::vector<std::size_t> by_common_degree() const {
    std::vector<std::size_t> list = by_arrival();
    const auto degree = [&](std::size_t i) {
      return client_left_[transfer(i).client] + server_left_[transfer(i).server];
    };
    std::stable_sort(list.begin(), list.end(),
                     [&](std::size_t a, std::size_t b) { return degree(a) > degree(b); });
    return list;
  }
  void start_in_order(const std::vector<std::size_t>& list) {
    for (const std::size_t index : list) {
      if (may_start(index)) start(index);
    }
  }

  // Nodes of both sides, by degree; each takes one of its transfers, drawn.
  void start_by_degree() {
    const std::size_t clients = problem_.clients.size();
    std::vector<std::size_t> nodes(clients + problem_.servers.size());
    std::iota(nodes.begin(), nodes.end(), 0);
    random_.shuffle(std::span(nodes));
    const auto degree = [&](std::size_t node) {
      return node < clients ? client_left_[node] : server_left_[node - clients];
    };
    std::stable_sort(nodes.begin(), nodes.end(),
                     [&](std::size_t a, std::size_t b) { return degree(a) > degree(b); });
    for (const std::size_t node : nodes) {
      std::vector<std::size_t> mine;
      for (std::size_t i = 0; i < done_.size(); ++i) {
        if (!may_start(i)) continue;
        const bool ours = node < clients ? transfer(i).client == node : transfer(i).server == node - clients;
        if (ours) mine.push_back(i);
      }
      if (!mine.empty()) start(mine[random_.below(mine.size())]);
    }
  }

  // Each free client bids for one of its transfers to a free server, drawn; each server takes one bid.
  void bid() {
    std::vector<std::vector<std::size_t>> mine(problem_.clients.size());
    for (std::size_t i = 0; i < done_.size(); ++i) {
      if (may_start(i)) mine[transfer(i).client].push_back(i);
    }
    std::vector<std::vector<std::size_t>> bids(problem_.servers.size());
    for (const auto& list : mine) {
      if (list.empty()) continue;
      const std::size_t bid = list[random_.below(list.size())];
      bids[transfer(bid).server].push_back(bid);
    }
    for (auto& list : bids) {
      if (list.empty()) continue;
      random_.shuffle(std::span(list));
      auto taken = list.begin();
      if (method_ == ScheduleMethod::hdf_distributed) {
        taken = std::max_element(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
          return client_left_[transfer(a).client] < client_left_[transfer(b).client];
        });
      }
      start(*taken);
    }
  }

  const ScheduleProblem& problem_;
  ScheduleMethod method_;
  Random random_;
  std::uint64_t now_ = 0;
  std::vector<std::uint64_t> client_free_;
  std::vector<std::uint64_t> server_free_;
  std::vector<std::size_t> client_left_;  // degrees
  std::vector<std::size_t> server_left_;
  std::vector<bool> done_;
  std::size_t left_;
  std::vector<std::vector<std::size_t>> lists_;  // by client: what is left, in its order
  std::vector<std::uint64_t> waiting_since_;     // by client
  Schedule schedule_;
};

}  // namespace

Status ScheduleProblem::validate() const {
  if (clients.empty() || servers.empty() || transfers.empty())
    return {Code::invalid, "a schedule needs clients, servers and transfers"};
  if (clients.size() + servers.size() > kMostNodes || transfers.size() > kMostTransfers)
    return {Code::too_large,
            fmt::format("at most {} clients and servers and {} transfers", kMostNodes, kMostTransfers)};
  for (const ScheduleTransfer& each : transfers) {
    if (each.client >= clients.size() || each.server >= servers.size())
      return {Code::invalid, fmt::format("transfer {} names nobody", each.name)};
    if (each.length == 0 || each.length > kLongest)
      return {Code::invalid,
              fmt::format("transfer {} has length {}: use 1 to {}", each.name, each.length, kLongest)};
  }
  return {};
}

std::vector<std::string> schedule_method_names() { return {kNames.begin(), kNames.end()}; }

Result<ScheduleMethod> schedule_method(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return static_cast<ScheduleMethod>(found - kNames.begin());
  return Status(Code::invalid,
                fmt::format("method '{}' is not known: use {}", name, fmt::join(kNames, ", ")));
}

Schedule make_schedule(const ScheduleProblem& problem, ScheduleMethod method, std::uint64_t seed) {
  if (method == ScheduleMethod::optimum) return optimal_schedule(problem);
  return Scheduler(problem, method, seed).run();
}

std::uint64_t schedule_bound(const ScheduleProblem& problem) {
  std::vector<std::uint64_t> clients(problem.clients.size());
  std::vector<std::uint64_t> servers(problem.servers.size());
  for (const ScheduleTransfer& each : problem.transfers) {
    clients[each.client] += each.length;
    servers[each.server] += each.length;
  }
  return std::max(*std::max_element(clients.begin(), clients.end()),
                  *std::max_element(servers.begin(), servers.end()));
}

}  // namespace tutti
