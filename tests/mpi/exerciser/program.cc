#include "program.h"

#include <algorithm>
#include <array>

namespace exerciser {
namespace {

constexpr Offset kLongest = 48'000;  // no byte of a file lies behind this

constexpr int kAll = -1;  // of a touch: any rank

// Which bytes of a file a rank touches, since all ranks last met.
struct Touch {
  int rank = 0;
  bool write = false;
  bool under_way = false;
  int ticket = 0;
  bool reads_length = false;    // what comes of it depends on where the file ends
  bool changes_length = false;  // it moves the end, which was here:
  std::size_t length = 0;
  std::vector<bool> bytes;
};

struct File {
  bool open = false;
  bool made = false;
  bool atomic = false;
  std::vector<Byte> content;
  std::vector<View> views;         // by rank
  std::vector<Offset> individual;  // by rank, in etypes
  Offset shared = 0;
  bool shared_uncertain = false;  // ranks may still be moving it, each for itself
  std::vector<Touch> touches;
  int split = 0;               // ticket of what was begun and not ended
  std::vector<int> under_way;  // tickets
};

View whole_file() {
  View view;
  view.map = map_of(view.filetype);
  return view;
}

class Maker {
 public:
  Maker(std::uint64_t seed, int most_ranks) : dice_(seed * 0x2545f4914f6cdd1dU + 99) {
    program_.seed = seed;
    program_.ranks = static_cast<int>(dice_.between(1, most_ranks));
    program_.files = static_cast<int>(dice_.between(1, 3));
    files_.resize(static_cast<std::size_t>(program_.files));
  }

  Program make() {
    const Offset steps = dice_.between(15, 45);
    for (Offset i = 0; i < steps; ++i) act();
    for (int file = 0; file < program_.files; ++file) {
      if (!files_[static_cast<std::size_t>(file)].open) continue;
      quiesce(file);
      inspect(file);
      add(Step::Kind::close, file);
    }
    return std::move(program_);
  }

 private:
  [[nodiscard]] int ranks() const { return program_.ranks; }
  File& at(int file) { return files_[static_cast<std::size_t>(file)]; }
  Step& add(Step::Kind kind, int file) {
    Step step;
    step.kind = kind;
    step.file = file;
    program_.steps.push_back(std::move(step));
    return program_.steps.back();
  }

  void act() {
    const int file = static_cast<int>(dice_.below(program_.files));
    if (!at(file).open) return open(file);
    switch (dice_.below(20)) {
      case 0:
      case 1:
      case 2:
        return set_view(file);
      case 3:
        return seek(file);
      case 4:
        return seek_shared(file);
      case 5:
        return resize(file);
      case 6:
        return wait_for_some(file);
      case 7:
        return positions(file);
      case 8:
        if (dice_.chance(30)) return atomicity(file);
        return transfer(file);
      case 9:
        if (!dice_.chance(40)) return transfer(file);
        quiesce(file);
        inspect(file);
        if (dice_.chance(50)) {
          add(Step::Kind::close, file);
          at(file).open = false;
        }
        return;
      default:
        return transfer(file);
    }
  }

  void open(int file) {
    File& state = at(file);
    Step& step = add(Step::Kind::open, file);
    step.flag = !state.made;
    const auto hint = [&](const char* key, std::vector<std::string> values) {
      if (dice_.chance(50)) return;
      step.hints.emplace_back(
          key, values[static_cast<std::size_t>(dice_.below(static_cast<Offset>(values.size())))]);
    };
    if (!state.made) {
      hint("striping_unit", {"512", "4096", "65536"});
      hint("striping_factor", {"1", "2", "-1"});
    }
    hint("romio_cb_write", {"enable", "disable", "automatic"});
    hint("romio_cb_read", {"enable", "disable", "automatic"});
    hint("romio_ds_write", {"enable", "disable", "automatic"});
    hint("romio_ds_read", {"enable", "disable", "automatic"});
    hint("cb_nodes", {"1", "2", "3"});
    hint("cb_buffer_size", {"1000", "4096", "100000"});
    hint("ind_wr_buffer_size", {"500", "5000"});
    hint("ind_rd_buffer_size", {"500", "5000"});
    hint("tutti_views", {"enable", "disable", "automatic"});
    hint("tutti_collective", {"two_phase", "two_phase;domains=cyclic", "disk_directed", "resonant",
                              "resonant;timing=never;agents=2", "resonant;reading=reread;blocking=1",
                              "resonant;reading=prefetch;timing=never"});
    state.open = state.made = true;
    state.atomic = false;
    state.shared = 0;
    state.shared_uncertain = false;
    state.views.assign(static_cast<std::size_t>(ranks()), whole_file());
    state.individual.assign(static_cast<std::size_t>(ranks()), 0);
    state.touches.clear();
  }

