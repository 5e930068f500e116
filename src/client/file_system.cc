#include "client/file_system.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/file_system_impl.h"
#include "client/transfer/open_file.h"
#include "env/combine.h"

namespace tutti {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

flatbuffers::Offset<wire::Place> place(Builder& builder, const std::string& path) {
  const auto text = builder.CreateString(path);
  return wire::CreatePlace(builder, wire::kRootInode, text);
}

ClientOptions complete(ClientOptions options, Random& random) {
  while (options.client == 0) options.client = random.next();
  if (options.application == 0) options.application = options.client;
  options.application = options.application_range.fit(options.application);
  return options;
}

SessionInfo session_info(const ClusterMap& map, const ClientOptions& options) {
  SessionInfo info;
  info.cluster = map.id;
  info.client = options.client;
  info.application = options.application;
  info.job = options.job;
  info.program = options.program;
  info.patience = options.patience;
  info.first_patience = std::min(options.first_patience, options.patience);
  return info;
}

// "stat /a/b: ..." before the message of a failed operation.
Status about(const Status& status, std::string_view what, std::string_view path) {
  const std::string context = fmt::format("{} {}", what, path);
  return status.message().starts_with(context) ? status
                                               : status.with_context(context);  // servers say it already
}

// Whether a server that gave this does not answer.
bool is_away(Code code) { return code == Code::unavailable || code == Code::timed_out; }

}  // namespace

Attributes to_attributes(const wire::Attributes& wire) {
  Attributes attributes;
  attributes.inode = wire.inode();
  attributes.type = static_cast<FileType>(wire.type());
  attributes.mode = wire.mode();
  attributes.uid = wire.uid();
  attributes.gid = wire.gid();
  attributes.links = wire.links();
  attributes.accessed = Nanos(wire.accessed());
  attributes.modified = Nanos(wire.modified());
  attributes.changed = Nanos(wire.changed());
  attributes.target = wire::text(wire.target());
  if (const wire::Layout* layout = wire.layout()) {
    attributes.layout = Layout{Bytes(layout->stripe_size()), layout->stripe_count(), layout->first_server(),
                               layout->server_total()};
  } else {
    attributes.layout = Layout{0_B, 0, 0, 0};
  }
  return attributes;
}

wire::LayoutWish to_wire(const LayoutWish& wish) {
  return {wish.stripe_size.count(), wish.stripe_count, wish.first_server};
}

FileSystem::Impl::Impl(Env given, ClusterMap cluster, ClientOptions wanted)
    : env(std::move(given)),
      map(std::move(cluster)),
      options(complete(std::move(wanted), env.random)),
      session(session_info(map, options)),
      cluster_clock(env.clock),
      meta(env, session, "metadata server", map.meta, &cluster_clock),
      tags(env, session, cluster_clock, meta, options.correct_clock),
      locks(env, meta),
      handles(env, meta) {
  if (!map.coordinator.empty() && map.coordinator != map.meta)
    coordinator = std::make_unique<ServerSession>(env, session, "coordinator", map.coordinator);
  for (std::size_t i = 0; i < map.data.size(); ++i) {
    data.push_back(std::make_unique<ServerSession>(env, session, fmt::format("data server {}", i),
                                                   map.data[i], nullptr, static_cast<std::uint32_t>(i)));
  }
  auto order = make_target_order(options.target_order);
  unknown_order = order.status();
  if (!order.ok()) order = make_target_order(kDefaultTargetOrder);
  visiting = {*std::move(order), options.piece, options.pieces_in_flight, options.pieces_per_server,
              mix64(options.client ^ mix64(map.id))};
}

Status FileSystem::Impl::check_servers(const Layout& layout) const {
  if (layout.server_total <= data.size()) return {};
  return {Code::invalid,
          fmt::format("striped over {} servers, the cluster map has {}", layout.server_total, data.size())};
}

