#include "policy/request/twins.h"

#include <fmt/format.h>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"window", "dispatch_depth"};
constexpr auto kDefaultMicros = static_cast<std::uint64_t>(TwinsPolicy::kDefaultWindow / 1_us);

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  const auto window = parameters.number("window", kDefaultMicros, 1, 60'000'000);
  if (!window.ok()) return window.status();
  const auto depth = GuardedPolicy::read_depth(parameters);
  if (!depth.ok()) return depth.status();
  return std::unique_ptr<RequestPolicy>(
      std::make_unique<TwinsPolicy>(1_us * static_cast<std::int64_t>(*window), *depth));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::twins = {"twins", kParameters, make};

std::string TwinsPolicy::name() const {
  return fmt::format("twins;window={};dispatch_depth={}", window_ / 1_us, dispatch_depth());
}

void TwinsPolicy::enter(Handle handle, Nanos /*now*/) {
  const std::uint64_t application = request(handle).application;
  const Queue queue = queues_.open(application).queue;
  queues_.push(queue, handle, request(handle).id);
  waiting_.emplace(application, queue);
}

TwinsPolicy::Choice TwinsPolicy::choose(Nanos now) {
  if (!current_ || now - current_->begin >= window_) begin_window(now);
  const auto found = waiting_.find(current_->application);
  if (found == waiting_.end()) return Choice::wait(current_->begin + window_);
  const Queue queue = found->second;
  const Handle handle = queues_.take(queue);
  if (queues_.empty(queue)) waiting_.erase(found);
  return Choice::dispatch(handle);
}

void TwinsPolicy::begin_window(Nanos now) {
  auto next = current_ ? waiting_.upper_bound(current_->application) : waiting_.begin();
  if (next == waiting_.end()) next = waiting_.begin();
  current_ = Window{next->first, now};
}

void TwinsPolicy::left(Handle handle, Nanos /*now*/) {
  const Queue queue = queues_.remove(handle);
  if (queues_.empty(queue)) waiting_.erase(queues_.application(queue));
}

void TwinsPolicy::ended(Handle handle, Nanos /*now*/) { queues_.end(handle); }

}  // namespace tutti
