#include "mpi/foreign_file.h"

#include <fmt/format.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

#include "layout/lustre.h"
#include "layout/view_range.h"
#include "mpi/errors.h"
#include "mpi/genuine.h"
#include "mpi/info.h"
#include "mpi/library.h"
#include "parallel/staggered.h"
#include "parallel/typed_memory.h"

namespace tutti::mpi {
namespace {

constexpr const char* kPlanHint = "tutti_collective";
constexpr const char* kOrderHint = "tutti_target_order";

HintList all_hints(MPI_Info info) {
  HintList list = hints_of(info);
  add_environment(list);
  return list;
}

const std::string* value_of(const HintList& list, std::string_view key) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& hint) { return hint.first == key; });
  return found != list.end() ? &found->second : nullptr;
}

// Without the file system's name that ROMIO takes before a path ("lustre:/scratch/x").
std::string plain_path(const std::string& name) {
  const std::size_t colon = name.find(':');
  return colon != std::string::npos && name.find('/') > colon ? name.substr(colon + 1) : name;
}

std::optional<Layout> striping_of(const std::string& path) {
  std::array<std::byte, 64 << 10> bytes;
  const ssize_t length = ::getxattr(path.c_str(), kLustreAttribute, bytes.data(), bytes.size());
  return length > 0 ? lustre_layout(std::span(bytes).first(static_cast<std::size_t>(length))) : std::nullopt;
}

Bytes bytes_in(const MPI_Status& status) {
  MPI_Count bytes = 0;
  PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
  return Bytes(static_cast<std::uint64_t>(std::max<MPI_Count>(bytes, 0)));
}

// Calls move(offset, address, count) for stretches that are contiguous in file and memory, none longer than an int counts.
// Ends with the first that returns false.
template <typename Memory, typename Move>
void each_stretch(std::span<const Extent> file, Memory memory, Move move) {
  constexpr std::uint64_t kMost = std::numeric_limits<int>::max() / 4096 * 4096;
  std::size_t segment = 0;
  std::size_t used = 0;
  for (const Extent& extent : file) {
    for (std::uint64_t done = 0; done < extent.length.count();) {
      while (segment < memory.size() && used == memory[segment].size()) {
        ++segment;
        used = 0;
      }
      const std::uint64_t count =
          std::min<std::uint64_t>({extent.length.count() - done, memory[segment].size() - used, kMost});
      if (!move(extent.offset + Bytes(done), memory[segment].data() + used, static_cast<int>(count))) return;
      used += count;
      done += count;
    }
  }
}

}  // namespace

bool ForeignFile::asked_for(MPI_Info info) {
  const HintList list = all_hints(info);
  const std::string* plan = value_of(list, kPlanHint);
  const std::string* order = value_of(list, kOrderHint);
  return (plan != nullptr && check_collective_plan(*plan).ok()) ||
         (order != nullptr && make_target_order(*order).ok());
}

std::unique_ptr<ForeignFile> ForeignFile::make(Runtime& runtime, MPI_Comm comm, const std::string& name,
                                               int amode, MPI_Info info, MPI_File handle) {
  if ((amode & MPI_MODE_SEQUENTIAL) != 0) return nullptr;
  std::unique_ptr<ForeignFile> file(new ForeignFile(runtime, amode, handle));
  const Status prepared = file->prepare(comm, name, all_hints(info));
  if (prepared.ok()) {
    if (file->group_->rank() == 0) runtime.log().info("{}: {}", name, file->describe());
    return file;
  }
  runtime.log().info("{}: all calls are the MPI library's: {}", name, prepared.to_string());
  return nullptr;
}

std::string ForeignFile::describe() const {
  std::string text = fmt::format("collective calls by {}, {} stripes of {}", options_.plan,
                                 layout_.stripe_count, to_string(layout_.stripe_size));
  if (order_) text += fmt::format(", servers in the order of {}", order_->name());
  return text;
}

