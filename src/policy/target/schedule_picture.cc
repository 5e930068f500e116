// A schedule as a table and as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "policy/target/schedule.h"

namespace tutti {
namespace {

constexpr std::array<std::string_view, 8> kColours = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
                                                      "#76b7b2", "#edc948", "#b07aa1", "#9c755f"};

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string schedule_table(const ScheduleProblem& problem, const Schedule& schedule, std::size_t columns) {
  const auto shown = static_cast<std::size_t>(std::min<std::uint64_t>(schedule.length, columns));
  std::vector<std::vector<std::string>> cells(problem.clients.size(), std::vector<std::string>(shown));
  std::size_t width = 3;
  for (const ScheduledPart& part : schedule.parts) {
    const ScheduleTransfer& transfer = problem.transfers[part.transfer];
    const std::string text = fmt::format("{}:{}", transfer.name, problem.servers[transfer.server]);
    width = std::max(width, text.size());
    for (std::uint64_t t = part.start; t < std::min<std::uint64_t>(part.start + part.length, shown); ++t)
      cells[transfer.client][t] = text;
  }
  std::size_t names = 4;
  for (const std::string& name : problem.clients) names = std::max(names, name.size());
  std::string out = fmt::format("{:<{}}", "time", names);
  for (std::size_t t = 0; t < shown; ++t) out += fmt::format("  {:<{}}", t, width);
  out += '\n';
  for (std::size_t client = 0; client < cells.size(); ++client) {
    out += fmt::format("{:<{}}", problem.clients[client], names);
    for (const std::string& cell : cells[client])
      out += fmt::format("  {:<{}}", cell.empty() ? "." : cell, width);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  if (shown < schedule.length) out += fmt::format("... up to {}\n", schedule.length);
  return out;
}

std::string schedule_svg(const ScheduleProblem& problem, const Schedule& schedule, std::string_view title) {
  constexpr double kLane = 34;
  constexpr double kLeft = 90;
  constexpr double kTop = 40;
  const double unit =
      std::clamp(800.0 / static_cast<double>(std::max<std::uint64_t>(schedule.length, 1)), 0.05, 120.0);
  const double width = kLeft + unit * static_cast<double>(schedule.length) + 20;
  const double height = kTop + kLane * static_cast<double>(problem.servers.size()) + 40;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"13\">\n<text x=\"10\" y=\"22\">{}: length {}</text>\n",
      std::max(width, 320.0), height, escaped(title), schedule.length);
  for (std::size_t server = 0; server < problem.servers.size(); ++server) {
    const double y = kTop + kLane * static_cast<double>(server);
    out += fmt::format("<text x=\"10\" y=\"{:.1f}\">{}</text>\n", y + 21, escaped(problem.servers[server]));
    out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#ccc\"/>\n",
                       kLeft, y + kLane, width - 10, y + kLane);
  }
  for (const ScheduledPart& part : schedule.parts) {
    const ScheduleTransfer& transfer = problem.transfers[part.transfer];
    const double x = kLeft + unit * static_cast<double>(part.start);
    const double y = kTop + kLane * transfer.server + 4;
    out += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" "
        "stroke=\"white\"><title>{}: {} to {}, from "
        "{} for {}</title></rect>\n",
        x, y, unit * static_cast<double>(part.length), kLane - 8, kColours[transfer.client % kColours.size()],
        escaped(transfer.name), escaped(problem.clients[transfer.client]),
        escaped(problem.servers[transfer.server]), part.start, part.length);
    if (unit * static_cast<double>(part.length) > 24)
      out += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\" fill=\"white\">{}</text>\n", x + 5, y + 17,
                         escaped(transfer.name));
  }
  const double foot = kTop + kLane * static_cast<double>(problem.servers.size()) + 20;
  const std::uint64_t mark = std::max<std::uint64_t>(1, schedule.length / 10);
  for (std::uint64_t t = 0; t <= schedule.length; t += mark)
    out += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\">{}</text>\n", kLeft + unit * static_cast<double>(t),
                       foot, t);
  return out + "</svg>\n";
}

}  // namespace tutti
