#include "lab/experiments/orchestra/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "parallel/collective.h"

namespace tutti::orchestra {
namespace {

// PVFS2: buffers of a flow, and extents of a list.
constexpr Bytes kFlowBuffer = 256_KiB;
constexpr std::size_t kFlowBuffers = 8;
constexpr std::size_t kListExtents = 64;
constexpr Bytes kStripe = 64_KiB;

constexpr std::uint64_t kRegions = 4096;
constexpr Bytes kRegion = 64_KiB;
constexpr Bytes kSpacing = 10_B;
constexpr Bytes kCall = 8_MiB;
constexpr Bytes kElement = 4_KiB;
constexpr Bytes kTile = 8_KiB;
constexpr Bytes kOverlap = 64_B;

// A column of pieces of a matrix that is kProcesses wide.
std::vector<Extent> column(std::uint32_t rank, std::uint64_t first_row, std::uint64_t rows, Bytes piece,
                           Bytes spacing) {
  std::vector<Extent> extents;
  extents.reserve(rows);
  for (std::uint64_t row = first_row; row < first_row + rows; ++row)
    extents.push_back({(piece + spacing) * (row * kProcesses + rank), piece});
  return extents;
}

}  // namespace

std::string_view benchmark_name(Benchmark benchmark) {
  constexpr std::string_view kNames[] = {"mpi-io-test", "ior-mpi-io", "noncontig c-c", "noncontig nc-nc",
                                         "hpio c-c",    "hpio nc-nc", "mpi-tile-io"};
  return kNames[static_cast<std::size_t>(benchmark)];
}

Program::Program(SimCluster& cluster, const ProgramSpec& spec, std::size_t number)
    : cluster_(cluster),
      spec_(spec),
      id_(mix64(cluster.options().seed * 31 + number) | 1U),
      name_(fmt::format("program{}", number)),
      path_(spec.path.empty() ? fmt::format("/{}", name_) : spec.path),
      scope_(cluster.simulation().executor()) {
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank)
    nodes_.push_back(static_cast<std::uint32_t>((number + rank) % cluster.options().client_nodes));
  barrier_ = std::make_unique<Barrier>(cluster.simulation().executor(), kProcesses, cluster.options().nic,
                                       cluster.simulation().random().fork());
}

Program::~Program() {
  scope_.cancel();
  for (auto& process : processes_) process->group.reset();
}

Task<Status> Program::prepare() {
  std::vector<std::unique_ptr<SimGroup>> groups(kProcesses);
  if (spec_.collective) {
    auto made = SimGroup::create_all(cluster_, nodes_, name_);
    if (!made.ok()) co_return made.status();
    groups = std::move(*made);
  }
  for (std::uint32_t rank = 0; rank < kProcesses; ++rank) {
    auto process = std::make_unique<Process>();
    process->rank = rank;
    process->group = std::move(groups[rank]);
    ClientOptions options;
    options.application = id_;
    options.program = name_;
    options.target_order = "alternate";  // as PVFS2's clients
    options.piece = kFlowBuffer;
    options.pieces_per_server = kFlowBuffers;
    options.pieces_in_flight = kFlowBuffers * cluster_.servers();
    const Peer peer{.uid = 1000,
                    .gid = 1000,
                    .groups = {},
                    .pid = static_cast<std::int64_t>(rank) + 1,
                    .name = fmt::format("{}.{}", name_, rank)};
    process->client = cluster_.make_client(nodes_[rank], peer, options);
    OpenOptions how;
    how.write = true;
    how.create = true;
    how.layout.stripe_size = kStripe;
    how.layout.stripe_count = 0xffffffff;
    how.layout.first_server = 0;
    auto opened = co_await process->client->files().open(path_, how);
    if (!opened.ok()) co_return opened.status();
    process->file = std::move(*opened);
    TUTTI_CO_TRY((co_await process->file->size()).status());
    processes_.push_back(std::move(process));
  }
  const Attributes& attributes = processes_.front()->file->attributes();
  inode_ = attributes.inode;
  for (std::uint32_t slot = 0; slot < attributes.layout.stripe_count; ++slot) {
    SimStorage& storage = cluster_.storage(attributes.layout.server_of_slot(slot));
    const Bytes length = attributes.layout.object_length(slot, spec_.file);
    object_length_ = std::max(object_length_, length);
    storage.place(ObjectId{inode_}, length);
    TUTTI_CO_TRY(co_await storage.prepare(ObjectId{inode_}, length));
  }
  co_return Status();
}

std::string Program::addresses() const {
  DeviceStore* device = cluster_.storage(0).device();
  if (device == nullptr) return "";
  const Bytes first = device->address(ObjectId{inode_}, 0_B);
  const Bytes last = device->address(ObjectId{inode_}, object_length_ - 1_B);
  return fmt::format("{}: {} to {}; ", name_, first.count(), last.count());
}

Bytes Program::moved() const {
  if (!spec_.path.empty()) return done_;  // the servers do not tell programs of one file apart
  Bytes bytes;
  for (std::uint32_t server = 0; server < cluster_.servers(); ++server) {
    const auto& meters = cluster_.storage(server).meter().meters();
    const auto found = meters.find(ObjectId{inode_});
    if (found != meters.end()) bytes += spec_.write ? found->second.bytes_written : found->second.bytes_read;
  }
  return bytes;
}

