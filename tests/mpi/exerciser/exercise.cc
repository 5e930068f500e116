// Runs programs of the exerciser with MPI.
// usage: exercise PREFIX FIRST COUNT [STEPS]    seeds FIRST to FIRST + COUNT - 1; STEPS=1 tells each step
// Ends with 1 and says "seed N rank R step ..." if something is not as it must be.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "memory.h"

namespace exerciser {
namespace {

MPI_Datatype type_of(const Shape& shape) {
  MPI_Datatype made = MPI_DATATYPE_NULL;
  std::vector<MPI_Datatype> parts;
  std::vector<int> lengths(shape.lengths.begin(), shape.lengths.end());
  std::vector<MPI_Aint> displacements(shape.displacements.begin(), shape.displacements.end());
  for (const Shape& part : shape.parts) parts.push_back(type_of(part));
  switch (shape.kind) {
    case Shape::Kind::element:
      MPI_Type_dup(shape.size == 1 ? MPI_BYTE : (shape.size == 4 ? MPI_INT : MPI_DOUBLE), &made);
      break;
    case Shape::Kind::contiguous:
      MPI_Type_contiguous(static_cast<int>(shape.count), parts[0], &made);
      break;
    case Shape::Kind::vector:
      MPI_Type_create_hvector(static_cast<int>(shape.count), static_cast<int>(shape.block), shape.stride,
                              parts[0], &made);
      break;
    case Shape::Kind::indexed:
      MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), displacements.data(),
                               parts[0], &made);
      break;
    case Shape::Kind::structure:
      MPI_Type_create_struct(static_cast<int>(lengths.size()), lengths.data(), displacements.data(),
                             parts.data(), &made);
      break;
    case Shape::Kind::resized:
      MPI_Type_create_resized(parts[0], shape.low, shape.extent, &made);
      break;
  }
  for (MPI_Datatype& part : parts) MPI_Type_free(&part);
  return made;
}

// A datatype for the length of a call.
class Datatype {
 public:
  explicit Datatype(const Shape& shape) : type_(type_of(shape)) { MPI_Type_commit(&type_); }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;
  ~Datatype() { MPI_Type_free(&type_); }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

using At = int (*)(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);
using Plain = int (*)(MPI_File, void*, int, MPI_Datatype, MPI_Status*);
using StartAt = int (*)(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Request*);
using Start = int (*)(MPI_File, void*, int, MPI_Datatype, MPI_Request*);
using BeginAt = int (*)(MPI_File, MPI_Offset, void*, int, MPI_Datatype);
using Begin = int (*)(MPI_File, void*, int, MPI_Datatype);
using End = int (*)(MPI_File, void*, MPI_Status*);
// Writes take memory that they do not change.
template <typename To, typename From>
To cast(From function) {
  return reinterpret_cast<To>(function);
}

class Runner {
 public:
  Runner(const Program& program, MPI_Comm comm, std::string prefix)
      : program_(program),
        comm_(comm),
        prefix_(std::move(prefix)),
        files_(static_cast<std::size_t>(program.files)) {
    MPI_Comm_rank(comm, &rank_);
  }

  // Whether all is as it must be.
  bool run(bool tell) {
    for (number_ = 0; number_ < program_.steps.size() && good_; ++number_) {
      if (tell) std::fprintf(stderr, "rank %d %s\n", rank_, describe(program_, number_).c_str());
      step(program_.steps[number_]);
    }
    // One rank's trouble is everybody's; the others may stand in another call for ever.
    if (!good_) MPI_Abort(MPI_COMM_WORLD, 1);
    meet();
    for (int file = 0; rank_ == 0 && file < program_.files; ++file)
      MPI_File_delete(name(file).c_str(), MPI_INFO_NULL);
    return good_;
  }

 private:
  struct UnderWay {
    std::unique_ptr<Memory> memory;
    MPI_Request request = MPI_REQUEST_NULL;
    std::size_t step = 0;
  };
  struct File {
    MPI_File handle = MPI_FILE_NULL;
    std::map<int, UnderWay> under_way;  // by ticket
  };

  std::string name(int file) const {
    return prefix_ + "-" + std::to_string(program_.seed) + "-" + std::to_string(file);
  }
  void meet() { must(MPI_Barrier(comm_), "barrier"); }

