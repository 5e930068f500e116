#include "policy/request/window_rank.h"

#include <algorithm>
#include <bit>

#include "base/random.h"

namespace tutti {
namespace {

constexpr std::uint64_t kPaperIds = 32768;

// In which period the window begins. A window that is longer than a period counts as one.
std::uint64_t period_of(const TimeWindow& window, Nanos period) {
  return window.begin / std::max(static_cast<std::uint64_t>(period.millis()), window.length);
}

}  // namespace

std::uint64_t paper_application_id(std::uint64_t application) {
  return application < kPaperIds ? application : mix64(application) % kPaperIds;
}

std::uint64_t paper_priority(Nanos request_time, Nanos interval, std::uint64_t application) {
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(request_time.millis(), 0));
  return time / static_cast<std::uint64_t>(interval.millis()) * kPaperIds + paper_application_id(application);
}

std::uint64_t window_turn(std::uint64_t period_number, std::uint64_t application) {
  const std::uint64_t turn = mix64(mix64(period_number / 2) ^ application);
  return period_number % 2 == 0 ? turn : ~turn;
}

WindowRank window_rank(const WindowOptions& options, const TimeWindow& window, std::uint64_t application,
                       std::uint64_t load) {
  const auto width = static_cast<std::uint64_t>(std::bit_width(load / options.unit.count()));
  const std::uint64_t demoted = window.start + std::min(options.patience, width) * window.grains;
  switch (options.order) {
    case WindowOptions::Order::rotated:
      return {window.start, 0, window_turn(period_of(window, options.period), application), application};
    case WindowOptions::Order::smallest:
      return {demoted, load, 0, application};
    case WindowOptions::Order::classes:
      return {demoted, static_cast<std::uint64_t>(std::bit_width(load)),
              window_turn(period_of(window, options.period), application), application};
    case WindowOptions::Order::id:
      break;
  }
  // Compared as a pair, which is the paper's window * 32768 + id.
  return {window.start, 0, paper_application_id(application), application};
}

}  // namespace tutti
