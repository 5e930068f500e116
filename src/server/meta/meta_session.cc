#include "server/meta/meta_session.h"

#include <utility>

#include "base/hash.h"
#include "server/greeting.h"

namespace tutti::meta {
namespace {

constexpr std::size_t kMaxComplaints = 1024;  // peers remembered
constexpr int kTurn = 32;  // requests answered in a row before other sessions have their turn

// Goes to the end of the run queue.
class Yield {
 public:
  explicit Yield(Executor& executor) : executor_(executor) {}
  [[nodiscard]] bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    resume_.handle = handle;
    executor_.post(resume_);
  }
  void await_resume() const {}

 private:
  Executor& executor_;
  Resume resume_;
};

class Permit {
 public:
  explicit Permit(Semaphore& semaphore) : semaphore_(semaphore) {}
  Permit(const Permit&) = delete;
  Permit& operator=(const Permit&) = delete;
  ~Permit() { semaphore_.release(); }

 private:
  Semaphore& semaphore_;
};

}  // namespace

// What a transaction needs and gives. While it runs, nobody else touches it.
struct MetaSession::Change {
  Caller caller;
  ClusterDefaults defaults;
  Signer signer;
  Ticket ticket;
  Nanos repeat_memory;
  Operation operation;
  std::string reply;
  bool repeated = false;
  std::vector<RemovedFile> removed;
};

Service::Service(Env world, Kv& store, ServerKey servers_key, MetaServerOptions wanted)
    : env(world),
      kv(store),
      key(servers_key),
      options(std::move(wanted)),
      defaults{static_cast<std::uint32_t>(options.data_servers.size()), options.stripe_size,
               options.stripe_count},
      clock(env.clock),
      handles(env, options.open_grace, [this](const Handles::Closed& ended) { closed(ended); }),
      purger(env, kv, key, clock,
             {options.cluster, options.data_servers, options.capability_lifetime, options.open_grace},
             [this](std::uint64_t file) { return handles.is_open(file); }),
      started(env.clock.now()),
      locks(env, kv, options.lock_lease, options.lock_grace),
      stores(env, kv, options.enrol ? static_cast<std::uint32_t>(options.data_servers.size()) : 0) {}

void Service::closed(const Handles::Closed& ended) {
  if (ended.write) {
    if (ended.closing.exact) {
      lengths.grew(ended.inode, ended.closing.end);
    } else {
      lengths.forget(ended.inode);
    }
  }
  purger.closed(ended.inode, ended.returned);
}

std::optional<std::uint64_t> Service::end_of(const Inode& node) const {
  if (node.type != wire::kFile || handles.is_written(node.id)) return std::nullopt;
  return lengths.of(node.id);
}

MetaSession::MetaSession(Service& service, std::unique_ptr<Connection> connection)
    : service_(service),
      connection_(std::move(connection)),
      permits_(service.env.clock.executor(), kMaxChanges),
      scope_(service.env.clock.executor()) {
  if (service_.coordinator) coordination_.emplace(*service_.coordinator, *connection_);
  ++service_.sessions;
}

MetaSession::~MetaSession() {
  if (scope_.size() > 0) service_.purger.look_again();
  scope_.cancel();  // requests for locks go before the locks
  service_.locks.leave(lock_session_);
  if (lock_session_ != 0) service_.handles.leave(name());
  --service_.sessions;
  if (of_server_) --service_.server_sessions;
}

Task<void> MetaSession::run() {
  const bool welcomed = co_await welcome();
  if (!welcomed) co_return;
  for (int turn = 1;; ++turn) {
    co_await permits_.acquire();
    Result<Frame> frame = co_await connection_->receive();
    if (!frame.ok()) co_return;
    service_.locks.heard(lock_session_);
    started_change_ = false;
    if (!dispatch(*frame)) {
      complain("message of type " + std::to_string(frame->type) + " is malformed or unknown");
      co_return;
    }
    if (!started_change_) permits_.release();
    if (turn % kTurn == 0) co_await Yield(service_.env.clock.executor());
  }
}