  void wrong(const std::string& what, std::size_t step) {
    std::printf("seed %llu, %d ranks, rank %d, step %s: %s\n", static_cast<unsigned long long>(program_.seed),
                program_.ranks, rank_, describe(program_, step).c_str(), what.c_str());
    std::fflush(stdout);
    good_ = false;
  }
  void wrong(const std::string& what) { wrong(what, number_); }
  void must(int error, const char* what) {
    if (error == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    MPI_Error_string(error, text, &length);
    wrong(std::string(what) + ": " + text);
  }
  void equal(Offset found, Offset wanted, const char* what) {
    if (found != wanted)
      wrong(std::string(what) + " is " + std::to_string(found) + ", not " + std::to_string(wanted));
  }

  void step(const Step& step) {
    File& file = files_[static_cast<std::size_t>(step.file)];
    switch (step.kind) {
      case Step::Kind::open:
        return open(step, file);
      case Step::Kind::close:
        return must(MPI_File_close(&file.handle), "close");
      case Step::Kind::set_view: {
        const View& view = step.views[static_cast<std::size_t>(rank_)];
        const Datatype etype(element(view.etype));
        const Datatype filetype(view.filetype);
        return must(MPI_File_set_view(file.handle, view.displacement, etype.get(), filetype.get(), "native",
                                      MPI_INFO_NULL),
                    "set_view");
      }
      case Step::Kind::set_atomicity:
        return must(MPI_File_set_atomicity(file.handle, step.flag ? 1 : 0), "set_atomicity");
      case Step::Kind::set_size:
        return must(MPI_File_set_size(file.handle, step.number), "set_size");
      case Step::Kind::preallocate:
        return must(MPI_File_preallocate(file.handle, step.number), "preallocate");
      case Step::Kind::sync:
        return must(MPI_File_sync(file.handle), "sync");
      case Step::Kind::meet:
        return meet();
      case Step::Kind::inspect:
        return inspect(step);
      case Step::Kind::seek:
        return must(MPI_File_seek(file.handle, step.numbers[static_cast<std::size_t>(rank_)], whence(step)),
                    "seek");
      case Step::Kind::seek_shared:
        return must(MPI_File_seek_shared(file.handle, step.number, whence(step)), "seek_shared");
      case Step::Kind::positions:
        return positions(step, file);
      case Step::Kind::transfer:
        return transfer(step, file);
      case Step::Kind::wait:
        return wait(step, file);
      case Step::Kind::end:
        return end(step, file);
    }
  }

  static int whence(const Step& step) {
    return step.whence == 0 ? MPI_SEEK_SET : (step.whence == 1 ? MPI_SEEK_CUR : MPI_SEEK_END);
  }

  void open(const Step& step, File& file) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (const auto& [key, value] : step.hints) MPI_Info_set(info, key.c_str(), value.c_str());
    const int mode = MPI_MODE_RDWR | (step.flag ? MPI_MODE_CREATE | MPI_MODE_EXCL : 0);
    must(MPI_File_open(comm_, name(step.file).c_str(), mode, info, &file.handle), "open");
    MPI_Info_free(&info);
  }

  void inspect(const Step& step) {
    if (step.number != rank_) return;
    MPI_File file = MPI_FILE_NULL;
    MPI_Offset size = -1;
    std::vector<Byte> content(step.content.size() + 1);
    must(MPI_File_open(MPI_COMM_SELF, name(step.file).c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &file),
         "open alone");
    if (!good_) return;
    must(MPI_File_get_size(file, &size), "get_size");
    equal(size, static_cast<Offset>(step.content.size()), "the size");
    must(MPI_File_read_at(file, 0, content.data(), static_cast<int>(content.size()), MPI_BYTE,
                          MPI_STATUS_IGNORE),
         "read alone");
    must(MPI_File_close(&file), "close alone");
    for (std::size_t i = 0; i < step.content.size() && good_; ++i) {
      if (content[i] != step.content[i])
        wrong("byte " + std::to_string(i) + " of the file is " + std::to_string(content[i]) + ", not " +
              std::to_string(step.content[i]));
    }
  }

  void positions(const Step& step, File& file) {
    MPI_Offset found = -1;
    must(MPI_File_get_position(file.handle, &found), "get_position");
    equal(found, step.numbers[static_cast<std::size_t>(rank_)], "the individual pointer");
    must(MPI_File_get_position_shared(file.handle, &found), "get_position_shared");
    equal(found, step.shared, "the shared pointer");
    if (!step.flag) return;
    must(MPI_File_get_size(file.handle, &found), "get_size");
    equal(found, step.number, "the size");
  }

