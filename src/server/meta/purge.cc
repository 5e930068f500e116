#include "server/meta/purge.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "env/combine.h"
#include "server/meta/records.h"
#include "server/peer_session.h"

namespace tutti::meta {
namespace {

constexpr std::size_t kBatch = 64;
constexpr Nanos kFirstPause = 100_ms;
constexpr Nanos kLongestPause = 10_s;
constexpr Nanos kPatience = 30_s;
constexpr Nanos kCapabilityLifetime = 300_s;

Task<Result<Channel::Reply>> call(Channel& channel, wire::Type type,
                                  const flatbuffers::FlatBufferBuilder& message) {
  return channel.call(wire::request_type(type), wire::bytes(message));
}

}  // namespace

Purger::Purger(Env env, Kv& kv, ServerKey key, const ClusterClock& clock, std::uint64_t cluster,
               std::vector<std::string> data_servers)
    : env_(env),
      kv_(kv),
      key_(key),
      clock_(clock),
      cluster_(cluster),
      client_(env.random.next()),
      addresses_(std::move(data_servers)),
      scope_(env.clock.executor()) {
  for (std::size_t i = 0; i < addresses_.size(); ++i) {
    work_.push_back(std::make_unique<Event>(env_.clock.executor()));
  }
}

void Purger::start() {
  for (std::uint32_t server = 0; server < addresses_.size(); ++server) scope_.spawn(run(server));
}

void Purger::wake(std::uint32_t server) {
  if (server < work_.size()) work_[server]->set();
}

Task<void> Purger::run(std::uint32_t server) {
  std::unique_ptr<Channel> channel;
  Nanos pause = kFirstPause;
  for (;;) {
    work_[server]->reset();
    Result<std::vector<std::uint64_t>> files = pending(server);
    Status status = files.status();
    if (files.ok() && files->empty()) {
      co_await work_[server]->wait();
      continue;
    }
    if (files.ok()) status = co_await remove_some(server, channel, *std::move(files));
    if (status.ok()) {
      pause = kFirstPause;
      continue;
    }
    if (pause == kFirstPause) {
      env_.log.warn("removing objects on data server {} ({}): {}; trying again until it works", server,
                    addresses_[server], status.to_string());
    }
    channel.reset();
    co_await env_.clock.sleep(pause);
    pause = std::min(pause * 2, kLongestPause);
  }
}

Result<std::vector<std::uint64_t>> Purger::pending(std::uint32_t server) {
  std::vector<std::uint64_t> files;
  const Status status = kv_.view([&](const KvReader& kv) {
    return kv.scan(orphan_key(server, 0), [&](std::string_view key, std::string_view) {
      const std::uint64_t file = orphan_inode(key, server);
      if (file == 0) return false;
      files.push_back(file);
      return files.size() < kBatch;
    });
  });
  if (!status.ok()) return status;
  return files;
}

Task<Status> Purger::remove_some(std::uint32_t server, std::unique_ptr<Channel>& channel,
                                 std::vector<std::uint64_t> files) {
  if (!channel || channel->closed()) {
    channel.reset();
    Result<std::unique_ptr<Channel>> connected = co_await connect(server);
    if (!connected.ok()) co_return connected.status();
    channel = *std::move(connected);
  }
  std::vector<Task<Status>> tasks;
  for (const std::uint64_t file : files) {
    tasks.push_back(with_timeout(env_.clock, kPatience, remove_object(*channel, file), "removing an object"));
  }
  const std::vector<Status> results = co_await when_all(std::move(tasks));
  std::vector<std::string> done;
  Status failed;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (results[i].ok()) {
      done.push_back(orphan_key(server, files[i]));
    } else if (failed.ok()) {
      failed = results[i];
    }
  }
  if (!done.empty()) {
    std::function<Status(KvWriter&)> erase = [done](KvWriter& kv) {
      for (const std::string& key : done) TUTTI_TRY(kv.erase(key));
      return Status();
    };
    TUTTI_CO_TRY(co_await kv_.update(std::move(erase)));
  }
  co_return failed;
}

Task<Result<std::unique_ptr<Channel>>> Purger::connect(std::uint32_t server) {
  PeerAddress peer{addresses_[server], cluster_, server};
  co_return co_await open_peer_session(env_, std::move(peer), client_, "tutti metadata server", kPatience);
}

Task<Status> Purger::remove_object(Channel& channel, std::uint64_t file) {
  const Nanos wall = clock_.now();
  const wire::Capability capability = key_.sign(file, wire::kRightRemove, 0, wall + kCapabilityLifetime);
  const wire::Tag tag(0, wall.count(), client_, file, 0);
  flatbuffers::FlatBufferBuilder message(256);
  message.Finish(wire::CreateObjectRequest(message, &capability, &tag));
  Result<Channel::Reply> reply = co_await call(channel, wire::Type::remove_object, message);
  if (!reply.ok()) co_return reply.status();
  const auto* answer = wire::parse<wire::StatusReply>(reply->payload);
  if (answer == nullptr)
    co_return Status(Code::malformed, "the reply to the removal of an object is malformed");
  co_return wire::status_of(*answer);
}

}  // namespace tutti::meta
