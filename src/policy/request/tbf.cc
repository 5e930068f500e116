#include "policy/request/tbf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::uint64_t kMostRate = 1'000'000'000;  // a token takes a nanosecond
constexpr std::string_view kParameters[] = {"rate", "depth", "rules", "dispatch_depth"};

Result<TbfOptions::Rule> read_rule(std::string_view text) {
  const auto colon = text.find(':');
  const std::string_view rate = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  TbfOptions::Rule rule;
  const auto [end, error] = std::from_chars(rate.data(), rate.data() + rate.size(), rule.rate);
  const auto applications = ApplicationRange::parse(text.substr(0, colon));
  if (!applications.ok() || error != std::errc() || end != rate.data() + rate.size() || rule.rate < 1 ||
      rule.rate > kMostRate) {
    return Status(Code::invalid,
                  fmt::format("rules: '{}': use IDS:RATE, as in 7:500,100-199:50, with ids from {} to {} and "
                              "rates from 1 to {} a second",
                              text, kLeastApplicationId, kMostApplicationId, kMostRate));
  }
  rule.applications = *applications;
  return rule;
}

Result<std::vector<TbfOptions::Rule>> read_rules(std::string_view text) {
  std::vector<TbfOptions::Rule> rules;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const auto rule = read_rule(one);
    if (!rule.ok()) return rule.status();
    rules.push_back(*rule);
  }
  return rules;
}

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  TbfOptions options;
  const auto rate = parameters.number("rate", options.rate, 1, kMostRate);
  if (!rate.ok()) return rate.status();
  const auto depth = parameters.number("depth", options.depth, 1, 1'000'000);
  if (!depth.ok()) return depth.status();
  auto rules = read_rules(parameters.text("rules", ""));
  if (!rules.ok()) return rules.status();
  const auto dispatch_depth = GuardedPolicy::read_depth(parameters);
  if (!dispatch_depth.ok()) return dispatch_depth.status();
  options.rate = *rate;
  options.depth = *depth;
  options.rules = std::move(*rules);
  options.dispatch_depth = *dispatch_depth;
  return std::unique_ptr<RequestPolicy>(std::make_unique<TbfPolicy>(std::move(options)));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::tbf = {"tbf", kParameters, make};

TbfPolicy::TbfPolicy(TbfOptions options)
    : GuardedPolicy(options.dispatch_depth), options_(std::move(options)) {}

std::string TbfPolicy::name() const {
  std::string rules;
  for (const TbfOptions::Rule& rule : options_.rules) {
    rules += fmt::format("{}{}:{}", rules.empty() ? ";rules=" : ",", rule.applications.text(), rule.rate);
  }
  return fmt::format("tbf;rate={};depth={}{};dispatch_depth={}", options_.rate, options_.depth, rules,
                     dispatch_depth());
}

void TbfPolicy::enter(Handle handle, Nanos now) {
  const std::uint64_t application = request(handle).application;
  const auto [queue, fresh] = queues_.open(application);
  if (queue >= buckets_.size()) buckets_.resize(std::size_t{queue} + 1);
  if (fresh) buckets_[queue] = {period_of(application), options_.depth, now};
  queues_.push(queue, handle, request(handle).id);
  if (!deadlines_.contains(queue)) deadlines_.push(queue, deadline_of(queue));
}

TbfPolicy::Choice TbfPolicy::choose(Nanos now) {
  const Queue queue = deadlines_.top();
  Bucket& bucket = buckets_[queue];
  const auto come = static_cast<std::uint64_t>((now - bucket.checked) / bucket.period);
  const std::uint64_t tokens = std::min(bucket.tokens + come, options_.depth);
  if (tokens == 0) return Choice::wait(bucket.checked + bucket.period);
  bucket.tokens = tokens - 1;
  bucket.checked = now;
  const Handle handle = queues_.take(queue);
  if (queues_.empty(queue)) {
    deadlines_.erase(queue);
  } else {
    deadlines_.update(queue, deadline_of(queue));
  }
  return Choice::dispatch(handle);
}

void TbfPolicy::left(Handle handle, Nanos /*now*/) {
  const Queue queue = queues_.remove(handle);
  if (queues_.empty(queue)) deadlines_.erase(queue);
}

void TbfPolicy::ended(Handle handle, Nanos /*now*/) { queues_.end(handle); }

// Rounded up: a token is there when its deadline is.
Nanos TbfPolicy::period_of(std::uint64_t application) const {
  std::uint64_t rate = options_.rate;
  for (const TbfOptions::Rule& rule : options_.rules) {
    if (application < rule.applications.low || application > rule.applications.high) continue;
    rate = rule.rate;
    break;
  }
  return Nanos(static_cast<std::int64_t>((kMostRate + rate - 1) / rate));
}

TbfPolicy::Deadline TbfPolicy::deadline_of(Queue queue) const {
  const Bucket& bucket = buckets_[queue];
  return {bucket.checked + bucket.period, bucket.checked};
}

}  // namespace tutti
