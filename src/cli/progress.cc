#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tutti::cli {
namespace {

constexpr Nanos kQuiet = 300_ms;     // what is faster needs no bar
constexpr Nanos kInterval = 100_ms;  // between two pictures
constexpr std::size_t kWidth = 30;

}  // namespace

Progress::Progress(Clock& clock, std::string name, Bytes total)
    : clock_(clock),
      name_(std::move(name)),
      total_(total),
      started_(clock.now()),
      drawn_(started_ + kQuiet - kInterval),
      terminal_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (!shown_) return;
  draw();
  std::fputs("\n", stderr);
}

void Progress::advance(Bytes bytes) {
  done_ += bytes;
  if (!terminal_ || clock_.now() - drawn_ < kInterval) return;
  draw();
}

void Progress::draw() {
  drawn_ = clock_.now();
  shown_ = true;
  const double seconds = std::max((drawn_ - started_).seconds(), 1e-3);
  const Bytes rate(static_cast<std::uint64_t>(static_cast<double>(done_.count()) / seconds));
  std::string bar;
  if (total_ > Bytes(0)) {
    const double share =
        std::min(1.0, static_cast<double>(done_.count()) / static_cast<double>(total_.count()));
    const auto filled = static_cast<std::size_t>(share * static_cast<double>(kWidth));
    bar = fmt::format("[{}{}] {:3.0f}% ", std::string(filled, '#'), std::string(kWidth - filled, '.'),
                      share * 100);
  }
  const std::string line =
      fmt::format("\r{} {}{}, {}/s\x1b[K", name_, bar, to_string(done_), to_string(rate));
  std::fputs(line.c_str(), stderr);
}

}  // namespace tutti::cli
