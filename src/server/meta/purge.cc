#include "server/meta/purge.h"

#include <fmt/format.h>

#include <algorithm>

#include "env/combine.h"
#include "server/peer_session.h"
#include "server/removal.h"

namespace tutti::meta {
namespace {

constexpr std::size_t kBatch = 512;  // files of one message, and of one transaction
constexpr Nanos kGathering = 20_ms;  // for more to come, so that messages are few
constexpr Nanos kFirstPause = 100_ms;
constexpr Nanos kLongestPause = 10_s;
constexpr Nanos kPatience = 30_s;
constexpr Nanos kRequestLifetime = 300_s;  // of the capability of a removal
constexpr Nanos kSlack = 60_s;             // clocks of servers may differ by this

}  // namespace

Purger::Purger(Env env, Kv& kv, ServerKey key, const ClusterClock& clock, PurgerOptions options,
               std::function<bool(std::uint64_t)> is_open)
    : env_(env),
      kv_(kv),
      key_(key),
      clock_(clock),
      options_(std::move(options)),
      is_open_(std::move(is_open)),
      client_(env.random.next()),
      some_finished_(env.clock.executor()),
      some_later_(env.clock.executor()),
      scope_(env.clock.executor()) {
  for (std::size_t i = 0; i < options_.data_servers.size(); ++i)
    servers_.push_back(std::make_unique<Server>(env_.clock.executor()));
}

Status Purger::start() {
  const Result<std::vector<Inode>> left = unknown();
  if (!left.ok()) return left.status();
  for (const Inode& node : *left) held_.emplace(node.id, Held{node.layout, false});
  // Whoever has a file open may not have said so yet, unless there never was one.
  TUTTI_TRY(kv_.view([&](const KvReader& kv) -> Status {
    const Result<std::optional<std::string>> stored = kv.get(superblock_key());
    if (!stored.ok()) return stored.status();
    if (!stored->has_value()) return {};
    const Result<Superblock> superblock = decode_superblock(**stored);
    if (!superblock.ok()) return superblock.status();
    grace_ = !left->empty() || superblock->next_inode > wire::kRootInode + 1;
    return {};
  }));
  if (grace_) scope_.spawn(end_grace());
  for (std::uint32_t server = 0; server < servers_.size(); ++server) scope_.spawn(run(server));
  scope_.spawn(erase_finished());
  scope_.spawn(purge_again());
  return {};
}

Task<void> Purger::end_grace() {
  co_await env_.clock.sleep(options_.grace);
  grace_ = false;
  // Nobody names what nobody has open.
  for (auto each = held_.begin(); each != held_.end();) {
    const auto [file, held] = *each;
    each = is_open_(file) ? std::next(each) : held_.erase(each);
    if (!held_.contains(file)) purge(file, held.layout, held.again);
  }
}

void Purger::removed(std::uint64_t file, const Layout& layout) {
  if (grace_ || is_open_(file)) {
    held_.emplace(file, Held{layout, false});
  } else {
    purge(file, layout, false);
  }
}

void Purger::closed(std::uint64_t file, bool returned) {
  const auto found = held_.find(file);
  if (found == held_.end()) return;
  found->second.again = found->second.again || !returned;
  if (!grace_ && !is_open_(file)) scope_.spawn(let_go(file));
}

Task<void> Purger::let_go(std::uint64_t file) {
  // Changes are made in order: after this one, those that were under way are decided.
  std::function<Status(KvWriter&)> nothing = [](KvWriter&) { return Status(); };
  (co_await kv_.update(std::move(nothing))).ignore();
  bool nameless = false;
  const Status status = kv_.view([&](const KvReader& kv) -> Status {
    const Result<std::optional<std::string>> record = kv.get(removed_key(file));
    if (!record.ok()) return record.status();
    nameless = record->has_value();
    return {};
  });
  const auto found = held_.find(file);
  if (!status.ok() || found == held_.end() || is_open_(file)) co_return;
  const Held held = found->second;
  held_.erase(found);
  if (nameless) purge(file, held.layout, held.again);
}

void Purger::look_again() { scope_.spawn(take_up()); }

Task<void> Purger::take_up() {
  // Changes are made in order: after this one, those that were under way are decided.
  std::function<Status(KvWriter&)> nothing = [](KvWriter&) { return Status(); };
  (co_await kv_.update(std::move(nothing))).ignore();
  const Result<std::vector<Inode>> left = unknown();
  if (!left.ok()) co_return;
  for (const Inode& node : *left) removed(node.id, node.layout);
}

Result<std::vector<Inode>> Purger::unknown() {
  std::vector<Inode> files;
  const std::set<std::uint64_t> finished(finished_.begin(), finished_.end());
  Status sound;
  TUTTI_TRY(kv_.view([&](const KvReader& kv) {
    return kv.scan(removed_key(0), [&](std::string_view key, std::string_view value) {
      const std::uint64_t file = removed_inode(key);
      if (file == 0) return false;
      const bool purged = waiting_later_.contains(file) || finished.contains(file);
      if (purged || held_.contains(file) || purging_.contains(file)) return true;
      Result<Inode> node = decode_inode(file, value);
      if (node.ok()) {
        files.push_back(*std::move(node));
      } else if (sound.ok()) {
        sound = node.status();
      }
      return true;
    });
  }));
  if (!sound.ok()) env_.log.warn("a removed file cannot be purged: {}", sound.to_string());
  return files;
}

void Purger::purge(std::uint64_t file, const Layout& layout, bool again) {
  if (!purging_.emplace(file, Purging{layout.stripe_count, layout, again}).second) return;
  for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot) {
    const std::uint32_t server = layout.server_of_slot(slot);
    if (server >= servers_.size()) {  // the cluster has lost it
      confirmed(file);
      continue;
    }
    servers_[server]->files.push_back(file);
    servers_[server]->work.set();
  }
}