  // ---- waiting ----

  void end_split(int file) {
    File& state = at(file);
    if (state.split == 0) return;
    add(Step::Kind::end, file).ticket = state.split;
    settle(state, state.split);
    state.split = 0;
  }

  static void settle(File& state, int ticket) {
    for (Touch& touch : state.touches) {
      if (touch.ticket == ticket) touch.under_way = false;
    }
  }

  // All ranks wait for these, each in an order of its own.
  void wait_for(int file, const std::vector<int>& tickets) {
    if (tickets.empty()) return;
    File& state = at(file);
    Step& step = add(Step::Kind::wait, file);
    constexpr std::array<Step::Wait, 6> kWays = {Step::Wait::one_by_one, Step::Wait::all,
                                                 Step::Wait::any,        Step::Wait::some,
                                                 Step::Wait::test_all,   Step::Wait::test_each};
    step.how = kWays[static_cast<std::size_t>(dice_.below(kWays.size()))];
    for (int rank = 0; rank < ranks(); ++rank) {
      std::vector<int> order = tickets;
      for (std::size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[static_cast<std::size_t>(dice_.below(static_cast<Offset>(i)))]);
      step.tickets.push_back(std::move(order));
    }
    for (const int ticket : tickets) {
      settle(state, ticket);
      state.under_way.erase(std::find(state.under_way.begin(), state.under_way.end(), ticket));
    }
  }

  void wait_for_some(int file) {
    std::vector<int> tickets;
    for (const int each : at(file).under_way) {
      if (dice_.chance(50)) tickets.push_back(each);
    }
    wait_for(file, tickets);
  }

  void finish_transfers(int file) {
    end_split(file);
    const std::vector<int> all = at(file).under_way;
    wait_for(file, all);
  }

  // Nothing is under way and everybody sees what anybody wrote.
  void quiesce(int file) {
    finish_transfers(file);
    add(Step::Kind::sync, file);
    add(Step::Kind::meet, file);
    at(file).touches.clear();
    at(file).shared_uncertain = false;
  }

  void inspect(int file) {
    Step& step = add(Step::Kind::inspect, file);
    step.number = dice_.below(ranks());  // who looks
    step.content = at(file).content;
    add(Step::Kind::meet, file);
  }

  // ---- views and pointers ----

  void set_view(int file) {
    File& state = at(file);
    if (state.shared_uncertain) quiesce(file);
    end_split(file);  // a split call must be ended by what it was begun with, and programs do not mix them
    Step& step = add(Step::Kind::set_view, file);
    constexpr std::array<Offset, 3> kElements = {1, 4, 8};
    const Offset unit = kElements[static_cast<std::size_t>(dice_.below(3))];
    const int depth = static_cast<int>(dice_.below(4));
    const Offset way = dice_.below(10);
    const Shape cell = random_shape(dice_, depth, unit, true);
    for (int rank = 0; rank < ranks(); ++rank) {
      View view;
      view.etype = unit;
      view.displacement = dice_.chance(50) ? 0 : dice_.below(300);
      if (way < 4) {
        view.filetype = interleaved(cell, rank);  // ranks lie in each other's holes
        view.displacement = step.views.empty() ? view.displacement : step.views[0].displacement;
      } else if (way < 6) {
        view.filetype = cell;  // all see the same
      } else if (way < 7) {
        view.filetype = woven(unit);
      } else if (way < 8 && dice_.chance(30)) {
        view.filetype = indexed({0}, {0}, element(unit));  // no byte
      } else {
        view.filetype = random_shape(dice_, static_cast<int>(dice_.below(4)), unit, true);
        view.displacement = rank * dice_.between(0, 3000);
      }
      view.map = map_of(view.filetype);
      step.views.push_back(std::move(view));
    }
    state.views = step.views;
    state.individual.assign(state.individual.size(), 0);
    state.shared = 0;
  }

