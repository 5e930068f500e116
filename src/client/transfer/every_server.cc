#include "client/transfer/every_server.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "env/combine.h"

namespace tutti {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// Of questions for the length, while servers come and go.
constexpr int kMostRounds = 16;

// Length and sync name the object and nothing else.
struct AskObject {
  wire::Tag tag;
  auto operator()(Builder& builder, const wire::Capability& capability) const {
    return wire::CreateObjectRequest(builder, &capability, &tag);
  }
};

struct AskTruncate {
  wire::Tag tag;
  Bytes object_length;
  bool holds_last_byte = false;  // only this server's object may grow: the others follow from it
  const WriteNumber* number = nullptr;
  wire::Lock lock;
  auto operator()(Builder& builder, const wire::Capability& capability) const {
    return wire::CreateTruncateRequest(builder, &capability, &tag, object_length.count(), true,
                                       holds_last_byte, number->number(), number->unanswered(), &lock);
  }
};

// See PieceRequest::prepared().
struct TruncateRequest : CapabilityRequest<wire::StatusReply, AskTruncate> {
  TruncateRequest(ServerSession& server, CapabilityHolder& capability, const AskTruncate& ask,
                  LockKeeper& kept)
      : CapabilityRequest(wire::Type::truncate, server, capability, ask),
        session(server),
        locks(kept),
        lock(ask.lock.number()) {}
  [[nodiscard]] bool prepared() const { return lock == 0 || locks.held_since(lock, session.connected_at()); }
  Task<Status> prepare() { return locks.confirm(lock); }
  ServerSession& session;
  LockKeeper& locks;
  std::uint64_t lock;
};

struct AskNextData {
  wire::Tag tag;
  Bytes offset;
  auto operator()(Builder& builder, const wire::Capability& capability) const {
    return wire::CreateNextDataRequest(builder, &capability, &tag, offset.count());
  }
};

Task<Result<Bytes>> ask_next_data(FileServers servers, CapabilityHolder& capability, std::uint32_t slot,
                                  Bytes from) {
  ServerSession& server = servers.of(slot);
  // What the object holds of the bytes before `from` is as long as if the file ended there.
  CapabilityRequest<wire::LengthReply, AskNextData> request(
      wire::Type::next_data, server, capability,
      AskNextData{servers.tags.next(), servers.layout.object_length(slot, from)});
  TUTTI_CO_TRY(co_await server.ask(request));
  if (!request.reply().exists()) co_return Bytes::max();
  co_return servers.layout.file_offset(slot, Bytes(request.reply().length()));
}

struct AskFence {
  wire::Tag tag;
  const LockKeeper::Granted& granted;
  auto operator()(Builder& builder, const wire::Capability& capability) const {
    const auto lost = builder.CreateVectorOfStructs(granted.lost);
    return wire::CreateFenceRequest(builder, &capability, &tag, lost, granted.lost_epoch, &*granted.proof);
  }
};

Task<Status> ask_fence(FileServers servers, CapabilityHolder& capability, const LockKeeper::Granted& granted,
                       std::uint32_t slot) {
  ServerSession& server = servers.of(slot);
  CapabilityRequest<wire::StatusReply, AskFence> request(wire::Type::fence, server, capability,
                                                         AskFence{servers.tags.next(), granted});
  co_return co_await server.ask(request);
}

struct AskPrefetch {
  wire::Tag tag;
  std::span<const Extent> object;
  auto operator()(Builder& builder, const wire::Capability& capability) const {
    static_assert(sizeof(Extent) == sizeof(wire::Extent));
    const auto extents =
        builder.CreateVectorOfStructs(reinterpret_cast<const wire::Extent*>(object.data()), object.size());
    return wire::CreatePrefetchRequest(builder, &capability, &tag, extents);
  }
};

Task<Result<Bytes>> ask_length(FileServers servers, CapabilityHolder& capability, std::uint32_t slot) {
  ServerSession& server = servers.of(slot);
  CapabilityRequest<wire::LengthReply, AskObject> request(wire::Type::length, server, capability,
                                                          AskObject{servers.tags.next()});
  TUTTI_CO_TRY(co_await server.ask(request));
  if (!request.reply().exists()) co_return 0_B;
  co_return servers.layout.file_length(slot, Bytes(request.reply().length()));
}

Task<Result<Bytes>> ask_sync(FileServers servers, CapabilityHolder& capability, UnsyncedWrites& unsynced,
                             std::uint32_t slot) {
  ServerSession& server = servers.of(slot);
  CapabilityRequest<wire::StatusReply, AskObject> request(wire::Type::sync, server, capability,
                                                          AskObject{servers.tags.next()});
  const std::uint64_t writes = unsynced.writes(slot);
  const Status asked = co_await server.ask(request);
  if (asked.code() == Code::io_error || asked.code() == Code::no_space) unsynced.failed(slot);
  if (!asked.ok()) co_return asked;
  TUTTI_CO_TRY(unsynced.synced(slot, request.reply().boot(), writes).with_context(server.name()));
  co_return 0_B;
}

Task<Result<Bytes>> ask_truncate(FileServers servers, CapabilityHolder& capability, Question question,
                                 std::uint32_t slot) {
  ServerSession& server = servers.of(slot);
  const Layout& layout = servers.layout;
  const Bytes length = question.length;
  const bool holds_last_byte = length > 0_B && layout.slot_of(length - 1_B) == slot;
  const WriteNumber number(server.write_numbers());
  const AskTruncate ask{servers.tags.next(), layout.object_length(slot, length), holds_last_byte, &number,
                        question.lock};
  TruncateRequest request(server, capability, ask, *question.locks);
  TUTTI_CO_TRY(co_await server.ask(request));
  question.unsynced->wrote(slot, request.reply().boot());
  co_return 0_B;
}

// Servers that a client connects with for the first time answer together if they are connected within this time.
constexpr Nanos kTogether = 100_ms;

// When each server was connected with, to see whether one was away.
std::vector<Nanos> connections(const FileServers& servers) {
  std::vector<Nanos> made;
  for (std::uint32_t slot = 0; slot < servers.layout.stripe_count; ++slot)
    made.push_back(servers.of(slot).connected_at());
  return made;
}

// Whether one was waited for, by when they were connected with before and after a question.
bool waited(const std::vector<Nanos>& before, const std::vector<Nanos>& after) {
  if (after == before) return false;
  // All for the first time: a new client, which need not ask twice.
  if (std::any_of(before.begin(), before.end(), [](Nanos made) { return made > Nanos(); })) return true;
  const auto [first, last] = std::minmax_element(after.begin(), after.end());
  return *last - *first > kTogether;
}

}  // namespace

