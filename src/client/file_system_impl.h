// The inside of FileSystem: the sessions with the servers, shared by its open files.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "client/file_system.h"
#include "client/handle_keeper.h"
#include "client/lock_keeper.h"
#include "client/request_tags.h"
#include "client/server_session.h"
#include "client/transfer/every_server.h"
#include "client/transfer/visiting.h"
#include "wire/messages.h"

namespace tutti {

class FileSystem::Impl {
 public:
  Impl(Env env, ClusterMap map, ClientOptions options);

  // The answer to a request to the metadata server, as a message of type Reply with code ok, or its error.
  template <typename Reply>
  Task<Result<Channel::Reply>> ask_meta(wire::Type type, std::span<const std::byte> payload) {
    return meta.call<Reply>(wire::request_type(type), payload);
  }

  // The same with the coordinator, which is the metadata server unless the cluster map says otherwise.
  template <typename Reply>
  Task<Result<Channel::Reply>> ask_coordinator(wire::Type type, std::span<const std::byte> payload) {
    return (coordinator ? *coordinator : meta).call<Reply>(wire::request_type(type), payload);
  }

  // For a request that changes metadata: ascending without gaps, and the same number in every repetition.
  std::uint64_t next_change() { return ++changes_; }
  // Names a call in which other clients take part too; drawn so that no two are the same.
  std::uint64_t next_call() { return env.random.next() | 1U; }
  // For a view that is declared to data servers.
  std::uint64_t next_view() { return ++views_; }
  // The servers of a file with this layout, which must outlive them.
  [[nodiscard]] FileServers servers(const Layout& layout) { return {layout, data, tags}; }
  // Code::invalid if the layout speaks of more servers than the cluster map has.
  [[nodiscard]] Status check_servers(const Layout& layout) const;
  // Fills in the size of a file, from the metadata server's answer or from the objects on its data servers, which
  // `capability` allows to ask. Servers that do not answer are noted in `away`, and those that stand there are not asked;
  // the size is then unknown. Any other failure is an error.
  Task<Status> find_size(Attributes& attributes, const wire::Attributes& answer,
                         const wire::Capability* capability, std::set<std::uint32_t>& away);

  Task<Status> remove(std::string path, bool directory);
  // The file of a reply to open, with these OpenFlags. `handle` is what the metadata server knows it by; 0: it does not.
  Result<std::unique_ptr<OpenFile>> make_file(std::string path, const wire::NodeReply& node,
                                              std::uint32_t flags, std::uint64_t handle);

  const Env env;
  const ClusterMap map;
  const ClientOptions options;
  const SessionInfo session;
  ClusterClock cluster_clock;
  ServerSession meta;
  std::unique_ptr<ServerSession> coordinator;  // null: the metadata server
  std::vector<std::unique_ptr<ServerSession>> data;
  RequestTags tags;
  LockKeeper locks;
  HandleKeeper handles;
  Visiting visiting;     // of new files
  Status unknown_order;  // why its order is not the one that the options name

 private:
  std::uint64_t changes_ = 0;
  std::uint64_t views_ = 0;
};

Attributes to_attributes(const wire::Attributes& wire);
wire::LayoutWish to_wire(const LayoutWish& wish);

}  // namespace tutti
