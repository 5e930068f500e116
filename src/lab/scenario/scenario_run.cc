#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "env/scope.h"
#include "lab/scenario/scenario.h"
#include "lab/sim/barrier.h"
#include "lab/sim/sim_group.h"
#include "parallel/collective.h"

namespace tutti {
namespace {

// One process of an application: its client, its file and the order of its requests.
struct Process {
  std::unique_ptr<SimClient> client;
  std::unique_ptr<OpenFile> file;
  std::unique_ptr<SimGroup> group;  // of collective calls
  CallHabit habit;
  FileView view;  // through which they are made
  std::uint64_t rank = 0;
  std::vector<std::uint64_t> places;  // in requests from the file's start; of tiles, from the process' own
  std::vector<std::byte> buffer;
  Nanos delay;  // of its start
};

struct Application {
  const ApplicationSpec* spec = nullptr;
  std::vector<Process> processes;
  std::unique_ptr<Barrier> barrier;
  std::vector<std::uint64_t> inodes;  // its files
  ApplicationResult result;
};

class Run {
 public:
  Run(const Scenario& scenario, SimCluster& cluster)
      : scenario_(scenario),
        cluster_(cluster),
        random_(cluster.simulation().random().fork()),
        go_(cluster.simulation().executor()),
        scope_(cluster.simulation().executor()) {}

  Result<ScenarioResult> run();

 private:
  Status make_application(const ApplicationSpec& spec);
  // Where there are fewer nodes than the processes fill, they begin again with the first.
  [[nodiscard]] std::uint32_t node_of(std::uint32_t process) const {
    return process / scenario_.processes_per_node % scenario_.cluster.client_nodes;
  }
  void choose_places(Application& application);
  Task<Status> open_files(Application& application);
  Task<Status> prepare();
  Task<void> work(Application& application, Process& process);
  static std::vector<Extent> extents(const ApplicationSpec& spec, std::uint64_t rank, std::uint64_t place);
  static FileView view_of(const ApplicationSpec& spec, std::uint64_t rank);
  Task<Status> one_request(const ApplicationSpec& spec, Process& process, std::uint64_t place);
  Task<Status> one_call(const ApplicationSpec& spec, Process& process, std::uint64_t place);
  Task<void> befall(EventSpec event);
  void undo(const EventSpec& event);
  ScenarioResult collect();

  const Scenario& scenario_;
  SimCluster& cluster_;
  Random random_;
  std::vector<std::unique_ptr<Application>> applications_;
  std::vector<std::byte> common_buffer_;  // of all processes when bytes are only counted
  std::uint32_t next_process_ = 0;
  Nanos began_;
  Nanos ended_;
  std::size_t working_ = 0;
  Event go_;
  Scope scope_;
};

void Run::choose_places(Application& application) {
  const ApplicationSpec& spec = *application.spec;
  const std::uint64_t ranks = spec.shared ? spec.processes : 1;
  std::vector<std::uint64_t> all(ranks * spec.requests);
  for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = i;
  if (spec.pattern == AccessPattern::random && spec.shared) random_.shuffle(std::span(all));
  for (std::uint64_t rank = 0; rank < spec.processes; ++rank) {
    Process& process = application.processes[rank];
    if (spec.pattern == AccessPattern::random && !spec.shared) random_.shuffle(std::span(all));
    for (std::uint64_t i = 0; i < spec.requests; ++i) {
      const std::uint64_t own = spec.shared ? rank : 0;
      const bool strided = spec.pattern == AccessPattern::strided;
      if (spec.pattern == AccessPattern::tiles) {
        process.places.push_back(i);
        continue;
      }
      process.places.push_back(all[strided ? i * ranks + own : own * spec.requests + i]);
    }
  }
}

Status Run::make_application(const ApplicationSpec& spec) {
  auto application = std::make_unique<Application>();
  application->spec = &spec;
  application->barrier = std::make_unique<Barrier>(cluster_.simulation().executor(), spec.processes,
                                                   scenario_.cluster.nic, random_.fork());
  application->result.name = spec.name;
  application->result.id = spec.id;
  application->result.processes = spec.processes;
  std::vector<std::unique_ptr<SimGroup>> groups;
  if (!spec.collective.empty()) {
    std::vector<std::uint32_t> nodes;
    for (std::uint32_t rank = 0; rank < spec.processes; ++rank)
      nodes.push_back(node_of(next_process_ + rank));
    auto made = SimGroup::create_all(cluster_, nodes, spec.name);
    if (!made.ok()) return made.status();
    groups = *std::move(made);
  }
  for (std::uint32_t rank = 0; rank < spec.processes; ++rank) {
    Process process;
    process.rank = rank;
    if (!groups.empty()) process.group = std::move(groups[rank]);
    process.view = view_of(spec, rank);
    ClientOptions options;
    options.application = spec.id;
    options.program = spec.name;
    options.target_order = scenario_.target_order;
    const std::uint32_t number = next_process_++;
    const Peer peer{.uid = 1000,
                    .gid = 1000,
                    .groups = {},
                    .pid = std::int64_t{number} + 1,
                    .name = fmt::format("{}.{}", spec.name, rank)};
    process.client = cluster_.make_client(node_of(number), peer, options);
    if (spec.start_jitter > Nanos()) {
      process.delay = Nanos(
          static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(spec.start_jitter.count()))));
    }
    if (!scenario_.cluster.storage.phantom) process.buffer.resize(spec.request.count());
    application->processes.push_back(std::move(process));
  }
  choose_places(*application);
  if (scenario_.cluster.storage.phantom && common_buffer_.size() < spec.request.count()) {
    common_buffer_.resize(spec.request.count());
  }
  applications_.push_back(std::move(application));
  return {};
}

