// A file as MPI sees it, over simulated ranks.
#include "parallel/parallel_file.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "env/combine.h"
#include "env/scope.h"
#include "lab/sim/sim_group.h"
#include "parallel/opening.h"
#include "tests/client/cluster_fixture.h"

namespace tutti {
namespace {

constexpr std::uint64_t kKey = 0x1234;

Task<Status> write_and_view(ParallelFile& file, std::vector<std::byte>& memory, HintReport& report) {
  ParallelTransfer transfer;
  transfer.write = true;
  transfer.pointer = FilePointer::shared;
  transfer.base = memory.data();
  transfer.count = static_cast<std::int64_t>(memory.size());
  const auto written = co_await file.transfer(std::move(transfer));
  if (!written.ok()) co_return written.status();
  ViewChange change;
  change.at_shared_pointer = true;
  co_return co_await file.set_view(std::move(change), report);
}

Task<void> follow(Task<Result<Bytes>> task, Status* status) {
  const auto result = co_await std::move(task);
  *status = result.status();
}

// Blocks of 2, 1 and 4 bytes of each rank in turn, 12 bytes of the file each time; nobody waits before the end.
Task<Status> three_in_flight(ParallelFile& file, std::vector<std::byte>& memory, std::size_t rank,
                             HintReport& report, Executor& executor) {
  std::vector<Status> ended(3);
  Scope scope(executor);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t block = i == 0 ? 2 : (i == 1 ? 1 : 4);
    ViewChange change;
    change.view.displacement = static_cast<std::int64_t>(i) * 12 + static_cast<std::int64_t>(rank) * block;
    change.view.filetype = FlatType::resized(0, block * 3, FlatType::contiguous(block, FlatType::bytes(1)));
    TUTTI_CO_TRY(co_await file.set_view(std::move(change), report));
    ParallelTransfer transfer;
    transfer.write = transfer.collective = true;
    transfer.pointer = FilePointer::individual;
    transfer.base = memory.data();
    transfer.count = static_cast<std::int64_t>(memory.size());
    scope.spawn(follow(file.transfer(std::move(transfer)), &ended[i]));
  }
  co_await scope.join();
  for (const Status& each : ended) TUTTI_CO_TRY(each);
  co_return Status();
}

class ParallelFileTest : public ClusterTest {
 protected:
  struct Rank {
    std::unique_ptr<SimClient> client;
    std::unique_ptr<SimGroup> group;
    std::unique_ptr<ParallelFile> file;
  };

  void start_ranks(std::size_t count, SimClusterOptions options = {}) {
    options.client_nodes = 2;
    start(options);
    std::vector<std::uint32_t> nodes;
    for (std::size_t rank = 0; rank < count; ++rank) nodes.push_back(static_cast<std::uint32_t>(rank % 2));
    auto groups = SimGroup::create_all(*cluster_, nodes, "app");
    ASSERT_TRUE(groups.ok());
    for (std::size_t i = 0; i < count; ++i) {
      Peer peer;
      peer.name = "rank";
      ranks_.push_back({cluster_->make_client(nodes[i], peer, {}), std::move((*groups)[i]), nullptr});
    }
  }
  void TearDown() override {
    for (Rank& rank : ranks_) {
      rank.file.reset();
      rank.group.reset();
    }
    ranks_.clear();
    client_.reset();
  }

  // The same on all ranks at once; one result per rank.
  template <typename T>
  std::vector<T> on_all(const std::function<Task<T>(std::size_t)>& make) {
    std::vector<Task<T>> tasks;
    for (std::size_t i = 0; i < ranks_.size(); ++i) tasks.push_back(make(i));
    return run(when_all(std::move(tasks)));
  }
  std::vector<Status> on_files(const std::function<Task<Status>(ParallelFile&)>& make) {
    return on_all<Status>([&](std::size_t i) { return make(*ranks_[i].file); });
  }

