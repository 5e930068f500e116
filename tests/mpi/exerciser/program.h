// Program: what all ranks do, step by step, and what must come of it. A seed decides everything; every rank makes the
// same program for itself.
//
// Programs are right by MPI's rules, and what they read is certain: where a step could meet another rank's bytes, or
// bytes that are still under way, the program first waits, syncs and has all ranks meet. Else nothing is awaited: several
// transfers, of several kinds and through different views, are under way at once. With the shared file pointer, where the
// order of ranks is chance, all write the same bytes.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shape.h"

namespace exerciser {

using Byte = unsigned char;
inline constexpr int kUnknown = -1;  // of a byte that may be anything

struct View {
  Offset displacement = 0;
  Offset etype = 1;  // an element of so many bytes
  Shape filetype;
  Map map;  // of the filetype
  // Where a byte of the view's data is in the file.
  [[nodiscard]] Offset place(Offset data) const { return displacement + map.at(data); }
};

enum class Pointer { given, individual, shared };
enum class Call { blocking, started, split };

// What one rank moves.
struct Part {
  bool there = true;  // only of an independent transfer may a rank keep out
  Offset offset = 0;  // in etypes, Pointer::given
  Shape type;         // of the memory
  Offset count = 0;
  std::vector<Byte> data;              // to be written
  std::vector<std::vector<int>> seen;  // to be read: one of these
  Offset bytes = 0;                    // that the status tells of
};

struct Step {
  enum class Kind {
    open,
    close,
    set_view,
    set_atomicity,
    set_size,
    preallocate,
    sync,
    meet,
    inspect,
    seek,
    seek_shared,
    positions,
    transfer,
    wait,
    end,
  };
  enum class Wait { one_by_one, all, any, some, test_all, test_each };
  Kind kind = Kind::meet;
  int file = 0;
  bool flag = false;                                       // open: create it; set_atomicity: on
  Offset number = 0;                                       // a size, or an offset in etypes
  int whence = 0;                                          // of a seek: 0 set, 1 current, 2 end
  std::vector<std::pair<std::string, std::string>> hints;  // open
  std::vector<View> views;                                 // by rank
  std::vector<Offset> numbers;  // by rank: seek; positions: what is expected of the individual pointers
  Offset shared = 0;            // positions: of the shared pointer, -1 if it is not certain
  std::vector<Byte> content;    // inspect; its length is expected of positions, too
  // Transfers.
  bool write = false;
  bool collective = false;
  Pointer pointer = Pointer::given;
  Call call = Call::blocking;
  std::vector<Part> parts;
  int ticket = 0;  // of a transfer that was started; end: of what was begun
  // wait
  Wait how = Wait::all;
  std::vector<std::vector<int>> tickets;  // by rank, in the order of waiting
};

struct Program {
  std::uint64_t seed = 0;
  int ranks = 1;
  int files = 1;
  std::vector<Step> steps;
};

// `most_ranks` bounds the number of ranks; the rest of the program depends on what it comes to.
Program make_program(std::uint64_t seed, int most_ranks);
// "12: iwrite_at_all on file 1", for messages.
std::string describe(const Program& program, std::size_t step);

}  // namespace exerciser