  Shape interleaved(const Shape& cell, int rank) {
    const Map map = map_of(cell);
    const Offset room = map.high;
    return resized(0, room * ranks(), indexed({1}, {rank * room}, cell));
  }

  // Larger than its extent: the next repetition lies in the holes of this one.
  Shape woven(Offset unit) {
    Shape shape;
    shape.kind = Shape::Kind::vector;
    shape.count = dice_.between(2, 5);
    shape.stride = unit * dice_.between(2, 20);
    shape.parts.push_back(element(unit));
    return resized(0, unit, std::move(shape));
  }

  void seek(int file) {
    File& state = at(file);
    const int whence = static_cast<int>(dice_.below(3));
    if (whence == 2) quiesce(file);
    Step& step = add(Step::Kind::seek, file);
    step.whence = whence;
    for (std::size_t rank = 0; rank < state.views.size(); ++rank) {
      Offset& position = state.individual[rank];
      const Offset base = whence == 0 ? 0 : (whence == 1 ? position : end_of(state, rank));
      const Offset target = dice_.below(200);
      step.numbers.push_back(target - base);
      position = target;
    }
    if (whence == 2) touch_length(state);
  }

  // A rank may be slow to look where the file ends: who moves the end must let it.
  static void touch_length(File& state) {
    Touch touch;
    touch.rank = kAll;
    touch.reads_length = true;
    state.touches.push_back(std::move(touch));
  }

  void seek_shared(int file) {
    File& state = at(file);
    const int whence = static_cast<int>(dice_.below(3));
    if (whence == 2 || state.shared_uncertain) quiesce(file);
    Step& step = add(Step::Kind::seek_shared, file);
    step.whence = whence;
    // The end is where rank 0 sees it.
    const Offset base = whence == 0 ? 0 : (whence == 1 ? state.shared : end_of(state, 0));
    const Offset target = dice_.below(200);
    step.number = target - base;
    state.shared = target;
  }

  // The end of the file in etypes of a rank's view: the first that begins behind it, wherever those after that begin.
  static Offset end_of(const File& state, std::size_t rank) {
    const View& view = state.views[rank];
    const auto length = static_cast<Offset>(state.content.size());
    if (view.map.size() == 0) return 0;
    Offset end = 0;
    while (view.place(end * view.etype) < length) ++end;
    return end;
  }

  void positions(int file) {
    File& state = at(file);
    if (state.shared_uncertain || dice_.chance(30)) quiesce(file);
    Step& step = add(Step::Kind::positions, file);
    step.numbers = state.individual;
    step.shared = state.shared;
    // The length is certain only if nobody is moving the end.
    const bool certain = std::none_of(state.touches.begin(), state.touches.end(),
                                      [](const Touch& touch) { return touch.changes_length; });
    step.flag = certain;
    step.number = static_cast<Offset>(state.content.size());
    if (certain) touch_length(state);
    state.shared_uncertain = true;  // a rank may be slow to read it: who moves it next must let it
  }

  void resize(int file) {
    quiesce(file);
    File& state = at(file);
    Step& step = add(dice_.chance(70) ? Step::Kind::set_size : Step::Kind::preallocate, file);
    step.number = dice_.below(9000);
    const auto size = static_cast<std::size_t>(step.number);
    if (step.kind == Step::Kind::set_size || size > state.content.size()) state.content.resize(size);
    add(Step::Kind::meet, file);
  }

