#include "client/handle_keeper.h"

#include <algorithm>
#include <utility>

namespace tutti {
namespace {

constexpr Nanos kPause = 1_s;  // after the server was away for longer than the patience

}  // namespace

HandleKeeper::HandleKeeper(const Env& env, ServerSession& meta)
    : env_(env), meta_(meta), some_(env.clock.executor()), scope_(env.clock.executor()) {
  meta_.on_connected([this](const std::shared_ptr<Channel>& channel) { connected(channel); });
}

HandleKeeper::~HandleKeeper() { meta_.on_connected({}); }

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
  closed_.push_back({handle, exact, end});
  if (closed_.size() > kMostClosed) closed_.pop_front();
  const std::shared_ptr<Channel> channel = meta_.channel();
  if (channel && !channel->closed()) send(*channel, closed_.back());
}

void HandleKeeper::send(Channel& channel, const Closed& closed) {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateCloseRequest(builder, closed.handle, closed.exact, closed.end));
  channel.connection().send(wire::request_type(wire::Type::close), 0, wire::bytes(builder)).ignore();
}

void HandleKeeper::connected(const std::shared_ptr<Channel>& channel) {
  told_ = channel;
  for (const Closed& closed : closed_) send(*channel, closed);
  std::vector<std::uint64_t> handles;
  for (const auto& [handle, capability] : held_) handles.push_back(handle);
  const auto first = handles.begin() + static_cast<std::ptrdiff_t>(std::min(handles.size(), kAtOnce));
  for (auto handle = handles.begin(); handle != first; ++handle) scope_.start(claim(*handle, channel));
  handles.erase(handles.begin(), first);
  if (!handles.empty()) scope_.spawn(claim_rest(std::move(handles), channel));
}

Task<void> HandleKeeper::claim_rest(std::vector<std::uint64_t> handles, std::shared_ptr<Channel> channel) {
  for (const std::uint64_t handle : handles) co_await claim(handle, channel);
}

// Makes a new connection whenever one has ended while something is held.
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
    const auto made = co_await meta_.connect();
    if (!made.ok()) co_await env_.clock.sleep(kPause);
  }
}

// If the connection is lost, the next one begins with a claim.
Task<void> HandleKeeper::claim(std::uint64_t handle, std::shared_ptr<Channel> channel) {
  const auto found = held_.find(handle);
  if (found == held_.end()) co_return;
  flatbuffers::FlatBufferBuilder builder(256);
  const wire::Capability capability = found->second->capability();
  builder.Finish(wire::CreateClaimRequest(builder, &capability, handle));
  const auto reply = co_await channel->call(wire::request_type(wire::Type::claim), wire::bytes(builder));
  if (!reply.ok()) co_return;
  const auto* message = wire::parse<wire::StatusReply>(reply->payload);
  const Status status = message == nullptr ? meta_.malformed() : wire::status_of(*message);
  if (status.ok() || !held_.contains(handle)) co_return;
  env_.log.warn("an open file was lost with the connection to the metadata server: {}", status.to_string());
  forget(handle);
}

}  // namespace tutti
