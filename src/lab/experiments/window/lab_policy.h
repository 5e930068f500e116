// LabPolicy: request policies that exist for comparison only. One quantum at a time and in sweeps over each
// application's requests, like window.
//
// Both know what no real server does without talking: the best order in hindsight, or the others' backlog.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "policy/request/policy.h"
#include "policy/request/sweeps.h"

namespace tutti {

class LabPolicy : public RequestPolicy {
 public:
  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  [[nodiscard]] std::size_t queued() const override { return sweeps_.size() - sweeps_.in_service(); }

 protected:
  // Smaller goes first; the smallest id among equals.
  virtual std::uint64_t rank(std::uint64_t application, Nanos now) = 0;
  virtual void changed(std::uint64_t application, std::int64_t bytes);

 private:
  struct Entry {
    std::uint64_t application;
    Bytes left;
  };
  // Of a request that leaves for good.
  void forget(std::uint64_t id);

  std::map<std::uint64_t, Entry> requests_;
  std::map<std::uint64_t, Sweeps::Lane> lanes_;  // by application; they stay
  Sweeps sweeps_;
};

// Applications in the order of `order`; those that are not in it last.
class GivenOrder final : public LabPolicy {
 public:
  explicit GivenOrder(const std::vector<std::uint64_t>& order);
  [[nodiscard]] std::string name() const override { return "hindsight"; }

 protected:
  std::uint64_t rank(std::uint64_t application, Nanos now) override;

 private:
  std::map<std::uint64_t, std::uint64_t> places_;
};

// What servers tell each other: the backlog of each application, as of the last exchange.
struct BacklogBoard {
  explicit BacklogBoard(std::size_t servers) : own(servers) {}
  std::vector<std::map<std::uint64_t, std::uint64_t>> own;  // bytes at present, by server
  std::map<std::uint64_t, std::uint64_t> told;  // the largest of all servers, at the last exchange
  Nanos next_exchange;
};

// Group communication: every `period` servers exchange their backlog, at no cost; the application whose most loaded
// server has least to do goes first. What arrived since the last exchange ranks by the server's own backlog.
class GroupOrder final : public LabPolicy {
 public:
  GroupOrder(std::shared_ptr<BacklogBoard> board, std::size_t server, Nanos period)
      : board_(std::move(board)), server_(server), period_(period) {}
  [[nodiscard]] std::string name() const override { return "group"; }

 protected:
  std::uint64_t rank(std::uint64_t application, Nanos now) override;
  void changed(std::uint64_t application, std::int64_t bytes) override;

 private:
  void exchange(Nanos now);
  std::shared_ptr<BacklogBoard> board_;
  std::size_t server_;
  Nanos period_;
};

// The order of the applications with the least sum of completion times, if all are there at time 0 and
// work[application][server] is to be done: concurrent open shop, exactly, by dynamic programming over subsets. At most
// 20 applications.
std::vector<std::size_t> best_order(const std::vector<std::vector<double>>& work);

}  // namespace tutti
