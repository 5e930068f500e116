// A policy, a store and a connection that do what a test says, for tests of what stands between them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "env/network.h"
#include "env/sim/store/memory_store.h"
#include "env/store.h"
#include "env/sync.h"
#include "policy/request/policy.h"
#include "wire/messages.h"

namespace tutti {

// What a ScriptedPolicy was told and is to answer; outlives it.
struct PolicyScript {
  std::deque<Decision> decisions;  // the next answers; then it is idle
  Bytes ahead;
  std::vector<std::uint64_t> added;
  std::vector<QueuedRequest> requests;
  std::vector<std::uint64_t> dropped;
  struct Served {
    std::uint64_t id;
    Bytes bytes;
    bool finished;
    bool operator==(const Served&) const = default;
  };
  std::vector<Served> served;
};

class ScriptedPolicy final : public RequestPolicy {
 public:
  explicit ScriptedPolicy(PolicyScript& script) : script_(script) {}
  [[nodiscard]] std::string name() const override { return "scripted"; }
  void add(const QueuedRequest& request, Nanos /*now*/) override {
    script_.added.push_back(request.id);
    script_.requests.push_back(request);
  }
  Decision next(Nanos /*now*/) override {
    if (script_.decisions.empty()) return Decision::idle();
    const Decision decision = script_.decisions.front();
    script_.decisions.pop_front();
    return decision;
  }
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos /*now*/) override {
    script_.served.push_back({id, bytes, finished});
  }
  void drop(std::uint64_t id, Nanos /*now*/) override { script_.dropped.push_back(id); }
  [[nodiscard]] Bytes ahead() const override { return script_.ahead; }
  [[nodiscard]] std::size_t queued() const override { return 0; }

 private:
  PolicyScript& script_;
};

// Bytes in memory; traits, cold objects, shared files and failures as told. Operations wait while the gate is shut, and what is fetched
// ahead while another one is.
class ScriptedStore final : public Store {
 public:
  explicit ScriptedStore(Executor& executor) : gate(executor), fetch_gate(executor) {
    gate.set();
    fetch_gate.set();
  }

  [[nodiscard]] StoreTraits traits() const override { return told; }
  Task<Result<ReadResult>> read(ObjectId object, std::span<const Extent> extents, Sink& sink) override {
    ++reads;
    co_await gate.wait();
    if (!failure.ok()) co_return failure;
    co_return co_await memory.read(object, extents, sink);
  }
  Task<Status> write(ObjectId object, std::span<const Extent> extents, Source& source) override {
    ++writes;
    co_await gate.wait();
    if (!failure.ok()) co_return failure;
    co_return co_await memory.write(object, extents, source);
  }
  Task<Status> truncate(ObjectId object, Bytes length) override { return memory.truncate(object, length); }
  Task<Status> sync(ObjectId object) override { return memory.sync(object); }
  [[nodiscard]] std::uint64_t losses(ObjectId object) const override { return memory.losses(object); }
  Task<Status> remove(ObjectId object) override { return memory.remove(object); }
  Task<Result<std::optional<Bytes>>> length(ObjectId object) override { return memory.length(object); }
  Task<Result<std::vector<ObjectId>>> list() override { return memory.list(); }
  Result<StoreSpace> space() override { return memory.space(); }
  Task<Result<std::optional<Bytes>>> locate(ObjectId object, Bytes offset) override {
    return memory.locate(object, offset);
  }
  [[nodiscard]] bool cold(ObjectId object) const override { return cold_objects.contains(object); }
  Task<void> warm(ObjectId object) override {
    co_await gate.wait();
    cold_objects.erase(object);
  }
  Task<void> prefetch(ObjectId /*object*/, std::span<const Extent> extents) override {
    fetched.emplace_back(extents.begin(), extents.end());
    co_await fetch_gate.wait();
  }
  SharedObject share(ObjectId /*object*/) override {
    ++shares;
    return shared;
  }
  WritableObject share_for_writing(ObjectId /*object*/) override { return writable; }
  [[nodiscard]] const StoreIdentity& identity() const override { return memory.identity(); }
  Status bind(const Uuid& metadata) override { return memory.bind(metadata); }
  [[nodiscard]] ObjectId newest() const override { return memory.newest(); }

  StoreTraits told;
  Event gate, fetch_gate;
  Status failure;
  std::set<ObjectId> cold_objects;
  std::vector<std::vector<Extent>> fetched;  // by prefetch
  SharedObject shared;
  WritableObject writable;
  MemoryStore memory;
  int reads = 0;
  int writes = 0;
  int shares = 0;
};

class NoFile final : public SharedFile {
 public:
  [[nodiscard]] Result<Bytes> read(Bytes /*offset*/, std::span<const Segment> /*into*/) const override {
    return 0_B;
  }
  [[nodiscard]] int descriptor() const override { return -1; }
};

// The client's end is a script: it notes what is sent, pulled and pushed. Bulk data waits while the gate is shut.
class ScriptedConnection final : public Connection {
 public:
  explicit ScriptedConnection(Executor& executor) : gate(executor), never_(executor) { gate.set(); }

  struct Sent {
    std::uint16_t type;
    std::uint64_t id;
    std::vector<std::byte> payload;
    [[nodiscard]] const wire::TransferReply& reply() const {
      return *wire::parse<wire::TransferReply>(payload);
    }
  };
  struct Moved {
    Bytes offset;
    Bytes length;
    bool operator==(const Moved&) const = default;
  };

  [[nodiscard]] const Peer& peer() const override { return who; }
  Status send(std::uint16_t type, std::uint64_t id, std::span<const std::byte> payload) override {
    sent.push_back({type, id, {payload.begin(), payload.end()}});
    return {};
  }
  Task<Result<Frame>> receive() override {
    co_await never_.wait();
    co_return Frame();
  }
  void close() override { closed_ = true; }
  [[nodiscard]] bool closed() const override { return closed_; }
  std::uint64_t expose(std::span<const Segment> /*segments*/, Access /*access*/) override { return 0; }
  void withdraw(std::uint64_t /*region*/) override {}
  [[nodiscard]] bool needs_segments() const override { return false; }
  Task<Status> pull(const Region& /*from*/, Bytes offset, Places into) override {
    pulled.push_back({offset, Bytes(length_of(into))});
    co_await gate.wait();
    if (!bulk_failure.ok()) co_return bulk_failure;
    for (const auto place : into) std::fill(place.begin(), place.end(), std::byte{7});
    co_return Status();
  }
  Task<Status> push(ConstPlaces from, const Region& /*to*/, Bytes offset) override {
    pushed.push_back({offset, Bytes(length_of(from))});
    co_await gate.wait();
    co_return bulk_failure;
  }
  bool give(std::uint64_t key, const SharedFile& /*file*/) override {
    if (takes) given_keys.push_back(key);
    return takes;
  }

  [[nodiscard]] bool peer_is_own() const override { return own; }

  Peer who;
  Event gate;
  Status bulk_failure;
  bool takes = true;
  bool own = false;
  std::vector<Sent> sent;
  std::vector<Moved> pulled;
  std::vector<Moved> pushed;
  std::vector<std::uint64_t> given_keys;

 private:
  bool closed_ = false;
  Event never_;
};

}  // namespace tutti
