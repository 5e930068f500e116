// Requests and questions for tests of request policies.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "policy/request/policy.h"

namespace tutti::test {

using Ids = std::vector<std::uint64_t>;

// A read of 4 KiB that is in nobody's way.
inline QueuedRequest read_of(std::uint64_t id, std::uint64_t application) {
  QueuedRequest made;
  made.id = id;
  made.application = application;
  made.client = application;
  made.object = 1'000 + id;
  made.length = 4_KiB;
  made.end = 4_KiB;
  return made;
}

// Of this block of the object.
inline QueuedRequest block_of(std::uint64_t id, std::uint64_t application, std::uint64_t object,
                              std::uint64_t block, bool write) {
  QueuedRequest made = read_of(id, application);
  made.object = object;
  made.offset = 4_KiB * block;
  made.end = made.offset + made.length;
  made.write = write;
  return made;
}

inline std::unique_ptr<RequestPolicy> make_policy(const std::string& text) {
  auto made = make_request_policy(text);
  EXPECT_TRUE(made.ok()) << made.status().to_string();
  return std::move(*made);
}

// What it dispatches now, without anything of it being finished.
inline Ids dispatched(RequestPolicy& policy, Nanos now) {
  Ids ids;
  for (Decision d = policy.next(now); d.kind == Decision::Kind::dispatch; d = policy.next(now)) {
    ids.push_back(d.id);
  }
  return ids;
}

inline void finish(RequestPolicy& policy, const Ids& ids, Nanos now) {
  for (const std::uint64_t id : ids) policy.served(id, 4_KiB, true, now);
}

// What it dispatches now, each finished before the next.
inline Ids served(RequestPolicy& policy, Nanos now) {
  Ids ids;
  for (Decision d = policy.next(now); d.kind == Decision::Kind::dispatch; d = policy.next(now)) {
    ids.push_back(d.id);
    policy.served(d.id, 4_KiB, true, now);
  }
  return ids;
}

// It dispatches nothing before then.
inline void expect_wait(RequestPolicy& policy, Nanos now, Nanos until) {
  const Decision decision = policy.next(now);
  EXPECT_EQ(decision.kind, Decision::Kind::wait);
  EXPECT_EQ(decision.until, until);
}

}  // namespace tutti::test
