#include "client/transfer/open_file.h"

#include <algorithm>

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
                     const wire::Capability& capability, std::uint32_t open_flags)
    : system_(system),
      attributes_(std::move(attributes)),
      file_{.env = system.env,
            .options = system.options,
            .order = *system.target_order,
            .servers = system.servers(attributes_.layout),
            .path = std::move(path),
            .capability = {system.env.clock.executor(), system.meta, capability, open_flags},
            .unsynced = UnsyncedWrites(attributes_.layout.stripe_count),
            .local_reads = std::vector<LocalReads>(attributes_.layout.stripe_count)} {}

OpenFile::Impl::~Impl() {
  for (LocalReads& local : file_.local_reads) {
    const auto channel = local.channel();
    const wire::Took report = local.report();
    if (report.reads() == 0 || channel == nullptr || channel->closed()) continue;
    const wire::Tag tag = system_.tags.next();
    flatbuffers::FlatBufferBuilder builder(256);
    builder.Finish(wire::CreateTookRequest(builder, &tag, &report));
    channel->connection().send(wire::request_type(wire::Type::took), 0, wire::bytes(builder)).ignore();
  }
}

Task<Result<Bytes>> OpenFile::Impl::length() {
  return ask_every_server(file_.servers, file_.capability, Question{Question::Kind::length});
}

Task<Status> OpenFile::Impl::truncate(Bytes length) {
  if (length.count() > wire::kMaxOffset)
    co_return Status(Code::too_large, "truncate " + path() + ": too large");
  file_.written = true;
  const Layout& layout = attributes_.layout;
  const Question question{Question::Kind::truncate, length, &file_.unsynced};
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
  auto lock = co_await system_.locks.acquire(file_.capability, range, exclusive, patience);
  if (!lock.ok()) co_return lock.status().with_context("lock " + path());
  co_return lock;
}

Task<Status> OpenFile::Impl::unlock(LockId lock) {
  const Status status = co_await system_.locks.release(lock);
  co_return status.with_context("unlock " + path());
}

Task<Status> OpenFile::Impl::close() {
  if (!file_.written) co_return Status();
  struct AskCommit {
    const RequestTags& tags;
    auto operator()(flatbuffers::FlatBufferBuilder& builder, const wire::Capability& capability) const {
      return wire::CreateCommitRequest(builder, &capability, tags.wall().count());
    }
  };
  CapabilityRequest<wire::StatusReply, AskCommit> request(wire::Type::commit, system_.meta, file_.capability,
                                                          AskCommit{system_.tags});
  const Status status = co_await system_.meta.ask(request);
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
                                        std::span<const std::span<std::byte>> memory) {
  return read_extents(impl_->file(), FileExtents(file), segments_of(memory));
}

Task<Status> OpenFile::write_list(std::span<const Extent> file,
                                  std::span<const std::span<const std::byte>> memory) {
  return write_extents(impl_->file(), FileExtents(file), segments_of(memory));
}

Task<Result<Bytes>> OpenFile::size() { return impl_->length(); }
Task<Status> OpenFile::truncate(Bytes length) { return impl_->truncate(length); }
Task<Status> OpenFile::sync() { return impl_->sync(); }
Task<Status> OpenFile::close() { return impl_->close(); }
Task<Result<LockId>> OpenFile::lock(Extent range, bool exclusive, Nanos patience) {
  return impl_->lock(range, exclusive, patience);
}
Task<void> OpenFile::connect(Nanos patience) { return connect_every_server(impl_->file().servers, patience); }
Task<Status> OpenFile::unlock(LockId lock) { return impl_->unlock(lock); }

}  // namespace tutti