  std::vector<Code> try_open(const std::function<void(std::size_t, ParallelOpen&)>& change) {
    auto opened = on_all<Result<std::unique_ptr<ParallelFile>>>([&](std::size_t i) {
      ParallelOpen options;
      options.path = "/f";
      options.write = true;
      options.create = true;
      options.same_user = true;
      change(i, options);
      return ParallelFile::open(cluster_->simulation().executor(), &ranks_[i].client->files(),
                                *ranks_[i].group, std::move(options), kKey + i);
    });
    std::vector<Code> codes;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      codes.push_back(opened[i].code());
      if (opened[i].ok()) ranks_[i].file = *std::move(opened[i]);
    }
    return codes;
  }
  void open_all(const std::function<void(std::size_t, ParallelOpen&)>& change = [](auto, auto&) {}) {
    for (const Code code : try_open(change)) ASSERT_EQ(code, Code::ok);
  }

  static ParallelTransfer bytes(std::vector<std::byte>& memory, bool write, bool collective,
                                FilePointer pointer, std::int64_t offset = 0) {
    ParallelTransfer transfer;
    transfer.write = write;
    transfer.collective = collective;
    transfer.pointer = pointer;
    transfer.offset = offset;
    transfer.base = memory.data();
    transfer.count = static_cast<std::int64_t>(memory.size());
    return transfer;
  }
  static std::vector<std::byte> letters(std::size_t count, std::size_t rank) {
    return std::vector<std::byte>(count, static_cast<std::byte>('a' + rank));
  }
  Task<Status> set_view(ParallelFile& file, FileView view,
                        Representation representation = Representation::native) {
    ViewChange change;
    change.view = std::move(view);
    change.representation = representation;
    return file.set_view(std::move(change), report_);
  }
  // By kind of server: the largest.
  std::uint32_t sessions_of(const std::string& kind) {
    std::uint32_t sessions = 0;
    for (const ServerStatus& each : run(files().status(1_s))) {
      if (each.kind == kind) sessions = std::max(sessions, each.sessions);
    }
    return sessions;
  }
  std::string content() {
    auto file = open("/f");
    const auto size = run(file->size());
    std::string text(size->count(), '?');
    EXPECT_TRUE(run(file->read(Bytes(0), std::as_writable_bytes(std::span(text)))).ok());
    return text;
  }

  std::vector<Rank> ranks_;
  HintReport report_;
};

TEST_F(ParallelFileTest, OrderedWritesStandInOrderOfRankAndMoveTheSharedPointer) {
  start_ranks(3);
  open_all();
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < 3; ++i) memory.push_back(letters(i + 1, i));
  for (int round = 0; round < 2; ++round) {
    const auto written = on_all<Result<Bytes>>([&](std::size_t i) {
      return ranks_[i].file->transfer(bytes(memory[i], true, true, FilePointer::shared));
    });
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(*written[i], Bytes(i + 1));
  }
  EXPECT_EQ(*run(ranks_[2].file->position_shared()), 12);
  EXPECT_EQ(content(), "abbcccabbccc");
}

TEST_F(ParallelFileTest, SharedWritesOfAllRanksNeverOverlap) {
  start_ranks(4);
  open_all();
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < 4; ++i) memory.push_back(letters(10, i));
  on_all<Result<Bytes>>([&](std::size_t i) {
    return ranks_[i].file->transfer(bytes(memory[i], true, false, FilePointer::shared));
  });
  const std::string text = content();
  ASSERT_EQ(text.size(), 40U);
  for (const char letter : {'a', 'b', 'c', 'd'}) EXPECT_EQ(std::count(text.begin(), text.end(), letter), 10);
}