Task<bool> MetaSession::welcome() {
  const auto client =
      co_await greet(service_.env, *connection_, service_.options.cluster, service_.clock, "metadata server");
  if (client.code() == Code::malformed) complain(client.status().message());
  if (!client.ok()) co_return false;
  client_ = client->client;
  lock_session_ = service_.locks.join(connection_->peer().uid, client_);
  service_.handles.join(name(), client->application);
  co_return true;
}

void MetaSession::complain(const std::string& about) {
  const std::string& name = connection_->peer().name;
  if (service_.complained.size() >= kMaxComplaints) service_.complained.clear();
  if (!service_.complained.insert(name).second) return;
  service_.env.log.warn("closing the connection of {}: {}", name, about);
}

Caller MetaSession::caller() const {
  const Peer& peer = connection_->peer();
  return {peer.uid, peer.gid, peer.groups, service_.clock.now()};
}

Signer MetaSession::signer() const {
  return {service_.key, connection_->peer().uid, service_.clock.now() + service_.options.capability_lifetime};
}

Ticket MetaSession::ticket(const Frame& frame, std::uint64_t sequence) const {
  const std::string_view request(reinterpret_cast<const char*>(frame.payload.data()), frame.payload.size());
  return {{connection_->peer().uid, client_, sequence}, stable_hash(request) ^ frame.type};
}

void MetaSession::answer(std::uint16_t type, std::uint64_t id, const std::string& what,
                         const Result<std::string>& reply) {
  const auto reply_type = static_cast<std::uint16_t>(type | wire::kReplyBit);
  const std::string message = reply.ok() ? *reply : status_reply(reply.status().with_context(what));
  connection_->send(reply_type, id, as_bytes(message)).ignore();
}

void MetaSession::start_change(const Frame& frame, std::string what, std::uint64_t sequence,
                               Operation operation, After after) {
  auto prepared = std::make_shared<Change>(Change{caller(),
                                                  service_.defaults,
                                                  signer(),
                                                  ticket(frame, sequence),
                                                  service_.options.repeat_memory,
                                                  std::move(operation),
                                                  {},
                                                  false,
                                                  {}});
  started_change_ = true;
  scope_.spawn(change(frame.type, frame.id, std::move(what), std::move(prepared), std::move(after)));
}

Task<void> MetaSession::change(std::uint16_t type, std::uint64_t id, std::string what,
                               std::shared_ptr<Change> prepared, After after) {
  const Permit permit(permits_);
  co_await service_.stores.settled();
  std::function<Status(KvWriter&)> body = [prepared](KvWriter& kv) { return apply(kv, *prepared); };
  Status status = co_await service_.kv.update(std::move(body));
  if (!status.ok()) {
    answer(type, id, what, status);
    co_return;
  }
  if (after) status = after(prepared->reply, prepared->repeated);
  for (const RemovedFile& file : prepared->removed) {
    if (!file.fresh) service_.lengths.removed(file.inode);
    service_.purger.removed(file.inode, file.layout);
  }
  answer(type, id, what, status.ok() ? Result<std::string>(std::move(prepared->reply)) : status);
}

Status MetaSession::apply(KvWriter& kv, Change& change) {
  change.removed.clear();
  change.repeated = false;
  Result<std::optional<std::string>> known = recall(kv, change.ticket);
  if (!known.ok()) return known.status();
  if (known->has_value()) {
    change.reply = **std::move(known);
    change.repeated = true;
    return {};
  }
  Result<std::optional<std::string>> stored = kv.get(superblock_key());
  if (!stored.ok()) return stored.status();
  const Result<Superblock> superblock = decode_superblock(stored->value_or(""));
  if (!superblock.ok()) return superblock.status();
  TreeEditor editor(kv, change.caller, change.defaults, *superblock);
  Result<std::string> reply = change.operation(editor, change.signer);
  if (!reply.ok()) return reply.status();
  TUTTI_TRY(remember(kv, change.ticket, *reply, change.caller.wall, change.repeat_memory,
                     editor.superblock().sweep));
  TUTTI_TRY(editor.finish());
  change.reply = *std::move(reply);
  change.removed = editor.removed();
  return {};
}

}  // namespace tutti::meta
