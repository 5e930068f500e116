#include "lab/experiments/orchestra/heads_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tutti::orchestra {
namespace {

constexpr double kWidth = 480;
constexpr double kHeight = 320;
constexpr double kMargin = 60;
constexpr double kSector = 512;

struct Panel {
  std::vector<const HeadTrace*> traces;
  double low = 1e300, high = 0, seconds = 0;
};

std::string path_of(const HeadTrace& trace, const Panel& panel, double left, std::string_view colour) {
  std::string points;
  for (const HeadMove& move : trace.moves) {
    const double x = left + kWidth * move.at.seconds() / std::max(panel.seconds, 1e-9);
    const double share =
        (static_cast<double>(move.address.count()) - panel.low) / std::max(panel.high - panel.low, 1.0);
    points += fmt::format("{:.1f},{:.1f} ", x, kMargin + kHeight * (1 - share));
  }
  return fmt::format("<polyline fill=\"none\" stroke=\"{}\" stroke-width=\"0.8\" points=\"{}\"/>\n", colour,
                     points);
}

}  // namespace

std::string heads_picture(const std::vector<HeadTrace>& traces) {
  std::map<std::uint32_t, Panel> panels;
  for (const HeadTrace& trace : traces) {
    Panel& panel = panels[trace.server];
    panel.traces.push_back(&trace);
    for (const HeadMove& move : trace.moves) {
      panel.low = std::min(panel.low, static_cast<double>(move.address.count()));
      panel.high = std::max(panel.high, static_cast<double>(move.address.count()));
      panel.seconds = std::max(panel.seconds, move.at.seconds());
    }
  }
  constexpr std::string_view kColours[] = {"#c0392b", "#2471a3", "#1e8449", "#7d3c98"};
  const double width = kMargin + static_cast<double>(panels.size()) * (kWidth + kMargin);
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, kHeight + 2 * kMargin);
  double left = kMargin;
  for (const auto& [server, panel] : panels) {
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" fill=\"none\" "
        "stroke=\"#888\"/>\n",
        left, kMargin, kWidth, kHeight);
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.0f}\">data server {}: sectors {:.0f} to {:.0f}, {:.2f} s</text>\n", left,
        kMargin - 24, server, panel.low / kSector, panel.high / kSector, panel.seconds);
    std::size_t number = 0;
    for (const HeadTrace* trace : panel.traces) {
      const std::string_view colour = kColours[number % std::size(kColours)];
      svg += path_of(*trace, panel, left, colour);
      svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" fill=\"{}\">{}</text>\n",
                         left + 160 * static_cast<double>(number), kMargin - 8, colour, trace->column);
      ++number;
    }
    left += kWidth + kMargin;
  }
  return svg + "</svg>\n";
}

}  // namespace tutti::orchestra
