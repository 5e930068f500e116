#include "client/handle_keeper.h"

#include <vector>

namespace tutti {
namespace {

constexpr Nanos kPause = 1_s;  // after the server was away for longer than the patience

void send_close(Channel& channel, std::uint64_t handle, bool exact, std::uint64_t end) {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateCloseRequest(builder, handle, exact, end));
  channel.connection().send(wire::request_type(wire::Type::close), 0, wire::bytes(builder)).ignore();
}

}  // namespace

HandleKeeper::HandleKeeper(const Env& env, ServerSession& meta)
    : env_(env), meta_(meta), some_(env.clock.executor()), scope_(env.clock.executor()) {}

void HandleKeeper::opened(std::uint64_t handle, const CapabilityHolder& capability) {
  if (held_.empty()) told_ = meta_.channel();
  held_.emplace(handle, &capability);
  some_.set();
  if (keeping_) return;
  keeping_ = true;
  scope_.spawn(keep());
}

void HandleKeeper::close(std::uint64_t handle, bool exact, std::uint64_t end) {
  held_.erase(handle);
  const std::shared_ptr<Channel> channel = meta_.channel();
  if (channel && !channel->closed()) send_close(*channel, handle, exact, end);
}

Task<void> HandleKeeper::keep() {
  for (;;) {
    while (held_.empty()) {
      some_.reset();
      co_await some_.wait();
    }
    const std::shared_ptr<Channel> told = told_;
    if (told && !told->closed()) {
      co_await told->ended().wait();
      continue;
    }
    auto connected = co_await meta_.connect();
    if (!connected.ok()) {
      co_await env_.clock.sleep(kPause);
      continue;
    }
    told_ = *std::move(connected);
    std::vector<std::uint64_t> handles;
    for (const auto& [handle, capability] : held_) handles.push_back(handle);
    for (const std::uint64_t handle : handles) co_await claim(handle);
  }
}

Task<void> HandleKeeper::claim(std::uint64_t handle) {
  const auto found = held_.find(handle);
  if (found == held_.end()) co_return;
  flatbuffers::FlatBufferBuilder builder(256);
  const wire::Capability capability = found->second->capability();
  builder.Finish(wire::CreateClaimRequest(builder, &capability, handle));
  const auto reply =
      co_await meta_.call<wire::StatusReply>(wire::request_type(wire::Type::claim), wire::bytes(builder));
  if (!held_.contains(handle)) {
    close(handle, false, 0);  // it was closed before the claim reached the server
  } else if (!reply.ok() && reply.code() != Code::timed_out) {
    env_.log.warn("an open file was lost with the connection to the metadata server: {}",
                  reply.status().to_string());
    forget(handle);
  }
}

}  // namespace tutti
