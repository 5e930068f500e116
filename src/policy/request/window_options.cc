#include "policy/request/window_options.h"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "policy/parameters.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 4> kOrders = {"id", "rotated", "smallest", "classes"};
constexpr std::array<std::string_view, 2> kWithins = {"offset", "arrival"};
constexpr std::array<std::string_view, 2> kLoads = {"operations", "burst"};
constexpr std::array<std::string_view, 2> kClocks = {"client", "server"};
constexpr std::array<std::string_view, 2> kFlags = {"false", "true"};

Nanos milliseconds(std::uint64_t count) { return Nanos(static_cast<std::int64_t>(count) * 1'000'000); }

bool power_of_two_apart(Nanos shorter, Nanos longer) {
  return shorter <= longer && longer.millis() % shorter.millis() == 0 &&
         std::has_single_bit(static_cast<std::uint64_t>(longer / shorter));
}

}  // namespace

std::string for_device(std::string_view policy, bool rotational) {
  std::string text(policy);
  const std::string_view name = policy.substr(0, policy.find(';'));
  if (name == "auto" && policy == name) return fmt::format("auto;rotational={}", rotational);
  if (name != "window" && name != "orchestrated") return text;
  const auto otherwise = [&](std::string_view key, std::string_view value) {
    if (policy.find(fmt::format(";{}=", key)) == std::string_view::npos)
      text += fmt::format(";{}={}", key, value);
  };
  if (name == "orchestrated") {
    otherwise("rotational", rotational ? "true" : "false");
    return text;
  }
  const bool fixed = policy.find(";adaptive=false") != std::string_view::npos;
  if (policy.find(";interval=") == std::string_view::npos && (fixed || rotational)) {
    if (!fixed) otherwise("adaptive", "true");
    otherwise("interval", fixed ? rotational ? "1000" : "250" : "256");
  }
  if (rotational) {
    otherwise("dispatch_depth", "31");
    otherwise("budget", "256KiB");
    otherwise("small", "64KiB");
    otherwise("write_budget", "4MiB");
    otherwise("quantum_time", "0");
    otherwise("ahead", "8MiB");
  }
  return text;
}

Result<WindowOptions> read_window_options(const Parameters& parameters) {
  constexpr std::uint64_t kDay = 86'400'000;
  WindowOptions options;
  Status wrong;
  const auto take = [&wrong](auto result, auto store) {
    if (result.ok()) {
      store(*result);
    } else if (wrong.ok()) {
      wrong = result.status();
    }
  };
  const auto interval = [&](std::string_view key, Nanos& into) {
    take(parameters.number(key, static_cast<std::uint64_t>(into.millis()), 1, kDay),
         [&](std::uint64_t ms) { into = milliseconds(ms); });
  };
  interval("interval", options.interval);
  interval("min_interval", options.min_interval);
  interval("max_interval", options.max_interval);
  interval("period", options.period);
  take(parameters.number("dispatch_depth", options.dispatch_depth, 1, 1024),
       [&](std::uint64_t depth) { options.dispatch_depth = depth; });
  take(parameters.bytes("budget", options.budget, 4_KiB), [&](Bytes budget) { options.budget = budget; });
  take(parameters.bytes("small", options.small, 0_B), [&](Bytes small) { options.small = small; });
  take(parameters.bytes("write_budget", options.write_budget, 0_B),
       [&](Bytes budget) { options.write_budget = budget; });
  take(parameters.number("rounds", options.rounds, 1, 64),
       [&](std::uint64_t rounds) { options.rounds = rounds; });
  take(parameters.bytes("quantum", options.quantum, 4_KiB),
       [&](Bytes quantum) { options.quantum = quantum; });
  take(parameters.bytes("ahead", options.ahead, 0_B), [&](Bytes ahead) { options.ahead = ahead; });
  const auto time = [&](std::string_view key, std::string_view instead, std::uint64_t otherwise,
                        Nanos& into) {
    take(parameters.number(key, parameters.has(instead) ? 0 : otherwise, 0, 1'000'000),
         [&](std::uint64_t us) { into = Nanos(static_cast<std::int64_t>(us) * 1000); });
  };
  time("budget_time", "budget", 1000, options.budget_time);
  time("quantum_time", "quantum", 40, options.quantum_time);
  take(parameters.choice("request_clock", 0, kClocks),
       [&](std::size_t clock) { options.request_clock = static_cast<WindowOptions::RequestClock>(clock); });
  take(parameters.choice("order", static_cast<std::size_t>(options.order), kOrders),
       [&](std::size_t order) { options.order = static_cast<WindowOptions::Order>(order); });
  take(parameters.choice("within", 0, kWithins),
       [&](std::size_t within) { options.within = static_cast<WindowOptions::Within>(within); });
  take(parameters.choice("load", 0, kLoads),
       [&](std::size_t load) { options.load = static_cast<WindowOptions::Load>(load); });
  take(parameters.number("patience", options.patience, 0, 1024),
       [&](std::uint64_t windows) { options.patience = windows; });
  take(parameters.bytes("unit", options.unit, 1_B), [&](Bytes unit) { options.unit = unit; });
  take(parameters.choice("adaptive", parameters.has("interval") ? 0 : 1, kFlags),
       [&](std::size_t flag) { options.adaptive = flag == 1; });
  if (!wrong.ok()) return wrong;
  if (options.adaptive && !(power_of_two_apart(options.min_interval, options.interval) &&
                            power_of_two_apart(options.interval, options.max_interval))) {
    return Status(
        Code::invalid,
        fmt::format("adaptive=true with min_interval={}, interval={}, max_interval={}: use ascending ones, "
                    "each a power of two times the one before",
                    options.min_interval.millis(), options.interval.millis(), options.max_interval.millis()));
  }
  return options;
}

std::string window_name(const WindowOptions& options) {
  const auto size = [](Bytes bytes) {
    return bytes == Bytes::max() ? "max" : fmt::format("{}", bytes.count());
  };
  std::string name = fmt::format("window;interval={}", options.interval.millis());
  if (options.adaptive) {
    name += fmt::format(";adaptive=true;min_interval={};max_interval={};rounds={}",
                        options.min_interval.millis(), options.max_interval.millis(), options.rounds);
  }
  name += fmt::format(";dispatch_depth={};budget={};small={};write_budget={};quantum={};order={}",
                      options.dispatch_depth, size(options.budget), size(options.small),
                      size(options.write_budget), size(options.quantum),
                      kOrders.at(static_cast<std::size_t>(options.order)));
  if (options.budget_time > Nanos())
    name += fmt::format(";budget_time={}", options.budget_time.count() / 1000);
  if (options.quantum_time > Nanos())
    name += fmt::format(";quantum_time={}", options.quantum_time.count() / 1000);
  name += fmt::format(";ahead={}", size(options.ahead));
  if (options.in_turns()) name += fmt::format(";period={}", options.period.millis());
  if (options.by_size()) {
    name += fmt::format(";load={};patience={};unit={}", kLoads.at(static_cast<std::size_t>(options.load)),
                        options.patience, size(options.unit));
  }
  if (options.within == WindowOptions::Within::arrival) name += ";within=arrival";
  if (options.request_clock == WindowOptions::RequestClock::server) name += ";request_clock=server";
  return name;
}

}  // namespace tutti