// All processes open, the first one creates; what will be read is there afterwards.
Task<Status> Run::open_files(Application& application) {
  const ApplicationSpec& spec = *application.spec;
  const Bytes length = spec.request * spec.requests * (spec.shared ? spec.processes : 1);
  for (std::uint32_t rank = 0; rank < spec.processes; ++rank) {
    Process& process = application.processes[rank];
    OpenOptions options;
    options.write = true;
    options.create = true;
    options.layout = spec.layout;
    auto opened = co_await process.client->files().open(
        fmt::format("/{}.{}", spec.name, spec.shared ? 0 : rank), options);
    if (!opened.ok()) co_return opened.status();
    process.file = std::move(*opened);
    // Connections stand before the first request, as after an open that asks the servers for the file's length.
    TUTTI_CO_TRY((co_await process.file->size()).status());
    if (spec.shared && rank > 0) continue;
    const Attributes& attributes = process.file->attributes();
    application.inodes.push_back(attributes.inode);
    if (spec.write) continue;
    for (std::uint32_t slot = 0; slot < attributes.layout.stripe_count; ++slot) {
      SimStorage& storage = cluster_.storage(attributes.layout.server_of_slot(slot));
      TUTTI_CO_TRY(co_await storage.prepare(ObjectId{attributes.inode},
                                            attributes.layout.object_length(slot, length)));
    }
  }
  co_return Status();
}

Task<Status> Run::prepare() {
  for (const auto& application : applications_) TUTTI_CO_TRY(co_await open_files(*application));
  co_return Status();
}

std::vector<Extent> Run::extents(const ApplicationSpec& spec, std::uint64_t rank, std::uint64_t place) {
  if (spec.pattern != AccessPattern::tiles) return {Extent{spec.request * place, spec.request}};
  const std::uint64_t columns = spec.columns > 0 ? spec.columns : spec.processes;
  const std::uint64_t pieces = spec.request / spec.piece;
  const std::uint64_t first_row = (rank / columns * spec.requests + place) * pieces;
  std::vector<Extent> extents;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    extents.push_back(Extent{spec.piece * ((first_row + i) * columns + rank % columns), spec.piece});
  }
  return extents;
}

