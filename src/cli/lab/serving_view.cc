#include "cli/lab/serving_view.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tutti::cli {
namespace {

constexpr Nanos kPatience = 1_s;
constexpr std::size_t kLabel = 12;
constexpr std::size_t kUsualWidth = 100;
// Who has so much of it is served alone, but for what overlaps at the ends of a turn.
constexpr double kMost = 0.75;

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > kLabel + 1) return size.ws_col;
  return kUsualWidth;
}

// Digits of one application in one colour.
std::string coloured(const std::string& text) {
  std::string out;
  for (const char each : text) {
    if (each >= '1' && each <= '6') {
      out += fmt::format("\x1b[3{}m{}\x1b[0m", each - '0', each);
    } else {
      out += each;
    }
  }
  return out;
}

}  // namespace

ServingView::ServingView(std::uint32_t servers, bool live) : live_(live), totals_(servers), lines_(servers) {}

void ServingView::look(Client& client) {
  const auto reports = client.run(client.files().applications_by_server(kPatience));
  std::string column;
  for (std::size_t server = 0; server < lines_.size() && server < reports.size(); ++server) {
    Moved now;
    Moved moved;
    for (const ApplicationStatus& row : reports[server].applications) {
      now[row.application] = (row.bytes_read + row.bytes_written).count();
      const std::uint64_t before = totals_[server][row.application];
      if (now[row.application] > before) moved[row.application] = now[row.application] - before;
    }
    column += symbol(moved);
    if (!now.empty()) totals_[server] = std::move(now);
  }
  if (column.size() < lines_.size()) return;
  const bool idle = column.find_first_not_of('.') == std::string::npos;
  if (idle && (lines_.front().empty() || lines_.front().back() == ' ')) return;
  for (std::size_t server = 0; server < lines_.size(); ++server)
    lines_[server] += idle ? ' ' : column[server];
  if (live_) draw();
}

char ServingView::symbol(const Moved& moved) {
  std::uint64_t sum = 0;
  std::uint64_t most = 0;
  std::uint64_t whose = 0;
  for (const auto& [application, bytes] : moved) {
    sum += bytes;
    if (bytes <= most) continue;
    most = bytes;
    whose = application;
  }
  if (sum == 0) return '.';
  if (static_cast<double>(most) < kMost * static_cast<double>(sum)) return '*';
  return whose >= 1 && whose <= 9 ? static_cast<char>('0' + whose) : '+';
}

std::string ServingView::line(std::size_t server) const {
  const std::size_t room = (live_ ? terminal_width() : kUsualWidth) - kLabel;
  const std::string& all = lines_[server];
  return all.size() > room ? all.substr(all.size() - room) : all;
}

void ServingView::draw() {
  if (drawn_) fmt::print("\x1b[{}A", lines_.size());
  drawn_ = true;
  for (std::size_t server = 0; server < lines_.size(); ++server)
    fmt::print("\r\x1b[K  server {}  {}\n", server, coloured(line(server)));
  std::fflush(stdout);
}

std::string ServingView::text() const {
  std::string text;
  if (drawn_) return text;
  for (std::size_t server = 0; server < lines_.size(); ++server)
    text += fmt::format("  server {}  {}\n", server, line(server));
  return text;
}

}  // namespace tutti::cli