Status ForeignFile::prepare(MPI_Comm comm, const std::string& name, const HintList& list) {
  std::array<std::int64_t, 1> none = {0};
  auto group = runtime_.run(MpiGroup::duplicate(runtime_.loop(), runtime_.duplicates(), comm, none));
  if (!group.ok()) return group.status();
  group_ = *std::move(group);
  const auto text = runtime_.run(broadcast_text(*group_, 0, encode_hints(list)));
  if (!text.ok()) return text.status();
  const HintList agreed = decode_hints(*text);
  FileHints hints;
  runtime_.report_hints(*group_, apply_hints(agreed, hints));
  Status known = find_striping(name, hints);
  options_ = hints.options();
  plan_named_ = value_of(agreed, kPlanHint) != nullptr;
  if (!hints.visit.order.empty()) {
    // Nobody measures these servers: auto is its first choice.
    auto order = make_target_order(hints.visit.order.starts_with("auto") ? "hash" : hints.visit.order);
    if (!order.ok()) return order.status();
    order_ = *std::move(order);
  }
  block_ = hints.visit.block > 0_B ? hints.visit.block : layout_.stripe_size;
  // Ranks that take turns would all be clients of the same objects.
  if (options_.plan.starts_with("resonant") && options_.plan.find("timing=") == std::string::npos)
    options_.plan += ";timing=never";
  if (known.ok()) {
    const int alone = amode_ & (MPI_MODE_RDONLY | MPI_MODE_RDWR | MPI_MODE_WRONLY);
    known = status_of(open_alone(name.c_str(), alone, &bytes_), "open for agents");
  }
  return runtime_.run(agree(*group_, std::move(known)));
}

Status ForeignFile::find_striping(const std::string& name, const FileHints& hints) {
  layout_.stripe_size = hints.layout.stripe_size;
  layout_.stripe_count = layout_.server_total = hints.layout.stripe_count;
  if (hints.layout.stripe_size > 0_B && hints.layout.stripe_count > 0) return layout_.validate();
  const auto found = striping_of(plain_path(name));
  if (!found) return {Code::invalid, "the striping is not known; give striping_unit and striping_factor"};
  layout_ = *found;
  return {};
}

ForeignFile::~ForeignFile() {
  if (bytes_ != MPI_FILE_NULL) library().File_close(&bytes_);
}

bool ForeignFile::view_serves() {
  if (!view_taken_) view_serves_ = take_view();
  view_taken_ = true;
  return view_serves_;
}

bool ForeignFile::take_view() {
  MPI_Offset displacement = 0;
  MPI_Datatype etype = MPI_BYTE;
  MPI_Datatype filetype = MPI_BYTE;
  std::array<char, MPI_MAX_DATAREP_STRING + 1> representation{};
  library().File_get_view(handle_, &displacement, &etype, &filetype, representation.data());
  const auto flat_etype = runtime_.datatypes().flatten(etype);
  const auto flat_filetype = runtime_.datatypes().flatten(filetype);
  const bool serves = std::strcmp(representation.data(), "native") == 0 && flat_etype.ok() &&
                      flat_filetype.ok() && flat_etype->size() > 0 && flat_filetype->size() > 0;
  if (serves) {
    view_.displacement = displacement;
    view_.etype_size = flat_etype->size();
    view_.filetype = *flat_filetype;
  }
  for (MPI_Datatype* type : {&etype, &filetype}) {
    if (!is_named(*type)) PMPI_Type_free(type);
  }
  return serves;
}

FileAccess ForeignFile::access_of(Form form, MPI_Offset offset, const Buffer& buffer) {
  FileAccess access;
  access.view = &view_;
  access.base = static_cast<std::byte*>(const_cast<void*>(buffer.address));
  const auto type = runtime_.datatypes().flatten(buffer.type);
  if (!type.ok()) {
    access.refused = type.status();
  } else if (buffer.count < 0 || offset < 0) {
    access.refused = Status(Code::invalid, "the count or the offset is negative");
  } else if ((amode_ & (form.write ? MPI_MODE_RDONLY : MPI_MODE_WRONLY)) != 0) {
    access.refused = Status(Code::permission, "the file is not open for this");
  } else if (type->size() * buffer.count % view_.etype_size != 0) {
    access.refused = Status(Code::io_error, "not a whole number of etypes");
  } else {
    access.type = *type;
    access.count = buffer.count;
    access.data_offset = offset * view_.etype_size;
  }
  return access;
}

