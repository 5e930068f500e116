// The requests of a session: from message to operation.
#include <fmt/format.h>

#include <utility>

#include "server/meta/meta_session.h"

namespace tutti::meta {
namespace {

Place to_place(const wire::Place* place) { return {place->base(), wire::text(place->path())}; }

Wish to_wish(const wire::LayoutWish* wish) {
  return wish == nullptr ? Wish() : Wish{wish->stripe_size(), wish->stripe_count(), wish->first_server()};
}

std::uint32_t open_rights(std::uint32_t flags) {
  std::uint32_t rights = wire::kRightLength;
  if ((flags & wire::kOpenRead) != 0) rights |= wire::kRightRead;
  if ((flags & wire::kOpenWrite) != 0) rights |= wire::kRightWrite;
  return rights;
}

// Whether the rights of an open file may be renewed. Its owner keeps them: he could give them to himself.
Status may_still(const Caller& caller, const Inode& node, std::uint32_t rights) {
  std::uint32_t access = 0;
  if ((rights & wire::kRightRead) != 0) access |= kMayRead;
  if ((rights & wire::kRightWrite) != 0) access |= kMayWrite;
  if (caller.uid == node.uid || may(caller, node, access)) return {};
  return {Code::permission, "the file's mode does not allow it any more"};
}

// The reply to a change that returns the node.
Result<std::string> reply_with(const Result<Inode>& node, const Signer& signer) {
  if (!node.ok()) return node.status();
  return node_reply(*node, wire::kRightLength, false, std::nullopt, signer);
}

// Of a reply to open.
const wire::NodeReply& node_of(const std::string& reply) {
  return *flatbuffers::GetRoot<wire::NodeReply>(reply.data());
}
std::uint64_t inode_of(const std::string& reply) {
  const wire::NodeReply& node = node_of(reply);
  return node.attributes() != nullptr ? node.attributes()->inode() : 0;
}
bool is_created(const std::string& reply) { return node_of(reply).created(); }

Result<std::string> reply_with(const Status& status) {
  if (!status.ok()) return status;
  return status_reply(status);
}

}  // namespace

bool MetaSession::dispatch(const Frame& frame) {
  switch (static_cast<wire::Type>(frame.type)) {
    case wire::Type::status:
      return on_status(frame);
    case wire::Type::open:
      return on_open(frame);
    case wire::Type::lookup:
      return on_lookup(frame);
    case wire::Type::make_directory:
      return on_make_directory(frame);
    case wire::Type::symlink:
      return on_symlink(frame);
    case wire::Type::link:
      return on_link(frame);
    case wire::Type::remove:
      return on_remove(frame);
    case wire::Type::rename:
      return on_rename(frame);
    case wire::Type::list:
      return on_list(frame);
    case wire::Type::set_attributes:
      return on_set_attributes(frame);
    case wire::Type::renew:
      return on_renew(frame);
    case wire::Type::commit:
      return on_commit(frame);
    case wire::Type::close:
      return on_close(frame);
    case wire::Type::claim:
      return on_claim(frame);
    case wire::Type::name:
      return on_name(frame);
    case wire::Type::lock:
      return on_lock(frame);
    case wire::Type::unlock:
      return on_unlock(frame);
    case wire::Type::counter:
      return on_counter(frame);
    case wire::Type::enrol:
      return on_enrol(frame);
    default:
      return CoordinatorSession::knows(frame.type) && on_coordination(frame);
  }
}

// Without a coordinator here: the time, which the metadata server follows too, and where the coordinator is.
bool MetaSession::on_coordination(const Frame& frame) {
  if (coordination_) return coordination_->handle(frame);
  if (frame.type == wire::request_type(wire::Type::cluster)) {
    flatbuffers::FlatBufferBuilder builder(64);
    wire::ClusterReplyBuilder reply(builder);
    reply.add_wall(service_.clock.now().count());
    builder.Finish(reply.Finish());
    connection_->send(wire::reply_type(wire::Type::cluster), frame.id, wire::bytes(builder)).ignore();
    return true;
  }
  const Status elsewhere(Code::invalid,
                         fmt::format("the coordinator of this cluster is at {}: correct `coordinator` in "
                                     "the cluster file",
                                     service_.options.coordinator));
  answer(frame.type, frame.id, "coordinator", elsewhere);
  return true;
}

bool MetaSession::on_status(const Frame& frame) {
  if (wire::parse<wire::StatusRequest>(frame.payload) == nullptr) return false;
  Superblock superblock;
  const Status status = service_.kv.view([&](const KvReader& kv) -> Status {
    Result<std::optional<std::string>> stored = kv.get(superblock_key());
    if (!stored.ok()) return stored.status();
    Result<Superblock> decoded = decode_superblock(stored->value_or(""));
    if (!decoded.ok()) return decoded.status();
    superblock = *decoded;
    return {};
  });
  if (!status.ok()) {
    answer(frame.type, frame.id, "status", status);
    return true;
  }
  flatbuffers::FlatBufferBuilder builder(256);
  const auto kind = builder.CreateString("meta");
  const auto version = builder.CreateString(TUTTI_VERSION);
  std::string policy;
  std::vector<wire::Lease> leases;
  std::uint32_t clients = service_.sessions - service_.server_sessions;
  if (service_.coordinator) {
    const Result<PolicyRecord> record = service_.coordinator->policy().read();
    if (record.ok()) policy = record->now.policy;
    leases = to_wire(service_.coordinator->members().leases());
    clients -= service_.coordinator->members().connected();
  }
  const auto policy_text = builder.CreateString(policy);
  const auto lease_list = builder.CreateVectorOfStructs(leases);
  const Orchestrator* orchestrator =
      service_.coordinator ? service_.coordinator->conductor().orchestrator() : nullptr;
  flatbuffers::Offset<flatbuffers::Vector<const wire::OrchestraProgram*>> programs;
  if (orchestrator != nullptr)
    programs = builder.CreateVectorOfStructs(to_wire(*orchestrator, service_.handles.files_by_application()));
  wire::ServerStatusReplyBuilder reply(builder);
  wire::OrchestraState state;
  if (orchestrator != nullptr) {
    state = state_to_wire(*orchestrator);
    reply.add_programs(programs);
    reply.add_orchestra(&state);
  }
  reply.add_policy(policy_text);
  reply.add_leases(lease_list);
  reply.add_kind(kind);
  reply.add_version(version);
  reply.add_uptime((service_.env.clock.now() - service_.started).count());
  reply.add_sessions(clients);
  reply.add_in_service(static_cast<std::uint32_t>(scope_.size()));
  reply.add_files(superblock.files);
  builder.Finish(reply.Finish());
  connection_->send(wire::reply_type(wire::Type::status), frame.id, wire::bytes(builder)).ignore();
  return true;
}

bool MetaSession::on_open(const Frame& frame) {
  const auto* request = wire::parse<wire::OpenRequest>(frame.payload);
  if (request == nullptr || request->place() == nullptr) return false;
  const Place place = to_place(request->place());
  const std::uint32_t flags = request->flags();
  const std::uint32_t rights = open_rights(flags);
  const std::string what = "open " + to_string(place);
  const std::uint64_t handle = request->handle();
  if (handle == 0 && (flags & wire::kOpenUnnamed) != 0) {
    answer(frame.type, frame.id, what, Status(Code::invalid, "a file without a name needs a handle"));
    return true;
  }
  const bool write = (flags & wire::kOpenWrite) != 0;
  // Most files that are opened exist, and then nothing needs to be written.
  std::optional<std::string> reply;
  const Status status = service_.kv.view([&](const KvReader& kv) -> Status {
    Result<std::optional<std::string>> known = recall(kv, ticket(frame, request->sequence()));
    if (!known.ok()) return known.status();
    reply = *std::move(known);
    if (reply) return opened(handle, inode_of(*reply), write, false);
    const Caller who = caller();
    Result<std::optional<Inode>> node = open_existing(Tree(kv, who), place, flags);
    if (!node.ok()) return node.status();
    if (!node->has_value()) return {};
    TUTTI_TRY(opened(handle, (*node)->id, write, false));
    reply = node_reply(**node, rights, false, std::nullopt, signer());
    return {};
  });
  if (!status.ok()) {
    answer(frame.type, frame.id, what, status);
  } else if (reply) {
    answer(frame.type, frame.id, what, *std::move(reply));
  } else {
    start_change(
        frame, what, request->sequence(),
        [place, flags, rights, mode = request->mode(), wish = to_wish(request->wish())](
            TreeEditor& editor, const Signer& signer) -> Result<std::string> {
          const Result<Opened> node = editor.open(place, flags, mode, wish);
          if (!node.ok()) return node.status();
          return node_reply(node->node, rights, node->created, std::nullopt, signer);
        },
        [this, handle, write](const std::string& answer, bool repeated) {
          return opened(handle, inode_of(answer), write, is_created(answer) && !repeated);
        });
  }
  return true;
}

bool MetaSession::on_lookup(const Frame& frame) {
  const auto* request = wire::parse<wire::LookupRequest>(frame.payload);
  if (request == nullptr || request->place() == nullptr) return false;
  const Place place = to_place(request->place());
  std::string reply;
  const Status status = service_.kv.view([&](const KvReader& kv) -> Status {
    const Caller who = caller();
    const Result<Inode> node = Tree(kv, who).lookup(place, request->follow());
    if (!node.ok()) return node.status();

    const std::optional<std::uint64_t> end = service_.end_of(*node);
    reply = node_reply(*node, end == 0 ? 0U : std::uint32_t{wire::kRightLength}, false, end, signer());
    return {};
  });
  answer(frame.type, frame.id, "look up " + to_string(place),
         status.ok() ? Result<std::string>(std::move(reply)) : Result<std::string>(status));
  return true;
}

bool MetaSession::on_list(const Frame& frame) {
  const auto* request = wire::parse<wire::ListRequest>(frame.payload);
  if (request == nullptr || request->place() == nullptr) return false;
  const Place place = to_place(request->place());
  std::string reply;
  const Status status = service_.kv.view([&](const KvReader& kv) -> Status {
    const Caller who = caller();
    const Result<Listing> listing =
        Tree(kv, who).list(place, wire::text(request->after()), request->limit(), request->attributes());
    if (!listing.ok()) return listing.status();
    reply = list_reply(*listing, signer(), [this](const Inode& node) { return service_.end_of(node); });
    return {};
  });
  answer(frame.type, frame.id, "list " + to_string(place),
         status.ok() ? Result<std::string>(std::move(reply)) : Result<std::string>(status));
  return true;
}

bool MetaSession::on_make_directory(const Frame& frame) {
  const auto* request = wire::parse<wire::MakeDirectoryRequest>(frame.payload);
  if (request == nullptr || request->place() == nullptr) return false;
  const Place place = to_place(request->place());
  start_change(
      frame, "make directory " + to_string(place), request->sequence(),
      [place, mode = request->mode(), wish = to_wish(request->wish())](TreeEditor& editor, const Signer& by) {
        return reply_with(editor.make_directory(place, mode, wish), by);
      });
  return true;
}

bool MetaSession::on_symlink(const Frame& frame) {
  const auto* request = wire::parse<wire::SymlinkRequest>(frame.payload);
  if (request == nullptr || request->place() == nullptr) return false;
  const Place place = to_place(request->place());
  start_change(frame, "make symbolic link " + to_string(place), request->sequence(),
               [place, target = wire::text(request->target())](TreeEditor& editor, const Signer& by) {
                 return reply_with(editor.symlink(place, target), by);
               });
  return true;
}

bool MetaSession::on_link(const Frame& frame) {
  const auto* request = wire::parse<wire::LinkRequest>(frame.payload);
  if (request == nullptr || request->from() == nullptr || request->to() == nullptr) return false;
  const Place from = to_place(request->from());
  const Place to = to_place(request->to());
  start_change(
      frame, fmt::format("link {} to {}", to_string(from), to_string(to)), request->sequence(),
      [from, to](TreeEditor& editor, const Signer& by) { return reply_with(editor.link(from, to), by); });
  return true;
}

bool MetaSession::on_remove(const Frame& frame) {
  const auto* request = wire::parse<wire::RemoveRequest>(frame.payload);
  if (request == nullptr || request->place() == nullptr) return false;
  const Place place = to_place(request->place());
  start_change(frame, "remove " + to_string(place), request->sequence(),
               [place, directory = request->directory()](TreeEditor& editor, const Signer&) {
                 return reply_with(editor.remove(place, directory));
               });
  return true;
}

bool MetaSession::on_rename(const Frame& frame) {
  const auto* request = wire::parse<wire::RenameRequest>(frame.payload);
  if (request == nullptr || request->from() == nullptr || request->to() == nullptr) return false;
  const Place from = to_place(request->from());
  const Place to = to_place(request->to());
  start_change(frame, fmt::format("rename {} to {}", to_string(from), to_string(to)), request->sequence(),
               [from, to, exclusive = request->exclusive()](TreeEditor& editor, const Signer&) {
                 return reply_with(editor.rename(from, to, exclusive));
               });
  return true;
}

bool MetaSession::on_set_attributes(const Frame& frame) {
  const auto* request = wire::parse<wire::SetAttributesRequest>(frame.payload);
  if (request == nullptr || request->place() == nullptr) return false;
  const Place place = to_place(request->place());
  const AttributeChange wanted{request->mask(),         request->mode(),     request->uid(),
                               request->gid(),          request->accessed(), request->modified(),
                               to_wish(request->wish())};
  start_change(frame, "set attributes of " + to_string(place), request->sequence(),
               [place, wanted, follow = request->follow()](TreeEditor& editor, const Signer& by) {
                 return reply_with(editor.set_attributes(place, follow, wanted), by);
               });
  return true;
}

Status MetaSession::check_own(const wire::Capability& capability) const {
  if (!service_.key.genuine(capability) || capability.uid() != connection_->peer().uid ||
      (capability.rights() &
       ~std::uint32_t{wire::kRightRead | wire::kRightWrite | wire::kRightLength | wire::kRightKeep}) != 0) {
    return {Code::permission, "the capability is not yours"};
  }
  const Nanos lapsed = service_.clock.now() - Nanos(capability.expiry());
  if (lapsed <= service_.options.capability_lifetime) return {};
  return {Code::expired, "the capability is too old: open the file again"};
}

bool MetaSession::on_renew(const Frame& frame) {
  const auto* request = wire::parse<wire::RenewRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr) return false;
  const wire::Capability& old = *request->capability();
  const std::string what = fmt::format("renew the capability for inode {}", old.file());
  Status status = check_own(old);
  // Whoever still has the file open may have let it lie for long.
  if (status.code() == Code::expired && service_.handles.has(name(), old.file())) status = {};
  const Signer by = signer();
  std::uint32_t rights = old.rights() & ~std::uint32_t{wire::kRightKeep};
  if (status.ok()) status = check_there(old.file());
  // One that was removed while it was open has no mode any more: its holders keep their rights.
  if (status.ok() && !service_.purger.holds(old.file())) {
    status = service_.kv.view([&](const KvReader& kv) -> Status {
      const Caller who = caller();
      const Result<Inode> node = Tree(kv, who).inode(old.file());
      if (!node.ok()) return node.status();
      TUTTI_TRY(may_still(who, *node, rights));
      rights = kept_rights(*node, rights, by.uid);
      return {};
    });
  }
  if (!status.ok()) {
    answer(frame.type, frame.id, what, status);
    return true;
  }
  answer(frame.type, frame.id, what, capability_reply(by.key.sign(old.file(), rights, by.uid, by.expiry)));
  return true;
}

