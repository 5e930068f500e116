#include "layout/layout.h"

#include <fmt/format.h>

namespace tutti {

Status Layout::validate() const {
  if (stripe_size < kMinStripe || stripe_size > kMaxStripe || stripe_size % kMinStripe != 0_B) {
    return {Code::invalid, fmt::format("stripe size {}: use a multiple of 512 from 512 to {} bytes",
                                       stripe_size.count(), kMaxStripe.count())};
  }
  if (stripe_count < 1 || stripe_count > server_total) {
    return {Code::invalid, fmt::format("stripe count {}: use 1 to {}, the number of data servers",
                                       stripe_count, server_total)};
  }
  if (first_server >= server_total) {
    return {Code::invalid, fmt::format("first server {}: use 0 to {}", first_server, server_total - 1)};
  }
  return {};
}

std::uint32_t Layout::slot_of(Bytes file_offset) const {
  return static_cast<std::uint32_t>(file_offset / stripe_size % stripe_count);
}

std::uint32_t Layout::server_of_slot(std::uint32_t slot) const {
  return (first_server + slot) % server_total;
}

Bytes Layout::object_offset(Bytes file_offset) const {
  const std::uint64_t round = file_offset / stripe_size / stripe_count;
  return stripe_size * round + file_offset % stripe_size;
}

Bytes Layout::file_offset(std::uint32_t slot, Bytes object_offset) const {
  const std::uint64_t round = object_offset / stripe_size;
  return stripe_size * (round * stripe_count + slot) + object_offset % stripe_size;
}

Bytes Layout::object_length(std::uint32_t slot, Bytes file_length) const {
  const std::uint64_t stripes = file_length / stripe_size;
  const std::uint64_t rounds = stripes / stripe_count;
  const auto last_slot = static_cast<std::uint32_t>(stripes % stripe_count);
  Bytes length = stripe_size * rounds;
  if (slot < last_slot) length += stripe_size;
  if (slot == last_slot) length += file_length % stripe_size;
  return length;
}

Bytes Layout::file_length(std::uint32_t slot, Bytes object_length) const {
  if (object_length == 0_B) return 0_B;
  return file_offset(slot, object_length - 1_B) + 1_B;
}

}  // namespace tutti
