// LabPolicy: request policies that exist for comparison only. One quantum at a time, like window.
//
// Both know what no real server does without talking: the best order in hindsight, or the others' backlog.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "policy/request/policy.h"

namespace tutti {

class LabPolicy : public RequestPolicy {
 public:
  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  [[nodiscard]] std::size_t queued() const override { return requests_.size() - (busy_ ? 1 : 0); }

 protected:
  // Smaller goes first; by arrival among equals.
  virtual std::uint64_t rank(const QueuedRequest& request, Nanos now) = 0;
  virtual void changed(std::uint64_t application, std::int64_t bytes);

 private:
  struct Entry {
    QueuedRequest request;
    Bytes left;
  };
  std::map<std::uint64_t, Entry> requests_;
  bool busy_ = false;
};

// Applications in the order of `order`; those that are not in it last.
class GivenOrder final : public LabPolicy {
 public:
  explicit GivenOrder(const std::vector<std::uint64_t>& order);
  [[nodiscard]] std::string name() const override { return "hindsight"; }

 protected:
  std::uint64_t rank(const QueuedRequest& request, Nanos now) override;

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
  std::uint64_t rank(const QueuedRequest& request, Nanos now) override;
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
