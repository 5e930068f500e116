// The part of FaultWorker that changes a block under a lock, which it may lose at any time.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "lab/faults/fault_worker.h"

namespace tutti {
namespace {

constexpr Nanos kLockPatience = 15_s;

std::vector<std::byte> block_of(std::uint64_t number) {
  std::vector<std::byte> bytes;
  for (Bytes at; at < GuardedBlock::kLength; at += 1_B)
    bytes.push_back(FileOracle::value(static_cast<FileOracle::OperationId>(number), at));
  return bytes;
}

// The holder of a lock that cannot hear of its loss, but reaches the data servers.
class CutOff {
 public:
  CutOff(FaultWorld& world, NodeId node) : world_(world), node_(node) {
    ++world_.faults_under_way;
    ++world_.counts.cuts;
    world_.journal.add(fmt::format("fault: node {}, which holds a lock, is cut off", node_));
    world_.cluster.fabric().cut(node_, SimCluster::meta_node());
  }
  CutOff(const CutOff&) = delete;
  CutOff& operator=(const CutOff&) = delete;
  ~CutOff() {
    world_.cluster.fabric().heal(node_, SimCluster::meta_node());
    --world_.faults_under_way;
    world_.healed_at = world_.now();
    world_.journal.add(fmt::format("end of fault: node {} is cut off", node_));
  }

 private:
  FaultWorld& world_;
  NodeId node_;
};

}  // namespace

void FaultWorker::ended_locked(const std::string& what, Nanos began, const Status& status) {
  ended(what, began, status, status.code() == Code::stale);
}

Task<void> FaultWorker::change_guarded() {
  if (!guarded_) {
    const Nanos began = world_.now();
    OpenOptions options;
    options.write = true;
    auto opened = co_await client_.files().open(world_.guarded.path, options);
    ended("open " + world_.guarded.path, began, opened.status());
    if (!opened.ok()) co_return;
    guarded_ = *std::move(opened);
  }
  const Nanos began = world_.now();
  const auto lock = co_await guarded_->lock(Extent{0_B, GuardedBlock::kLength}, true, kLockPatience);
  ended_locked("lock " + world_.guarded.path, began, lock.status());
  if (!lock.ok()) co_return;
  co_await read_and_change();
  const Nanos releasing = world_.now();
  const Status released = co_await guarded_->unlock(*lock);
  if (released.code() == Code::stale) ++world_.counts.lost_locks;
  ended_locked("unlock " + world_.guarded.path, releasing, released);
}

Task<void> FaultWorker::read_and_change() {
  GuardedBlock& guarded = world_.guarded;
  const std::uint64_t turn = guarded.turn;
  std::vector<std::byte> buffer(GuardedBlock::kLength.count());
  const Nanos began = world_.now();
  const auto got = co_await guarded_->read(0_B, buffer);
  ended_locked("read " + guarded.path, began, got.status());
  // If another has read it meanwhile, the lock was lost: whoever has it now knows better.
  if (!got.ok() || guarded.turn != turn) co_return;
  const bool judged = world_.counts.power_losses == 0 && !world_.store_faults;
  std::uint64_t seen = 0;
  const bool sound = got->count() == 0 ||
                     std::any_of(guarded.possible.begin(), guarded.possible.end(), [&](std::uint64_t each) {
                       seen = each;
                       return each != 0 && block_of(each) == buffer;
                     });
  if (judged && (!sound || (got->count() == 0 && !guarded.possible.contains(0)))) {
    co_return check("read " + guarded.path,
                    Status(Code::internal, "a change under a lock is lost, or came after the next holder"));
  }
  if (got->count() == 0) seen = 0;
  guarded.possible = {seen};
  const std::uint64_t own_turn = ++guarded.turn;
  std::optional<CutOff> cut_off;
  if (random_.chance(0.2)) cut_off.emplace(world_, client_.node());
  if (cut_off || random_.chance(0.5)) {
    const Nanos pause = random_.exponential(cut_off ? 4_s : 1_s);
    co_await client_.clock().sleep(pause);
  }
  const std::uint64_t number = ++guarded.last;
  guarded.possible.insert(number);
  const std::vector<std::byte> bytes = block_of(number);
  const Nanos writing = world_.now();
  const std::string what = fmt::format("write {} [{}] after [{}]", guarded.path, number, seen);
  world_.journal.add(fmt::format("lane {}: {}", lane_, what));
  const Status status = co_await guarded_->write(0_B, bytes);
  if (status.ok() && guarded.turn == own_turn) guarded.possible = {number};
  ended_locked(what, writing, status);
}

}  // namespace tutti
