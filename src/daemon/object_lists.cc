#include "daemon/object_lists.h"

#include <fmt/format.h>

#include <utility>

#include "env/real/store/file_store.h"
#include "env/real/system_random.h"
#include "server/peer_session.h"
#include "server/store_messages.h"

namespace tutti {
namespace {

constexpr Nanos kPatience = 10_s;
constexpr Nanos kCapabilityLifetime = 300_s;

Task<Result<check::ServerObjects>> list_store(Store& store) {
  check::ServerObjects held;
  held.identity = store.identity();
  const auto objects = co_await store.list();
  if (!objects.ok()) co_return objects.status();
  for (const ObjectId object : *objects) {
    const auto length = co_await store.length(object);
    if (!length.ok()) co_return length.status();
    if (length->has_value()) held.objects.push_back({object, **length});
  }
  co_return held;
}

template <typename Reply>
Task<Result<Channel::Reply>> ask_about(Env env, const ServerKey& key, Channel& channel, wire::Type type,
                                       std::uint32_t right, ObjectId object) {
  const Nanos wall = env.clock.wall();
  const wire::Capability capability = key.sign(object.value, right, 0, wall + kCapabilityLifetime);
  const wire::Tag tag(0, wall.count(), 0, object.value, 0);
  flatbuffers::FlatBufferBuilder message(256);
  message.Finish(wire::CreateObjectRequest(message, &capability, &tag));
  co_return co_await ask_peer<Reply>(env, channel, type, message, kPatience);
}

}  // namespace

Task<Result<check::ServerObjects>> list_server(Env env, const ServerKey& key, Channel& channel) {
  check::ServerObjects held;
  std::uint64_t after = 0;
  for (;;) {
    const auto message = list_objects_message(key, after, env.clock.wall());
    const auto reply =
        co_await ask_peer<wire::ListObjectsReply>(env, channel, wire::Type::list_objects, message, kPatience);
    if (!reply.ok()) co_return reply.status();
    const auto* page = flatbuffers::GetRoot<wire::ListObjectsReply>(reply->payload.data());
    held.identity = {page->cluster(), page->server(), from_wire(page->uuid()), from_wire(page->metadata()),
                     false};
    if (page->objects() == nullptr || !wire::aligned(page->objects()))
      co_return Status(Code::malformed, "the list of objects is malformed");
    for (const wire::ObjectLength* each : *page->objects()) {
      held.objects.push_back({ObjectId{each->object()}, Bytes(each->length())});
      after = each->object();
    }
    if (!page->more() || page->objects()->size() == 0) co_return held;
  }
}

class ObjectLists::Held {
 public:
  std::unique_ptr<FileStore> store;
  std::unique_ptr<Channel> channel;
};

ObjectLists::ObjectLists(StateDirectory state, ClusterConfig config, ServerKey key)
    : state_(std::move(state)),
      config_(std::move(config)),
      key_(key),
      network_(loop_, config_.socket_options({})),
      random_(system_random()),
      held_(config_.servers()) {}

Result<ObjectLists::Held*> ObjectLists::hold(std::uint32_t server) {
  if (held_[server]) return held_[server].get();
  auto held = std::make_shared<Held>();
  const std::string name = fmt::format("data.{}", server);
  if (!state_.running(name)) {
    auto store = FileStore::open(loop_, state_.store_path(name));
    if (store.ok()) held->store = *std::move(store);
    if (!store.ok() && store.code() != Code::not_found) return store.status();
  }
  if (!held->store) {
    const Env env{loop_.clock(), network_, random_, {}};
    PeerAddress peer{config_.data[server], config_.id, server};
    auto channel =
        loop_.run(open_peer_session(env, std::move(peer), random_.next(), "tutti fsck", kPatience));
    if (!channel.ok()) return channel.status();
    held->channel = *std::move(channel);
  }
  held_[server] = std::move(held);
  return held_[server].get();
}

Result<check::ServerObjects> ObjectLists::list_one(std::uint32_t server) {
  const Result<Held*> held = hold(server);
  if (!held.ok()) return held.status();
  if ((*held)->store) return loop_.run(list_store(*(*held)->store));
  return loop_.run(list_server({loop_.clock(), network_, random_, {}}, key_, *(*held)->channel));
}

std::vector<check::ServerObjects> ObjectLists::list() {
  std::vector<check::ServerObjects> lists(config_.servers());
  for (std::uint32_t server = 0; server < config_.servers(); ++server) {
    Result<check::ServerObjects> objects = list_one(server);
    if (objects.ok()) {
      lists[server] = *std::move(objects);
    } else {
      lists[server].missing = objects.status();
    }
  }
  return lists;
}

Result<bool> ObjectLists::exists(std::uint32_t server, ObjectId object) {
  const Result<Held*> held = hold(server);
  if (!held.ok()) return held.status();
  if ((*held)->store) {
    const auto length = loop_.run((*held)->store->length(object));
    if (!length.ok()) return length.status();
    return length->has_value();
  }
  const Env env{loop_.clock(), network_, random_, {}};
  const auto reply = loop_.run(ask_about<wire::LengthReply>(env, key_, *(*held)->channel, wire::Type::length,
                                                            wire::kRightLength, object));
  if (!reply.ok()) return reply.status();
  return flatbuffers::GetRoot<wire::LengthReply>(reply->payload.data())->exists();
}

Status ObjectLists::remove(std::uint32_t server, ObjectId object) {
  const Result<Held*> held = hold(server);
  if (!held.ok()) return held.status();
  if ((*held)->store) return loop_.run((*held)->store->remove(object));
  const Env env{loop_.clock(), network_, random_, {}};
  return loop_
      .run(ask_about<wire::StatusReply>(env, key_, *(*held)->channel, wire::Type::remove_object,
                                        wire::kRightRemove, object))
      .status();
}

}  // namespace tutti
