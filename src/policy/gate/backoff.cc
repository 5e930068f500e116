#include "policy/gate/backoff.h"

#include <algorithm>
#include <array>
#include <limits>

#include "policy/parameters.h"

namespace tutti::gate {
namespace {

constexpr std::array<std::string_view, 10> kKeys = {
    "data_size",        "threshold",      "max_count", "base",   "starting_exponent",
    "time_constant_ms", "fixed_sleep_ms", "priming",   "probes", "pause_ms"};
constexpr std::uint64_t kDay = 86'400'000;  // ms
// Ends the growth of base^exponent; far beyond any sleep that makes sense.
constexpr std::uint64_t kMostChoices = std::uint64_t{1} << 32U;

std::uint64_t power(std::uint32_t base, std::uint32_t exponent) {
  std::uint64_t result = 1;
  for (std::uint32_t i = 0; i < exponent && result < kMostChoices; ++i) result *= base;
  return std::min(result, kMostChoices);
}

Bytes rate_of(Bytes size, Nanos took) {
  if (took <= Nanos()) return Bytes::max();
  const double rate = static_cast<double>(size.count()) / took.seconds();
  return rate >= 1.8e19 ? Bytes::max() : Bytes(static_cast<std::uint64_t>(rate));
}

}  // namespace

Result<BackoffOptions> BackoffOptions::parse(std::string_view text) {
  const auto parameters = Parameters::parse(text.empty() ? "" : ";" + std::string(text), kKeys);
  if (!parameters.ok()) return parameters.status();
  BackoffOptions options;
  Status wrong;
  const auto keep = [&wrong](const auto& result, auto set) {
    if (!result.ok()) {
      if (wrong.ok()) wrong = result.status();
    } else {
      set(*result);
    }
  };
  const auto number = [&](std::string_view key, std::uint32_t& value, std::uint32_t low, std::uint32_t high) {
    keep(parameters->number(key, value, low, high),
         [&value](std::uint64_t n) { value = static_cast<std::uint32_t>(n); });
  };
  const auto bytes = [&](std::string_view key, Bytes& value, Bytes low) {
    keep(parameters->bytes(key, value, low), [&value](Bytes n) { value = n; });
  };
  const auto millis = [&](std::string_view key, Nanos& value) {
    keep(parameters->number(key, static_cast<std::uint64_t>(value.millis()), 0, kDay),
         [&value](std::uint64_t n) { value = Nanos(static_cast<std::int64_t>(n) * 1'000'000); });
  };
  bytes("data_size", options.data_size, Bytes(1));
  bytes("threshold", options.threshold, Bytes());
  number("max_count", options.max_count, 1, 1'000'000);
  number("base", options.base, 1, 1000);
  number("starting_exponent", options.starting_exponent, 0, 32);
  millis("time_constant_ms", options.time_constant);
  millis("fixed_sleep_ms", options.fixed_sleep);
  bytes("priming", options.priming, Bytes());
  number("probes", options.probes, 1, 1000);
  millis("pause_ms", options.pause);
  if (!wrong.ok()) return wrong.with_context("backoff");
  return options;
}

std::string BackoffOptions::to_string() const {
  const auto field = [](std::string_view key, auto value) {
    return std::string(key) + "=" + std::to_string(value) + ";";
  };
  std::string text =
      field("data_size", data_size.count()) + field("threshold", threshold.count()) +
      field("max_count", max_count) + field("base", base) + field("starting_exponent", starting_exponent) +
      field("time_constant_ms", time_constant.millis()) + field("fixed_sleep_ms", fixed_sleep.millis()) +
      field("priming", priming.count()) + field("probes", probes) + field("pause_ms", pause.millis());
  text.pop_back();
  return text;
}

Backoff::Backoff(BackoffOptions options, Random random)
    : options_(options), random_(random), exponent_(options.starting_exponent) {
  begin();
}

void Backoff::begin() {
  probed_ = 0;
  lowest_ = Bytes::max();
  step_ = options_.priming > Bytes() ? Step{Step::prime, options_.priming, {}}
                                     : Step{Step::probe, options_.data_size, {}};
}

void Backoff::done(Nanos took) {
  switch (step_.kind) {
    case Step::prime:
    case Step::pause:
      step_ = {Step::probe, options_.data_size, {}};
      return;
    case Step::probe:
      lowest_ = std::min(lowest_, rate_of(options_.data_size, took));
      ++probed_;
      if (probed_ >= options_.probes) return judge();
      step_ = options_.pause > Nanos() ? Step{Step::pause, {}, options_.pause}
                                       : Step{Step::probe, options_.data_size, {}};
      return;
    case Step::sleep:
      return begin();
    case Step::proceed:
      return;
  }
}

void Backoff::failed() {
  if (step_.kind != Step::prime && step_.kind != Step::probe) return done(Nanos());
  lowest_ = Bytes();
  judge();
}

void Backoff::judge() {
  ++count_;
  rate_ = lowest_;
  if (rate_ >= options_.threshold || count_ >= options_.max_count) {
    step_ = {Step::proceed, {}, {}};
    return;
  }
  const std::uint64_t chosen = random_.below(power(options_.base, exponent_));
  const double sleep = static_cast<double>(chosen) * options_.time_constant.seconds();
  // A day at most: a number beyond that is a mistake in the parameters, and Nanos must not overflow.
  step_ = {Step::sleep, {}, Nanos::from_seconds(std::min(sleep, 86'400.0)) + options_.fixed_sleep};
  ++exponent_;
}

}  // namespace tutti::gate
