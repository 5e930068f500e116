// The inside of FileSystem: the links to the servers, shared by its open files.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "client/file_system.h"
#include "client/link.h"
#include "client/lock_keeper.h"
#include "wire/messages.h"

namespace tutti {

class FileSystem::Impl {
 public:
  Impl(Env env, ClusterMap map, ClientOptions options);

  // The answer to a request to the metadata server, as a message of type Reply with code ok, or its error.
  template <typename Reply>
  Task<Result<Channel::Reply>> ask_meta(wire::Type type, std::span<const std::byte> payload) {
    auto reply = co_await meta.call<Reply>(wire::request_type(type), payload);
    if (!reply.ok()) co_return reply.status();
    TUTTI_CO_TRY(wire::status_of(*flatbuffers::GetRoot<Reply>(reply->payload.data())));
    co_return reply;
  }

  // The same with the coordinator, which is the metadata server unless the cluster map says otherwise.
  template <typename Reply>
  Task<Result<Channel::Reply>> ask_coordinator(wire::Type type, std::span<const std::byte> payload) {
    ServerLink& link = coordinator ? *coordinator : meta;
    auto reply = co_await link.call<Reply>(wire::request_type(type), payload);
    if (!reply.ok()) co_return reply.status();
    TUTTI_CO_TRY(wire::status_of(*flatbuffers::GetRoot<Reply>(reply->payload.data())));
    co_return reply;
  }

  // The cluster's time, or that of this host where the options say so.
  [[nodiscard]] Nanos wall() const { return options.correct_clock ? cluster_clock.now() : env.clock.wall(); }
  // The tag of an operation that begins now. `bottleneck` is the bytes of its most loaded server.
  [[nodiscard]] wire::Tag tag(Bytes bottleneck = 0_B);
  // For a request that changes metadata: ascending without gaps, and the same number in every repetition.
  std::uint64_t next_change() { return ++changes_; }
  // The length of a file, from the objects on its data servers; `capability` must give kRightLength.
  Task<Result<Bytes>> file_length(const Layout& layout, const wire::Capability& capability);

  Task<Status> remove(std::string path, bool directory);
  // The file of a reply to open, with these OpenFlags.
  Result<std::unique_ptr<OpenFile>> make_file(std::string path, const wire::NodeReply& node,
                                              std::uint32_t flags);

  const Env env;
  const ClusterMap map;
  const ClientOptions options;
  const SessionInfo session;
  ClusterClock cluster_clock;
  ServerLink meta;
  std::unique_ptr<ServerLink> coordinator;  // null: the metadata server
  std::vector<std::unique_ptr<ServerLink>> data;
  LockKeeper locks;

 private:
  Task<Result<Bytes>> slot_length(const Layout& layout, std::uint32_t slot, wire::Capability capability);
  void refresh_clock();
  Task<void> measure_clock();
  std::uint64_t transfers_ = 0;
  std::uint64_t changes_ = 0;
  bool measuring_ = false;
  Scope scope_;
};

Attributes to_attributes(const wire::Attributes& wire);
wire::LayoutWish to_wire(const LayoutWish& wish);

}  // namespace tutti
