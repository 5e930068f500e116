#include "daemon/scrub.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/random.h"
#include "daemon/object_lists.h"
#include "env/combine.h"
#include "env/real/network/socket_network.h"
#include "env/real/system_random.h"
#include "server/peer_session.h"
#include "server/store_messages.h"

namespace tutti {
namespace {

constexpr Nanos kPatience = 60_s;
constexpr Bytes kStep = 4_MiB;

// One data server that is asked.
struct Asked {
  std::unique_ptr<Channel> channel;
  std::vector<check::ObjectLength> objects;
  ScrubbedServer found;
};

Task<Status> prepare(Env env, const ClusterConfig& config, const ServerKey& key, std::uint32_t server,
                     Asked& asked) {
  PeerAddress peer{config.data[server], config.id, server};
  auto channel =
      co_await open_peer_session(env, std::move(peer), env.random.next(), "tutti scrub", kPatience);
  if (!channel.ok()) co_return channel.status();
  asked.channel = *std::move(channel);
  auto held = co_await list_server(env, key, *asked.channel);
  if (!held.ok()) co_return held.status();
  asked.objects = std::move(held->objects);
  asked.found.objects = asked.objects.size();
  for (const auto& each : asked.objects) asked.found.bytes += each.length;
  co_return Status();
}

Task<Status> scrub_step(Env env, const ServerKey& key, Asked& asked, ScrubMessage what) {
  const auto message = scrub_message(key, what, env.clock.wall());
  const auto reply =
      co_await ask_peer<wire::ScrubReply>(env, *asked.channel, wire::Type::scrub, message, kPatience);
  if (!reply.ok()) co_return reply.status();
  const auto* answer = flatbuffers::GetRoot<wire::ScrubReply>(reply->payload.data());
  asked.found.checksums = answer->checksums();
  asked.found.checked += Bytes(answer->checked());
  asked.found.summed += Bytes(answer->summed());
  if (answer->rotten() == nullptr) co_return Status();
  for (const std::uint64_t offset : wire::numbers(answer->rotten()))
    asked.found.rotten.push_back({what.object, Bytes(offset)});
  co_return Status();
}

Task<Status> scrub_server(Env env, const ServerKey& key, const ScrubOptions& options, Asked& asked) {
  const Nanos began = env.clock.now();
  Bytes done;
  for (const auto& each : asked.objects) {
    for (Bytes at; at < each.length; at += kStep) {
      const ScrubMessage what{each.object, {at, std::min(kStep, each.length - at)}};
      TUTTI_CO_TRY(co_await scrub_step(env, key, asked, what));
      done += what.range.length;
      if (options.advances) options.advances(what.range.length);
      if (options.rate == Bytes()) continue;
      const double seconds = static_cast<double>(done.count()) / static_cast<double>(options.rate.count());
      co_await env.clock.sleep_until(began + Nanos::from_seconds(seconds));
    }
  }
  // Also of a server without objects it is known whether it keeps checksums.
  const ScrubMessage nothing{};
  co_return co_await scrub_step(env, key, asked, nothing);
}

Task<std::vector<ScrubbedServer>> scrub_all(Env env, const ClusterConfig& config, const ServerKey& key,
                                            const ScrubOptions& options) {
  std::vector<Asked> asked(config.servers());
  std::vector<Task<Status>> preparing;
  for (std::uint32_t i = 0; i < config.servers(); ++i)
    preparing.push_back(prepare(env, config, key, i, asked[i]));
  std::vector<Status> prepared = co_await when_all(std::move(preparing));
  Bytes total;
  std::vector<Task<Status>> scrubbing;
  std::vector<Asked*> running;
  for (std::uint32_t i = 0; i < config.servers(); ++i) {
    asked[i].found.status = std::move(prepared[i]);
    if (!asked[i].found.status.ok()) continue;
    total += asked[i].found.bytes;
    running.push_back(&asked[i]);
    scrubbing.push_back(scrub_server(env, key, options, asked[i]));
  }
  if (options.begins) options.begins(total);
  std::vector<Status> ended = co_await when_all(std::move(scrubbing));
  for (std::size_t i = 0; i < running.size(); ++i) running[i]->found.status = std::move(ended[i]);
  std::vector<ScrubbedServer> found;
  for (Asked& each : asked) found.push_back(std::move(each.found));
  co_return found;
}

}  // namespace

std::vector<ScrubbedServer> scrub(Loop& loop, const ClusterConfig& config, const ServerKey& key,
                                  const ScrubOptions& options) {
  SocketNetwork network(loop, config.socket_options({}));
  Random random(system_random());
  return loop.run(scrub_all({loop.clock(), network, random, {}}, config, key, options));
}

}  // namespace tutti