  void atomicity(int file) {
    finish_transfers(file);
    at(file).atomic = !at(file).atomic;
    add(Step::Kind::set_atomicity, file).flag = at(file).atomic;
  }

  // ---- transfers ----

  void transfer(int file);
  Part draw_part(const File& state, const Step& step, int rank, Offset etypes);
  void place_part(File& state, Step& step, int rank, Part& part, Offset first);
  void expect(const File& state, const View& view, Part& part, Offset first, Touch& touch);
  bool collides(const File& state, const Touch& touch) const;

  Dice dice_;
  Program program_;
  std::vector<File> files_;
  int tickets_ = 0;
};

bool overlap(const std::vector<bool>& a, const std::vector<bool>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] && b[i]) return true;
  }
  return false;
}

// Whether what was touched since all met makes it uncertain what comes of this.
bool Maker::collides(const File& state, const Touch& touch) const {
  return std::any_of(state.touches.begin(), state.touches.end(), [&](const Touch& other) {
    if (other.rank == touch.rank && touch.rank != kAll && !other.under_way) return false;
    if ((other.reads_length && touch.changes_length) || (other.changes_length && touch.reads_length))
      return true;
    // Between the old end and the new one are bytes only when the other has written.
    if (other.changes_length && !touch.write && touch.bytes.size() > other.length) return true;
    return (other.write || touch.write) && overlap(other.bytes, touch.bytes);
  });
}

// Memory for a whole number of etypes.
Part Maker::draw_part(const File& state, const Step& step, int rank, Offset etypes) {
  const View& view = state.views[static_cast<std::size_t>(rank)];
  Part part;
  if (view.map.size() == 0) etypes = 0;
  if (step.pointer == Pointer::given) part.offset = view.map.size() == 0 ? 0 : dice_.below(400);
  part.type = random_shape(dice_, static_cast<int>(dice_.below(3)), view.etype, false);
  const Offset size = map_of(part.type).size();
  part.count = std::max<Offset>(etypes > 0 ? 1 : 0, etypes * view.etype / std::max<Offset>(size, 1));
  if (size == 0 || dice_.chance(8)) part.count = 0;
  return part;
}

// What is read of a rank's part, and how much, if the file stays as it is.
void Maker::expect(const File& state, const View& view, Part& part, Offset first, Touch& touch) {
  const Offset bytes = map_of(part.type).size() * part.count;
  std::vector<int> seen;
  const auto length = static_cast<Offset>(state.content.size());
  Offset last = 0;
  for (Offset i = 0; i < bytes; ++i) {
    const Offset place = view.place(first + i);
    seen.push_back(place < length ? state.content[static_cast<std::size_t>(place)] : kUnknown);
    if (place < length) last = i + 1;
  }
  seen.resize(static_cast<std::size_t>(last));
  part.bytes = last;
  part.seen.push_back(std::move(seen));
  touch.reads_length = touch.reads_length || last < bytes;
}

// Bytes and touch of one rank's part, which begins at this byte of its view's data.
void Maker::place_part(File& state, Step& step, int rank, Part& part, Offset first) {
  const View& view = state.views[static_cast<std::size_t>(rank)];
  const Offset bytes = map_of(part.type).size() * part.count;
  Touch touch;
  touch.rank = rank;
  touch.write = step.write;
  touch.under_way = step.call != Call::blocking;
  touch.ticket = step.ticket;
  for (Offset i = 0; i < bytes; ++i) {
    const auto place = static_cast<std::size_t>(view.place(first + i));
    if (touch.bytes.size() <= place) touch.bytes.resize(place + 1);
    touch.bytes[place] = true;
  }
  if (step.write) {
    part.bytes = bytes;
    touch.changes_length = touch.bytes.size() > state.content.size();
    touch.length = state.content.size();
  } else {
    expect(state, view, part, first, touch);
  }
  state.touches.push_back(std::move(touch));
}

