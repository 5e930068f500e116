// SocketListener: accepts peers of a SocketNetwork and greets each in a task of its own.
//
// Greetings are bounded in time and number. When all places are taken, the oldest unfinished one is turned
// away: a crowd of silent peers cannot keep an honest one waiting.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "env/network.h"
#include "env/real/file_descriptor.h"
#include "env/real/loop/loop.h"
#include "env/real/network/address.h"
#include "env/real/network/auth.h"
#include "env/real/network/refusal_log.h"
#include "env/real/network/socket_connection.h"
#include "env/real/network/socket_network.h"
#include "env/scope.h"
#include "env/sync.h"

namespace tutti {

// What the listeners and connections of one SocketNetwork share.
struct SocketNetwork::Shared {
  Shared(Loop& event_loop, SocketOptions socket_options);
  [[nodiscard]] std::string identity_of(const Address& address) const;
  Loop& loop;
  SocketOptions options;
  Authenticator authenticator;
  RefusalLog refusals;
  GrantsWatch grants;                       // of what comes by TCP
  std::array<std::uint64_t, 2> instance{};  // random: tells this network from any other
  std::vector<std::string> local_paths;     // where it listens on this host
  bool told_about_socket_mover = false;
};

class SocketListener final : public Listener {
 public:
  // `fd` is bound to `address` and about to listen.
  SocketListener(SocketNetwork::Shared& shared, Address address, FileDescriptor fd);
  ~SocketListener() override;

  Status start();
  Task<Result<std::unique_ptr<Connection>>> accept() override;
  [[nodiscard]] const Address& address() const { return address_; }

 private:
  struct Greeting {
    Greeting(Executor& executor, std::string name) : name(std::move(name)), scope(executor) {}
    std::string name;  // of the peer
    bool done = false;
    Scope scope;
  };

  Task<void> accept_all();
  void begin(int fd, const SocketAddress& from);
  void make_place();
  Task<void> greet(Greeting& self, std::unique_ptr<SocketConnection> connection);
  Task<Status> greet_peer(SocketConnection& connection, const std::string& name);
  void turned_away(const std::string& name, const Status& why);

  SocketNetwork::Shared& shared_;
  Address address_;
  FileDescriptor fd_;
  bool told_full_ = false;
  ino_t inode_ = 0;
  dev_t device_ = 0;
  FdWatch watch_;
  Mailbox<Result<std::unique_ptr<Connection>>> accepted_;
  std::list<Greeting> greetings_;  // oldest first
  Scope scope_;
};

}  // namespace tutti