bool MetaSession::on_commit(const Frame& frame) {
  const auto* request = wire::parse<wire::CommitRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr) return false;
  const std::uint64_t file = request->capability()->file();
  const std::string what = fmt::format("commit inode {}", file);
  Status status = check_own(*request->capability());
  // Once the handle is closed nobody could renew it.
  if (status.code() == Code::expired && service_.handles.has(name(), file)) status = {};
  if (status.ok() && (request->capability()->rights() & wire::kRightWrite) == 0) {
    status = Status(Code::bad_capability, "the file is not open for writing");
  }
  if (request->handle() != 0) {
    service_.handles.close(name(), request->handle(), {request->exact(), request->end()});
  } else if (status.ok()) {
    service_.lengths.forget(file);
  }
  if (!status.ok()) {
    answer(frame.type, frame.id, what, status);
    return true;
  }
  start_change(frame, what, 0,
               [file, modified = Nanos(request->modified())](TreeEditor& editor, const Signer&) {
                 return reply_with(editor.commit(file, modified));
               });
  return true;
}

bool MetaSession::on_close(const Frame& frame) {
  const auto* request = wire::parse<wire::CloseRequest>(frame.payload);
  if (request == nullptr) return false;
  service_.handles.close(name(), request->handle(), {request->exact(), request->end()});
  return true;
}