  void judge(UnderWay& under_way, const MPI_Status& status) {
    int bytes = -1;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    const std::string why = under_way.memory->judge(bytes);
    if (!why.empty()) wrong(why, under_way.step);
  }

  void transfer(const Step& step, File& file) {
    const Part& part = step.parts[static_cast<std::size_t>(rank_)];
    if (!part.there) return;
    UnderWay under_way;
    under_way.memory = std::make_unique<Memory>(part, step.write);
    under_way.step = number_;
    const Datatype type(part.type);
    MPI_Status status;
    switch (step.call) {
      case Call::blocking:
        must(move(step, file.handle, part, under_way.memory->address(), type.get(), &status), "move");
        if (good_) judge(under_way, status);
        return;
      case Call::started:
        must(start(step, file.handle, part, under_way.memory->address(), type.get(), &under_way.request),
             "start");
        break;
      case Call::split:
        must(begin(step, file.handle, part, under_way.memory->address(), type.get()), "begin");
        break;
    }
    file.under_way[step.ticket] = std::move(under_way);
  }

  static int move(const Step& step, MPI_File file, const Part& part, void* memory, MPI_Datatype type,
                  MPI_Status* status) {
    const auto count = static_cast<int>(part.count);
    if (step.pointer == Pointer::given) {
      const At function = step.collective
                              ? (step.write ? cast<At>(&MPI_File_write_at_all) : &MPI_File_read_at_all)
                              : (step.write ? cast<At>(&MPI_File_write_at) : &MPI_File_read_at);
      return function(file, part.offset, memory, count, type, status);
    }
    Plain function = nullptr;
    if (step.pointer == Pointer::individual) {
      function = step.collective ? (step.write ? cast<Plain>(&MPI_File_write_all) : &MPI_File_read_all)
                                 : (step.write ? cast<Plain>(&MPI_File_write) : &MPI_File_read);
    } else {
      function = step.collective
                     ? (step.write ? cast<Plain>(&MPI_File_write_ordered) : &MPI_File_read_ordered)
                     : (step.write ? cast<Plain>(&MPI_File_write_shared) : &MPI_File_read_shared);
    }
    return function(file, memory, count, type, status);
  }

  static int start(const Step& step, MPI_File file, const Part& part, void* memory, MPI_Datatype type,
                   MPI_Request* request) {
    const auto count = static_cast<int>(part.count);
    if (step.pointer == Pointer::given) {
      const StartAt function =
          step.collective ? (step.write ? cast<StartAt>(&MPI_File_iwrite_at_all) : &MPI_File_iread_at_all)
                          : (step.write ? cast<StartAt>(&MPI_File_iwrite_at) : &MPI_File_iread_at);
      return function(file, part.offset, memory, count, type, request);
    }
    Start function = nullptr;
    if (step.pointer == Pointer::individual) {
      function = step.collective ? (step.write ? cast<Start>(&MPI_File_iwrite_all) : &MPI_File_iread_all)
                                 : (step.write ? cast<Start>(&MPI_File_iwrite) : &MPI_File_iread);
    } else {
      function = step.write ? cast<Start>(&MPI_File_iwrite_shared) : &MPI_File_iread_shared;
    }
    return function(file, memory, count, type, request);
  }

  static int begin(const Step& step, MPI_File file, const Part& part, void* memory, MPI_Datatype type) {
    const auto count = static_cast<int>(part.count);
    if (step.pointer == Pointer::given) {
      const BeginAt function =
          step.write ? cast<BeginAt>(&MPI_File_write_at_all_begin) : &MPI_File_read_at_all_begin;
      return function(file, part.offset, memory, count, type);
    }
    const Begin function =
        step.pointer == Pointer::individual
            ? (step.write ? cast<Begin>(&MPI_File_write_all_begin) : &MPI_File_read_all_begin)
            : (step.write ? cast<Begin>(&MPI_File_write_ordered_begin) : &MPI_File_read_ordered_begin);
    return function(file, memory, count, type);
  }