void Maker::transfer(int file) {
  File& state = at(file);
  Step step;
  step.kind = Step::Kind::transfer;
  step.file = file;
  step.write = dice_.chance(60);
  step.collective = dice_.chance(55);
  step.pointer =
      dice_.chance(50) ? Pointer::given : (dice_.chance(60) ? Pointer::individual : Pointer::shared);
  if (dice_.chance(45)) step.call = Call::started;
  if (step.collective && dice_.chance(20)) step.call = Call::split;
  // MPI has no non-blocking ordered calls.
  if (step.collective && step.pointer == Pointer::shared && step.call == Call::started)
    step.call = Call::blocking;
  if (state.split != 0 && (step.collective || step.call == Call::split)) end_split(file);
  if (step.pointer == Pointer::shared && state.shared_uncertain) quiesce(file);

  const bool chance = step.pointer == Pointer::shared && !step.collective;  // the order of ranks is
  const Offset etypes = dice_.chance(85) ? dice_.between(1, 120) : dice_.between(1, 1200);
  step.ticket = ++tickets_;
  std::vector<Part> parts;
  std::vector<Offset> firsts;
  Offset shared = state.shared;
  if (chance) {
    // All alike, so that it does not matter who comes first: then they must see alike, too.
    const View& first = state.views[0];
    const bool alike = std::all_of(state.views.begin(), state.views.end(), [&](const View& view) {
      return view.displacement == first.displacement && view.map.places == first.map.places &&
             view.map.extent() == first.map.extent() && view.etype == first.etype;
    });
    if (!alike || first.map.size() == 0) return;
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    const View& view = state.views[static_cast<std::size_t>(rank)];
    Part part = chance && rank > 0 ? parts[0] : draw_part(state, step, rank, etypes);
    if (!step.collective && !chance && dice_.chance(25)) part.there = false, part.count = 0;
    Offset bytes = map_of(part.type).size() * part.count;
    Offset begin = part.offset;
    if (step.pointer == Pointer::individual) begin = state.individual[static_cast<std::size_t>(rank)];
    if (step.pointer == Pointer::shared) begin = shared;
    Offset far = view.displacement;
    for (Offset i = 0; i < bytes; ++i) far = std::max(far, view.place(begin * view.etype + i));
    if (far > kLongest) part.count = 0, bytes = 0;
    if (step.pointer == Pointer::shared) shared += bytes / view.etype;
    firsts.push_back(begin * view.etype);
    parts.push_back(std::move(part));
  }
  if (chance && parts.back().count != parts.front().count) return;  // some would reach too far

  // A rank whose bytes meet those of another in this step keeps out of it, and so does one that would write a byte twice.
  std::vector<Touch> touches;
  for (int attempt = 0; attempt < 2; ++attempt) {
    File trial = state;
    trial.touches.clear();
    Step draft = step;
    for (int rank = 0; rank < ranks(); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      Part copy = parts[r];
      draft.call = Call::started;
      place_part(trial, draft, rank, copy, firsts[r]);
      Touch mine = std::move(trial.touches.back());
      trial.touches.pop_back();
      const Offset bytes = map_of(parts[r].type).size() * parts[r].count;
      const auto distinct = static_cast<Offset>(std::count(mine.bytes.begin(), mine.bytes.end(), true));
      const bool twice = step.write && distinct < bytes;
      if (parts[r].count > 0 && (twice || collides(trial, mine))) {
        // With the shared pointer the others would stand elsewhere.
        if (step.pointer == Pointer::shared) return;
        parts[r].count = 0;
        mine.bytes.clear();
        mine.reads_length = mine.changes_length = false;
      }
      mine.under_way = step.call != Call::blocking;
      if (chance) mine.rank = kAll;  // each may come to the place of any
      trial.touches.push_back(std::move(mine));
    }
    touches = trial.touches;
    const bool clear = std::none_of(touches.begin(), touches.end(),
                                    [&](const Touch& touch) { return collides(state, touch); });
    if (clear) break;
    quiesce(file);
    touches.clear();
  }

  // Now it is certain what comes of it.
  state.touches.insert(state.touches.end(), touches.begin(), touches.end());
  const File before = state;
  std::vector<std::vector<int>> alternatives;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const View& view = state.views[r];
    Part& part = parts[r];
    const Offset bytes = map_of(part.type).size() * part.count;
    if (step.write) {
      part.bytes = bytes;
      for (Offset i = 0; i < bytes; ++i) {
        part.data.push_back(chance && rank > 0 ? parts[0].data[static_cast<std::size_t>(i)]
                                               : static_cast<Byte>(dice_.below(256)));
        const auto place = static_cast<std::size_t>(view.place(firsts[r] + i));
        if (state.content.size() <= place) state.content.resize(place + 1);
        state.content[place] = part.data.back();
      }
    } else {
      Touch unused;
      expect(before, view, part, firsts[r], unused);
      alternatives.push_back(part.seen[0]);
    }
    if (step.pointer == Pointer::individual) state.individual[r] += bytes / view.etype;
  }
  if (step.pointer == Pointer::shared) {
    state.shared = shared;
    state.shared_uncertain = state.shared_uncertain || chance;
    if (chance && !step.write) {
      // Any rank may have come to any place; at the end of the file not even the number of bytes is certain.
      const bool whole = std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
        return part.bytes == map_of(part.type).size() * part.count;
      });
      if (!whole) {
        program_.steps.push_back(Step{});  // nothing is read: all meet instead
        state = before;
        state.touches.resize(state.touches.size() - touches.size());
        program_.steps.back().file = file;
        return;
      }
      for (Part& part : parts) part.seen = alternatives;
    }
  }
  if (step.call == Call::started) state.under_way.push_back(step.ticket);
  if (step.call == Call::split) state.split = step.ticket;
  step.parts = std::move(parts);
  program_.steps.push_back(std::move(step));
}

