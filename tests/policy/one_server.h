// One data server under a request policy, without network and store: bytes take time, nothing else does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "policy/request/policy.h"

namespace tutti::test {

inline constexpr Nanos kSomeDay = 1'700'000'000_s;  // a multiple of the windows used in tests

struct Arrival {
  Nanos at;
  QueuedRequest request;
};

// Serves one quantum after the other, one nanosecond per byte. Returns when each request was finished.
inline std::map<std::uint64_t, Nanos> run_server(RequestPolicy& policy, std::vector<Arrival> arrivals) {
  std::stable_sort(arrivals.begin(), arrivals.end(),
                   [](const auto& a, const auto& b) { return a.at < b.at; });
  std::map<std::uint64_t, Bytes> left;
  std::map<std::uint64_t, Nanos> finish;
  std::size_t arrived = 0;
  Nanos now;
  const auto admit = [&](Nanos until) {
    for (; arrived < arrivals.size() && arrivals[arrived].at <= until; ++arrived) {
      const QueuedRequest& request = arrivals[arrived].request;
      left[request.id] = request.length;
      policy.add(request, arrivals[arrived].at);
    }
  };
  while (finish.size() < arrivals.size()) {
    admit(now);
    const Decision decision = policy.next(now);
    if (decision.kind != Decision::Kind::dispatch) {
      now = arrivals.at(arrived).at;
      continue;
    }
    const Bytes served = std::min(decision.quantum, left.at(decision.id));
    now += Nanos(static_cast<std::int64_t>(served.count()));
    admit(now - 1_ns);
    left.at(decision.id) -= served;
    const bool finished = left.at(decision.id) == 0_B;
    policy.served(decision.id, served, finished, now);
    if (finished) finish[decision.id] = now;
  }
  return finish;
}

// Dispatches and finishes one request after the other until the queue is empty.
inline std::vector<std::uint64_t> serve_all(RequestPolicy& policy, Nanos now = 0_ns) {
  std::vector<std::uint64_t> ids;
  for (Decision d = policy.next(now); d.kind == Decision::Kind::dispatch; d = policy.next(now)) {
    ids.push_back(d.id);
    policy.served(d.id, Bytes(), true, now);
  }
  return ids;
}

inline QueuedRequest make_request(std::uint64_t id, std::uint64_t application, Nanos time = kSomeDay,
                                  Bytes length = 4_KiB) {
  QueuedRequest made;
  made.id = id;
  made.application = application;
  made.request_time = time;
  made.client = application;
  made.sequence = id;
  made.object = id;
  made.length = length;
  return made;
}

// (sum x)^2 / (n * sum x^2): 1 if all are equal, 1/n if one has everything.
inline double jain_index(const std::vector<double>& values) {
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    sum += value;
    squares += value * value;
  }
  return sum * sum / (static_cast<double>(values.size()) * squares);
}

}  // namespace tutti::test
