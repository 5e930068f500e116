#include "client/transfer/open_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "env/combine.h"

namespace tutti {
namespace {

// Memory named to a server for the time of one request. If the request is given up, the connection is closed with
// it: a server must not find the memory in another use.
class Exposed {
 public:
  Exposed(Channel& channel, std::span<const Segment> memory, Access access)
      : channel_(channel), region_(channel.connection().expose(memory, access)) {}
  Exposed(const Exposed&) = delete;
  Exposed& operator=(const Exposed&) = delete;
  ~Exposed() {
    if (!answered_) channel_.close();
    channel_.connection().withdraw(region_);
  }
  [[nodiscard]] std::uint64_t region() const { return region_; }
  void answered() { answered_ = true; }

 private:
  Channel& channel_;
  std::uint64_t region_;
  bool answered_ = false;
};

// Copies bytes that came inside a reply to where they belong.
void scatter(std::span<const std::uint8_t> bytes, std::span<const Segment> memory) {
  std::size_t at = 0;
  for (const Segment& segment : memory) {
    std::memcpy(pointer(segment.address), bytes.data() + at, segment.length);
    at += segment.length;
  }
}

template <typename Span>
std::vector<Segment> segments_of(std::span<const Span> memory) {
  std::vector<Segment> segments;
  segments.reserve(memory.size());
  for (const auto& piece : memory) {
    if (!piece.empty())
      segments.push_back(Segment{reinterpret_cast<std::uint64_t>(piece.data()), piece.size()});
  }
  return segments;
}

Status check_list(std::span<const Extent> file, std::span<const Segment> memory) {
  std::uint64_t in_file = 0;
  for (const Extent& extent : file) {
    if (extent.offset.count() > wire::kMaxOffset ||
        extent.length.count() > wire::kMaxOffset - extent.offset.count()) {
      return {Code::too_large, fmt::format("extent {}+{} lies past the largest offset", extent.offset.count(),
                                           extent.length.count())};
    }
    in_file += extent.length.count();
  }
  std::uint64_t in_memory = 0;
  for (const Segment& segment : memory) in_memory += segment.length;
  if (in_file == in_memory) return {};
  return {Code::invalid, fmt::format("the file extents have {} bytes, the memory {}", in_file, in_memory)};
}

}  // namespace

OpenFile::Impl::Impl(FileSystem::Impl& system, std::string path, Attributes attributes,
                     const wire::Capability& capability, std::uint32_t open_flags)
    : system_(system),
      path_(std::move(path)),
      attributes_(std::move(attributes)),
      capability_(capability),
      open_flags_(open_flags),
      unsynced_(attributes_.layout.stripe_count),
      taking_(attributes_.layout.stripe_count) {}

OpenFile::Impl::~Impl() {
  for (Taking& taking : taking_) {
    const auto channel = taking.channel();
    const wire::Took took = taking.tell();
    if (took.reads() == 0 || channel == nullptr || channel->closed()) continue;
    const wire::Tag tag = system_.tag();
    flatbuffers::FlatBufferBuilder builder(256);
    builder.Finish(wire::CreateTookRequest(builder, &tag, &took));
    channel->connection().send(wire::request_type(wire::Type::took), 0, wire::bytes(builder)).ignore();
  }
}

void OpenFile::Impl::wrote(std::uint32_t slot, std::uint64_t boot) {
  Unsynced& record = unsynced_[slot];
  if (record.writes > 0 && record.boot != boot) record.lost = true;
  ++record.writes;
  record.boot = boot;
}

// `writes` is how many there were when the sync began: later ones are not covered by it.
Status OpenFile::Impl::synced(std::uint32_t slot, std::uint64_t boot, std::uint64_t writes) {
  Unsynced& record = unsynced_[slot];
  const bool lost = record.lost || (record.writes > 0 && record.boot != boot);
  if (record.writes == writes || lost) record = Unsynced();
  if (!lost) return {};
  return {Code::io_error, "it lost power after writes that were not synced: write them again"};
}

Task<Status> OpenFile::Impl::transfer(bool write, std::span<const Extent> file,
                                      std::span<const Segment> memory, bool& short_read) {
  short_read = false;
  if (Status status = check_list(file, memory); !status.ok()) co_return status.with_context(path_);
  Job job;
  job.write = write;
  const std::vector<Share> shares = split(attributes_.layout, file);
  Bytes bottleneck;
  for (const Share& share : shares) bottleneck = std::max(bottleneck, share.length);
  job.tag = system_.tag(bottleneck);
  job.pieces = cut_into_pieces(shares, memory, system_.options.piece);
  if (!write) {
    const Nanos now = system_.env.clock.now();
    std::erase_if(job.pieces,
                  [&](const Piece& piece) { return taking_[piece.slot].take_granted(piece, now); });
  }
  if (job.pieces.empty()) co_return Status();
  Status first;
  if (job.pieces.size() == 1) {
    first = co_await move(job, job.pieces.front());
  } else {
    std::vector<Task<Status>> workers;
    // All servers are asked at once, however many: one that learns of the operation late serves it late.
    const std::size_t count =
        std::min(std::max(system_.options.pieces_in_flight, shares.size()), job.pieces.size());
    for (std::size_t i = 0; i < count; ++i) workers.push_back(work(job));
    for (Status& status : co_await when_all(std::move(workers))) {
      if (first.ok()) first = std::move(status);
    }
  }
  if (write) written_ = true;
  short_read = job.short_read;
  if (first.ok()) co_return first;
  co_return first.with_context(fmt::format("{} {}", write ? "write" : "read", path_));
}

// Moves one piece after another until none is left or one has failed.
Task<Status> OpenFile::Impl::work(Job& job) {
  while (!job.failed && job.next < job.pieces.size()) {
    const Piece& piece = job.pieces[job.next++];
    Status status = co_await move(job, piece);
    if (!status.ok()) {
      job.failed = true;
      co_return status;
    }
  }
  co_return Status();
}

// One piece, repeated until it is done or there is no hope.
Task<Status> OpenFile::Impl::move(Job& job, const Piece& piece) {
  ServerLink& server = link(piece.slot);
  const Nanos since = system_.env.clock.now();
  int renewals = 0;
  Nanos backoff;
  for (;;) {
    auto channel = co_await server.ready(since);
    if (!channel.ok()) co_return channel.status();
    const Nanos asked = system_.env.clock.now();
    auto reply = co_await ask(*channel, job, piece);
    Status failure = reply.status();
    if (reply.ok()) {
      server.heard();
      const auto* message = wire::parse<wire::TransferReply>(reply->payload);
      if (message == nullptr)
        co_return Status(Code::malformed, server.name() + " sent a reply that does not parse");
      failure = wire::status_of(*message);
      if (failure.ok()) {
        if (job.write) wrote(piece.slot, message->boot());
        if (message->taken() != 0) {
          failure = taking_[piece.slot].take(piece, *message, asked, *channel, job.short_read);
          if (failure.code() == Code::busy) continue;
          co_return failure;
        }
        if (!job.write && !accept(job, piece, *message)) {
          co_return Status(Code::malformed, server.name() + " sent a reply of the wrong length");
        }
        co_return Status();
      }
    }
    switch (failure.code()) {
      case Code::unavailable:
      case Code::busy:
        TUTTI_CO_TRY(co_await server.pause(since, failure, backoff));
        break;
      case Code::expired:
        if (++renewals > 3) co_return failure;
        TUTTI_CO_TRY(co_await renew());
        break;
      default:
        co_return failure.with_context(server.name());
    }
  }
}

Task<Result<Channel::Reply>> OpenFile::Impl::ask(const std::shared_ptr<Channel>& channel, const Job& job,
                                                 const Piece& piece) {
  Exposed exposed(*channel, piece.memory, job.write ? Access::read : Access::write);
  flatbuffers::FlatBufferBuilder builder(1024);
  flatbuffers::Offset<flatbuffers::Vector<const wire::Segment*>> segments;
  if (channel->connection().needs_segments()) {
    static_assert(sizeof(Segment) == sizeof(wire::Segment));
    segments = builder.CreateVectorOfStructs(reinterpret_cast<const wire::Segment*>(piece.memory.data()),
                                             piece.memory.size());
  }
  static_assert(sizeof(Extent) == sizeof(wire::Extent));
  const auto extents = builder.CreateVectorOfStructs(
      reinterpret_cast<const wire::Extent*>(piece.object.data()), piece.object.size());
  wire::TransferRequestBuilder fields(builder);
  fields.add_capability(&capability_);
  fields.add_tag(&job.tag);
  fields.add_extents(extents);
  fields.add_region(exposed.region());
  if (!segments.IsNull()) fields.add_segments(segments);
  Taking& taking = taking_[piece.slot];
  if (!job.write) {
    fields.add_inline_limit(system_.options.inline_limit);
    fields.add_take(taking.key(channel));
    if (taking.reads_on(piece)) fields.add_ahead(system_.options.read_ahead.count());
  }
  const wire::Took took = taking.tell();
  if (took.reads() > 0) fields.add_took(&took);
  builder.Finish(fields.Finish());
  auto reply = co_await channel->call(wire::request_type(job.write ? wire::Type::write : wire::Type::read),
                                      wire::bytes(builder));
  exposed.answered();
  co_return reply;
}

// Takes over what a read's reply says; false if it contradicts the request.
bool OpenFile::Impl::accept(Job& job, const Piece& piece, const wire::TransferReply& reply) {
  if (reply.bytes() != nullptr) {
    if (reply.bytes()->size() != piece.length.count()) return false;
    scatter({reply.bytes()->data(), reply.bytes()->size()}, piece.memory);
  }
  std::uint64_t at = 0;
  for (const Extent& extent : piece.object) {
    const std::uint64_t valid =
        reply.valid_end() <= extent.offset.count()
            ? 0
            : std::min(reply.valid_end() - extent.offset.count(), extent.length.count());
    if (valid < extent.length.count()) {
      zero(piece.memory, at + valid, at + extent.length.count());
      job.short_read = true;
    }
    at += extent.length.count();
  }
  return true;
}

Task<Status> OpenFile::Impl::renew() {
  flatbuffers::FlatBufferBuilder builder(256);
  builder.Finish(wire::CreateRenewRequest(builder, &capability_));
  auto reply = co_await system_.ask_meta<wire::CapabilityReply>(wire::Type::renew, wire::bytes(builder));
  if (reply.ok()) {
    const auto* message = flatbuffers::GetRoot<wire::CapabilityReply>(reply->payload.data());
    if (message->capability() == nullptr)
      co_return Status(Code::malformed, "renew: the reply lacks the capability");
    capability_ = *message->capability();
    co_return Status();
  }
  // It has lain for too long: open anew, by number, with all checks.
  flatbuffers::FlatBufferBuilder again(256);
  const auto none = again.CreateString("");
  const auto where = wire::CreatePlace(again, attributes_.inode, none);
  const wire::LayoutWish wish(0, 0, -1);
  again.Finish(
      wire::CreateOpenRequest(again, where, open_flags_ & (wire::kOpenRead | wire::kOpenWrite), 0, &wish, 0));
  auto opened = co_await system_.ask_meta<wire::NodeReply>(wire::Type::open, wire::bytes(again));
  if (!opened.ok()) co_return opened.status().with_context("renew " + path_);
  const auto* node = flatbuffers::GetRoot<wire::NodeReply>(opened->payload.data());
  if (node->capability() == nullptr)
    co_return Status(Code::malformed, "open: the reply lacks the capability");
  capability_ = *node->capability();
  co_return Status();
}

Task<Result<Bytes>> OpenFile::Impl::length() {
  for (int renewals = 0;; ++renewals) {
    auto length = co_await system_.file_length(attributes_.layout, capability_);
    if (length.code() != Code::expired || renewals == 3) co_return length;
    TUTTI_CO_TRY(co_await renew());
  }
}

Task<Status> OpenFile::Impl::on_server(Verb verb, std::uint32_t slot, Bytes length) {
  for (int renewals = 0;; ++renewals) {
    flatbuffers::FlatBufferBuilder builder(256);
    const wire::Tag tag = system_.tag();
    if (verb == Verb::truncate) {
      const Layout& layout = attributes_.layout;
      const bool holds_last_byte = length > 0_B && layout.slot_of(length - 1_B) == slot;
      builder.Finish(wire::CreateTruncateRequest(
          builder, &capability_, &tag, layout.object_length(slot, length).count(), true, holds_last_byte));
    } else {
      builder.Finish(wire::CreateObjectRequest(builder, &capability_, &tag));
    }
    const auto type = verb == Verb::truncate ? wire::Type::truncate : wire::Type::sync;
    const std::uint64_t writes = unsynced_[slot].writes;
    auto reply = co_await link(slot).call<wire::StatusReply>(wire::request_type(type), wire::bytes(builder));
    if (!reply.ok()) co_return reply.status();
    const auto* message = flatbuffers::GetRoot<wire::StatusReply>(reply->payload.data());
    Status status = wire::status_of(*message);
    if (status.ok() && verb == Verb::truncate) wrote(slot, message->boot());
    if (status.ok() && verb == Verb::sync) status = synced(slot, message->boot(), writes);
    if (status.code() != Code::expired || renewals == 3) co_return status.with_context(link(slot).name());
    TUTTI_CO_TRY(co_await renew());
  }
}

Task<Status> OpenFile::Impl::on_all_servers(Verb verb, Bytes length) {
  std::vector<Task<Status>> tasks;
  for (std::uint32_t slot = 0; slot < attributes_.layout.stripe_count; ++slot) {
    tasks.push_back(on_server(verb, slot, length));
  }
  Status first;
  for (Status& status : co_await when_all(std::move(tasks))) {
    if (first.ok()) first = std::move(status);
  }
  co_return first.with_context(fmt::format("{} {}", verb == Verb::sync ? "sync" : "truncate", path_));
}

Task<Status> OpenFile::Impl::truncate(Bytes length) {
  if (length.count() > wire::kMaxOffset)
    co_return Status(Code::too_large, "truncate " + path_ + ": too large");
  written_ = true;
  // The server of the last byte goes first: whoever looks meanwhile, or after a failure, finds the file no shorter
  // than the old and the new length both are.
  if (length > 0_B) {
    const Status first = co_await on_server(Verb::truncate, attributes_.layout.slot_of(length - 1_B), length);
    if (!first.ok() || attributes_.layout.stripe_count == 1)
      co_return first.with_context("truncate " + path_);
  }
  co_return co_await on_all_servers(Verb::truncate, length);
}

Task<Status> OpenFile::Impl::sync() { co_return co_await on_all_servers(Verb::sync, 0_B); }

Task<Result<LockId>> OpenFile::Impl::lock(Extent range, bool exclusive, Nanos patience) {
  for (int renewals = 0;; ++renewals) {
    auto lock = co_await system_.locks.acquire(capability_, range, exclusive, patience);
    if (lock.ok()) co_return lock;
    if (lock.code() != Code::expired || renewals == 3) co_return lock.status().with_context("lock " + path_);
    TUTTI_CO_TRY(co_await renew());
  }
}

Task<Status> OpenFile::Impl::unlock(LockId lock) {
  const Status status = co_await system_.locks.release(lock);
  co_return status.with_context("unlock " + path_);
}

Task<Status> OpenFile::Impl::close() {
  if (!written_) co_return Status();
  for (int renewals = 0;; ++renewals) {
    flatbuffers::FlatBufferBuilder builder(256);
    builder.Finish(wire::CreateCommitRequest(builder, &capability_, system_.wall().count()));
    auto reply = co_await system_.ask_meta<wire::StatusReply>(wire::Type::commit, wire::bytes(builder));
    if (reply.code() == Code::expired && renewals < 3) {
      TUTTI_CO_TRY(co_await renew());
      continue;
    }
    written_ = false;
    co_return reply.status().with_context("close " + path_);
  }
}

Bytes OpenFile::Impl::bytes_before(Bytes length, std::span<const Extent> file) {
  Bytes at;
  Bytes last;
  for (const Extent& extent : file) {
    if (extent.offset < length && extent.length > 0_B)
      last = at + std::min(extent.length, length - extent.offset);
    at += extent.length;
  }
  return last;
}

OpenFile::OpenFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OpenFile::~OpenFile() = default;

const Attributes& OpenFile::attributes() const { return impl_->attributes(); }

Task<Result<Bytes>> OpenFile::read(Bytes offset, std::span<std::byte> buffer) {
  const Extent extent{offset, Bytes(buffer.size())};
  co_return co_await read_list({&extent, 1}, {&buffer, 1});
}

Task<Status> OpenFile::write(Bytes offset, std::span<const std::byte> buffer) {
  const Extent extent{offset, Bytes(buffer.size())};
  co_return co_await write_list({&extent, 1}, {&buffer, 1});
}

Task<Result<Bytes>> OpenFile::read_list(std::span<const Extent> file,
                                        std::span<const std::span<std::byte>> memory) {
  const std::vector<Segment> segments = segments_of(memory);
  bool short_read = false;
  TUTTI_CO_TRY(co_await impl_->transfer(false, file, segments, short_read));
  Bytes length = Bytes::max();
  if (short_read) {
    auto now = co_await impl_->length();
    if (!now.ok()) co_return now.status();
    length = *now;
  }
  co_return Impl::bytes_before(length, file);
}

Task<Status> OpenFile::write_list(std::span<const Extent> file,
                                  std::span<const std::span<const std::byte>> memory) {
  const std::vector<Segment> segments = segments_of(memory);
  bool unused = false;
  co_return co_await impl_->transfer(true, file, segments, unused);
}

Task<Result<Bytes>> OpenFile::size() { return impl_->length(); }
Task<Status> OpenFile::truncate(Bytes length) { return impl_->truncate(length); }
Task<Status> OpenFile::sync() { return impl_->sync(); }
Task<Status> OpenFile::close() { return impl_->close(); }
Task<Result<LockId>> OpenFile::lock(Extent range, bool exclusive, Nanos patience) {
  return impl_->lock(range, exclusive, patience);
}
Task<Status> OpenFile::unlock(LockId lock) { return impl_->unlock(lock); }

}  // namespace tutti
