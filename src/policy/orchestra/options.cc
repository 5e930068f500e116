#include "policy/orchestra/options.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "policy/parameters.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 2> kFlags = {"false", "true"};
constexpr std::array<std::string_view, 2> kSlices = {"inverse", "even"};
constexpr std::array<std::string_view, 3> kBy = {"addresses", "trial", "both"};
constexpr std::array<std::string_view, 2> kIdle = {"wait", "serve"};
constexpr std::array<std::string_view, 2> kRest = {"arrival", "window"};

}  // namespace

Result<OrchestraOptions> read_orchestra_options(const Parameters& parameters) {
  OrchestraOptions options;
  Status wrong;
  const auto take = [&wrong](auto result, auto store) {
    if (result.ok()) {
      store(*result);
    } else if (wrong.ok()) {
      wrong = result.status();
    }
  };
  const auto percent = [&](std::string_view key, double& place, std::uint64_t high) {
    take(parameters.number(key, static_cast<std::uint64_t>(std::lround(place * 100)), 1, high),
         [&](std::uint64_t value) { place = static_cast<double>(value) / 100; });
  };
  const auto millis = [&](std::string_view key, Nanos& place, std::uint64_t low, std::uint64_t high) {
    take(parameters.number(key, static_cast<std::uint64_t>(place.millis()), low, high),
         [&](std::uint64_t value) { place = 1_ms * static_cast<std::int64_t>(value); });
  };
  millis("window", options.window, 10, 60'000);
  percent("deviation", options.deviation, 1'000);
  percent("ratio", options.ratio, 100'000);
  percent("seek", options.seek, 100'000);
  take(parameters.number("weight", 1, 0, 7),
       [&](std::uint64_t value) { options.weight = static_cast<double>(value) / 8; });
  take(parameters.bytes("unit", options.unit, 4_KiB), [&](Bytes value) { options.unit = value; });
  take(parameters.choice("slices", 0, kSlices), [&](std::size_t value) { options.even = value == 1; });
  take(parameters.choice("by", 2, kBy),
       [&](std::size_t value) { options.by = static_cast<OrchestraOptions::By>(value); });
  take(parameters.choice("idle", 1, kIdle), [&](std::size_t value) { options.conserve = value == 1; });
  millis("interval", options.interval, 1, 60'000);
  take(parameters.choice("rotational", 0, kFlags),
       [&](std::size_t value) { options.rotational = value == 1; });
  take(parameters.choice("rest", options.rotational ? 1 : 0, kRest),
       [&](std::size_t value) { options.rest_by_window = value == 1; });
  take(parameters.bytes("ahead", options.block_ahead(), 0_B), [&](Bytes value) { options.ahead = value; });
  take(parameters.number("dispatch_depth", options.dispatch_depth, 1, 65536),
       [&](std::uint64_t value) { options.dispatch_depth = value; });
  if (!wrong.ok()) return wrong;
  return options;
}

Result<OrchestraOptions> read_orchestra_options(std::string_view policy) {
  const std::string_view name = policy.substr(0, policy.find(';'));
  if (name != kOrchestrated) return Status(Code::not_found, "the policy has no slices");
  const auto parameters = Parameters::parse(policy.substr(name.size()), kOrchestraParameters);
  if (!parameters.ok()) return parameters.status();
  return read_orchestra_options(*parameters);
}

std::string orchestra_name(const OrchestraOptions& options) {
  const auto percent = [](double value) { return std::lround(value * 100); };
  return fmt::format(
      "{};window={};deviation={};ratio={};seek={};weight={};unit={};slices={};by={};idle={};rest={};interval="
      "{};rotational={};ahead={};dispatch_depth={}",
      kOrchestrated, options.window.millis(), percent(options.deviation), percent(options.ratio),
      percent(options.seek), std::lround(options.weight * 8), options.unit.count(),
      kSlices.at(options.even ? 1 : 0), kBy.at(static_cast<std::size_t>(options.by)),
      kIdle.at(options.conserve ? 1 : 0), kRest.at(options.window_for_rest() ? 1 : 0),
      options.interval.millis(), kFlags.at(options.rotational ? 1 : 0), options.block_ahead().count(),
      options.dispatch_depth);
}

}  // namespace tutti
