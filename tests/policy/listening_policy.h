// A policy that decides as another one does and remembers what it was advised.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "policy/request/policy.h"

namespace tutti {

class ListeningPolicy : public RequestPolicy {
 public:
  // `heard` must outlive it.
  ListeningPolicy(std::unique_ptr<RequestPolicy> inner, std::vector<Advice>& heard)
      : inner_(std::move(inner)), heard_(heard) {}

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  void add(const QueuedRequest& request, Nanos now) override { inner_->add(request, now); }
  Decision next(Nanos now) override { return inner_->next(now); }
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override {
    inner_->served(id, bytes, finished, now);
  }
  void drop(std::uint64_t id, Nanos now) override { inner_->drop(id, now); }
  void advise(const Advice& advice, Nanos /*now*/) override { heard_.push_back(advice); }
  [[nodiscard]] std::size_t queued() const override { return inner_->queued(); }

 private:
  std::unique_ptr<RequestPolicy> inner_;
  std::vector<Advice>& heard_;
};

}  // namespace tutti