// What a rank sees of the file, so that a request is a piece of the data in it.
FileView Run::view_of(const ApplicationSpec& spec, std::uint64_t rank) {
  FileView view;
  view.filetype = FlatType::bytes(1);
  if (spec.pattern != AccessPattern::tiles) return view;
  const std::uint64_t columns = spec.columns > 0 ? spec.columns : spec.processes;
  const std::uint64_t rows = rank / columns * spec.requests * (spec.request / spec.piece);
  const auto piece = static_cast<std::int64_t>(spec.piece.count());
  view.displacement = piece * static_cast<std::int64_t>(rows * columns + rank % columns);
  view.filetype = FlatType::resized(0, piece * static_cast<std::int64_t>(columns),
                                    FlatType::contiguous(piece, FlatType::bytes(1)));
  return view;
}

Task<Status> Run::one_call(const ApplicationSpec& spec, Process& process, std::uint64_t place) {
  const std::span<std::byte> memory = process.buffer.empty() ? common_buffer_ : process.buffer;
  FileAccess access;
  access.base = memory.data();
  access.type = FlatType::bytes(1);
  access.count = static_cast<std::int64_t>(spec.request.count());
  access.view = &process.view;
  access.habit = &process.habit;
  access.data_offset = static_cast<std::int64_t>((spec.request * place).count());
  CollectiveOptions options;
  options.plan = spec.collective;
  options.cb_nodes = spec.cb_nodes;
  options.cb_buffer_size = spec.cb_buffer_size;
  if (spec.write) co_return co_await write_collective(*process.group, *process.file, access, options);
  const auto got = co_await read_collective(*process.group, *process.file, access, options);
  if (got.ok() && *got < spec.request) co_return Status(Code::internal, "read came short");
  co_return got.status();
}

Task<Status> Run::one_request(const ApplicationSpec& spec, Process& process, std::uint64_t place) {
  if (process.group != nullptr) co_return co_await one_call(spec, process, place);
  const std::span<std::byte> memory = process.buffer.empty() ? common_buffer_ : process.buffer;
  const std::span<std::byte> buffer = memory.first(spec.request.count());
  const std::vector<Extent> file = extents(spec, process.rank, place);
  if (spec.write) {
    const std::span<const std::byte> bytes = buffer;
    co_return co_await process.file->write_list(file, {&bytes, 1});
  }
  const auto got = co_await process.file->read_list(file, {&buffer, 1});
  if (got.ok() && *got < spec.request) co_return Status(Code::internal, "read came short");
  co_return got.status();
}

Task<void> Run::work(Application& application, Process& process) {
  const ApplicationSpec& spec = *application.spec;
  ApplicationResult& result = application.result;
  Clock& clock = process.client->clock();
  co_await go_.wait();
  co_await clock.sleep_until(began_ + spec.start + process.delay);
  for (std::size_t i = 0; i < process.places.size(); ++i) {
    if (spec.barrier && i > 0) co_await application.barrier->arrive(process.rank, clock);
    if (i > 0 && spec.think > Nanos()) co_await clock.sleep(spec.think);
    const Nanos begin = clock.now();
    result.start = std::min(result.start, begin);
    const Status status = co_await one_request(spec, process, process.places[i]);
    result.end = clock.now();
    if (status.ok()) {
      ++result.requests;
      result.bytes += spec.request;
      result.times.push_back(result.end - begin);
    } else {
      if (result.failed++ == 0) result.first_error = status.to_string();
    }
  }
  if (spec.sync) {
    const Status status = co_await process.file->sync();
    if (!status.ok() && result.first_error.empty()) result.first_error = status.to_string();
    result.end = clock.now();
  }
  if (--working_ == 0) ended_ = clock.now();
}

Task<void> Run::befall(EventSpec event) {
  Clock& clock = cluster_.clock(SimCluster::meta_node());
  co_await go_.wait();
  co_await clock.sleep_until(began_ + event.at);
  const NodeId node = event.meta ? SimCluster::meta_node() : SimCluster::data_node(event.server);
  switch (event.action) {
    case EventAction::stop:
      event.meta ? cluster_.stop_meta() : cluster_.stop_data(event.server);
      break;
    case EventAction::lose_power:
      event.meta ? cluster_.lose_power_meta() : cluster_.lose_power_data(event.server);
      break;
    case EventAction::cut:
    case EventAction::slow:
      for (NodeId other = 0; other < cluster_.fabric().size(); ++other) {
        if (other == node) continue;
        if (event.action == EventAction::cut) {
          cluster_.fabric().cut(node, other);
        } else {
          cluster_.fabric().slow(node, other, event.factor);
        }
      }
      break;
  }
  co_await clock.sleep(event.duration);
  undo(event);
}

