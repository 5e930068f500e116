#include "lab/experiments/gate/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tutti::gatelab {
namespace {

constexpr double kLeft = 110;
constexpr double kWidth = 1000;
constexpr double kRow = 44;
constexpr double kBar = 20;
constexpr double kTop = 56;

struct Look {
  const char* name;
  const char* fill;
};
constexpr Look kLooks[] = {
    {"compute", "#c9d3df"}, {"wait", "#ffffff"}, {"probe", "#f2b441"}, {"write", "#2f6f9f"}};

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

// 1, 2 or 5 times a power of ten: about ten marks.
double mark_distance(double seconds) {
  const double raw = std::max(seconds, 1e-3) / 10;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string timeline_svg(const std::string& title, const std::vector<std::string>& jobs,
                         const std::vector<Phase>& phases) {
  Nanos end;
  for (const Phase& phase : phases) end = std::max(end, phase.end);
  const double seconds = std::max(end.seconds(), 1e-9);
  const double scale = kWidth / seconds;
  const double bottom = kTop + kRow * static_cast<double>(jobs.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text x=\"{:.0f}\" y=\"18\" font-size=\"14\">{}</text>\n",
      kLeft + kWidth + 30, bottom + 40, kLeft, escaped(title));
  double x = kLeft;
  for (const Look& look : kLooks) {
    svg += fmt::format(
        "<rect x=\"{:.0f}\" y=\"26\" width=\"12\" height=\"12\" fill=\"{}\" stroke=\"#555\"/>"
        "<text x=\"{:.0f}\" y=\"36\">{}</text>\n",
        x, look.fill, x + 16, look.name);
    x += 80;
  }
  const double mark = mark_distance(seconds);
  for (double at = 0; at <= seconds; at += mark) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.0f}\" x2=\"{0:.1f}\" y2=\"{2:.0f}\" stroke=\"#eee\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4:g}</text>\n",
        kLeft + at * scale, kTop, bottom, bottom + 14, at);
  }
  svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">seconds</text>\n", kLeft + kWidth,
                     bottom + 30);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"end\">{}</text>\n", kLeft - 8,
                       kTop + kRow * static_cast<double>(i) + 14 + kBar, escaped(jobs[i]));
  }
  for (const Phase& phase : phases) {
    const Look& look = kLooks[static_cast<std::size_t>(phase.kind)];
    const double left = kLeft + phase.begin.seconds() * scale;
    const double width = std::max((phase.end - phase.begin).seconds() * scale, 0.3);
    const double top = kTop + kRow * static_cast<double>(phase.job) + 16;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\" fill=\"{}\" stroke=\"#555\" "
        "stroke-width=\"0.4\"><title>{} {:.2f} s</title></rect>\n",
        left, top, width, kBar, look.fill, look.name, (phase.end - phase.begin).seconds());
    if (phase.kind != PhaseKind::write || phase.end <= phase.begin) continue;
    svg +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\" font-size=\"9\">{:.1f}</text>\n",
                    left + width / 2, top - 3,
                    static_cast<double>(phase.bytes.count()) / 1e6 / (phase.end - phase.begin).seconds());
  }
  return svg + "</svg>\n";
}

}  // namespace tutti::gatelab