Task<Status> FileSystem::Impl::find_size(Attributes& attributes, const wire::Attributes& answer,
                                         const wire::Capability* capability, std::set<std::uint32_t>& away) {
  if (attributes.type == FileType::symlink) attributes.size = Bytes(attributes.target.size());
  const bool empty = answer.end_known() && answer.end() == 0;
  if (attributes.type != FileType::file || empty || capability == nullptr) co_return Status();
  const Layout& layout = attributes.layout;
  TUTTI_CO_TRY(layout.validate());
  TUTTI_CO_TRY(check_servers(layout));
  CapabilityHolder holder(env.clock.executor(), *capability);
  const Question question{Question::Kind::length};
  if (answer.end_known()) {
    const std::uint32_t slot = layout.slot_of(Bytes(answer.end() - 1));
    const std::uint32_t server = layout.server_of_slot(slot);
    if (!away.contains(server)) {
      const auto there = co_await ask_server(servers(layout), holder, question, slot);
      if (there.ok() && *there == Bytes(answer.end())) {
        attributes.size = *there;
        co_return Status();
      }
      if (is_away(there.code())) away.insert(server);
    }
  }
  std::vector<std::uint32_t> asked;
  std::vector<Task<Result<Bytes>>> tasks;
  for (std::uint32_t slot = 0; slot < layout.stripe_count; ++slot) {
    if (away.contains(layout.server_of_slot(slot))) {
      attributes.size_unknown = Status(
          Code::unavailable, fmt::format("data server {} does not answer", layout.server_of_slot(slot)));
    } else {
      asked.push_back(slot);
      tasks.push_back(ask_server(servers(layout), holder, question, slot));
    }
  }
  const auto answers = co_await when_all(std::move(tasks));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].ok()) {
      attributes.size = std::max(attributes.size, *answers[i]);
    } else if (is_away(answers[i].code())) {
      away.insert(layout.server_of_slot(asked[i]));
      attributes.size_unknown = answers[i].status();
    } else if (answers[i].code() == Code::expired) {
      // Other servers were waited for longer than the right to ask this one lives.
      attributes.size_unknown = answers[i].status();
    } else {
      co_return answers[i].status();
    }
  }
  co_return Status();
}

FileSystem::FileSystem(Env env, ClusterMap map, ClientOptions options)
    : impl_(std::make_unique<Impl>(std::move(env), std::move(map), std::move(options))) {}

FileSystem::~FileSystem() = default;

bool FileSystem::locking() const { return impl_->locks.busy(); }
const ClusterMap& FileSystem::map() const { return impl_->map; }
std::uint64_t FileSystem::client_id() const { return impl_->options.client; }
std::uint64_t FileSystem::application() const { return impl_->options.application; }

Task<Result<std::unique_ptr<OpenFile>>> FileSystem::open(std::string path, OpenOptions options) {
  TUTTI_CO_TRY(about(impl_->unknown_order, "open", path));
  Builder builder;
  const auto where = place(builder, path);
  const std::uint32_t flags =
      (options.read ? wire::kOpenRead : 0U) | (options.write ? wire::kOpenWrite : 0U) |
      (options.create ? wire::kOpenCreate : 0U) | (options.exclusive ? wire::kOpenExclusive : 0U) |
      (options.unnamed ? wire::kOpenUnnamed : 0U);
  const wire::LayoutWish wish = to_wire(options.layout);
  const std::uint64_t handle = impl_->handles.next();
  builder.Finish(
      wire::CreateOpenRequest(builder, where, flags, options.mode, &wish, impl_->next_change(), handle));
  auto reply = co_await impl_->ask_meta<wire::NodeReply>(wire::Type::open, wire::bytes(builder));
  if (!reply.ok()) {
    if (reply.code() == Code::timed_out)
      impl_->handles.close(handle, false, 0);  // it may be open all the same
    co_return about(reply.status(), "open", path);
  }
  const auto* node = flatbuffers::GetRoot<wire::NodeReply>(reply->payload.data());
  auto opened = impl_->make_file(path, *node, flags, handle);
  if (!opened.ok()) {
    impl_->handles.close(handle, false, 0);
    co_return opened;
  }
  if (const Status visit = (*opened)->set_visit(options.visit); !visit.ok())
    co_return about(visit, "open", path);
  if (options.truncate && options.write && !node->created()) TUTTI_CO_TRY(co_await (*opened)->truncate(0_B));
  co_return opened;
}

