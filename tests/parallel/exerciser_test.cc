// The programs of the MPI-IO exerciser (tests/mpi/exerciser) over simulated ranks, with and without faults.
#include <cstdlib>
#include <iostream>
#include <map>

#include "env/combine.h"
#include "env/scope.h"
#include "lab/sim/sim_group.h"
#include "parallel/parallel_file.h"
#include "tests/client/cluster_fixture.h"
#include "tests/mpi/exerciser/memory.h"

namespace tutti {
namespace {

using exerciser::Call;
using exerciser::Memory;
using exerciser::Part;
using exerciser::Pointer;
using exerciser::Program;
using exerciser::Shape;
using exerciser::Step;

FlatType type_of(const Shape& shape) {
  std::vector<FlatType> parts;
  for (const Shape& each : shape.parts) parts.push_back(type_of(each));
  switch (shape.kind) {
    case Shape::Kind::element:
      return FlatType::bytes(shape.size);
    case Shape::Kind::contiguous:
      return FlatType::contiguous(shape.count, parts[0]);
    case Shape::Kind::vector:
      return FlatType::vector(shape.count, shape.block, shape.stride, parts[0]);
    case Shape::Kind::indexed:
      return FlatType::indexed(shape.lengths, shape.displacements, parts[0]);
    case Shape::Kind::structure:
      return FlatType::structure(shape.lengths, shape.displacements, parts);
    case Shape::Kind::resized:
      break;
  }
  return FlatType::resized(shape.low, shape.extent, parts[0]);
}

// What all ranks of a run share.
struct World {
  SimCluster& cluster;
  const Program& program;
  std::string wrong;  // the first thing that was not as it must be
  int running = 0;    // ranks

  void say(std::size_t step, int rank, const std::string& what) {
    if (wrong.empty())
      wrong = "seed " + std::to_string(program.seed) + ", " + std::to_string(program.ranks) +
              " ranks, rank " + std::to_string(rank) + ", step " + exerciser::describe(program, step) + ": " +
              what;
  }
};

class Rank {
 public:
  Rank(World& world, int rank, std::unique_ptr<SimClient> client,
       std::vector<std::unique_ptr<SimGroup>> groups)
      : world_(world),
        rank_(rank),
        client_(std::move(client)),
        groups_(std::move(groups)),
        files_(static_cast<std::size_t>(world.program.files)),
        scope_(world.cluster.simulation().executor()) {}

  [[nodiscard]] std::size_t step_number() const { return number_; }

  Task<void> run() {
    for (number_ = 0; number_ < world_.program.steps.size() && world_.wrong.empty(); ++number_) {
      const Status status = co_await step(world_.program.steps[number_]);
      if (!status.ok()) world_.say(number_, rank_, status.to_string());
    }
    --world_.running;
  }

 private:
  struct UnderWay {
    std::unique_ptr<Memory> memory;
    std::size_t step = 0;
    std::unique_ptr<Event> ended;
    Result<Bytes> moved{Bytes()};
  };
  struct File {
    std::unique_ptr<ParallelFile> file;
    std::map<int, std::unique_ptr<UnderWay>> under_way;  // by ticket
  };
  [[nodiscard]] std::size_t index() const { return static_cast<std::size_t>(rank_); }
  [[nodiscard]] std::string name(int file) const { return "/f" + std::to_string(file); }

  Task<Status> step(const Step& step) {
    File& file = files_[static_cast<std::size_t>(step.file)];
    switch (step.kind) {
      case Step::Kind::open:
        return open(step, file);
      case Step::Kind::close:
        return close(file);
      case Step::Kind::set_view:
        return set_view(step, *file.file);
      case Step::Kind::set_atomicity:
        return file.file->set_atomic(step.flag);
      case Step::Kind::set_size:
        return file.file->set_size(step.number);
      case Step::Kind::preallocate:
        return file.file->preallocate(step.number);
      case Step::Kind::sync:
        return file.file->sync();
      case Step::Kind::meet:
        return groups_.back()->barrier();
      case Step::Kind::inspect:
        return inspect(step);
      case Step::Kind::seek:
        return file.file->seek(step.numbers[index()], whence(step));
      case Step::Kind::seek_shared:
        return file.file->seek_shared(step.number, whence(step));
      case Step::Kind::positions:
        return positions(step, *file.file);
      case Step::Kind::transfer:
        return transfer(step, file);
      case Step::Kind::wait:
        return wait(step.tickets[index()], file);
      case Step::Kind::end:
        break;
    }
    return wait(std::vector<int>(1, step.ticket), file);
  }

  static SeekFrom whence(const Step& step) {
    return step.whence == 0 ? SeekFrom::start : (step.whence == 1 ? SeekFrom::current : SeekFrom::end);
  }

