// Simulated ranks of one program that share a file, and what they read and write of it.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "env/combine.h"
#include "lab/sim/sim_group.h"
#include "parallel/collective.h"
#include "tests/client/cluster_fixture.h"
#include "tests/layout/naive_type.h"

namespace tutti {

// One rank of a program: its client, its handle of the common file, and what it reads or writes.
struct Rank {
  std::unique_ptr<SimClient> client;
  std::unique_ptr<SimGroup> group;
  std::unique_ptr<OpenFile> file;
  CallHabit habit;
  FileView view;
  NaiveType filetype;
  TypePair memory_type;
  std::int64_t count = 0;
  std::int64_t data_offset = 0;
  std::vector<std::byte> memory;
  std::int64_t base = 0;  // where the buffer's address is in `memory`

  [[nodiscard]] FileAccess access() {
    FileAccess made;
    made.base = memory.data() + base;
    made.type = memory_type.flat;
    made.count = count;
    made.view = &view;
    if (!view.contiguous() && view.validate(false).ok()) made.declared = file->declare(view);
    made.data_offset = data_offset;
    made.habit = &habit;
    return made;
  }
  [[nodiscard]] std::int64_t bytes() const { return memory_type.flat.size() * count; }
  [[nodiscard]] std::size_t file_place(std::int64_t i) const {
    return static_cast<std::size_t>(view.displacement + filetype.at(data_offset + i));
  }
  std::byte& memory_byte(std::int64_t i) {
    return memory[static_cast<std::size_t>(base + memory_type.naive.at(i))];
  }
};

class CollectiveTest : public ClusterTest {
 protected:
  void start_ranks(std::size_t count, SimClusterOptions options = {}, ClientOptions client_options = {},
                   LayoutWish layout = {}) {
    options.client_nodes = 3;
    start(options);
    std::vector<std::uint32_t> nodes;
    for (std::size_t rank = 0; rank < count; ++rank) nodes.push_back(static_cast<std::uint32_t>(rank % 3));
    auto groups = SimGroup::create_all(*cluster_, nodes, "app");
    ASSERT_TRUE(groups.ok());
    reference_ = open("/f", layout);
    for (std::size_t i = 0; i < count; ++i) {
      Rank rank;
      Peer peer;
      peer.name = "rank";
      rank.client = cluster_->make_client(nodes[i], peer, client_options);
      rank.group = std::move((*groups)[i]);
      OpenOptions how;
      how.write = true;
      auto file = run(rank.client->files().open("/f", how));
      ASSERT_TRUE(file.ok());
      rank.file = std::move(*file);
      ranks_.push_back(std::move(rank));
    }
  }
  void TearDown() override {
    for (Rank& rank : ranks_) rank.group.reset();
    ranks_.clear();
    reference_.reset();
    client_.reset();
  }

  // Everybody reads or writes; the results by rank.
  std::vector<Status> write_all(const CollectiveOptions& options) {
    std::vector<Task<Status>> tasks;
    for (Rank& rank : ranks_) {
      tasks.push_back(plan_ ? write_collective(*rank.group, *rank.file, rank.access(), options, *plan_)
                            : write_collective(*rank.group, *rank.file, rank.access(), options));
    }
    return run(when_all(std::move(tasks)));
  }
  std::vector<Result<Bytes>> read_all(const CollectiveOptions& options) {
    std::vector<Task<Result<Bytes>>> tasks;
    for (Rank& rank : ranks_) {
      tasks.push_back(plan_ ? read_collective(*rank.group, *rank.file, rank.access(), options, *plan_)
                            : read_collective(*rank.group, *rank.file, rank.access(), options));
    }
    return run(when_all(std::move(tasks)));
  }
  std::vector<std::byte> whole_file() {
    const auto size = run(reference_->size());
    std::vector<std::byte> bytes(size->count());
    EXPECT_TRUE(run(reference_->read(0_B, bytes)).ok());
    return bytes;
  }

  // Gives each rank a random view, memory type and amount. Ranks lie in each other's holes: the filetype of
  // all is one random type, `ranks` times as wide, shifted by rank.
  void draw(RandomTypes& types, bool overlapping) {
    RandomTypes memory_types{types.random.fork(), false};
    const TypePair cell = types.make_for_file(1 + static_cast<int>(types.random.below(3)));
    const auto ranks = static_cast<std::int64_t>(ranks_.size());
    for (std::int64_t i = 0; i < ranks; ++i) {
      Rank& rank = ranks_[static_cast<std::size_t>(i)];
      const std::int64_t shift = overlapping ? 0 : i * cell.naive.extent();
      rank.filetype = cell.naive;
      for (std::int64_t& place : rank.filetype.places) place += shift;
      rank.filetype.lb = 0;
      rank.filetype.ub = cell.naive.extent() * ranks;
      rank.view = {7, 1, FlatType::resized(0, rank.filetype.ub, FlatType::shifted(shift, cell.flat))};
      ASSERT_TRUE(rank.view.validate(true).ok());
      rank.memory_type = memory_types.make(static_cast<int>(types.random.below(3)));
      // Memory that overlaps itself cannot be read into.
      while (!rank.memory_type.flat.tiles_ascending()) rank.memory_type = memory_types.make(1);
      rank.count = types.below(60);
      rank.data_offset = types.below(200);
      const std::int64_t reach = rank.memory_type.naive.extent() * (rank.count + 1);
      rank.base = std::max<std::int64_t>(0, -rank.memory_type.flat.true_lb());
      rank.memory = random_bytes(static_cast<std::size_t>(rank.base + reach + 2000), types.random.next());
    }
  }

