#include "client/transfer/open_file.h"

#include <algorithm>
#include <utility>

#include "client/transfer/transfer.h"

namespace tutti {
namespace {

template <typename Span>
Segments segments_of(std::span<const Span> memory) {
  Segments segments;
  segments.reserve(memory.size());
  for (const auto& part : memory) {
    if (!part.empty()) segments.push_back(Segment{reinterpret_cast<std::uint64_t>(part.data()), part.size()});
  }
  return segments;
}

}  // namespace

OpenFile::Impl::Impl(FileSystem::Impl& system, std::string path, Attributes attributes,
                     const wire::Capability& capability, std::uint32_t open_flags, std::uint64_t handle)
    : system_(system),
      attributes_(std::move(attributes)),
      file_{.env = system.env,
            .options = system.options,
            .visit = system.visiting,
            .locks = system.locks,
            .servers = system.servers(attributes_.layout),
            .path = std::move(path),
            .capability = {system.env.clock.executor(), system.meta, capability, open_flags},
            .unsynced = UnsyncedWrites(attributes_.layout.stripe_count),
            .local_reads = std::vector<LocalReads>(attributes_.layout.stripe_count),
            .local_writes = std::vector<LocalWrites>(attributes_.layout.stripe_count),
            .rank = system.options.rank,
            .ranks = system.options.ranks},
      handle_(handle) {
  if (handle_ != 0) system_.handles.opened(handle_, file_.capability);
}

OpenFile::Impl::~Impl() {
  if (handle_ != 0) system_.handles.close(handle_, !file_.written && file_.exact, 0);
  for (LocalReads& local : file_.local_reads) tell(local.channel(), local.report());
  for (LocalWrites& local : file_.local_writes) tell(local.channel(), local.report());
}

// What was read or written without asking, on the connection on which it was allowed.
void OpenFile::Impl::tell(const std::shared_ptr<Channel>& channel, const wire::Took& report) {
  if (report.reads() + report.writes() == 0 || channel == nullptr || channel->closed()) return;
  const wire::Tag tag = system_.tags.next();
  flatbuffers::FlatBufferBuilder builder(256);
  builder.Finish(wire::CreateTookRequest(builder, &tag, &report));
  channel->connection().send(wire::request_type(wire::Type::took), 0, wire::bytes(builder)).ignore();
}

Status OpenFile::Impl::set_visit(const VisitWish& wish) {
  Visiting changed = file_.visit;
  TUTTI_TRY(changed.apply(wish).with_context(path()));
  file_.visit = std::move(changed);
  return {};
}

void OpenFile::Impl::set_rank(std::uint32_t rank, std::uint32_t ranks) {
  file_.rank = rank;
  file_.ranks = rank < ranks ? ranks : 0;
}

Task<Result<Bytes>> OpenFile::Impl::length() {
  return ask_every_server(file_.servers, file_.capability, Question{Question::Kind::length});
}

Task<Result<Bytes>> OpenFile::Impl::next_data(Bytes from) {
  auto found = co_await find_data(file_.servers, file_.capability, from);
  if (!found.ok()) co_return found.status().with_context("look for data in " + path());
  co_return found;
}

Task<Status> OpenFile::Impl::give_name(std::string name, bool replace) {
  struct AskName {
    const std::string& name;
    bool replace;
    std::uint64_t sequence;
    auto operator()(flatbuffers::FlatBufferBuilder& builder, const wire::Capability& capability) const {
      const auto text = builder.CreateString(name);
      const auto place = wire::CreatePlace(builder, wire::kRootInode, text);
      return wire::CreateNameRequest(builder, &capability, place, replace, sequence);
    }
  };
  CapabilityRequest<wire::StatusReply, AskName> request(wire::Type::name, system_.meta, file_.capability,
                                                        AskName{name, replace, system_.next_change()});
  TUTTI_CO_TRY(co_await system_.meta.ask(request));
  file_.path = std::move(name);
  co_return Status();
}

Task<Status> OpenFile::Impl::truncate(Bytes length) {
  if (length.count() > wire::kMaxOffset)
    co_return Status(Code::too_large, "truncate " + path() + ": too large");
  file_.written = true;
  file_.exact = false;
  const Layout& layout = attributes_.layout;
  const Extent cut{length, Bytes(wire::kMaxOffset) - length};
  const auto lock = file_.locks.covering(file_.capability.capability().file(), only(cut));
  if (!lock.ok()) co_return lock.status().with_context("truncate " + path());
  const Question question{Question::Kind::truncate, length, &file_.unsynced, *lock, &file_.locks};
  // The server of the last byte goes first: whoever looks meanwhile, or after a failure, finds the file no shorter
  // than the old and the new length both are.
  if (length > 0_B) {
    const auto first =
        co_await ask_server(file_.servers, file_.capability, question, layout.slot_of(length - 1_B));
    if (!first.ok() || layout.stripe_count == 1) co_return first.status().with_context("truncate " + path());
  }
  const auto all = co_await ask_every_server(file_.servers, file_.capability, question);
  co_return all.status().with_context("truncate " + path());
}

Task<Status> OpenFile::Impl::sync() {
  const Question question{Question::Kind::sync, 0_B, &file_.unsynced};
  const auto all = co_await ask_every_server(file_.servers, file_.capability, question);
  co_return all.status().with_context("sync " + path());
}

Task<Result<LockId>> OpenFile::Impl::lock(Extent range, bool exclusive, Nanos patience) {
  const auto granted = co_await system_.locks.acquire(file_.capability, range, exclusive, patience);
  if (!granted.ok()) co_return granted.status().with_context("lock " + path());
  const std::uint64_t number = granted->number;
  if (!granted->proof) co_return number;
  // Nothing that was asked for under lost locks may come after this.
  const Status fenced = co_await fence_locks(file_.servers, file_.capability, *granted);
  if (fenced.ok()) co_return number;
  (co_await system_.locks.release(number)).ignore();
  co_return fenced.with_context("lock " + path());
}

Task<Status> OpenFile::Impl::unlock(LockId lock) {
  const Status status = co_await system_.locks.release(lock);
  co_return status.with_context("unlock " + path());
}

Task<Status> OpenFile::Impl::close() {
  const std::uint64_t handle = std::exchange(handle_, 0);
  const bool exact = file_.exact && file_.unfinished_writes == 0;
  if (!file_.written) {
    if (handle != 0) system_.handles.close(handle, exact, 0);
    co_return Status();
  }
  // Until the server knows, the handle is claimed on new connections: the file may have no name any more.
  struct Closing {
    HandleKeeper& handles;
    std::uint64_t handle;
    bool told = false;
    ~Closing() {
      if (told) {
        handles.forget(handle);
      } else if (handle != 0) {
        handles.close(handle, false, 0);
      }
    }
  };
  Closing closing{system_.handles, handle};
  struct AskCommit {
    const RequestTags& tags;
    std::uint64_t handle;
    bool exact;
    Bytes end;
    auto operator()(flatbuffers::FlatBufferBuilder& builder, const wire::Capability& capability) const {
      return wire::CreateCommitRequest(builder, &capability, tags.wall().count(), handle, exact, end.count());
    }
  };
  CapabilityRequest<wire::StatusReply, AskCommit> request(
      wire::Type::commit, system_.meta, file_.capability,
      AskCommit{system_.tags, handle, exact, file_.written_end});
  const Status status = co_await system_.meta.ask(request);
  closing.told = status.ok();
  file_.written = false;
  co_return status.with_context("close " + path());
}

OpenFile::OpenFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OpenFile::~OpenFile() = default;

const Attributes& OpenFile::attributes() const { return impl_->attributes(); }

Task<Result<Bytes>> OpenFile::read(Bytes offset, std::span<std::byte> buffer) {
  const Extent extent{offset, Bytes(buffer.size())};
  return read_extents(impl_->file(), FileExtents(extent),
                      segments_of(std::span<const std::span<std::byte>>(&buffer, 1)));
}

Task<Status> OpenFile::write(Bytes offset, std::span<const std::byte> buffer) {
  const Extent extent{offset, Bytes(buffer.size())};
  return write_extents(impl_->file(), FileExtents(extent),
                       segments_of(std::span<const std::span<const std::byte>>(&buffer, 1)));
}

Task<Result<Bytes>> OpenFile::read_list(std::span<const Extent> file,
                                        std::span<const std::span<std::byte>> memory,
                                        const DirectedCall* call) {
  return read_extents(impl_->file(), FileExtents(file), segments_of(memory), {.call = call});
}

Task<Status> OpenFile::write_list(std::span<const Extent> file,
                                  std::span<const std::span<const std::byte>> memory,
                                  const DirectedCall* call) {
  return write_extents(impl_->file(), FileExtents(file), segments_of(memory), {.call = call});
}

ViewPointer OpenFile::declare(FileView view) { return impl_->declare(std::move(view)); }
std::uint64_t OpenFile::new_call() { return impl_->new_call(); }
Task<Result<Bytes>> OpenFile::read_view(ViewPointer view, Bytes offset, std::span<std::byte> buffer,
                                        const DirectedCall* call) {
  return impl_->read_view(std::move(view), offset, buffer, call);
}
Task<Status> OpenFile::write_view(ViewPointer view, Bytes offset, std::span<const std::byte> buffer,
                                  const DirectedCall* call) {
  return impl_->write_view(std::move(view), offset, buffer, call);
}

Status OpenFile::set_visit(const VisitWish& wish) { return impl_->set_visit(wish); }
void OpenFile::set_rank(std::uint32_t rank, std::uint32_t ranks) { impl_->set_rank(rank, ranks); }
std::string OpenFile::target_order() const { return impl_->file().visit.order->name(); }
Bytes OpenFile::schedule_block() const { return impl_->file().visit.block; }
Task<Status> OpenFile::prefetch(std::span<const Extent> file) {
  return prefetch_extents(impl_->file(), FileExtents(file));
}
Clock& OpenFile::clock() const { return impl_->file().env.clock; }
const Log& OpenFile::log() const { return impl_->file().env.log; }
bool OpenFile::rotational() const {
  const FileServers& servers = impl_->file().servers;
  for (std::uint32_t slot = 0; slot < servers.layout.stripe_count; ++slot) {
    if (servers.of(slot).rotational()) return true;
  }
  return false;
}
bool OpenFile::solid() const {
  const FileServers& servers = impl_->file().servers;
  bool heard = false;
  for (std::uint32_t slot = 0; slot < servers.layout.stripe_count; ++slot) {
    if (servers.of(slot).rotational()) return false;
    heard = heard || servers.of(slot).solid();
  }
  return heard;
}

Task<Result<Bytes>> OpenFile::size() { return impl_->length(); }
Task<Result<Bytes>> OpenFile::next_data(Bytes from) { return impl_->next_data(from); }
Task<Status> OpenFile::give_name(std::string path, bool replace) {
  return impl_->give_name(std::move(path), replace);
}
Task<Status> OpenFile::truncate(Bytes length) { return impl_->truncate(length); }
Task<Status> OpenFile::sync() { return impl_->sync(); }
Task<Status> OpenFile::close() { return impl_->close(); }
Task<Result<LockId>> OpenFile::lock(Extent range, bool exclusive, Nanos patience) {
  return impl_->lock(range, exclusive, patience);
}
Task<void> OpenFile::connect(Nanos patience) { return connect_every_server(impl_->file().servers, patience); }
Task<Status> OpenFile::unlock(LockId lock) { return impl_->unlock(lock); }

}  // namespace tutti
