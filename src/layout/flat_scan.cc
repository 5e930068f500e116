// What an encoded FlatType would be, found without making it: see FlatSummary.
#include <algorithm>

#include "layout/flat_codec.h"
#include "layout/flat_node.h"

namespace tutti {
namespace {

using flat::Node;
using flat::Numbers;

constexpr std::size_t kNodeMemory = sizeof(Node) + 64;  // with what shares it, and its place in its parent
constexpr std::size_t kEntryMemory = 64;  // of a list: its numbers, and those from which they are made

// One part of the tree, where it lies counted in.
struct Part {
  std::int64_t size = 0;
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool ascending = true;
  bool sorted = true;
};

bool fits(std::int64_t place) { return place < flat::kLargest && place > -flat::kLargest; }

// Follows Reader of flat_codec.cc, number by number; what passes here overflows nothing there.
class Scanner {
 public:
  explicit Scanner(std::span<const std::byte> bytes) : numbers_(bytes) {}
  Numbers& numbers() { return numbers_; }
  [[nodiscard]] bool good() const { return good_ && numbers_.good(); }
  [[nodiscard]] std::size_t memory() const { return memory_; }

  Part node(int depth) {
    memory_ += kNodeMemory;
    const std::int64_t kind = numbers_.next();
    if (!good() || depth > flat::kDeepest || kind < 0 || kind > static_cast<std::int64_t>(Node::Kind::group))
      return refuse();
    switch (static_cast<Node::Kind>(kind)) {
      case Node::Kind::dense: {
        const std::int64_t size = numbers_.next();
        return size > 0 && fits(size) ? dense(size) : refuse();
      }
      case Node::Kind::strided: {
        const std::int64_t count = numbers_.next();
        const std::int64_t stride = numbers_.next();
        const Part child = node(depth + 1);
        return good() && count >= 1 ? repeated(count, stride, child) : refuse();
      }
      case Node::Kind::group:
        return group(depth);
      default:
        return listed(depth, static_cast<Node::Kind>(kind) == Node::Kind::list);
    }
  }

 private:
  Part refuse() {
    good_ = false;
    return {};
  }
  static Part dense(std::int64_t size) {
    Part part;
    part.size = part.high = size;
    return part;
  }
  Part repeated(std::int64_t count, std::int64_t stride, const Part& child) {
    Part part = child;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(count, child.size, &part.size) || !fits(part.size) ||
        __builtin_mul_overflow(count, stride, &reach) || !fits(reach)) {
      return refuse();
    }
    reach -= stride;
    part.low = child.low + std::min<std::int64_t>(0, reach);
    part.high = child.high + std::max<std::int64_t>(0, reach);
    part.last = child.last + reach;
    if (!fits(part.low) || !fits(part.high) || !fits(part.last)) return refuse();
    if (count == 1) return part;
    part.ascending = child.ascending && stride >= child.high - child.low;
    part.sorted = child.sorted && stride >= child.last - child.first;
    return part;
  }
  // Puts a part behind those that are there; `begun` says whether there are any.
  void join(Part& whole, bool& begun, const Part& part, std::int64_t at) {
    const std::int64_t low = at + part.low;
    const std::int64_t high = at + part.high;
    const std::int64_t first = at + part.first;
    const std::int64_t last = at + part.last;
    if (!fits(low) || !fits(high) || !fits(first) || !fits(last) || !fits(whole.size + part.size)) {
      good_ = false;
      return;
    }
    whole.ascending = whole.ascending && part.ascending && (!begun || low >= whole.high);
    whole.sorted = whole.sorted && part.sorted && (!begun || first >= whole.last);
    whole.low = begun ? std::min(whole.low, low) : low;
    whole.high = begun ? std::max(whole.high, high) : high;
    if (!begun) whole.first = first;
    whole.last = last;
    whole.size += part.size;
    begun = true;
  }
  std::int64_t place_after(std::int64_t before) {
    std::int64_t at = 0;
    if (__builtin_add_overflow(before, numbers_.next(), &at) || !fits(at)) good_ = false;
    return at;
  }
  Part group(int depth) {
    const std::int64_t count = numbers_.next();
    if (!good() || !numbers_.plausible(count)) return refuse();
    Part whole;
    bool begun = false;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count && good(); ++i) {
      memory_ += kEntryMemory;
      at = place_after(at);
      const Part part = node(depth + 1);
      if (good()) join(whole, begun, part, at);
    }
    return good() ? whole : refuse();
  }
  Part listed(int depth, bool of_parts) {
    const std::int64_t count = numbers_.next();
    const std::int64_t stride = of_parts ? numbers_.next() : 1;
    const Part child = of_parts ? node(depth + 1) : dense(1);
    if (!good() || !numbers_.plausible(count)) return refuse();
    memory_ += static_cast<std::size_t>(count) * kEntryMemory;
    Part whole;
    bool begun = false;
    std::int64_t at = 0;
    for (std::int64_t i = 0; i < count && good(); ++i) {
      at = place_after(at);
      const std::int64_t length = numbers_.next();
      if (!good() || length < 1) return refuse();
      Part part;
      if (of_parts) {
        part = repeated(length, stride, child);
      } else if (fits(length)) {
        part = dense(length);
      } else {
        return refuse();
      }
      if (good()) join(whole, begun, part, at);
    }
    return good() ? whole : refuse();
  }

  Numbers numbers_;
  bool good_ = true;
  std::size_t memory_ = 0;
};

}  // namespace

Result<FlatSummary> FlatType::summarize(std::span<const std::byte> bytes) {
  const Status refused(Code::malformed, "a datatype does not parse");
  Scanner scanner(bytes);
  scanner.numbers().next();  // lb
  FlatSummary summary;
  summary.extent = scanner.numbers().next();
  const std::int64_t shift = scanner.numbers().next();
  if (!scanner.good() || !fits(summary.extent) || !fits(shift)) return refused;
  Part data;
  if (!scanner.numbers().empty()) data = scanner.node(0);
  if (!scanner.good() || !scanner.numbers().empty()) return refused;
  summary.size = data.size;
  summary.low = shift + data.low;
  summary.high = shift + data.high;
  if (!fits(summary.low) || !fits(summary.high)) return refused;
  summary.ascending = data.ascending;
  summary.sorted = data.sorted;
  summary.memory = scanner.memory();
  return summary;
}

}  // namespace tutti
