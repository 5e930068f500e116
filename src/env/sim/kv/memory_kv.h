// MemoryKv: a Kv in memory, for tests and for the simulated world.
//
// An update takes place at the end of the sync that covers it; all updates that came while the sync before
// was under way share the next. With no sync delay an update takes place in the call. A cancelled update that
// has not taken place yet does not.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "env/clock.h"
#include "env/kv.h"
#include "env/sync.h"

namespace tutti {

struct MemoryKvOptions {
  Nanos sync_delay;
};

class MemoryKv final : public Kv {
 public:
  explicit MemoryKv(Clock& clock, const MemoryKvOptions& options = {}, Random random = Random(1));
  ~MemoryKv() override;

  Status view(const std::function<Status(const KvReader&)>& body) override;
  Task<Status> update(std::function<Status(KvWriter&)> body) override;

  // Loss of power: updates under way end with Code::unavailable; those whose sync had begun may, by chance
  // and in order up to some point, have taken place.
  void crash();
  // Syncs so far: fewer than updates when they share.
  [[nodiscard]] std::uint64_t syncs() const { return syncs_; }
  [[nodiscard]] std::size_t size() const { return map_.size(); }

 private:
  using Map = std::map<std::string, std::string, std::less<>>;
  class Reader;
  class Writer;
  struct Pending;
  struct SyncTimer : Timer {
    explicit SyncTimer(MemoryKv& owner) : Timer(&fire), kv(owner) {}
    static void fire(Timer* self) { static_cast<SyncTimer*>(self)->kv.end_sync(); }
    MemoryKv& kv;
  };

  Status apply(const std::function<Status(KvWriter&)>& body);
  void begin_sync();
  void end_sync();

  Clock& clock_;
  MemoryKvOptions options_;
  Random random_;
  Map map_;
  std::uint64_t syncs_ = 0;
  SyncTimer timer_;
  detail::WaitList syncing_;  // Pending entries that the running sync covers
  detail::WaitList waiting_;  // and those for the next one
};

}  // namespace tutti
