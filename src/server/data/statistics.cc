#include "server/data/statistics.h"

#include <algorithm>

#include "policy/orchestra/options.h"

namespace tutti {
namespace {

// Where the bytes of an object lie whose place is not known: somewhere else than those of other objects.
constexpr std::uint64_t kObjectBits = 40;
constexpr std::uint64_t kObjects = std::uint64_t{1} << 20U;
// Whoever waits less than this part of a jump's first guess was answered from memory.
constexpr std::int64_t kAtOnce = 80;

Nanos nanos(double value) { return Nanos(static_cast<std::int64_t>(value)); }

}  // namespace

void Statistics::follow(std::string_view policy) {
  const auto options = read_orchestra_options(policy);
  if (!options.ok()) return;
  locality_ = Locality(options->unit, options->weight);
  jump_ = JumpCost(options->first_jump());
  at_once_ = options->first_jump() / kAtOnce;
}

void Statistics::note_stretch(ObjectId object, Extent extent, bool write) {
  const std::optional<DeviceStretch> known = store_.probe(object, extent, write);
  const DeviceStretch place = known.value_or(
      DeviceStretch{Bytes((object.value % kObjects) << kObjectBits) + extent.offset, extent.length});
  if (place.length > 0_B) stretches_.push_back({place.address, place.length});
}

Statistics::Way Statistics::started(std::uint64_t application, ObjectId object,
                                    std::span<const Extent> extents, bool write,
                                    const std::optional<Extent>& ahead,
                                    const std::optional<Dedicated>& dedicated, Nanos now) {
  if (!wanted_) return Way::none;
  stretches_.clear();
  Bytes length;
  for (const Extent& extent : extents) length += extent.length;
  if (has_addresses()) {
    for (const Extent& extent : extents.first(std::min(extents.size(), kMostExtents)))
      note_stretch(object, extent, write);
    if (ahead) note_stretch(object, *ahead, false);
  }
  const bool jump = locality_.begin(application, stretches_, has_addresses(), length, dedicated, now);
  if (stretches_.empty()) return Way::none;
  return jump ? Way::far : Way::near;
}

// A request that had to wait for the device ends when the device does, whoever asked it (read-ahead may have, for an earlier
// request): from one such end to the next is what the device took for the second. A write may have ended in memory.
void Statistics::ended(ObjectId object, Way way, Bytes bytes, bool write, Nanos then, Nanos now) {
  if (!wanted_) return;
  news_.set();
  if (write || now - then < at_once_) return;
  const bool far = way == Way::far || object != last_object_;
  // Only one that waited already when the last one ended had the device's whole time since then; and one that read-ahead had
  // asked for says nothing of a near way.
  if (then <= last_end_ && (far || way == Way::near)) jump_.add(far, bytes, now - last_end_);
  last_end_ = now;
  last_object_ = object;
}

UseReport Statistics::report(const std::vector<Accounting::Row>& accounts) {
  news_.reset();
  UseReport report;
  report.gaps = locality_.all().sums.gaps;
  report.distance = locality_.all().sums.distance;
  report.far = locality_.all().sums.far;
  report.running_gap = Bytes(static_cast<std::uint64_t>(locality_.all().gap.value_or(0)));
  report.jump = jump_.value();
  report.addresses = has_addresses();
  report.rest_reuses = locality_.rest().sums.reuses;
  report.rest_reuse = locality_.rest().sums.reuse;
  for (const Accounting::Row& row : accounts) {
    Use use;
    use.application = row.application;
    use.others = row.others;
    use.requests = row.reads + row.writes;
    use.bytes = row.bytes_read + row.bytes_written;
    use.served = row.served;
    use.queued = static_cast<std::uint32_t>(row.queued);
    use.in_service = static_cast<std::uint32_t>(row.in_service);
    if (const Locality::Row* known = row.others ? nullptr : locality_.program(row.application)) {
      use.gaps = known->sums.gaps;
      use.distance = known->sums.distance;
      use.far = known->sums.far;
      use.reuses = known->sums.reuses;
      use.reuse = known->sums.reuse;
      use.running_gap = Bytes(static_cast<std::uint64_t>(known->gap.value_or(0)));
      use.running_reuse = nanos(known->reuse.value_or(0));
    }
    report.applications.push_back(use);
  }
  locality_.forget_unless([&](std::uint64_t application) {
    return std::any_of(accounts.begin(), accounts.end(), [&](const Accounting::Row& row) {
      return !row.others && row.application == application;
    });
  });
  return report;
}

}  // namespace tutti