std::string describe(const View& view) {
  return "from " + std::to_string(view.displacement) + ", etype " + std::to_string(view.etype) + ", " +
         describe(view.filetype);
}

}  // namespace

Program make_program(std::uint64_t seed, int most_ranks) { return Maker(seed, most_ranks).make(); }

std::string describe(const Program& program, std::size_t number) {
  constexpr std::array kKinds = {"open",        "close",     "set_view", "set_atomicity", "set_size",
                                 "preallocate", "sync",      "meet",     "inspect",       "seek",
                                 "seek_shared", "positions", "",         "wait",          "end"};
  const Step& step = program.steps[number];
  std::string text = std::to_string(number) + ": ";
  if (step.kind == Step::Kind::transfer) {
    if (step.call == Call::started) text += "i";
    text += step.write ? "write" : "read";
    if (step.pointer == Pointer::given) text += "_at";
    if (step.pointer == Pointer::shared) text += step.collective ? "_ordered" : "_shared";
    if (step.collective && step.pointer != Pointer::shared) text += "_all";
    if (step.call == Call::split) text += "_begin";
    text += " #" + std::to_string(step.ticket) + " (";
    for (const Part& part : step.parts) text += std::to_string(map_of(part.type).size() * part.count) + " ";
    text.back() = ')';
  } else {
    text += kKinds[static_cast<std::size_t>(step.kind)];
  }
  if (step.kind == Step::Kind::seek || step.kind == Step::Kind::seek_shared)
    text += step.whence == 0 ? " from the begin" : (step.whence == 1 ? " from here" : " from the end");
  text += " on file " + std::to_string(step.file);
  if (step.kind == Step::Kind::set_view) text += ": rank 0 " + describe(step.views[0]);
  for (const auto& [key, value] : step.hints) text += " " + key + "=" + value;
  if (step.kind == Step::Kind::wait) {
    text += " for";
    for (const int ticket : step.tickets[0]) text += " #" + std::to_string(ticket);
  }
  if (step.kind == Step::Kind::end) text += " #" + std::to_string(step.ticket);
  return text;
}

}  // namespace exerciser
