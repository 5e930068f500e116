#include "env/sim/device/parameters.h"

#include <toml++/toml.h>
#include <limits>
#include <vector>

#include "env/sim/device/embedded.h"

namespace tutti {

namespace {

// One key of a device file and where its value goes. Exactly one of the places is set.
struct Field {
  const char* key;
  std::uint64_t low;
  std::uint64_t high;
  std::uint64_t* number = nullptr;
  Bytes* bytes = nullptr;
  Nanos* micros = nullptr;
};

constexpr std::uint64_t kMaxRate = 1'000'000'000'000;
constexpr std::uint64_t kMaxCapacity = std::uint64_t{1} << 50U;
constexpr std::uint64_t kMaxMicros = 10'000'000;

Field number(const char* key, std::uint64_t& place, std::uint64_t low, std::uint64_t high) {
  return {key, low, high, &place, nullptr, nullptr};
}
Field bytes(const char* key, Bytes& place, std::uint64_t low) {
  return {key, low, kMaxCapacity, nullptr, &place, nullptr};
}
Field micros(const char* key, Nanos& place) { return {key, 0, kMaxMicros, nullptr, nullptr, &place}; }

std::vector<Field> fields(HddParameters& hdd) {
  return {bytes("capacity", hdd.capacity, 1U << 20U),
          number("rpm", hdd.rpm, 60, 100'000),
          number("heads", hdd.heads, 1, 64),
          micros("track_to_track_seek_us", hdd.track_to_track_seek),
          micros("average_seek_us", hdd.average_seek),
          micros("full_stroke_seek_us", hdd.full_stroke_seek),
          micros("write_seek_extra_us", hdd.write_seek_extra),
          number("outer_rate", hdd.outer_rate, 1'000'000, kMaxRate),
          number("inner_rate", hdd.inner_rate, 1'000'000, kMaxRate),
          number("zones", hdd.zones, 1, 1024),
          number("interface_rate", hdd.interface_rate, 1'000'000, kMaxRate),
          micros("overhead_us", hdd.overhead),
          bytes("read_ahead", hdd.read_ahead, 0),
          bytes("write_cache", hdd.write_cache, 0),
          number("queue_depth", hdd.queue_depth, 1, 256)};
}

std::vector<Field> fields(SsdParameters& ssd) {
  return {bytes("capacity", ssd.capacity, 1U << 20U),
          number("channels", ssd.channels, 1, 1024),
          bytes("interleave", ssd.interleave, 512),
          micros("read_latency_us", ssd.read_latency),
          micros("write_latency_us", ssd.write_latency),
          number("channel_read_rate", ssd.channel_read_rate, 1'000'000, kMaxRate),
          number("channel_write_rate", ssd.channel_write_rate, 1'000'000, kMaxRate),
          number("total_read_rate", ssd.total_read_rate, 1'000'000, kMaxRate),
          number("total_write_rate", ssd.total_write_rate, 1'000'000, kMaxRate),
          micros("channel_overhead_us", ssd.channel_overhead),
          number("queue_depth", ssd.queue_depth, 1, 65536)};
}

Status set(const Field& field, const toml::node& node) {
  const auto value = node.value<std::int64_t>();
  if (!value || *value < 0 || static_cast<std::uint64_t>(*value) < field.low ||
      static_cast<std::uint64_t>(*value) > field.high) {
    return Status(Code::invalid, std::string("device file: ") + field.key + " must be a whole number from " +
                                     std::to_string(field.low) + " to " + std::to_string(field.high));
  }
  const auto count = static_cast<std::uint64_t>(*value);
  if (field.number != nullptr) *field.number = count;
  if (field.bytes != nullptr) *field.bytes = Bytes(count);
  if (field.micros != nullptr) *field.micros = Nanos(*value * 1000);
  return Status();
}

template <typename Parameters>
Status read_table(std::string_view text, const char* section, Parameters& into) {
  toml::table document;
  try {
    document = toml::parse(text);
  } catch (const toml::parse_error& error) {
    return Status(Code::invalid, std::string("device file, line ") +
                                     std::to_string(error.source().begin.line) + ": " +
                                     std::string(error.description()));
  }
  const toml::table* table = document[section].as_table();
  if (table == nullptr) {
    return Status(Code::invalid, std::string("device file: table [") + section + "] is missing");
  }
  const std::vector<Field> known = fields(into);
  for (const auto& [key, node] : *table) {
    if (key.str() == "name") {
      into.name = node.template value_or<std::string>("");
      continue;
    }
    const Field* found = nullptr;
    for (const Field& field : known) {
      if (key.str() == field.key) found = &field;
    }
    if (found == nullptr) {
      return Status(Code::invalid, "device file: unknown key " + std::string(key.str()));
    }
    TUTTI_TRY(set(*found, node));
  }
  return Status();
}

Status check(const HddParameters& hdd) {
  if (hdd.inner_rate > hdd.outer_rate) {
    return Status(Code::invalid, "device file: inner_rate must not exceed outer_rate");
  }
  if (hdd.track_to_track_seek > hdd.average_seek || hdd.average_seek > hdd.full_stroke_seek) {
    return Status(Code::invalid, "device file: seek times must grow from track-to-track to full stroke");
  }
  return Status();
}

}  // namespace

// The embedded files are part of the build and tested; were they broken, the zeros left would show at once.
HddParameters default_hdd() {
  HddParameters parameters;
  read_table(kHddToml, "hdd", parameters).ignore();
  return parameters;
}

SsdParameters default_ssd() {
  SsdParameters parameters;
  read_table(kSsdToml, "ssd", parameters).ignore();
  return parameters;
}

HddParameters small_hdd() {
  HddParameters parameters = default_hdd();
  read_table(kHdd80Toml, "hdd", parameters).ignore();
  return parameters;
}

SsdParameters default_nvme() {
  SsdParameters parameters;
  read_table(kNvmeToml, "ssd", parameters).ignore();
  return parameters;
}

Result<HddParameters> parse_hdd(std::string_view toml) {
  HddParameters parameters = default_hdd();
  TUTTI_TRY(read_table(toml, "hdd", parameters));
  TUTTI_TRY(check(parameters));
  return parameters;
}

Result<SsdParameters> parse_ssd(std::string_view toml) {
  SsdParameters parameters = default_ssd();
  TUTTI_TRY(read_table(toml, "ssd", parameters));
  return parameters;
}

}  // namespace tutti