TEST_F(ParallelFileTest, IndividualPointersAreCountedInEtypesOfTheView) {
  start_ranks(2);
  open_all();
  const auto viewed = on_all<Status>([&](std::size_t i) {
    FileView view;
    view.displacement = static_cast<std::int64_t>(i) * 2;
    view.etype_size = 2;
    view.filetype = FlatType::resized(0, 4, FlatType::bytes(2));
    return set_view(*ranks_[i].file, view);
  });
  for (const Status& status : viewed) EXPECT_TRUE(status.ok());
  std::vector<std::vector<std::byte>> memory = {letters(4, 0), letters(4, 1)};
  for (int round = 0; round < 2; ++round) {
    on_all<Result<Bytes>>([&](std::size_t i) {
      return ranks_[i].file->transfer(bytes(memory[i], true, true, FilePointer::individual));
    });
  }
  EXPECT_EQ(content(), "aabbaabbaabbaabb");
  EXPECT_EQ(ranks_[1].file->position(), 4);
  EXPECT_TRUE(run(ranks_[1].file->seek(-1, SeekFrom::end)).ok());
  EXPECT_EQ(ranks_[1].file->position(), 3);
  EXPECT_EQ(run(ranks_[1].file->seek(-4, SeekFrom::current)).code(), Code::invalid);
  EXPECT_EQ(ranks_[1].file->position(), 3);
}

TEST_F(ParallelFileTest, EveryRankHearsOfAnErrorOfOne) {
  start_ranks(3);
  EXPECT_EQ(try_open([](std::size_t, ParallelOpen& options) { options.path = "/none/f"; }),
            std::vector<Code>(3, Code::not_found));
  open_all();
  std::vector<std::byte> memory(8);
  const auto written = on_all<Result<Bytes>>([&](std::size_t i) {
    ParallelTransfer transfer = bytes(memory, true, true, FilePointer::given);
    if (i == 1) transfer.refused = Status(Code::invalid, "no such type");
    return ranks_[i].file->transfer(std::move(transfer));
  });
  for (const auto& each : written) EXPECT_EQ(each.code(), Code::invalid);
  FileView wrong;
  wrong.displacement = -1;
  std::size_t at = 0;
  for (const Status& status :
       on_files([&](ParallelFile& file) { return set_view(file, at++ == 2 ? wrong : FileView()); })) {
    EXPECT_EQ(status.code(), Code::invalid);
  }
}

TEST_F(ParallelFileTest, ModesAreKept) {
  start_ranks(2);
  open_all();
  std::vector<std::byte> memory = letters(8, 0);
  EXPECT_TRUE(run(ranks_[0].file->transfer(bytes(memory, true, false, FilePointer::given))).ok());
  for (const Status& status : on_files([](ParallelFile& file) { return file.close(); }))
    EXPECT_TRUE(status.ok());

  open_all([](std::size_t, ParallelOpen& options) { options.write = options.create = false; });
  EXPECT_EQ(run(ranks_[0].file->transfer(bytes(memory, true, false, FilePointer::given))).code(),
            Code::read_only);
  for (const Status& status : on_files([](ParallelFile& file) { return file.set_size(3); }))
    EXPECT_EQ(status.code(), Code::read_only);
  on_files([](ParallelFile& file) { return file.close(); });

  open_all([](std::size_t, ParallelOpen& options) {
    options.read = false;
    options.append = options.sequential = options.delete_on_close = true;
  });
  EXPECT_EQ(run(ranks_[0].file->transfer(bytes(memory, false, false, FilePointer::shared))).code(),
            Code::permission);
  EXPECT_EQ(run(ranks_[0].file->transfer(bytes(memory, true, false, FilePointer::given))).code(),
            Code::unsupported);
  EXPECT_TRUE(run(ranks_[1].file->transfer(bytes(memory, true, false, FilePointer::shared))).ok());
  EXPECT_EQ(content(), "aaaaaaaaaaaaaaaa");
  on_files([](ParallelFile& file) { return file.close(); });
  EXPECT_EQ(run(files().stat("/f")).code(), Code::not_found);
}