bool MetaSession::on_claim(const Frame& frame) {
  const auto* request = wire::parse<wire::ClaimRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr || request->handle() == 0) return false;
  const wire::Capability& capability = *request->capability();
  const std::uint64_t file = capability.file();
  Status status = check_own(capability);
  // Whoever has the file open may have let it lie for long; after a restart only he knows.
  if (status.code() == Code::expired && (service_.handles.has(name(), file) || service_.purger.in_grace()))
    status = {};
  if (status.ok() && !service_.purger.holds(file)) status = check_there(file);
  if (status.ok())
    status = opened(request->handle(), file, (capability.rights() & wire::kRightWrite) != 0, false);
  answer(frame.type, frame.id, fmt::format("claim inode {}", file), reply_with(status));
  return true;
}

bool MetaSession::on_name(const Frame& frame) {
  const auto* request = wire::parse<wire::NameRequest>(frame.payload);
  if (request == nullptr || request->capability() == nullptr || request->to() == nullptr) return false;
  const std::uint64_t file = request->capability()->file();
  const Place place = to_place(request->to());
  const std::string what = "name " + to_string(place);
  Status status = check_own(*request->capability());
  if (status.ok() && (request->capability()->rights() & wire::kRightWrite) == 0)
    status = Status(Code::bad_capability, "the file is not open for writing");
  if (status.ok() && !service_.handles.has(name(), file))
    status = Status(Code::stale, "the file is not open");
  if (!status.ok()) {
    answer(frame.type, frame.id, what, status);
    return true;
  }
  start_change(
      frame, what, request->sequence(),
      [file, place, replace = request->replace()](TreeEditor& editor, const Signer&) {
        return reply_with(editor.give_name(file, place, replace));
      },
      [this, file](const std::string&, bool) {
        service_.purger.named(file);
        return Status();
      });
  return true;
}

Status MetaSession::opened(std::uint64_t handle, std::uint64_t inode, bool write, bool created) {
  if (created) service_.lengths.created(inode);
  if (write && !created) service_.lengths.opened(inode);
  if (handle != 0) return service_.handles.open(name(), handle, inode, write);
  if (write) service_.lengths.forget(inode);
  return {};
}

Status MetaSession::check_there(std::uint64_t file) const {
  if (service_.purger.holds(file) && service_.handles.has(name(), file)) return {};
  return service_.kv.view([&](const KvReader& kv) -> Status {
    const Result<std::optional<std::string>> bytes = kv.get(inode_key(file));
    if (!bytes.ok()) return bytes.status();
    return bytes->has_value() ? Status() : Status(Code::stale, "the file was removed");
  });
}

}  // namespace tutti::meta