Task<Result<Attributes>> FileSystem::stat(std::string path, bool follow) {
  Builder builder;
  const auto where = place(builder, path);
  builder.Finish(wire::CreateLookupRequest(builder, where, follow));
  auto reply = co_await impl_->ask_meta<wire::NodeReply>(wire::Type::lookup, wire::bytes(builder));
  if (!reply.ok()) co_return about(reply.status(), "stat", path);
  const auto* node = flatbuffers::GetRoot<wire::NodeReply>(reply->payload.data());
  if (node->attributes() == nullptr)
    co_return Status(Code::malformed, "stat " + path + ": the reply lacks attributes");
  Attributes attributes = to_attributes(*node->attributes());
  std::set<std::uint32_t> away;
  const Status status = co_await impl_->find_size(attributes, *node->attributes(), node->capability(), away);
  // The file was removed after the metadata server had answered.
  if (status.code() == Code::stale) co_return Status(Code::not_found, "stat " + path + ": no such file");
  if (!status.ok()) co_return about(status, "stat", path);
  co_return attributes;
}

Task<Status> FileSystem::make_directory(std::string path, std::uint32_t mode, LayoutWish layout) {
  Builder builder;
  const auto where = place(builder, path);
  const wire::LayoutWish wish = to_wire(layout);
  builder.Finish(wire::CreateMakeDirectoryRequest(builder, where, mode, &wish, impl_->next_change()));
  auto reply = co_await impl_->ask_meta<wire::NodeReply>(wire::Type::make_directory, wire::bytes(builder));
  co_return about(reply.status(), "mkdir", path);
}

Task<Status> FileSystem::Impl::remove(std::string path, bool directory) {
  Builder builder;
  const auto where = place(builder, path);
  builder.Finish(wire::CreateRemoveRequest(builder, where, directory, next_change()));
  auto reply = co_await ask_meta<wire::StatusReply>(wire::Type::remove, wire::bytes(builder));
  co_return about(reply.status(), directory ? "rmdir" : "unlink", path);
}

Task<Status> FileSystem::remove_directory(std::string path) { return impl_->remove(std::move(path), true); }
Task<Status> FileSystem::unlink(std::string path) { return impl_->remove(std::move(path), false); }

Task<Status> FileSystem::rename(std::string from, std::string to, bool exclusive) {
  Builder builder;
  const auto source = place(builder, from);
  const auto target = place(builder, to);
  builder.Finish(wire::CreateRenameRequest(builder, source, target, exclusive, impl_->next_change()));
  auto reply = co_await impl_->ask_meta<wire::StatusReply>(wire::Type::rename, wire::bytes(builder));
  co_return about(reply.status(), "rename", from + " to " + to);
}

Task<Status> FileSystem::link(std::string from, std::string to) {
  Builder builder;
  const auto source = place(builder, from);
  const auto target = place(builder, to);
  builder.Finish(wire::CreateLinkRequest(builder, source, target, impl_->next_change()));
  auto reply = co_await impl_->ask_meta<wire::NodeReply>(wire::Type::link, wire::bytes(builder));
  co_return about(reply.status(), "link", from + " to " + to);
}

Task<Status> FileSystem::symlink(std::string target, std::string path) {
  Builder builder;
  const auto where = place(builder, path);
  const auto text = builder.CreateString(target);
  builder.Finish(wire::CreateSymlinkRequest(builder, where, text, impl_->next_change()));
  auto reply = co_await impl_->ask_meta<wire::NodeReply>(wire::Type::symlink, wire::bytes(builder));
  co_return about(reply.status(), "symlink", path);
}

