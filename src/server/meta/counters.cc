#include "server/meta/counters.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "server/meta/codec.h"
#include "server/meta/records.h"
#include "wire/messages.h"

namespace tutti::meta {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
constexpr std::size_t kSweepStep = 4;  // counters looked at for each that is set

struct Counter {
  std::uint32_t uid = 0;
  Nanos changed;  // wall
  std::int64_t value = 0;
};

std::string encode(const Counter& counter) {
  return Encoder()
      .number(kRecordVersion)
      .number(counter.uid)
      .number(counter.changed.count())
      .number(counter.value)
      .take();
}

std::optional<Counter> decode(std::string_view bytes) {
  Decoder decoder(bytes);
  if (decoder.number<std::uint8_t>() != kRecordVersion) return std::nullopt;
  Counter counter;
  decoder.into(counter.uid);
  counter.changed = Nanos(decoder.number<std::int64_t>());
  decoder.into(counter.value);
  if (!decoder.done()) return std::nullopt;
  return counter;
}

// Nothing if it is not there.
Result<std::optional<Counter>> find(const KvReader& kv, const Caller& caller, std::uint64_t key) {
  Result<std::optional<std::string>> bytes = kv.get(counter_key(key));
  if (!bytes.ok()) return bytes.status();
  if (!bytes->has_value()) return std::optional<Counter>();
  const std::optional<Counter> counter = decode(**bytes);
  if (!counter) return Status(Code::malformed, fmt::format("the record of counter {:x} is damaged", key));
  if (counter->uid != caller.uid)
    return Status(Code::permission, fmt::format("counter {:x} is another user's", key));
  return counter;
}

Status missing(std::uint64_t key) {
  return {Code::not_found, fmt::format("there is no counter {:x}: set it first", key)};
}

// Keys are random: what lies behind a new one is a fair sample.
Status sweep(KvWriter& kv, std::uint64_t from, Nanos oldest) {
  std::vector<std::string> old;
  std::size_t seen = 0;
  const auto look = [&](std::string_view key, std::string_view value) {
    if (!is_counter_key(key) || seen++ == kSweepStep) return false;
    const std::optional<Counter> counter = decode(value);
    if (!counter || counter->changed < oldest) old.emplace_back(key);
    return true;
  };
  TUTTI_TRY(kv.scan(counter_key(from), look));
  if (seen < kSweepStep) TUTTI_TRY(kv.scan(counter_key(0), look));
  for (const std::string& key : old) TUTTI_TRY(kv.erase(key));
  return {};
}

}  // namespace

Result<std::int64_t> counter_value(const KvReader& kv, const Caller& caller, std::uint64_t key) {
  const Result<std::optional<Counter>> counter = find(kv, caller, key);
  if (!counter.ok()) return counter.status();
  if (!counter->has_value()) return missing(key);
  return (*counter)->value;
}

Result<std::int64_t> change_counter(KvWriter& kv, const Caller& caller, const CounterAsk& ask) {
  const Result<std::optional<Counter>> found = find(kv, caller, ask.key);
  if (!found.ok()) return found.status();
  switch (ask.op) {
    case wire::kCounterGet:
      return counter_value(kv, caller, ask.key);
    case wire::kCounterMake:
      if (found->has_value()) return (*found)->value;
      [[fallthrough]];
    case wire::kCounterSet:
      TUTTI_TRY(sweep(kv, ask.key, caller.wall - kCounterLife));
      TUTTI_TRY(kv.put(counter_key(ask.key), encode({caller.uid, caller.wall, ask.value})));
      return ask.value;
    case wire::kCounterFetchAdd: {
      if (!found->has_value()) return missing(ask.key);
      std::int64_t sum = 0;
      if (__builtin_add_overflow((*found)->value, ask.value, &sum))
        return Status(Code::too_large, fmt::format("counter {:x} would overflow", ask.key));
      TUTTI_TRY(kv.put(counter_key(ask.key), encode({caller.uid, caller.wall, sum})));
      return (*found)->value;
    }
    case wire::kCounterRemove:
      TUTTI_TRY(kv.erase(counter_key(ask.key)));
      return 0;
    default:
      return Status(Code::invalid, fmt::format("a counter has no operation {}", ask.op));
  }
}

}  // namespace tutti::meta