std::optional<int> ForeignFile::transfer(Form form, MPI_Offset offset, const Buffer& buffer,
                                         MPI_Status* status) {
  int atomic = 0;
  library().File_get_atomicity(handle_, &atomic);  // the same on all ranks
  if (atomic != 0) return std::nullopt;
  if (!view_agreed_) {
    std::array<std::int64_t, 1> unable = {view_serves() ? 0 : 1};
    const Status agreed = runtime_.run(agree(*group_, Status(), unable));
    if (!agreed.ok()) return raise(handle_, error_class(agreed));
    view_serves_all_ = unable[0] == 0;
    view_agreed_ = true;
  }
  if (!view_serves_all_) return std::nullopt;
  if (form.pointer == FilePointer::individual) library().File_get_position(handle_, &offset);
  FileAccess access = access_of(form, offset, buffer);
  const std::int64_t wanted = access.refused.ok() ? access.bytes() : 0;
  current_ = {offset, buffer};
  Result<Bytes> moved(Bytes(static_cast<std::uint64_t>(wanted)));
  if (form.write) {
    const Status written = runtime_.run(write_collective(*group_, *this, std::move(access), options_));
    if (!written.ok()) moved = written;
  } else {
    moved = runtime_.run(read_collective(*group_, *this, std::move(access), options_));
  }
  if (form.pointer == FilePointer::individual && wanted > 0)
    library().File_seek(handle_, offset + wanted / view_.etype_size, MPI_SEEK_SET);
  set_status(status, moved.ok() ? *moved : Bytes(0));
  runtime_.note_failure(moved.status());
  return raise(handle_, error_class(moved.status()));
}

// What is wrong with a call the library says, in its own words.
std::optional<int> ForeignFile::transfer_alone(Form form, MPI_Offset offset, const Buffer& buffer,
                                               MPI_Status* status) {
  if (!order_) return std::nullopt;
  int atomic = 0;
  library().File_get_atomicity(handle_, &atomic);
  if (atomic != 0 || !view_serves()) return std::nullopt;
  if (form.pointer == FilePointer::individual) library().File_get_position(handle_, &offset);
  const FileAccess access = access_of(form, offset, buffer);
  const auto whole = to_stagger(access);
  if (!whole) return std::nullopt;
  std::byte* const memory = TypedMemory(access.base, access.type, access.count).all().data();
  Result<Bytes> moved(whole->length);
  if (form.write) {
    const Status written = write_staggered(*whole, memory);
    if (!written.ok()) moved = written;
  } else {
    moved = read_staggered(*whole, memory);
  }
  const MPI_Offset passed = moved.ok() ? static_cast<MPI_Offset>(moved->count()) / view_.etype_size : 0;
  if (form.pointer == FilePointer::individual) library().File_seek(handle_, offset + passed, MPI_SEEK_SET);
  set_status(status, moved.ok() ? *moved : Bytes(0));
  runtime_.note_failure(moved.status());
  return raise(handle_, error_class(moved.status()));
}

std::optional<Extent> ForeignFile::to_stagger(const FileAccess& access) const {
  if (!order_ || !access.refused.ok() || access.bytes() <= 0) return std::nullopt;
  if (!TypedMemory(access.base, access.type, access.count).contiguous()) return std::nullopt;
  const Extent whole = ViewRange(*access.view, access.data_offset, access.bytes()).bounds();
  if (whole.length != Bytes(static_cast<std::uint64_t>(access.bytes()))) return std::nullopt;
  const bool several = whole.offset / layout_.stripe_size != (whole.end() - 1_B) / layout_.stripe_size;
  return several ? std::optional(whole) : std::nullopt;
}

std::vector<Extent> ForeignFile::route(Extent whole, bool write) const {
  VisitFacts facts;
  facts.write = write;
  facts.rank = static_cast<std::uint32_t>(group_->rank());
  facts.ranks = static_cast<std::uint32_t>(group_->size());
  facts.chance = facts.rank;
  return staggered(layout_, whole, block_, *order_, facts);
}

