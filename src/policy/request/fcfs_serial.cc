#include "policy/request/fcfs_serial.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"dispatch_depth", "quantum"};

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto depth = parameters.number("dispatch_depth", FcfsSerialPolicy::kDefaultDepth, 1, 65536);
  if (!depth.ok()) return depth.status();
  const auto quantum = parameters.bytes("quantum", FcfsSerialPolicy::kDefaultQuantum, 512_B);
  if (!quantum.ok()) return quantum.status();
  return std::unique_ptr<RequestPolicy>(std::make_unique<FcfsSerialPolicy>(*depth, *quantum));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::fcfs_serial = {"fcfs_serial", kParameters,
                                                                             make};

std::string FcfsSerialPolicy::name() const {
  const std::string quantum = quantum_ == Bytes::max() ? "max" : fmt::format("{}", quantum_.count());
  return fmt::format("fcfs_serial;dispatch_depth={};quantum={}", depth_, quantum);
}

void FcfsSerialPolicy::stand_in_line(std::uint64_t id, std::uint64_t object) {
  turns_[id] = turn_++;
  objects_[object].line.push_back(id);
  settle(object);
}

void FcfsSerialPolicy::settle(std::uint64_t number) {
  const auto found = objects_.find(number);
  Object& object = found->second;
  if (object.in_service) return;
  if (object.line.empty()) {
    objects_.erase(found);
    return;
  }
  heads_.emplace(turns_.at(object.line.front()), number);
}

void FcfsSerialPolicy::add(const QueuedRequest& request, Nanos /*now*/) {
  objects_of_[request.id] = request.object;
  stand_in_line(request.id, request.object);
}

Decision FcfsSerialPolicy::next(Nanos /*now*/) {
  if (in_service_ >= depth_ || heads_.empty()) return Decision::idle();
  Object& object = objects_.at(heads_.begin()->second);
  heads_.erase(heads_.begin());
  const std::uint64_t id = object.line.front();
  object.line.pop_front();
  object.in_service = true;
  turns_.erase(id);
  ++in_service_;
  return Decision::dispatch(id, quantum_);
}

void FcfsSerialPolicy::served(std::uint64_t id, Bytes /*bytes*/, bool finished, Nanos /*now*/) {
  const std::uint64_t object = objects_of_.at(id);
  --in_service_;
  objects_.at(object).in_service = false;
  if (!finished) return stand_in_line(id, object);
  objects_of_.erase(id);
  settle(object);
}

void FcfsSerialPolicy::drop(std::uint64_t id, Nanos /*now*/) {
  const std::uint64_t number = objects_of_.at(id);
  Object& object = objects_.at(number);
  heads_.erase(turns_.at(object.line.front()));
  std::erase(object.line, id);
  turns_.erase(id);
  objects_of_.erase(id);
  settle(number);
}

}  // namespace tutti