  void put_into(std::vector<std::byte>& model) {
    for (Rank& rank : ranks_) {
      for (std::int64_t i = 0; i < rank.bytes(); ++i) {
        const std::size_t place = rank.file_place(i);
        if (model.size() <= place) model.resize(place + 1);
        model[place] = rank.memory_byte(i);
      }
    }
  }

  // Random accesses of all ranks: what the file holds then, and what they read of it, short reads included.
  void compare_with_a_flat_file(CollectiveOptions options) {
    RandomTypes types{Random(ranks_.size() * 31), true};
    std::vector<std::byte> model;
    for (int round = 0; round < 25; ++round) {
      SCOPED_TRACE(round);
      options.cb_nodes = static_cast<int>(types.random.below(4));
      options.ds_read = static_cast<Toggle>(types.random.below(3));
      options.ds_write = static_cast<Toggle>(types.random.below(3));
      draw(types, false);
      for (const Status& status : write_all(options)) ASSERT_TRUE(status.ok()) << status.to_string();
      put_into(model);
      ASSERT_EQ(whole_file(), model);

      // Others read what was written, and past the end.
      draw(types, types.random.chance(0.5));
      for (Rank& rank : ranks_) std::fill(rank.memory.begin(), rank.memory.end(), std::byte{0xee});
      const auto got = read_all(options);
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        SCOPED_TRACE(r);
        Rank& rank = ranks_[r];
        ASSERT_TRUE(got[r].ok()) << got[r].status().to_string();
        std::int64_t expected = 0;
        for (std::int64_t i = 0; i < rank.bytes(); ++i) {
          if (rank.file_place(i) < model.size()) expected = i + 1;
        }
        ASSERT_EQ(got[r]->count(), static_cast<std::uint64_t>(expected));
        for (std::int64_t i = 0; i < expected; ++i)
          ASSERT_EQ(rank.memory_byte(i), model[rank.file_place(i)]) << i;
        std::vector<bool> ours(rank.memory.size());
        for (std::int64_t i = 0; i < rank.bytes(); ++i)
          ours[static_cast<std::size_t>(rank.base + rank.memory_type.naive.at(i))] = true;
        for (std::size_t i = 0; i < ours.size(); ++i) {
          if (!ours[i]) {
            ASSERT_EQ(rank.memory[i], std::byte{0xee}) << "memory between the type's bytes at " << i;
          }
        }
      }
    }
  }

  std::vector<Rank> ranks_;
  std::unique_ptr<OpenFile> reference_;
  const CollectivePlan* plan_ = nullptr;  // instead of the one that options name
};

inline CollectiveOptions options_for(const char* plan) {
  CollectiveOptions options;
  options.plan = plan;
  options.cb_buffer_size = 700_B;
  options.ind_rd_buffer_size = 300_B;
  options.ind_wr_buffer_size = 300_B;
  return options;
}

// Each rank every n-th block of the file.
inline void stride(std::vector<Rank>& ranks, std::int64_t block, std::int64_t blocks) {
  const auto count = static_cast<std::int64_t>(ranks.size());
  for (std::int64_t i = 0; i < count; ++i) {
    Rank& rank = ranks[static_cast<std::size_t>(i)];
    rank.view.displacement = i * block;
    rank.view.filetype = FlatType::resized(0, block * count, FlatType::contiguous(block, FlatType::bytes(1)));
    rank.memory_type.flat = FlatType::bytes(1);
    rank.count = block * blocks;
    rank.memory = random_bytes(static_cast<std::size_t>(block * blocks), static_cast<std::uint64_t>(i));
  }
}

inline std::vector<std::byte> strided_file(const std::vector<Rank>& ranks, std::size_t block,
                                           std::size_t blocks) {
  std::vector<std::byte> file;
  for (std::size_t i = 0; i < blocks; ++i) {
    for (const Rank& rank : ranks) {
      file.insert(file.end(), rank.memory.begin() + static_cast<std::ptrdiff_t>(i * block),
                  rank.memory.begin() + static_cast<std::ptrdiff_t>((i + 1) * block));
    }
  }
  return file;
}

}  // namespace tutti
