#include "server/meta/stores.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>

#include "server/meta/epoch.h"

namespace tutti::meta {

Status judge(const Superblock& superblock, const std::optional<Uuid>& recorded, const EnrolMessage& shown) {
  const bool foreign = !shown.metadata.none() && shown.metadata != superblock.uuid;
  if (foreign && !recorded) {
    return {Code::stale,
            fmt::format(
                "data server {} holds the objects of metadata store {}, and this is metadata store {}: put "
                "that one back, or restore a backup of it with `tutti meta restore`",
                shown.index, to_string(shown.metadata), to_string(superblock.uuid))};
  }
  if (foreign || (recorded && *recorded != shown.uuid && !shown.replaces)) {
    return {Code::invalid,
            fmt::format(
                "data server {}: this is store {}{}, and the cluster's record names store {}: put that one "
                "back; if it is lost, make one in its place with `tutti server init data.{} --replace`",
                shown.index, to_string(shown.uuid),
                foreign ? fmt::format(" of metadata store {}", to_string(shown.metadata)) : "",
                recorded ? to_string(*recorded) : "none", shown.index)};
  }
  if (shown.newest >= superblock.next_inode) {
    return {Code::stale,
            fmt::format(
                "the metadata are older than the objects of data server {}: it has object {:x}, and the next "
                "inode number is {:x}. An old copy was put in place: restore a backup with `tutti meta "
                "restore --epoch {}`, which begins new numbers, then run `tutti fsck`",
                shown.index, shown.newest, superblock.next_inode, epoch_of(shown.newest) + 1)};
  }
  return {};
}

namespace {

Result<Uuid> enrol_in(KvWriter& kv, const EnrolMessage& shown) {
  const Result<std::optional<std::string>> stored = kv.get(superblock_key());
  if (!stored.ok()) return stored.status();
  const Result<Superblock> superblock = decode_superblock(stored->value_or(""));
  if (!superblock.ok()) return superblock.status();
  const Result<std::optional<std::string>> record = kv.get(store_key(shown.index));
  if (!record.ok()) return record.status();
  std::optional<Uuid> recorded;
  if (record->has_value()) {
    const Result<Uuid> uuid = decode_uuid(**record);
    if (!uuid.ok()) return uuid.status();
    recorded = *uuid;
  }
  TUTTI_TRY(judge(*superblock, recorded, shown));
  if (recorded != shown.uuid) TUTTI_TRY(kv.put(store_key(shown.index), encode(shown.uuid)));
  return superblock->uuid;
}

}  // namespace

Stores::Stores(Env env, Kv& kv, std::uint32_t servers)
    : env_(env),
      kv_(kv),
      servers_(servers),
      settled_(env.clock.executor()),
      refused_(env.clock.executor()),
      scope_(env.clock.executor()) {
  if (servers_ == 0) settled_.set();
}

void Stores::start() {
  if (servers_ > 0) scope_.spawn(end_patience());
}

Task<void> Stores::end_patience() {
  co_await env_.clock.sleep(kPatience);
  settled_.set();
}

Task<void> Stores::settled() { co_await settled_.wait(); }

Task<Status> Stores::refused() {
  co_await refused_.wait();
  co_return refusal_;
}

Task<Result<Uuid>> Stores::enrol(EnrolMessage shown) {
  if (shown.index >= servers_)
    co_return Status(Code::invalid, fmt::format("the cluster file has no data server {}", shown.index));
  const auto own = std::make_shared<Uuid>();
  std::function<Status(KvWriter&)> body = [shown, own](KvWriter& kv) -> Status {
    const Result<Uuid> uuid = enrol_in(kv, shown);
    if (!uuid.ok()) return uuid.status();
    *own = *uuid;
    return {};
  };
  const Status status = co_await kv_.update(std::move(body));
  if (status.ok()) {
    enrolled_.insert(shown.index);
    if (enrolled_.size() == servers_) settled_.set();
    co_return *own;
  }
  env_.log.error("{}", status.message());
  if (status.code() == Code::stale && refusal_.ok()) {
    refusal_ = status;
    refused_.set();
  }
  co_return status;
}

}  // namespace tutti::meta
