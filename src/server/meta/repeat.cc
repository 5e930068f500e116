#include "server/meta/repeat.h"

#include <vector>

#include "server/meta/codec.h"

namespace tutti::meta {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::size_t kClientStep = 2;  // old answers of the same client looked at for each stored one
constexpr std::size_t kSweepStep = 4;   // and answers of anybody

struct Record {
  std::uint64_t request = 0;
  Nanos wall;
  std::string answer;
};

std::string encode(const Ticket& ticket, std::string_view answer, Nanos wall) {
  return Encoder().number(kRecordVersion).number(ticket.request).number(wall.count()).rest(answer).take();
}

std::optional<Record> decode(std::string_view bytes) {
  Decoder decoder(bytes);
  if (decoder.number<std::uint8_t>() != kRecordVersion) return std::nullopt;
  Record record;
  decoder.into(record.request);
  record.wall = Nanos(decoder.number<std::int64_t>());
  if (!decoder.sound()) return std::nullopt;
  record.answer = decoder.rest();
  return record;
}

Status forget(KvWriter& kv, const std::vector<RepeatKey>& keys) {
  for (const RepeatKey& key : keys) TUTTI_TRY(kv.erase(repeat_key(key)));
  return {};
}

// The client's answers that have fallen out of its window.
Status trim_client(KvWriter& kv, const RepeatKey& newest) {
  if (newest.sequence <= kRepeatWindow) return {};
  std::vector<RepeatKey> old;
  TUTTI_TRY(
      kv.scan(repeat_key({newest.uid, newest.client, 0}), [&](std::string_view bytes, std::string_view) {
        RepeatKey key;
        if (!parse_repeat_key(bytes, key) || key.uid != newest.uid || key.client != newest.client)
          return false;
        if (key.sequence > newest.sequence - kRepeatWindow) return false;
        old.push_back(key);
        return old.size() < kClientStep;
      }));
  return forget(kv, old);
}

// The answers that nobody will ask for again, also of clients that are gone: a few at a time, round and
// round.
Status trim_aged(KvWriter& kv, Nanos oldest, RepeatKey& sweep) {
  std::vector<RepeatKey> old;
  std::size_t seen = 0;
  RepeatKey next;  // the beginning, if the scan reaches the end
  TUTTI_TRY(kv.scan(repeat_key(sweep), [&](std::string_view bytes, std::string_view value) {
    RepeatKey key;
    if (!parse_repeat_key(bytes, key)) return false;
    if (seen++ == kSweepStep) {
      next = key;
      return false;
    }
    const std::optional<Record> record = decode(value);
    if (!record || record->wall < oldest) old.push_back(key);
    return true;
  }));
  sweep = next;
  return forget(kv, old);
}

}  // namespace

Result<std::optional<std::string>> recall(const KvReader& kv, const Ticket& ticket) {
  if (ticket.key.sequence == 0) return std::optional<std::string>();
  Result<std::optional<std::string>> bytes = kv.get(repeat_key(ticket.key));
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return std::optional<std::string>();
  std::optional<Record> record = decode(**bytes);
  if (!record || record->request != ticket.request) return std::optional<std::string>();
  return std::optional<std::string>(std::move(record->answer));
}

Status remember(KvWriter& kv, const Ticket& ticket, std::string_view answer, Nanos wall, Nanos age,
                RepeatKey& sweep) {
  if (ticket.key.sequence == 0) return {};
  TUTTI_TRY(trim_client(kv, ticket.key));
  TUTTI_TRY(trim_aged(kv, wall - age, sweep));
  return kv.put(repeat_key(ticket.key), encode(ticket, answer, wall));
}

}  // namespace tutti::meta
