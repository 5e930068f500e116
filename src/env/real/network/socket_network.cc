#include "env/real/network/socket_network.h"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

#include "env/combine.h"
#include "env/real/network/endpoint.h"
#include "env/real/network/frame.h"
#include "env/real/network/handshake.h"
#include "env/real/network/socket_connection.h"
#include "env/real/network/socket_listener.h"
#include "env/real/network/tcp_handshake.h"

namespace tutti {
namespace {

using MadeConnection = Result<std::unique_ptr<SocketConnection>>;

// The socket is watched only once it is connected: until then epoll would report a hang-up.
Task<MadeConnection> open_stream(SocketNetwork::Shared& shared, Address address) {
  Result<FileDescriptor> fd = co_await open_connection(shared.loop, std::move(address));
  if (!fd.ok()) co_return fd.status();
  co_return SocketConnection::make(shared.loop, fd->release(), shared.options.send_queue_limit);
}

// `instance`: the server that must answer, if the caller knows.
Task<MadeConnection> connect_local(SocketNetwork::Shared& shared, Address address,
                                   std::optional<std::array<std::uint64_t, 2>> instance) {
  MadeConnection connection = co_await open_stream(shared, std::move(address));
  if (!connection.ok()) co_return connection;
  HandshakeContext context;
  context.mover = shared.options.mover;
  TUTTI_CO_TRY(co_await greet_server(**connection, context));
  if (instance && *instance != context.instance)
    co_return Status(Code::stale, "another server answers there");
  co_return connection;
}

Task<MadeConnection> connect_tcp(SocketNetwork::Shared& shared, Address address) {
  MadeConnection connection = co_await open_stream(shared, address);
  if (!connection.ok()) co_return connection;
  const Result<TcpWelcome> welcome =
      co_await greet_tcp_server(**connection, shared.authenticator, shared.options.protection,
                                address.to_string(), shared.identity_of(address));
  if (!welcome.ok()) co_return welcome.status();
  if (shared.options.grant_reads) (*connection)->grant_reads(shared.grants);
  const bool same_user = welcome->uid == ::geteuid() && welcome->gid == ::getegid();
  if (!shared.options.take_local_path || !welcome->same_host || welcome->local_path.empty() || !same_user) {
    co_return connection;
  }
  const Result<Address> local = parse_address("unix:" + welcome->local_path);
  if (!local.ok()) co_return connection;
  MadeConnection nearer = co_await connect_local(shared, *local, welcome->instance);
  if (nearer.ok()) co_return nearer;
  shared.options.log.debug("{} stays on TCP: {}", address.to_string(), nearer.status().to_string());
  co_return connection;
}

}  // namespace

SocketNetwork::Shared::Shared(Loop& event_loop, SocketOptions socket_options)
    : loop(event_loop),
      options(std::move(socket_options)),
      authenticator(options.auth),
      refusals(options.log),
      grants(loop, options.grants_quiet) {
  const Nonce random = fresh_nonce();
  instance = load<std::array<std::uint64_t, 2>>(random);
}

std::string SocketNetwork::Shared::identity_of(const Address& address) const {
  const auto found = options.identities.find(address.to_string());
  return found != options.identities.end() ? found->second : address.to_string();
}

SocketNetwork::SocketNetwork(Loop& loop, SocketOptions options)
    : shared_(std::make_unique<Shared>(loop, std::move(options))) {}
SocketNetwork::~SocketNetwork() = default;

Task<Result<std::unique_ptr<Connection>>> SocketNetwork::connect(const std::string& address) {
  const Result<Address> parsed = parse_address(address);
  if (!parsed.ok()) co_return parsed.status();
  if (parsed->is_tcp()) TUTTI_CO_TRY(shared_->authenticator.usable().with_context("connect to " + address));
  Shared& shared = *shared_;
  Task<MadeConnection> attempt =
      parsed->is_tcp() ? connect_tcp(shared, *parsed) : connect_local(shared, *parsed, std::nullopt);
  MadeConnection connection = co_await with_timeout(shared.loop.clock(), shared.options.handshake_limit,
                                                    std::move(attempt), "handshake");
  if (!connection.ok()) co_return connection.status().with_context("connect to " + address);
  co_return Result<std::unique_ptr<Connection>>(*std::move(connection));
}

Result<std::unique_ptr<Listener>> SocketNetwork::listen(const std::string& address) {
  const Result<Address> parsed = parse_address(address);
  if (!parsed.ok()) return parsed.status();
  if (parsed->is_tcp()) TUTTI_TRY(shared_->authenticator.usable().with_context("listen at " + address));
  Result<FileDescriptor> fd = bind_socket(*parsed);
  if (!fd.ok()) return fd.status();
  Address bound = bound_address(fd->get(), *parsed);
  auto listener = std::make_unique<SocketListener>(*shared_, std::move(bound), *std::move(fd));
  TUTTI_TRY(listener->start());
  return Result<std::unique_ptr<Listener>>(std::move(listener));
}

std::string SocketNetwork::address_of(const Listener& listener) {
  const auto* ours = dynamic_cast<const SocketListener*>(&listener);
  return ours != nullptr ? ours->address().to_string() : std::string();
}

}  // namespace tutti