std::vector<Extent> Program::call(std::uint32_t rank, std::uint64_t number) const {
  const std::uint64_t turn = number * kProcesses + rank;
  const auto own = [&](Bytes size) { return std::vector<Extent>{{size * turn, size}}; };
  const bool sized = spec_.request > 0_B;
  switch (spec_.benchmark) {
    case Benchmark::mpi_io_test:
      return own(sized ? spec_.request : kRegion);
    case Benchmark::ior: {
      const Bytes size = sized ? spec_.request : kRegion;
      return {{spec_.file / kProcesses * rank + size * number, size}};
    }
    case Benchmark::noncontig_c:
      return own(kCall);
    case Benchmark::noncontig_nc:
      return column(rank, number * (kCall / kElement), kCall / kElement, kElement, 0_B);
    case Benchmark::hpio_c:
      return own(kRegion * kRegions);
    case Benchmark::hpio_nc:
      return column(rank, number * kRegions, kRegions, kRegion, kSpacing);
    case Benchmark::tile:
      return {{(kTile - kOverlap) * turn, kTile}};
  }
  return {};
}

Task<Status> Program::transfer(Process& process, std::span<const Extent> extents) {
  Bytes length;
  for (const Extent& extent : extents) length += extent.length;
  if (buffer_.size() < length.count()) buffer_.resize(length.count());
  const std::span<std::byte> memory = std::span(buffer_).first(length.count());
  if (spec_.write) {
    const std::span<const std::byte> bytes = memory;
    TUTTI_CO_TRY(co_await process.file->write_list(extents, {&bytes, 1}));
  } else {
    TUTTI_CO_TRY((co_await process.file->read_list(extents, {&memory, 1})).status());
  }
  done_ += length;
  co_return Status();
}

// ROMIO: a list after the other.
Task<Status> Program::one_call(Process& process, std::uint64_t number) {
  const std::vector<Extent> extents = call(process.rank, number);
  const std::span<const Extent> all(extents);
  for (std::size_t at = 0; at < all.size(); at += kListExtents) {
    TUTTI_CO_TRY(co_await transfer(process, all.subspan(at, std::min(kListExtents, all.size() - at))));
  }
  co_return Status();
}

Task<Status> Program::collective_call(Process& process, std::uint64_t number) {
  const std::vector<Extent> extents = call(process.rank, number);
  std::vector<std::int64_t> lengths;
  std::vector<std::int64_t> places;
  Bytes length;
  for (const Extent& extent : extents) {
    lengths.push_back(static_cast<std::int64_t>(extent.length.count()));
    places.push_back(static_cast<std::int64_t>((extent.offset - extents.front().offset).count()));
    length += extent.length;
  }
  if (buffer_.size() < length.count()) buffer_.resize(length.count());
  FileView view;
  view.displacement = static_cast<std::int64_t>(extents.front().offset.count());
  view.filetype = extents.size() == 1 ? FlatType::contiguous(lengths[0], FlatType::bytes(1))
                                      : FlatType::indexed(lengths, places, FlatType::bytes(1));
  FileAccess access;
  access.base = buffer_.data();
  access.type = FlatType::bytes(1);
  access.count = static_cast<std::int64_t>(length.count());
  access.view = &view;
  CollectiveOptions options;
  options.plan =
      "two_phase;only=interleaved";  // ROMIO: where ranges do not interleave, each rank moves its own
  options.cb_nodes = static_cast<int>(kProcesses);
  options.cb_buffer_size = 4_MiB;
  if (spec_.write) co_return co_await write_collective(*process.group, *process.file, access, options);
  co_return (co_await read_collective(*process.group, *process.file, access, options)).status();
}

Task<void> Program::work(Process& process, Nanos start) {
  Clock& clock = process.client->clock();
  co_await clock.sleep_until(start);
  const Bytes end = spec_.file;
  const Bytes first = call(kProcesses - 1, 0).back().end();
  std::uint64_t number =
      static_cast<std::uint64_t>(spec_.begins * static_cast<double>(end / std::max(first, 1_B)));
  for (std::uint64_t calls = 0; calls <= last_ && clock.now() < dies_; ++calls, ++number) {
    begun_ = std::max(begun_, calls);
    // A program that has come to the end of its file begins anew.
    const std::vector<Extent> probe = call(kProcesses - 1, number);
    if (probe.back().end() > end) number = 0;
    const Nanos before = clock.now();
    Task<Status> doing = spec_.collective ? collective_call(process, number) : one_call(process, number);
    const Status status = co_await std::move(doing);
    if (!status.ok()) fail(status);
    times_.push_back((clock.now() - before).seconds());
    if (spec_.think > Nanos()) co_await clock.sleep(spec_.think);
    if (spec_.barrier) co_await barrier_->arrive(process.rank, clock);
  }
  if (spec_.write) {
    const Status status = co_await process.file->sync();
    if (!status.ok()) fail(status);
  }
  --running_;
}

void Program::start(Nanos now) {
  Random random = cluster_.simulation().random().fork();
  if (spec_.ends < Nanos::max()) dies_ = now + spec_.ends;
  for (auto& process : processes_) {
    ++running_;
    scope_.spawn(work(*process, now + Nanos(static_cast<std::int64_t>(random.below(5'000'000)))));
  }
}

void Program::finish() { last_ = std::min(last_, begun_); }

}  // namespace tutti::orchestra
