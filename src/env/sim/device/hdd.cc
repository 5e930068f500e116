#include "env/sim/device/hdd.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace tutti {
namespace {

Nanos time_of(std::uint64_t bytes, std::uint64_t rate) {
  return Nanos(static_cast<std::int64_t>(bytes * 1'000'000'000U / rate));
}

}  // namespace

HddModel::HddModel(const HddParameters& parameters)
    : parameters_(parameters),
      rotation_(static_cast<std::int64_t>(60'000'000'000U / parameters.rpm)),
      cache_(parameters.write_cache) {
  const std::uint64_t count = parameters.zones;
  const auto rate_of = [&](std::uint64_t zone) {
    const std::uint64_t fall = parameters.outer_rate - parameters.inner_rate;
    return parameters.outer_rate - (count > 1 ? fall * zone / (count - 1) : 0);
  };
  std::uint64_t bytes_per_cylinder_in_all = 0;  // of one cylinder in each zone
  for (std::uint64_t i = 0; i < count; ++i) {
    Zone zone;
    zone.rate = rate_of(i);
    zone.track_bytes = zone.rate * static_cast<std::uint64_t>(rotation_) / 1'000'000'000U;
    zone.cylinder_bytes = zone.track_bytes * parameters.heads;
    bytes_per_cylinder_in_all += zone.cylinder_bytes;
    zones_.push_back(zone);
  }
  assert(bytes_per_cylinder_in_all > 0);  // parse_hdd() sees to it
  const std::uint64_t cylinders_per_zone =
      (parameters.capacity.count() + bytes_per_cylinder_in_all - 1) / bytes_per_cylinder_in_all;
  std::uint64_t byte = 0;
  for (Zone& zone : zones_) {
    zone.first_byte = byte;
    zone.first_cylinder = cylinders_;
    byte += zone.cylinder_bytes * cylinders_per_zone;
    cylinders_ += cylinders_per_zone;
  }
  // Over all pairs of cylinders the mean of sqrt(d/D) is 8/15 and that of d/D is 1/3.
  const auto base = static_cast<double>(parameters.track_to_track_seek.count());
  const double average = static_cast<double>(parameters.average_seek.count()) - base;
  const double full = static_cast<double>(parameters.full_stroke_seek.count()) - base;
  seek_root_ = (average - full / 3.0) / (8.0 / 15.0 - 1.0 / 3.0);
  seek_linear_ = full - seek_root_;
}

std::size_t HddModel::queue_depth() const { return static_cast<std::size_t>(parameters_.queue_depth); }

const HddModel::Zone& HddModel::zone_of(std::uint64_t address) const {
  const auto after =
      std::upper_bound(zones_.begin(), zones_.end(), address,
                       [](std::uint64_t byte, const Zone& zone) { return byte < zone.first_byte; });
  return *(after - 1);
}

std::uint64_t HddModel::cylinder_of(Bytes address) const {
  const Zone& zone = zone_of(wrap(address));
  return zone.first_cylinder + (wrap(address) - zone.first_byte) / zone.cylinder_bytes;
}

std::uint64_t HddModel::rate_at(Bytes address) const { return zone_of(wrap(address)).rate; }

Nanos HddModel::seek_time(std::uint64_t distance, bool write) const {
  if (distance == 0) return Nanos();
  const double share = static_cast<double>(distance) / static_cast<double>(cylinders_);
  const double curve = seek_root_ * std::sqrt(share) + seek_linear_ * share;
  const Nanos time = parameters_.track_to_track_seek + Nanos(static_cast<std::int64_t>(curve));
  return write ? time + parameters_.write_seek_extra : time;
}

bool HddModel::continues(std::uint64_t address, bool write) const {
  return moved_ && write == last_write_ && address == last_end_;
}

bool HddModel::in_cache(const Access& access, Nanos now) const {
  if (!parameters_.reads_from_cache || access.write || last_write_ || !moved_) return false;
  const std::uint64_t size = parameters_.read_ahead.count();
  if (access.address <= last_end_) return access.address >= run_begin_ && last_end_ - access.address <= size;
  const Zone& zone = zone_of(last_end_);
  const auto idle = static_cast<std::uint64_t>(std::max(now - passed_, Nanos()).count());
  const std::uint64_t ahead = std::min(size, idle * (zone.rate / 1'000'000U) / 1'000U);
  return access.address - last_end_ <= std::max(ahead, zone.track_bytes / 2);
}

Nanos HddModel::positioning(std::uint64_t address, bool write, Nanos start) const {
  const Zone& zone = zone_of(address);
  const std::uint64_t cylinder = zone.first_cylinder + (address - zone.first_byte) / zone.cylinder_bytes;
  const std::uint64_t distance = cylinder > cylinder_ ? cylinder - cylinder_ : cylinder_ - cylinder;
  const Nanos seek = seek_time(distance, write);
  // The angle at which the byte passes the head. Tracks are skewed so that a stream flows at the zone's rate.
  const std::uint64_t within = (address - zone.first_byte) % zone.track_bytes;
  const auto angle =
      static_cast<std::int64_t>(within * static_cast<std::uint64_t>(rotation_) / zone.track_bytes);
  const std::int64_t phase = (start + seek).count() % rotation_;
  return seek + Nanos((angle - phase + rotation_) % rotation_);
}

Nanos HddModel::estimate(const IoDescription& request, Nanos now) const {
  if (request.flush || (cached(request) && cache_.has_room(request.length.count()))) return Nanos();
  const std::uint64_t address = wrap(request.address);
  const Access wanted{address, request.length.count(), request.write};
  if (continues(address, request.write) || in_cache(wanted, now)) return Nanos();
  return positioning(address, request.write, now + parameters_.overhead);
}

Nanos HddModel::serve(const IoDescription& request, Nanos now) {
  drain_until(now);
  if (request.flush) {
    while (!cache_.empty()) drain_one();
    return std::max(media_free_, now) + parameters_.overhead;
  }
  const Access wanted{wrap(request.address), request.length.count(), request.write};
  const Nanos over_interface =
      now + parameters_.overhead + time_of(wanted.length, parameters_.interface_rate);
  if (cached(request)) {
    Nanos room = over_interface;
    while (!cache_.has_room(wanted.length)) {
      drain_one();
      room = std::max(room, media_free_);
    }
    cache_.put(wanted.address, wanted.length);
    // Idle heads may begin with it now, not before it came.
    media_free_ = std::max(media_free_, now);
    return room;
  }
  if (in_cache(wanted, now)) {
    const std::uint64_t end = wanted.address + wanted.length;
    if (end <= last_end_) return over_interface;
    return std::max(read_on({last_end_, end - last_end_, false}, now), over_interface);
  }
  if (continues(wanted.address, wanted.write)) {
    if (!wanted.write && parameters_.read_ahead > Bytes())
      return std::max(read_on(wanted, now), over_interface);
    if (wanted.write && now <= passed_) return std::max(access(wanted, passed_), over_interface);
  }
  return std::max(access(wanted, std::max(now, media_free_) + parameters_.overhead), over_interface);
}

Nanos HddModel::access(const Access& access, Nanos start) {
  if (!continues(access.address, access.write) || start > passed_) {
    start += positioning(access.address, access.write, start);
  }
  if (!moved_ || access.address != last_end_) {
    run_begin_ = access.address;
    ++motion_.jumps;
    motion_.distance +=
        Bytes(access.address > last_end_ ? access.address - last_end_ : last_end_ - access.address);
  }
  passed_ = media_free_ = start + time_of(access.length, zone_of(access.address).rate);
  moved_ = true;
  last_write_ = access.write;
  last_end_ = wrap(Bytes(access.address + access.length));
  cylinder_ = cylinder_of(Bytes(last_end_));
  return media_free_;
}

// The heads went on meanwhile, as far as the cache reaches: what they passed comes at interface speed.
Nanos HddModel::read_on(const Access& access, Nanos now) {
  const Nanos ahead = time_of(parameters_.read_ahead.count(), zone_of(access.address).rate);
  passed_ = std::max(passed_, now - ahead);
  return this->access(access, passed_);
}

void HddModel::drain_one() {
  const Nanos start = media_free_;
  const WriteCache::Stretch next = cache_.take_nearest([&](std::uint64_t address) {
    return continues(address, true) && start <= passed_ ? Nanos() : positioning(address, true, start);
  });
  access({next.address, next.length, true}, start);
}

void HddModel::drain_until(Nanos now) {
  while (!cache_.empty() && media_free_ < now) drain_one();
}

}  // namespace tutti
