// fcfs_serial: first come, first served as PVFS2 2.6.3 did it. The baseline of the paper on resonant I/O.
//
// Up to dispatch_depth operations at once, 16 as TroveMaxConcurrentIO, but those of one object share a file descriptor, and
// glibc's asynchronous I/O runs the operations of a descriptor one after the other: one at a time, in order of arrival.
// An operation is a buffer of 256 KiB; a request that is longer stands in line again behind those of its object. `fcfs`
// is how later versions do it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>

#include "policy/request/policy.h"

namespace tutti {

class FcfsSerialPolicy : public RequestPolicy {
 public:
  static constexpr std::uint64_t kDefaultDepth = 16;
  static constexpr Bytes kDefaultQuantum = 256_KiB;
  FcfsSerialPolicy(std::uint64_t dispatch_depth, Bytes quantum) : depth_(dispatch_depth), quantum_(quantum) {}

  [[nodiscard]] std::string name() const override;
  void add(const QueuedRequest& request, Nanos now) override;
  Decision next(Nanos now) override;
  void served(std::uint64_t id, Bytes bytes, bool finished, Nanos now) override;
  void drop(std::uint64_t id, Nanos now) override;
  [[nodiscard]] std::size_t queued() const override { return objects_of_.size() - in_service_; }

 private:
  struct Object {
    std::deque<std::uint64_t> line;
    bool in_service = false;
  };
  void stand_in_line(std::uint64_t id, std::uint64_t object);
  // The object's first request may go, or nobody is left.
  void settle(std::uint64_t object);

  std::uint64_t depth_;
  Bytes quantum_;
  std::size_t in_service_ = 0;
  std::uint64_t turn_ = 0;
  std::map<std::uint64_t, std::uint64_t> objects_of_;  // by request
  std::map<std::uint64_t, std::uint64_t> turns_;  // of the requests in line: ascending in order of arrival
  std::map<std::uint64_t, Object> objects_;
  std::map<std::uint64_t, std::uint64_t> heads_;  // turn to object, of objects that may go
};

}  // namespace tutti