// Up to the last byte that was there: what lies before it in holes reads as zeros.
Result<Bytes> ForeignFile::read_staggered(Extent whole, std::byte* to) {
  Bytes end = whole.offset;
  for (const Extent& part : route(whole, false)) {
    MPI_Status status;
    const int code = library().File_read_at(bytes_, static_cast<MPI_Offset>(part.offset.count()),
                                            to + (part.offset - whole.offset).count(),
                                            static_cast<int>(part.length.count()), MPI_BYTE, &status);
    if (code != MPI_SUCCESS) return status_of(code, "read");
    const Bytes got = bytes_in(status);
    if (got > 0_B) end = std::max(end, part.offset + got);
  }
  return end - whole.offset;
}

Status ForeignFile::write_staggered(Extent whole, const std::byte* from) {
  for (const Extent& part : route(whole, true)) {
    const int code = library().File_write_at(
        bytes_, static_cast<MPI_Offset>(part.offset.count()), from + (part.offset - whole.offset).count(),
        static_cast<int>(part.length.count()), MPI_BYTE, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) return status_of(code, "write");
  }
  return {};
}

Task<Result<Bytes>> ForeignFile::read_own(FileAccess access, const CollectiveOptions& /*options*/) {
  if (const auto whole = to_stagger(access))
    co_return read_staggered(*whole, TypedMemory(access.base, access.type, access.count).all().data());
  MPI_Status status;
  const Buffer& buffer = current_.buffer;
  auto* address = const_cast<void*>(buffer.address);
#if MPI_VERSION >= 4
  const int code =
      library().File_read_at_c(handle_, current_.offset, address, buffer.count, buffer.type, &status);
#else
  const int code = library().File_read_at(handle_, current_.offset, address, static_cast<int>(buffer.count),
                                          buffer.type, &status);
#endif
  if (code != MPI_SUCCESS) co_return status_of(code, "read");
  co_return bytes_in(status);
}

Task<Status> ForeignFile::write_own(FileAccess access, const CollectiveOptions& /*options*/) {
  if (const auto whole = to_stagger(access))
    co_return write_staggered(*whole, TypedMemory(access.base, access.type, access.count).all().data());
  const Buffer& buffer = current_.buffer;
#if MPI_VERSION >= 4
  const int code = library().File_write_at_c(handle_, current_.offset, buffer.address, buffer.count,
                                             buffer.type, MPI_STATUS_IGNORE);
#else
  const int code = library().File_write_at(handle_, current_.offset, buffer.address,
                                           static_cast<int>(buffer.count), buffer.type, MPI_STATUS_IGNORE);
#endif
  co_return status_of(code, "write");
}

// Counted through the extents up to the last byte that was there: what lies before it in holes reads as zeros.
Task<Result<Bytes>> ForeignFile::read_list(std::span<const Extent> file,
                                           std::span<const std::span<std::byte>> memory) {
  Status failed;
  Bytes counted;
  Bytes passed;
  each_stretch(file, memory, [&](Bytes offset, std::byte* to, int count) {
    MPI_Status status;
    const int code =
        library().File_read_at(bytes_, static_cast<MPI_Offset>(offset.count()), to, count, MPI_BYTE, &status);
    failed = status_of(code, "read");
    if (!failed.ok()) return false;
    const Bytes got = bytes_in(status);
    std::memset(to + got.count(), 0, static_cast<std::size_t>(count) - got.count());
    if (got > 0_B) counted = passed + got;
    passed += Bytes(static_cast<std::uint64_t>(count));
    return true;
  });
  if (!failed.ok()) co_return failed;
  co_return counted;
}

Task<Status> ForeignFile::write_list(std::span<const Extent> file,
                                     std::span<const std::span<const std::byte>> memory,
                                     const CollectiveOptions& /*options*/) {
  Status failed;
  each_stretch(file, memory, [&](Bytes offset, const std::byte* from, int count) {
    const int code = library().File_write_at(bytes_, static_cast<MPI_Offset>(offset.count()), from, count,
                                             MPI_BYTE, MPI_STATUS_IGNORE);
    failed = status_of(code, "write");
    return failed.ok();
  });
  co_return failed;
}

Task<Result<Bytes>> ForeignFile::size() {
  MPI_Offset size = 0;
  const int code = library().File_get_size(bytes_, &size);
  if (code != MPI_SUCCESS) co_return status_of(code, "get size");
  co_return Bytes(static_cast<std::uint64_t>(size));
}

}  // namespace tutti::mpi
