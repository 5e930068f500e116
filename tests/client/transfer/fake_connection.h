#pragma once

#include <map>
#include <memory>

#include "env/network.h"
#include "env/sync.h"

namespace tutti {

// A local connection on which nothing is said.
class FakeConnection final : public Connection {
 public:
  explicit FakeConnection(Executor& executor) : ended_(executor) {}
  [[nodiscard]] const Peer& peer() const override { return peer_; }
  Status send(std::uint16_t, std::uint64_t, std::span<const std::byte>) override { return {}; }
  Task<Result<Frame>> receive() override {
    co_await ended_.wait();
    co_return Status(Code::unavailable, "closed");
  }
  void close() override { ended_.set(); }
  [[nodiscard]] bool closed() const override { return ended_.is_set(); }
  std::uint64_t expose(std::span<const Segment>, Access) override { return 0; }
  void withdraw(std::uint64_t) override {}
  [[nodiscard]] bool needs_segments() const override { return true; }
  Task<Status> pull(const Region& /*from*/, Bytes /*offset*/, Places /*into*/) override {
    co_return Status();
  }
  Task<Status> push(ConstPlaces /*from*/, const Region& /*to*/, Bytes /*offset*/) override {
    co_return Status();
  }
  [[nodiscard]] bool takes_files() const override { return local; }
  std::shared_ptr<const SharedFile> given(std::uint64_t key) override { return files[key]; }

  [[nodiscard]] bool peer_gone() override { return gone || closed(); }

  bool local = true;
  bool gone = false;
  std::map<std::uint64_t, std::shared_ptr<const SharedFile>> files;

 private:
  Peer peer_;
  Event ended_;
};

}  // namespace tutti