void Run::undo(const EventSpec& event) {
  const NodeId node = event.meta ? SimCluster::meta_node() : SimCluster::data_node(event.server);
  if (event.action == EventAction::stop || event.action == EventAction::lose_power) {
    event.meta ? cluster_.start_meta() : cluster_.start_data(event.server);
    return;
  }
  for (NodeId other = 0; other < cluster_.fabric().size(); ++other) {
    if (other == node) continue;
    if (event.action == EventAction::cut) {
      cluster_.fabric().heal(node, other);
    } else {
      cluster_.fabric().slow(node, other, 1);
    }
  }
}

ScenarioResult Run::collect() {
  ScenarioResult result;
  result.duration = ended_ - began_;
  result.events = cluster_.simulation().events();
  for (const auto& application : applications_) {
    ApplicationResult& row = application->result;
    for (std::uint32_t server = 0; server < cluster_.servers(); ++server) {
      Nanos finish(-1);
      for (const std::uint64_t inode : application->inodes) {
        const auto& meters = cluster_.storage(server).meter().meters();
        const auto found = meters.find(ObjectId{inode});
        if (found != meters.end()) finish = std::max(finish, found->second.last - row.start);
      }
      row.server_finish.push_back(finish);
    }
    row.start -= began_;
    row.end -= began_;
    result.applications.push_back(std::move(row));
  }
  for (std::uint32_t server = 0; server < cluster_.servers(); ++server) {
    ServerResult row;
    for (const auto& [object, meter] : cluster_.storage(server).meter().meters()) {
      row.bytes_read += meter.bytes_read;
      row.bytes_written += meter.bytes_written;
    }
    row.busy = cluster_.storage(server).busy();
    row.jumps = cluster_.storage(server).jumps();
    if (const DataServer* data = cluster_.data_server(server); data != nullptr)
      row.requests = data->dispatcher().totals().reads + data->dispatcher().totals().writes;
    result.servers.push_back(row);
  }
  return result;
}

Result<ScenarioResult> Run::run() {
  Simulation& simulation = cluster_.simulation();
  for (const ApplicationSpec& spec : scenario_.applications) TUTTI_TRY(make_application(spec));
  const auto prepared = simulation.run(prepare());
  if (!prepared)
    return Status(Code::internal, "the files of the scenario cannot be prepared: the simulation is dry");
  TUTTI_TRY(prepared->with_context("preparing the files of the scenario"));
  for (std::uint32_t server = 0; server < cluster_.servers(); ++server)
    cluster_.storage(server).begin_measurement();
  for (const auto& application : applications_) {
    application->result.start = Nanos::max();
    for (Process& process : application->processes) {
      ++working_;
      scope_.spawn(work(*application, process));
    }
  }
  for (const EventSpec& event : scenario_.events) scope_.spawn(befall(event));
  began_ = simulation.now();
  go_.set();
  const Nanos limit = began_ + scenario_.limit;
  simulation.run_until([&] { return working_ == 0 || simulation.now() > limit; });
  if (working_ > 0) {
    return Status(Code::timed_out,
                  fmt::format("{} processes were not done after {} of virtual time: raise the "
                              "cluster's limit, or look for a server that never returns",
                              working_, to_string(simulation.now() - began_)));
  }
  TUTTI_TRY(cluster_.health());
  return collect();
}

}  // namespace

Result<ScenarioResult> run_scenario(const Scenario& scenario) {
  auto cluster = SimCluster::create(scenario.cluster);
  if (!cluster.ok()) return cluster.status();
  TUTTI_TRY((*cluster)->start());
  Run run(scenario, **cluster);
  return run.run();
}

}  // namespace tutti