TEST_F(ParallelFileTest, AtomicWritesThatOverlapAreNeverMixed) {
  start_ranks(4);
  open_all();
  for (const Status& status : on_files([](ParallelFile& file) { return file.set_atomic(true); }))
    EXPECT_TRUE(status.ok());
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < 4; ++i) memory.push_back(letters(300'000, i));
  for (const bool collective : {false, true}) {
    const auto written = on_all<Result<Bytes>>([&](std::size_t i) {
      return ranks_[i].file->transfer(bytes(memory[i], true, collective, FilePointer::given));
    });
    for (const auto& each : written) EXPECT_TRUE(each.ok());
    const std::string text = content();
    EXPECT_EQ(std::count(text.begin(), text.end(), text[0]), 300'000);
  }
}

TEST_F(ParallelFileTest, SizesMustAgree) {
  start_ranks(2);
  open_all();
  std::int64_t size = 100;
  for (const Status& status : on_files([&](ParallelFile& file) { return file.set_size(size++); }))
    EXPECT_EQ(status.code(), Code::invalid);
  for (const Status& status : on_files([](ParallelFile& file) { return file.set_size(100); }))
    EXPECT_TRUE(status.ok());
  for (const Status& status : on_files([](ParallelFile& file) { return file.preallocate(50); }))
    EXPECT_TRUE(status.ok());
  EXPECT_EQ(*run(ranks_[1].file->size()), 100_B);
  for (const Status& status : on_files([](ParallelFile& file) { return file.preallocate(500); }))
    EXPECT_TRUE(status.ok());
  EXPECT_EQ(*run(ranks_[1].file->size()), 500_B);
}

TEST_F(ParallelFileTest, ASizeThatWasSetAndSyncedSurvivesLossOfPower) {
  start_ranks(2);
  open_all();
  const std::vector<std::function<Task<Status>(ParallelFile&)>> ways = {
      [](ParallelFile& file) { return file.set_size(100'000); },
      [](ParallelFile& file) { return file.preallocate(300'000); }};
  Bytes expected(100'000);
  for (const auto& resize : ways) {
    for (const Status& status : on_files(resize)) ASSERT_TRUE(status.ok());
    for (const Status& status : on_files([](ParallelFile& file) { return file.sync(); }))
      ASSERT_TRUE(status.ok());
    for (std::uint32_t server = 0; server < cluster_->options().servers; ++server) {
      cluster_->lose_power_data(server);
      cluster_->start_data(server);
    }
    EXPECT_EQ(*run(ranks_[1].file->size()), expected);
    expected = Bytes(300'000);
  }
}

TEST_F(ParallelFileTest, ClosingFlushesASizeThatWasSet) {
  start_ranks(2);
  open_all();
  for (const Status& status : on_files([](ParallelFile& file) { return file.set_size(100'000); }))
    ASSERT_TRUE(status.ok());
  for (const Status& status : on_files([](ParallelFile& file) { return file.close(); }))
    ASSERT_TRUE(status.ok());
  for (std::uint32_t server = 0; server < cluster_->options().servers; ++server) {
    cluster_->lose_power_data(server);
    cluster_->start_data(server);
  }
  EXPECT_EQ(run(files().stat("/f"))->size, 100'000_B);
}

TEST_F(ParallelFileTest, OnlyRankZeroAsksTheMetadataServerAtOpen) {
  start_ranks(4);
  const std::uint32_t before = sessions_of("meta");
  open_all();
  EXPECT_EQ(sessions_of("meta"), before + 1);
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < 4; ++i) memory.push_back(letters(1, i));
  on_all<Result<Bytes>>([&](std::size_t i) {
    return ranks_[i].file->transfer(
        bytes(memory[i], true, false, FilePointer::given, static_cast<std::int64_t>(i)));
  });
  EXPECT_EQ(content(), "abcd");
}

TEST_F(ParallelFileTest, ARankOfAnotherUserOpensTheFileItself) {
  start_ranks(2);
  Peer other;
  other.uid = other.gid = 1001;
  other.name = "rank";
  ranks_[1].client = cluster_->make_client(1, other, {});
  const auto two_users = [](std::size_t, ParallelOpen& options) { options.same_user = false; };
  EXPECT_EQ(try_open([&](std::size_t i, ParallelOpen& options) {
              options.mode = 0600;
              two_users(i, options);
            }),
            std::vector<Code>(2, Code::permission));
  AttributeChange open_to_all;
  open_to_all.mode = 0666;
  ASSERT_TRUE(run(files().set_attributes("/f", open_to_all)).ok());
  open_all(two_users);
}

TEST_F(ParallelFileTest, ARankRenewsWhatRankZeroHasOpened) {
  SimClusterOptions options;
  options.meta.capability_lifetime = 1_s;
  start_ranks(2, options);
  open_all();
  cluster_->simulation().run_until(cluster_->simulation().now() + 10_s);
  std::vector<std::byte> memory = letters(4, 1);
  EXPECT_EQ(*run(ranks_[1].file->transfer(bytes(memory, true, false, FilePointer::given))), 4_B);
  EXPECT_EQ(content(), "bbbb");
}

TEST_F(ParallelFileTest, EveryRankHearsThatOneHasNoFileSystem) {
  start_ranks(3);
  auto opened = on_all<Result<std::unique_ptr<ParallelFile>>>([&](std::size_t i) {
    ParallelOpen options;
    options.path = "/f";
    options.write = options.create = true;
    Result<FileSystem*> system(&ranks_[i].client->files());
    if (i == 1) system = Status(Code::not_found, "no cluster here");
    return ParallelFile::open(cluster_->simulation().executor(), system, *ranks_[i].group, std::move(options),
                              kKey);
  });
  for (const auto& each : opened) EXPECT_EQ(each.status().message(), "no cluster here");
}

TEST_F(ParallelFileTest, TheSharedPointerBeginsWhereTheOpenSaysAndAViewResetsIt) {
  start_ranks(3);
  open_all();
  for (const Status& status : on_files([](ParallelFile& file) { return file.set_size(10); }))
    ASSERT_TRUE(status.ok());
  on_files([](ParallelFile& file) { return file.close(); });
  open_all([](std::size_t, ParallelOpen& options) { options.append = true; });
  EXPECT_EQ(*run(ranks_[2].file->position_shared()), 10);
  std::vector<std::byte> memory = letters(5, 0);
  ASSERT_TRUE(run(ranks_[1].file->transfer(bytes(memory, true, false, FilePointer::shared))).ok());
  EXPECT_EQ(*run(ranks_[0].file->position_shared()), 15);
  for (const Status& status : on_files([this](ParallelFile& file) { return set_view(file, FileView()); }))
    ASSERT_TRUE(status.ok());
  EXPECT_EQ(*run(ranks_[1].file->position_shared()), 0);
  for (const Status& status : on_files([](ParallelFile& file) { return file.close(); }))
    EXPECT_TRUE(status.ok());
  EXPECT_EQ(run(files().counter(kKey, CounterOp::get, 0)).code(), Code::not_found) << "nothing is left over";
}

TEST_F(ParallelFileTest, AViewAtTheSharedPointerBeginsWhereItIsWhenAllHaveCome) {
  start_ranks(4);
  open_all([](std::size_t, ParallelOpen& options) {
    options.read = false;
    options.sequential = true;
  });
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < 4; ++i) memory.push_back(letters(10, i));
  for (int round = 0; round < 3; ++round) {
    // Each writes a record and goes on at once: others may still be about to write theirs.
    on_all<Status>([&](std::size_t i) { return write_and_view(*ranks_[i].file, memory[i], report_); });
    for (const Rank& rank : ranks_) EXPECT_EQ(rank.file->view().displacement, (round + 1) * 40);
  }
}

TEST_F(ParallelFileTest, CollectiveTransfersUnderWayKeepTheViewTheyBeganWith) {
  start_ranks(3);
  open_all();
  std::vector<std::vector<std::byte>> memory;
  for (std::size_t i = 0; i < 3; ++i) memory.push_back(letters(4, i));
  on_all<Status>([&](std::size_t i) {
    return three_in_flight(*ranks_[i].file, memory[i], i, report_, cluster_->simulation().executor());
  });
  EXPECT_EQ(content(), "aabbccaabbcc" + std::string("abcabcabcabc") + "aaaabbbbcccc");
}

TEST_F(ParallelFileTest, AViewWithoutBytesIsForRanksThatMoveNone) {
  start_ranks(2);
  open_all();
  for (const Status& status : on_all<Status>([&](std::size_t i) {
         FileView view;
         view.etype_size = 4;
         view.filetype = i == 0 ? FlatType::bytes(4) : FlatType::contiguous(0, FlatType::bytes(4));
         return set_view(*ranks_[i].file, view);
       }))
    ASSERT_TRUE(status.ok()) << status.to_string();
  std::vector<std::vector<std::byte>> memory = {letters(8, 0), {}};
  for (const auto& written : on_all<Result<Bytes>>([&](std::size_t i) {
         return ranks_[i].file->transfer(bytes(memory[i], true, true, FilePointer::individual));
       }))
    EXPECT_TRUE(written.ok()) << written.status().to_string();
  EXPECT_EQ(content(), "aaaaaaaa");
  EXPECT_EQ(run(ranks_[1].file->transfer(bytes(memory[0], true, false, FilePointer::given))).code(),
            Code::io_error);
}

TEST_F(ParallelFileTest, OpeningMakesTheSessionsWithTheDataServers) {
  start_ranks(3);
  EXPECT_EQ(sessions_of("data"), 1U);
  open_all();
  EXPECT_EQ(sessions_of("data"), 4U);
}

TEST_F(ParallelFileTest, External32IsBigEndianInTheFile) {
  start_ranks(2);
  open_all();
  for (const Status& status : on_files([this](ParallelFile& file) {
         FileView view;
         view.etype_size = 4;
         view.filetype = FlatType::bytes(4);
         return set_view(file, view, Representation::external32);
       })) {
    EXPECT_TRUE(status.ok());
  }
  std::vector<std::uint32_t> numbers = {0x61626364, 0x65666768};
  const auto written = on_all<Result<Bytes>>([&](std::size_t i) {
    ParallelTransfer transfer;
    transfer.write = transfer.collective = true;
    transfer.offset = static_cast<std::int64_t>(i);
    transfer.base = reinterpret_cast<std::byte*>(&numbers[i]);
    transfer.type = FlatType::bytes(4);
    transfer.count = 1;
    return ranks_[i].file->transfer(std::move(transfer));
  });
  for (const auto& each : written) EXPECT_EQ(*each, 4_B);
  EXPECT_EQ(content(), "abcdefgh");
}

TEST_F(ParallelFileTest, HintsOfRankZeroCountForAll) {
  start_ranks(2);
  open_all();
  std::size_t at = 0;
  std::vector<HintReport> reports(2);
  const std::vector<HintList> lists = {{{"cb_nodes", "2"}, {"cb_buffer_size", "x"}}, {{"cb_nodes", "7"}}};
  on_files([&](ParallelFile& file) {
    const std::size_t i = at++;
    return file.change_hints(lists[i], reports[i]);
  });
  EXPECT_EQ(reports[1].refused.size(), 1U);
  for (const Rank& rank : ranks_) {
    const HintList used = rank.file->hints();
    EXPECT_NE(std::find(used.begin(), used.end(), std::pair<std::string, std::string>("cb_nodes", "2")),
              used.end());
  }
}

TEST(Opening, IsReadAsItWasToldAndNotFromLess) {
  Opening told;
  told.counter_key = 7;
  told.position = -1;
  told.shared = std::string("a\0b", 3);
  const std::string bytes = encode_opening(told);
  const auto read = decode_opening(bytes);
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->status.ok());
  EXPECT_EQ(read->counter_key, 7U);
  EXPECT_EQ(read->position, -1);
  EXPECT_EQ(read->shared, told.shared);
  told.status = Status(Code::exists, "there is one");
  const std::string failed = encode_opening(told);
  EXPECT_EQ(decode_opening(failed)->status.code(), Code::exists);
  EXPECT_EQ(decode_opening(failed)->status.message(), "there is one");
  EXPECT_EQ(decode_opening(std::string_view(failed).substr(0, 10)).code(), Code::malformed);
  EXPECT_EQ(decode_opening(std::string_view(failed).substr(0, failed.size() - 5)).code(), Code::malformed);
}

}  // namespace
}  // namespace tutti