void Purger::confirmed(std::uint64_t file) {
  const auto found = purging_.find(file);
  if (found == purging_.end() || --found->second.servers > 0) return;
  if (found->second.again) {
    const Nanos until = env_.clock.now() + options_.capability_lifetime + kSlack;
    later_.emplace_back(until, std::pair(file, found->second.layout));
    waiting_later_.insert(file);
    some_later_.set();
  } else {
    finished_.push_back(file);
    some_finished_.set();
  }
  purging_.erase(found);
}

Task<void> Purger::purge_again() {
  for (;;) {
    while (later_.empty()) {
      some_later_.reset();
      co_await some_later_.wait();
    }
    co_await env_.clock.sleep_until(later_.front().first);
    const auto [file, layout] = later_.front().second;
    later_.pop_front();
    waiting_later_.erase(file);
    purge(file, layout, false);
  }
}

Task<void> Purger::erase_finished() {
  for (;;) {
    while (finished_.empty()) {
      some_finished_.reset();
      co_await some_finished_.wait();
    }
    co_await env_.clock.sleep(kGathering);
    const std::size_t count = std::min(finished_.size(), kBatch);
    const std::vector<std::uint64_t> files(finished_.begin(),
                                           finished_.begin() + static_cast<std::ptrdiff_t>(count));
    std::function<Status(KvWriter&)> erase = [files](KvWriter& kv) {
      for (const std::uint64_t file : files) TUTTI_TRY(kv.erase(removed_key(file)));
      return Status();
    };
    const Status status = co_await kv_.update(std::move(erase));
    if (status.ok()) {
      finished_.erase(finished_.begin(), finished_.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      env_.log.warn("forgetting removed files: {}; trying again", status.to_string());
      co_await env_.clock.sleep(kLongestPause);
    }
  }
}

Task<void> Purger::run(std::uint32_t number) {
  Server& server = *servers_[number];
  std::unique_ptr<Channel> channel;
  Nanos pause = kFirstPause;
  for (;;) {
    while (server.files.empty()) {
      server.work.reset();
      co_await server.work.wait();
    }
    if (server.files.size() < kBatch) co_await env_.clock.sleep(kGathering);
    const Status status = co_await remove_some(number, channel);
    if (status.ok()) {
      pause = kFirstPause;
      continue;
    }
    if (pause == kFirstPause) {
      env_.log.warn("removing objects on data server {} ({}): {}; trying again until it works", number,
                    options_.data_servers[number], status.to_string());
    }
    channel.reset();
    co_await env_.clock.sleep(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Task<Status> Purger::remove_some(std::uint32_t number, std::unique_ptr<Channel>& channel) {
  if (!channel || channel->closed()) {
    channel.reset();
    PeerAddress peer{options_.data_servers[number], options_.cluster, number};
    Result<std::unique_ptr<Channel>> connected =
        co_await open_peer_session(env_, std::move(peer), client_, "tutti metadata server", kPatience);
    if (!connected.ok()) co_return connected.status();
    channel = *std::move(connected);
  }
  std::deque<std::uint64_t>& queue = servers_[number]->files;
  const auto count = static_cast<std::ptrdiff_t>(std::min(queue.size(), kBatch));
  const std::vector<std::uint64_t> files(queue.begin(), queue.begin() + count);
  const Result<std::vector<std::uint64_t>> failed = co_await remove_objects(*channel, files);
  if (!failed.ok()) co_return failed.status();
  queue.erase(queue.begin(), queue.begin() + count);
  for (const std::uint64_t file : files) {
    if (std::find(failed->begin(), failed->end(), file) == failed->end()) {
      confirmed(file);
    } else {
      queue.push_back(file);
    }
  }
  if (failed->empty()) co_return Status();
  co_return Status(Code::io_error, fmt::format("{} objects could not be removed", failed->size()));
}

// Those that failed.
Task<Result<std::vector<std::uint64_t>>> Purger::remove_objects(Channel& channel,
                                                                std::vector<std::uint64_t> files) {
  const Nanos wall = clock_.now();
  const std::int64_t until = (wall + options_.capability_lifetime + kSlack).count();
  const wire::Capability capability =
      key_.sign(removal_digest(files, until), wire::kRightRemove, 0, wall + kRequestLifetime);
  flatbuffers::FlatBufferBuilder message(256 + sizeof(std::uint64_t) * files.size());
  const auto list = message.CreateVector(files);
  message.Finish(wire::CreateRemoveObjectsRequest(message, &capability, list, until));
  const Result<Channel::Reply> reply =
      co_await call_peer(env_, channel, wire::Type::remove_objects, message, kPatience);
  if (!reply.ok()) co_return reply.status();
  const auto* answer = wire::parse<wire::RemoveObjectsReply>(reply->payload);
  if (answer == nullptr) co_return Status(Code::malformed, "the reply to a removal is malformed");
  const Status status = wire::status_of(*answer);
  if (answer->failed() == nullptr || answer->failed()->size() == 0) {
    if (!status.ok()) co_return status;
    co_return std::vector<std::uint64_t>();
  }
  env_.log.warn("removing objects: {}", status.to_string());
  co_return wire::numbers(answer->failed());
}

}  // namespace tutti::meta
