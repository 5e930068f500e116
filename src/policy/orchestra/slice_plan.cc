#include "policy/orchestra/slice_plan.h"

#include <algorithm>

namespace tutti {
namespace {

constexpr double kLeast = 1.0 / 20;

}  // namespace

std::vector<double> divide_window(std::span<const OrchestraObject> objects, bool even) {
  std::vector<double> parts(objects.size(), 1);
  double known = 0;
  double sum = 0;
  for (const OrchestraObject& object : objects) {
    known += object.reuse > 0 ? 1 : 0;
    sum += object.reuse > 0 ? object.reuse : 0;
  }
  if (!even && known > 0) {
    for (std::size_t i = 0; i < objects.size(); ++i)
      parts[i] = 1 / (objects[i].reuse > 0 ? objects[i].reuse : sum / known);
  }
  double all = 0;
  for (const double part : parts) all += part;
  const double least = kLeast / static_cast<double>(std::max<std::size_t>(objects.size(), 1));
  double raised = 0;
  for (double& part : parts) raised += part = std::max(part / all, least);
  for (double& part : parts) part /= raised;
  return parts;
}

std::vector<TimeSlice> make_slices(std::span<const OrchestraObject> objects, bool even, Nanos begin,
                                   Nanos window, std::size_t windows) {
  std::vector<TimeSlice> slices;
  const std::vector<double> parts = divide_window(objects, even);
  for (std::size_t each = 0; each < windows; ++each, begin += window) {
    Nanos from = begin;
    for (std::size_t i = 0; i < objects.size(); ++i) {
      const Nanos length(static_cast<std::int64_t>(static_cast<double>(window.count()) * parts[i]));
      const Nanos to = i + 1 == objects.size() ? begin + window : from + length;
      slices.push_back({objects[i].application, objects[i].rest, from, to});
      from = to;
    }
  }
  return slices;
}

}  // namespace tutti