Task<Result<std::vector<DirectoryEntry>>> FileSystem::list(std::string path, bool attributes) {
  std::vector<DirectoryEntry> entries;
  std::string after;
  std::set<std::uint32_t> away;
  for (bool more = true; more;) {
    Builder builder;
    const auto where = place(builder, path);
    const auto from = builder.CreateString(after);
    builder.Finish(wire::CreateListRequest(builder, where, from, wire::kMaxListEntries, attributes));
    auto reply = co_await impl_->ask_meta<wire::ListReply>(wire::Type::list, wire::bytes(builder));
    if (!reply.ok()) co_return about(reply.status(), "list", path);
    const auto* page = flatbuffers::GetRoot<wire::ListReply>(reply->payload.data());
    more = page->more();
    if (page->entries() == nullptr || page->entries()->size() == 0) break;
    for (const wire::Entry* each : *page->entries()) {
      DirectoryEntry entry;
      entry.name = wire::text(each->name());
      entry.inode = each->inode();
      entry.type = static_cast<FileType>(each->type());
      if (each->attributes() != nullptr) {
        entry.attributes = to_attributes(*each->attributes());
        const Status status =
            co_await impl_->find_size(*entry.attributes, *each->attributes(), each->capability(), away);
        // One that was removed meanwhile has no size.
        if (status.code() == Code::stale) continue;
        if (!status.ok()) co_return about(status, "list", path + "/" + entry.name);
      }
      entries.push_back(std::move(entry));
    }
    after = wire::text(page->entries()->Get(page->entries()->size() - 1)->name());
  }
  co_return entries;
}

Task<Status> FileSystem::set_attributes(std::string path, AttributeChange change, bool follow) {
  Builder builder;
  const auto where = place(builder, path);
  const std::uint32_t mask = (change.mode ? wire::kSetMode : 0U) | (change.uid ? wire::kSetUid : 0U) |
                             (change.gid ? wire::kSetGid : 0U) | (change.accessed ? wire::kSetAccessed : 0U) |
                             (change.modified ? wire::kSetModified : 0U) |
                             (change.layout ? wire::kSetLayout : 0U);
  const wire::LayoutWish wish = to_wire(change.layout.value_or(LayoutWish()));
  builder.Finish(wire::CreateSetAttributesRequest(
      builder, where, follow, mask, change.mode.value_or(0), change.uid.value_or(0), change.gid.value_or(0),
      change.accessed.value_or(Nanos()).count(), change.modified.value_or(Nanos()).count(), &wish,
      impl_->next_change()));
  auto reply = co_await impl_->ask_meta<wire::NodeReply>(wire::Type::set_attributes, wire::bytes(builder));
  co_return about(reply.status(), "set attributes of", path);
}

Task<Status> FileSystem::truncate(std::string path, Bytes length) {
  OpenOptions options;
  options.read = false;
  options.write = true;
  auto file = co_await open(path, options);
  if (!file.ok()) co_return file.status();
  TUTTI_CO_TRY(co_await (*file)->truncate(length));
  co_return co_await (*file)->close();
}

Task<Result<std::int64_t>> FileSystem::counter(std::uint64_t key, CounterOp op, std::int64_t value) {
  Builder builder(128);
  const std::uint64_t sequence = op == CounterOp::get ? 0 : impl_->next_change();
  builder.Finish(wire::CreateCounterRequest(builder, key, static_cast<std::uint8_t>(op), value, sequence));
  auto reply = co_await impl_->ask_meta<wire::CounterReply>(wire::Type::counter, wire::bytes(builder));
  if (!reply.ok()) co_return reply.status();
  co_return flatbuffers::GetRoot<wire::CounterReply>(reply->payload.data())->value();
}

}  // namespace tutti
