#include "mpi/info.h"

#include <array>
#include <fstream>
#include <iterator>
#include <string>

#include "client/real/process.h"

namespace tutti::mpi {

HintList hints_of(MPI_Info info) {
  HintList list;
  if (info == MPI_INFO_NULL) return list;
  int count = 0;
  if (PMPI_Info_get_nkeys(info, &count) != MPI_SUCCESS) return list;
  for (int i = 0; i < count; ++i) {
    std::array<char, MPI_MAX_INFO_KEY + 1> key{};
    int length = 0;
    int there = 0;
    PMPI_Info_get_nthkey(info, i, key.data());
    PMPI_Info_get_valuelen(info, key.data(), &length, &there);
    if (there == 0) continue;
    std::string value(static_cast<std::size_t>(length) + 1, '\0');
    PMPI_Info_get(info, key.data(), length, value.data(), &there);
    value.resize(static_cast<std::size_t>(length));
    list.emplace_back(key.data(), value);
  }
  return list;
}

void add_environment(HintList& list) {
  std::string text = environment_variable("TUTTI_HINTS");
  for (char& c : text) c = c == ';' ? '\n' : (c == '=' ? ' ' : c);
  add_default_hints(parse_hints_file(text), list);
  if (const std::string path = environment_variable("ROMIO_HINTS"); !path.empty()) {
    std::ifstream file(path);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    add_default_hints(parse_hints_file(content), list);
  }
}

int make_info(const HintList& list, MPI_Info* info) {
  int error = PMPI_Info_create(info);
  for (const auto& [key, value] : list) {
    if (error == MPI_SUCCESS) error = PMPI_Info_set(*info, key.c_str(), value.c_str());
  }
  return error;
}

}  // namespace tutti::mpi