  Task<Status> open(const Step& step, File& file) {
    ParallelOpen options;
    options.path = name(step.file);
    options.write = true;
    options.create = options.exclusive = step.flag;
    options.same_user = true;
    apply_hints(step.hints, options.hints);
    auto opened = co_await ParallelFile::open(world_.cluster.simulation().executor(), &client_->files(),
                                              *groups_[static_cast<std::size_t>(step.file)],
                                              std::move(options), world_.program.seed * 64 + number_);
    if (!opened.ok()) co_return opened.status();
    file.file = *std::move(opened);
    co_return Status();
  }

  Task<Status> close(File& file) {
    Status closed = co_await file.file->close();
    file.file.reset();
    co_return closed;
  }

  Task<Status> set_view(const Step& step, ParallelFile& file) {
    const exerciser::View& wanted = step.views[index()];
    ViewChange change;
    change.view.displacement = wanted.displacement;
    change.view.etype_size = wanted.etype;
    change.view.filetype = type_of(wanted.filetype);
    co_return co_await file.set_view(std::move(change), report_);
  }

  Task<Status> inspect(const Step& step) {
    if (step.number != rank_) co_return Status();
    auto file = co_await client_->files().open(name(step.file), OpenOptions());
    if (!file.ok()) co_return file.status();
    std::vector<std::byte> content(step.content.size() + 1);
    const auto got = co_await (*file)->read(0_B, content);
    if (!got.ok()) co_return got.status();
    if (got->count() != step.content.size())
      co_return Status(Code::internal, "the size is " + std::to_string(got->count()) + ", not " +
                                           std::to_string(step.content.size()));
    for (std::size_t i = 0; i < step.content.size(); ++i) {
      if (content[i] != std::byte{step.content[i]})
        co_return Status(Code::internal, "byte " + std::to_string(i) + " of the file is another");
    }
    co_return co_await (*file)->close();
  }

  Task<Status> positions(const Step& step, ParallelFile& file) {
    if (file.position() != step.numbers[index()])
      co_return Status(Code::internal, "the individual pointer is at " + std::to_string(file.position()) +
                                           ", not " + std::to_string(step.numbers[index()]));
    const auto shared = co_await file.position_shared();
    if (!shared.ok()) co_return shared.status();
    if (*shared != step.shared)
      co_return Status(Code::internal, "the shared pointer is at " + std::to_string(*shared) + ", not " +
                                           std::to_string(step.shared));
    if (!step.flag) co_return Status();
    const auto size = co_await file.size();
    if (!size.ok()) co_return size.status();
    if (size->count() != static_cast<std::uint64_t>(step.number))
      co_return Status(Code::internal, "the size is another");
    co_return Status();
  }

  Task<Status> transfer(const Step& step, File& file) {
    const Part& part = step.parts[index()];
    if (!part.there) co_return Status();
    auto begun = std::make_unique<UnderWay>();
    begun->memory = std::make_unique<Memory>(part, step.write);
    begun->step = number_;
    begun->ended = std::make_unique<Event>(world_.cluster.simulation().executor());
    ParallelTransfer transfer;
    transfer.write = step.write;
    transfer.collective = step.collective;
    transfer.pointer = step.pointer == Pointer::given        ? FilePointer::given
                       : step.pointer == Pointer::individual ? FilePointer::individual
                                                             : FilePointer::shared;
    transfer.offset = part.offset;
    transfer.base = static_cast<std::byte*>(begun->memory->address());
    transfer.type = type_of(part.type);
    transfer.count = part.count;
    // Started here: collective calls take their turns in the order of the program.
    scope_.start(follow(file.file->transfer(std::move(transfer)), *begun));
    // As in the real world a split call has done everything when its first half returns.
    if (step.call == Call::split) co_await begun->ended->wait();
    file.under_way[step.ticket] = std::move(begun);
    if (step.call != Call::blocking) co_return Status();
    std::vector<int> tickets(1, step.ticket);
    co_return co_await wait(std::move(tickets), file);
  }

  static Task<void> follow(Task<Result<Bytes>> task, UnderWay& under_way) {
    under_way.moved = co_await std::move(task);
    under_way.ended->set();
  }

  Task<Status> wait(std::vector<int> tickets, File& file) {
    for (const int ticket : tickets) {
      const auto found = file.under_way.find(ticket);
      if (found == file.under_way.end()) continue;
      const std::unique_ptr<UnderWay> under_way = std::move(found->second);
      file.under_way.erase(found);
      co_await under_way->ended->wait();
      if (!under_way->moved.ok()) {
        world_.say(under_way->step, rank_, under_way->moved.status().to_string());
        continue;
      }
      const std::string why = under_way->memory->judge(static_cast<std::int64_t>(under_way->moved->count()));
      if (!why.empty()) world_.say(under_way->step, rank_, why);
    }
    co_return Status();
  }

