// How the demands of the gate are stored. The store is thrown away with a loss of power, so an old version need not be read.
#include "server/coordinator/gate_service.h"
#include "server/meta/codec.h"

namespace tutti {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::uint32_t kMostParts = 65536;

}  // namespace

std::string encode(const gate::LockRecord& record) {
  meta::Encoder encoder;
  encoder.number(kRecordVersion)
      .number(record.sequence)
      .number(record.job)
      .number(static_cast<std::uint8_t>(record.standing))
      .number(static_cast<std::uint8_t>(record.reason))
      .number(record.fence)
      .number(record.holders)
      .number(record.expected.count())
      .number(record.alone ? std::uint8_t{1} : std::uint8_t{0})
      .number(static_cast<std::uint32_t>(record.numbers.size()))
      .number(static_cast<std::uint32_t>(record.resources.size()));
  for (const std::uint64_t number : record.numbers) encoder.number(number);
  for (const gate::Resource& resource : record.resources)
    encoder.number(static_cast<std::uint16_t>(resource.size()));
  for (const gate::Resource& resource : record.resources) encoder.rest(resource);
  return encoder.take();
}

std::optional<gate::LockRecord> decode_lock_record(std::string_view bytes) {
  meta::Decoder decoder(bytes);
  if (decoder.number<std::uint8_t>() != kRecordVersion) return std::nullopt;
  gate::LockRecord record;
  decoder.into(record.sequence);
  decoder.into(record.job);
  record.standing = static_cast<gate::Standing>(decoder.number<std::uint8_t>());
  record.reason = static_cast<gate::PassReason>(decoder.number<std::uint8_t>());
  decoder.into(record.fence);
  decoder.into(record.holders);
  record.expected = Bytes(decoder.number<std::uint64_t>());
  record.alone = decoder.number<std::uint8_t>() != 0;
  const auto numbers = decoder.number<std::uint32_t>();
  const auto resources = decoder.number<std::uint32_t>();
  if (!decoder.sound() || numbers > kMostParts || resources > kMostParts) return std::nullopt;
  for (std::uint32_t i = 0; i < numbers; ++i) record.numbers.push_back(decoder.number<std::uint64_t>());
  std::vector<std::uint16_t> lengths;
  for (std::uint32_t i = 0; i < resources; ++i) lengths.push_back(decoder.number<std::uint16_t>());
  const std::string texts = decoder.rest();
  std::size_t at = 0;
  for (const std::uint16_t length : lengths) {
    if (length > texts.size() - at) return std::nullopt;
    record.resources.push_back(texts.substr(at, length));
    at += length;
  }
  if (!decoder.sound()) return std::nullopt;
  return record;
}

}  // namespace tutti
