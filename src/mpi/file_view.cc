// Views and hints of a File.
#include <cstring>
#include <string_view>

#include "mpi/errors.h"
#include "mpi/file.h"
#include "mpi/info.h"
#include "mpi/library.h"

namespace tutti::mpi {
namespace {

std::optional<Representation> representation_of(const char* datarep) {
  const std::string_view name = datarep != nullptr ? datarep : "";
  // What "internal" is, is the implementation's choice.
  if (name == "native" || name == "NATIVE" || name == "internal" || name == "INTERNAL")
    return Representation::native;
  if (name == "external32" || name == "EXTERNAL32") return Representation::external32;
  return std::nullopt;
}

// Holds on to a datatype of the program's until the program may have freed it. MPI has no such function; an empty type
// made from it does so without copying its description, as a duplicate would.
MPI_Datatype hold(MPI_Datatype type) {
  if (is_named(type)) return type;
  MPI_Datatype holder = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(0, type, &holder);
  return holder;
}

// The datatype itself; the caller frees it if it is not a predefined one.
MPI_Datatype held_by(MPI_Datatype holder) {
  if (is_named(holder)) return holder;
  int count = 0;
  MPI_Aint address = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  PMPI_Type_get_contents(holder, 1, 0, 1, &count, &address, &type);
  return type;
}

}  // namespace

int File::set_view(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype, const char* datarep,
                   MPI_Info info) {
  HintReport report;
  const Status viewed =
      runtime_.run(file_->set_view(view_change(displacement, etype, filetype, datarep, info), report));
  runtime_.report_hints(*group_, report);
  // Of a view nothing else is unsupported.
  if (viewed.code() == Code::unsupported) return raise(MPI_ERR_UNSUPPORTED_DATAREP);
  if (!viewed.ok()) return outcome(viewed);
  free_types();
  etype_ = hold(etype);
  filetype_ = hold(filetype);
  return MPI_SUCCESS;
}

ViewChange File::view_change(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                             const char* datarep, MPI_Info info) {
  ViewChange change;
  if (info != MPI_INFO_NULL) change.hints = hints_of(info);
  change.at_shared_pointer = displacement == MPI_DISPLACEMENT_CURRENT && (amode_ & MPI_MODE_SEQUENTIAL) != 0;
  change.view.displacement = change.at_shared_pointer ? 0 : displacement;
  const auto representation = representation_of(datarep);
  if (!representation) {
    change.refused = Status(Code::unsupported, "the view's data representation is not supported");
    return change;
  }
  change.representation = *representation;
  const auto flat_etype = runtime_.datatypes().flatten(etype, *representation);
  const auto flat_filetype = runtime_.datatypes().flatten(filetype, *representation);
  change.refused = flat_etype.ok() ? flat_filetype.status() : flat_etype.status();
  if (change.refused.ok()) {
    change.view.etype_size = flat_etype->size();
    change.view.filetype = *flat_filetype;
  }
  return change;
}

void File::free_types() {
  for (MPI_Datatype* type : {&etype_, &filetype_}) {
    if (!is_named(*type)) PMPI_Type_free(type);
    *type = MPI_BYTE;
  }
}

int File::get_view(MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype, char* datarep) {
  *displacement = file_->view().displacement;
  *etype = held_by(etype_);
  *filetype = held_by(filetype_);
  const bool native = file_->representation() == Representation::native;
  std::strcpy(datarep, native ? "native" : "external32");
  return MPI_SUCCESS;
}

int File::set_info(MPI_Info info) {
  HintReport report;
  const int code = run(file_->change_hints(hints_of(info), report));
  runtime_.report_hints(*group_, report);
  return code;
}

int File::get_info(MPI_Info* info) { return raise(make_info(file_->hints(), info)); }

int File::type_extent(MPI_Datatype type, MPI_Count* extent) {
  const auto flat = runtime_.datatypes().flatten(type, file_->representation());
  if (!flat.ok()) return raise(MPI_ERR_TYPE);
  *extent = flat->extent();
  return MPI_SUCCESS;
}

}  // namespace tutti::mpi
