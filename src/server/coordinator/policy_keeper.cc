#include "server/coordinator/policy_keeper.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "policy/request/window.h"
#include "server/meta/codec.h"

namespace tutti {
namespace {

constexpr std::uint8_t kRecordVersion = 1;
// A session that breaks is made anew within a second.
constexpr Nanos kGatherPatience = 2_s;
constexpr Nanos kStepPatience = 1_s;
// A change takes effect this long after it is prepared, at the next window: time for the answers, a durable record
// and the word to commit.
constexpr Nanos kLead = 2_s;
// What must be left of that when the change is decided.
constexpr Nanos kReserve = 500_ms;
constexpr Nanos kLongestWindow = 10_s;

// The first begin of a window of the policy after `wall`. Nobody wants to wait for the end of a very long one: then,
// and where there are no windows, the next full second will do.
Nanos next_begin(const RequestPolicy& policy, Nanos wall) {
  Nanos interval = policy.counters().interval;
  if (interval <= 0_s || interval > kLongestWindow) interval = 1_s;
  return Nanos((wall / interval + 1) * interval.count());
}

}  // namespace

std::string policy_key() { return "P"; }

std::string encode(const PolicyRecord& record) {
  return meta::Encoder()
      .number(kRecordVersion)
      .number(record.now.version)
      .number(record.now.change)
      .number(record.now.from.count())
      .number(static_cast<std::uint32_t>(record.now.policy.size()))
      .number(static_cast<std::uint32_t>(record.previous.size()))
      .rest(record.now.policy)
      .rest(record.previous)
      .rest(record.configured)
      .take();
}

Result<PolicyRecord> decode_policy(std::string_view bytes) {
  meta::Decoder decoder(bytes);
  PolicyRecord record;
  const auto version = decoder.number<std::uint8_t>();
  decoder.into(record.now.version);
  decoder.into(record.now.change);
  record.now.from = Nanos(decoder.number<std::int64_t>());
  const auto policy = decoder.number<std::uint32_t>();
  const auto previous = decoder.number<std::uint32_t>();
  const std::string texts = decoder.rest();
  if (version != kRecordVersion || !decoder.sound() || policy > texts.size() ||
      previous > texts.size() - policy) {
    return Status(Code::malformed,
                  "request policy: the stored record is damaged; restore the metadata from a copy");
  }
  record.now.policy = texts.substr(0, policy);
  record.previous = texts.substr(policy, previous);
  record.configured = texts.substr(std::size_t{policy} + previous);
  return record;
}

PolicyKeeper::PolicyKeeper(Env env, Kv& kv, PolicyFollowers& followers, std::string configured)
    : env_(env), kv_(kv), followers_(followers), configured_(std::move(configured)) {}

Task<Status> PolicyKeeper::open() {
  TUTTI_CO_TRY(make_request_policy(configured_).status());
  std::function<Status(KvWriter&)> body = [configured = configured_](KvWriter& kv) -> Status {
    Result<std::optional<std::string>> stored = kv.get(policy_key());
    if (!stored.ok()) return stored.status();
    PolicyRecord record;
    if (stored->has_value()) {
      Result<PolicyRecord> decoded = decode_policy(**stored);
      if (!decoded.ok()) return decoded.status();
      record = *std::move(decoded);
      if (record.configured == configured) return {};
    }
    record = {{record.now.version + 1, 0, configured, {}}, record.now.policy, configured};
    return kv.put(policy_key(), encode(record));
  };
  co_return co_await kv_.update(std::move(body));
}

Result<PolicyRecord> PolicyKeeper::read() const {
  std::string bytes;
  TUTTI_TRY(kv_.view([&](const KvReader& kv) -> Status {
    Result<std::optional<std::string>> stored = kv.get(policy_key());
    if (!stored.ok()) return stored.status();
    bytes = stored->value_or("");
    return {};
  }));
  return decode_policy(bytes);
}

Task<Result<PolicyRecord>> PolicyKeeper::change(std::string policy) {
  if (policy.size() > wire::kMaxPolicy)
    co_return Status(Code::invalid, "the policy's parameters are too long");
  TUTTI_CO_TRY(make_request_policy(policy).status());
  Result<PolicyRecord> record = read();
  if (!record.ok()) co_return record;
  if (record->now.policy == policy || (*make_request_policy(policy))->name() == record->now.policy)
    co_return record;
  if (changing_ || record->now.from > env_.clock.wall())
    co_return Status(Code::busy, "another change of the policy is under way");
  changing_ = true;
  struct Ended {
    explicit Ended(bool& flag) : flag(flag) {}
    Ended(const Ended&) = delete;
    Ended& operator=(const Ended&) = delete;
    ~Ended() { flag = false; }
    bool& flag;
  };
  const Ended ended(changing_);
  co_return co_await change_on_all(*std::move(record), std::move(policy));
}

Task<Result<PolicyRecord>> PolicyKeeper::change_on_all(PolicyRecord old, std::string policy) {
  TUTTI_CO_TRY(co_await followers_.gather(kGatherPatience));
  // All servers get the same interval, that of the slowest device.
  const bool rotational = followers_.any_rotational();
  const auto made = make_request_policy(for_device(policy, rotational));
  if (!made.ok()) co_return made.status();
  PolicyRecord fresh;
  fresh.now = {old.now.version + 1, env_.random.next(), (*made)->name(),
               next_begin(**made, env_.clock.wall() + kLead)};
  fresh.previous = old.now.policy;
  fresh.configured = old.configured;

  PolicyMessage message{PolicyStep::prepare, fresh.now};
  Status status = co_await followers_.tell_all(message, kStepPatience);
  if (status.ok() && env_.clock.wall() + kReserve > fresh.now.from)
    status = Status(Code::unavailable, "the data servers took too long to agree");
  if (status.ok()) status = co_await store(fresh);
  if (!status.ok()) {
    message.step = PolicyStep::withdraw;
    (co_await followers_.tell_all(message, kStepPatience)).ignore();
    co_return status;
  }
  message.step = PolicyStep::commit;
  const Status told = co_await followers_.tell_all(message, kStepPatience);
  if (!told.ok()) env_.log.warn("change of the request policy: {}; it will ask by itself", told.message());
  co_return fresh;
}

Task<Status> PolicyKeeper::store(PolicyRecord record) {
  std::function<Status(KvWriter&)> body = [bytes = encode(record)](KvWriter& kv) {
    return kv.put(policy_key(), bytes);
  };
  co_return co_await kv_.update(std::move(body));
}

}  // namespace tutti