  World& world_;
  int rank_;
  std::unique_ptr<SimClient> client_;
  std::vector<std::unique_ptr<SimGroup>> groups_;  // of each file, and one to meet
  std::vector<File> files_;
  std::size_t number_ = 0;
  HintReport report_;
  Scope scope_;  // last: its tasks use the rest
};

// Servers die and return, and links to them are cut, one thing after the other until the program has ended.
Task<void> spoil(World& world, Random random) {
  SimCluster& cluster = world.cluster;
  Clock& clock = cluster.clock(SimCluster::meta_node());
  Nanos meta_may_die;
  while (world.running > 0) {
    co_await clock.sleep(random.exponential(10_ms));
    const auto server = static_cast<std::uint32_t>(random.below(cluster.servers()));
    const NodeId client = cluster.client_node(static_cast<std::uint32_t>(random.below(2)));
    const Nanos length = random.exponential(20_ms);
    switch (random.below(4)) {
      case 0:
        // Locks are granted some time after a restart only; one that dies more often grants none.
        if (clock.now() < meta_may_die) break;
        meta_may_die = clock.now() + cluster.options().meta.lock_grace * 3;
        cluster.stop_meta();
        co_await clock.sleep(length);
        cluster.start_meta();
        break;
      case 1:
        cluster.fabric().cut(SimCluster::data_node(server), client);
        co_await clock.sleep(length);
        cluster.fabric().heal(SimCluster::data_node(server), client);
        break;
      default:
        cluster.stop_data(server);
        co_await clock.sleep(length);
        cluster.start_data(server);
        break;
    }
  }
}

// What was not as it must be; empty if all was.
std::string run_program(std::uint64_t seed, bool faults) {
  const Program program = exerciser::make_program(seed, 9);
  SimClusterOptions options;
  options.seed = seed;
  options.client_nodes = 2;
  auto made = SimCluster::create(options);
  if (!made.ok() || !(*made)->start().ok()) return "no cluster";
  SimCluster& cluster = **made;
  World world{cluster, program, {}, program.ranks};
  std::vector<std::uint32_t> nodes;
  for (int rank = 0; rank < program.ranks; ++rank) nodes.push_back(static_cast<std::uint32_t>(rank % 2));
  std::vector<std::vector<std::unique_ptr<SimGroup>>> groups(nodes.size());
  for (int i = 0; i <= program.files; ++i) {
    auto group = SimGroup::create_all(cluster, nodes, "g" + std::to_string(i));
    if (!group.ok()) return group.status().to_string();
    for (std::size_t rank = 0; rank < nodes.size(); ++rank) groups[rank].push_back(std::move((*group)[rank]));
  }
  std::vector<std::unique_ptr<Rank>> ranks;
  for (int rank = 0; rank < program.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    Peer peer;
    peer.name = "rank";
    ranks.push_back(
        std::make_unique<Rank>(world, rank, cluster.make_client(nodes[r], peer, {}), std::move(groups[r])));
  }
  Scope scope(cluster.simulation().executor());
  for (const auto& rank : ranks) scope.spawn(rank->run());
  if (faults) scope.spawn(spoil(world, Random(seed)));
  const Nanos limit = cluster.simulation().now() + 600_s;
  cluster.simulation().run_until(
      [&] { return world.running == 0 || !world.wrong.empty() || cluster.simulation().now() > limit; });
  if (world.wrong.empty() && world.running > 0) {
    world.wrong = "seed " + std::to_string(seed) + ": it does not end; the ranks are at step";
    for (const auto& rank : ranks) world.wrong += " " + std::to_string(rank->step_number());
  }
  scope.cancel();
  ranks.clear();
  return world.wrong;
}

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

// TUTTI_MPI_SEEDS=10000 runs more of them, TUTTI_MPI_SEED=n only that one.
void run_programs(bool faults) {
  if (const std::uint64_t seed = from_environment("TUTTI_MPI_SEED", 0); seed != 0) {
    const Program program = exerciser::make_program(seed, 9);
    for (std::size_t i = 0; i < program.steps.size(); ++i)
      std::cout << exerciser::describe(program, i) << "\n";
    EXPECT_EQ(run_program(seed, faults), "");
    return;
  }
  const std::uint64_t seeds = from_environment("TUTTI_MPI_SEEDS", 50);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) EXPECT_EQ(run_program(seed, faults), "");
}

TEST(Exerciser, ProgramsDoWhatTheModelSays) { run_programs(false); }

TEST(Exerciser, ProgramsDoTheSameWhileServersDieAndReturn) { run_programs(true); }

}  // namespace
}  // namespace tutti
