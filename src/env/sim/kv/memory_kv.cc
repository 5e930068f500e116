#include "env/sim/kv/memory_kv.h"

#include <optional>

namespace tutti {

namespace {

constexpr std::size_t kMaxKey = 511;

Status check_key(std::string_view key) {
  if (!key.empty() && key.size() <= kMaxKey) return Status();
  return Status(Code::invalid, "kv key of " + std::to_string(key.size()) + " bytes: 1 to 511 are allowed");
}

}  // namespace

class MemoryKv::Reader final : public KvReader {
 public:
  explicit Reader(const Map& map) : map_(map) {}
  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
    TUTTI_TRY(check_key(key));
    const auto found = map_.find(key);
    if (found == map_.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }
  [[nodiscard]] Status scan(
      std::string_view from,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const override {
    for (auto each = map_.lower_bound(from); each != map_.end(); ++each) {
      if (!visit(each->first, each->second)) break;
    }
    return Status();
  }

 private:
  const Map& map_;
};

// Changes the map in place and remembers how to undo it.
class MemoryKv::Writer final : public KvWriter {
 public:
  explicit Writer(Map& map) : map_(map), reader_(map) {}
  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
    return reader_.get(key);
  }
  [[nodiscard]] Status scan(
      std::string_view from,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const override {
    return reader_.scan(from, visit);
  }
  Status put(std::string_view key, std::string_view value) override {
    TUTTI_TRY(check_key(key));
    const auto found = map_.find(key);
    if (found == map_.end()) {
      undo_.emplace_back(std::string(key), std::nullopt);
      map_.emplace(std::string(key), std::string(value));
    } else {
      undo_.emplace_back(found->first, std::move(found->second));
      found->second = std::string(value);
    }
    return Status();
  }
  Status erase(std::string_view key) override {
    TUTTI_TRY(check_key(key));
    const auto found = map_.find(key);
    if (found == map_.end()) return Status();
    undo_.emplace_back(found->first, std::move(found->second));
    map_.erase(found);
    return Status();
  }
  void roll_back() {
    for (auto change = undo_.rbegin(); change != undo_.rend(); ++change) {
      if (change->second) {
        map_.insert_or_assign(std::move(change->first), std::move(*change->second));
      } else {
        map_.erase(change->first);
      }
    }
  }

 private:
  Map& map_;
  Reader reader_;
  std::vector<std::pair<std::string, std::optional<std::string>>> undo_;
};

// An update in its caller's frame, in the list of the sync that covers it.
struct MemoryKv::Pending : detail::WaitNode {
  Pending(MemoryKv& owner, const std::function<Status(KvWriter&)>& what) : kv(owner), body(what) {}
  MemoryKv& kv;
  const std::function<Status(KvWriter&)>& body;
  Status result;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    resume.handle = handle;
    kv.waiting_.append(*this);
    if (!kv.timer_.armed()) kv.begin_sync();
  }
  Status await_resume() { return std::move(result); }
};

MemoryKv::MemoryKv(Clock& clock, const MemoryKvOptions& options, Random random)
    : clock_(clock), options_(options), random_(random), timer_(*this) {}
MemoryKv::~MemoryKv() = default;

Status MemoryKv::view(const std::function<Status(const KvReader&)>& body) { return body(Reader(map_)); }

Status MemoryKv::apply(const std::function<Status(KvWriter&)>& body) {
  Writer writer(map_);
  Status status = body(writer);
  if (!status.ok()) writer.roll_back();
  return status;
}

Task<Status> MemoryKv::update(std::function<Status(KvWriter&)> body) {
  if (options_.sync_delay <= Nanos()) {
    ++syncs_;
    co_return apply(body);
  }
  co_return co_await Pending(*this, body);
}

void MemoryKv::begin_sync() {
  while (!waiting_.empty()) {
    detail::WaitNode& node = *waiting_.first();
    waiting_.remove(node);
    syncing_.append(node);
  }
  clock_.executor().arm(timer_, clock_.now() + options_.sync_delay);
}

void MemoryKv::end_sync() {
  ++syncs_;
  while (!syncing_.empty()) {
    auto& pending = static_cast<Pending&>(*syncing_.first());
    syncing_.remove(pending);
    pending.result = apply(pending.body);
    clock_.executor().post(pending.resume);
  }
  if (!waiting_.empty()) begin_sync();
}

void MemoryKv::crash() {
  timer_.disarm();
  bool reached = true;
  for (detail::WaitList* list : {&syncing_, &waiting_}) {
    while (!list->empty()) {
      auto& pending = static_cast<Pending&>(*list->first());
      list->remove(pending);
      reached = reached && list == &syncing_ && random_.chance(0.5);
      if (reached) apply(pending.body).ignore();
      pending.result = Status(Code::unavailable, "kv update: power was lost");
      clock_.executor().post(pending.resume);
    }
  }
}

}  // namespace tutti