  void end(const Step& step, File& file) {
    UnderWay& under_way = file.under_way.at(step.ticket);
    const Step& begun = program_.steps[under_way.step];
    End function = nullptr;
    if (begun.pointer == Pointer::given) {
      function = begun.write ? cast<End>(&MPI_File_write_at_all_end) : &MPI_File_read_at_all_end;
    } else if (begun.pointer == Pointer::individual) {
      function = begun.write ? cast<End>(&MPI_File_write_all_end) : &MPI_File_read_all_end;
    } else {
      function = begun.write ? cast<End>(&MPI_File_write_ordered_end) : &MPI_File_read_ordered_end;
    }
    MPI_Status status;
    must(function(file.handle, under_way.memory->address(), &status), "end");
    if (good_) judge(under_way, status);
    file.under_way.erase(step.ticket);
  }

  // Waits in the step's way; `ended` hears of each.
  void wait(const Step& step, File& file) {
    std::vector<UnderWay> waited;
    for (const int ticket : step.tickets[static_cast<std::size_t>(rank_)]) {
      const auto found = file.under_way.find(ticket);
      if (found == file.under_way.end()) continue;  // this rank had no part in it
      waited.push_back(std::move(found->second));
      file.under_way.erase(found);
    }
    std::vector<MPI_Request> requests;
    for (const UnderWay& each : waited) requests.push_back(each.request);
    std::vector<MPI_Status> statuses(requests.size());
    wait_for(step.how, requests, statuses);
    for (std::size_t i = 0; i < waited.size() && good_; ++i) judge(waited[i], statuses[i]);
  }

  void wait_for(Step::Wait how, std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses) {
    const auto count = static_cast<int>(requests.size());
    int done = 0;
    switch (how) {
      case Step::Wait::one_by_one:
        for (std::size_t i = 0; i < requests.size(); ++i) must(MPI_Wait(&requests[i], &statuses[i]), "wait");
        return;
      case Step::Wait::all:
        return must(MPI_Waitall(count, requests.data(), statuses.data()), "waitall");
      case Step::Wait::any:
        for (std::size_t i = 0; i < requests.size() && good_; ++i) {
          MPI_Status status;
          int index = MPI_UNDEFINED;
          must(MPI_Waitany(count, requests.data(), &index, &status), "waitany");
          if (index == MPI_UNDEFINED) return wrong("waitany finds nothing to wait for");
          statuses[static_cast<std::size_t>(index)] = status;
        }
        return;
      case Step::Wait::some:
        while (done < count && good_) {
          std::vector<int> indices(requests.size());
          std::vector<MPI_Status> found(requests.size());
          int ended = 0;
          must(MPI_Waitsome(count, requests.data(), &ended, indices.data(), found.data()), "waitsome");
          if (ended == MPI_UNDEFINED) return wrong("waitsome finds nothing to wait for");
          for (int i = 0; i < ended; ++i)
            statuses[static_cast<std::size_t>(indices[static_cast<std::size_t>(i)])] =
                found[static_cast<std::size_t>(i)];
          done += ended;
        }
        return;
      case Step::Wait::test_all:
        while (done == 0 && good_)
          must(MPI_Testall(count, requests.data(), &done, statuses.data()), "testall");
        return;
      case Step::Wait::test_each:
        for (std::size_t i = 0; i < requests.size(); ++i) {
          for (done = 0; done == 0 && good_;) must(MPI_Test(&requests[i], &done, &statuses[i]), "test");
        }
        return;
    }
  }

  const Program& program_;
  MPI_Comm comm_;
  std::string prefix_;
  int rank_ = 0;
  std::size_t number_ = 0;
  bool good_ = true;
  std::vector<File> files_;
};

}  // namespace
}  // namespace exerciser

int main(int argc, char** argv) {
  using namespace exerciser;
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 4) {
    std::fprintf(stderr, "usage: exercise PREFIX FIRST COUNT [STEPS]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const std::uint64_t first = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t count = std::strtoull(argv[3], nullptr, 10);
  const bool tell = argc > 4 && std::atoi(argv[4]) != 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const Program program = make_program(seed, size);
    if (rank == 0) std::printf("seed %llu: %d ranks\n", static_cast<unsigned long long>(seed), program.ranks);
    if (rank == 0) std::fflush(stdout);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank < program.ranks ? 0 : MPI_UNDEFINED, rank, &comm);
    if (comm == MPI_COMM_NULL) continue;
    Runner(program, comm, argv[1]).run(tell);
    MPI_Comm_free(&comm);
  }
  if (rank == 0) std::printf("all as it must be\n");
  MPI_Finalize();
  return 0;
}