Task<Result<Bytes>> ask_server(FileServers servers, CapabilityHolder& capability, Question question,
                               std::uint32_t slot) {
  switch (question.kind) {
    case Question::Kind::sync:
      return ask_sync(servers, capability, *question.unsynced, slot);
    case Question::Kind::truncate:
      return ask_truncate(servers, capability, question, slot);
    case Question::Kind::length:
      break;
  }
  return ask_length(servers, capability, slot);
}

Task<Result<Bytes>> find_data(FileServers servers, CapabilityHolder& capability, Bytes from) {
  std::vector<Task<Result<Bytes>>> tasks;
  tasks.reserve(servers.layout.stripe_count);
  for (std::uint32_t slot = 0; slot < servers.layout.stripe_count; ++slot)
    tasks.push_back(ask_next_data(servers, capability, slot, from));
  Bytes nearest = Bytes::max();
  for (const auto& answer : co_await when_all(std::move(tasks))) {
    if (!answer.ok()) co_return answer.status();
    nearest = std::min(nearest, *answer);
  }
  co_return nearest;
}

Task<Result<Bytes>> ask_every_server(FileServers servers, CapabilityHolder& capability, Question question) {
  for (int attempt = 1;; ++attempt) {
    const std::vector<Nanos> before = connections(servers);
    std::vector<Task<Result<Bytes>>> tasks;
    tasks.reserve(servers.layout.stripe_count);
    for (std::uint32_t slot = 0; slot < servers.layout.stripe_count; ++slot)
      tasks.push_back(ask_server(servers, capability, question, slot));
    Bytes largest;
    for (auto& answer : co_await when_all(std::move(tasks))) {
      if (!answer.ok()) co_return answer.status();
      largest = std::max(largest, *answer);
    }
    // While one server was waited for, a truncate may have made another hold the end: that is asked anew.
    const bool together = question.kind != Question::Kind::length || servers.layout.stripe_count == 1 ||
                          !waited(before, connections(servers));
    if (together || attempt == kMostRounds) co_return largest;
  }
}

Task<Status> ask_prefetch(FileServers servers, CapabilityHolder& capability, std::uint32_t slot,
                          std::span<const Extent> object, Bytes bottleneck) {
  ServerSession& server = servers.of(slot);
  CapabilityRequest<wire::StatusReply, AskPrefetch> request(
      wire::Type::prefetch, server, capability, AskPrefetch{servers.tags.next(bottleneck), object});
  co_return co_await server.ask(request);
}

Task<Status> fence_locks(FileServers servers, CapabilityHolder& capability, LockKeeper::Granted granted) {
  std::vector<Task<Status>> tasks;
  tasks.reserve(servers.layout.stripe_count);
  for (std::uint32_t slot = 0; slot < servers.layout.stripe_count; ++slot)
    tasks.push_back(ask_fence(servers, capability, granted, slot));
  for (Status& answer : co_await when_all(std::move(tasks))) {
    if (!answer.ok()) co_return std::move(answer);
  }
  co_return Status();
}

Task<void> connect_every_server(FileServers servers, Nanos patience) {
  std::vector<Task<Result<std::shared_ptr<Channel>>>> tasks;
  for (std::uint32_t slot = 0; slot < servers.layout.stripe_count; ++slot) {
    ServerSession& server = servers.of(slot);
    if (!server.connected()) tasks.push_back(server.connect_once(patience));
  }
  if (!tasks.empty()) co_await when_all(std::move(tasks));
}

}  // namespace tutti
