#include "cli/static_program.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

namespace tutti::cli {
namespace {

constexpr std::string_view kFunction = "PMPI_File_open";
constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30U;

class Elf {
 public:
  explicit Elf(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] bool is_program() const {
    const auto head = at<Elf64_Ehdr>(0);
    return head && std::memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
           head->e_ident[EI_CLASS] == ELFCLASS64 && (head->e_type == ET_EXEC || head->e_type == ET_DYN);
  }
  // Names that the symbol tables define here, as opposed to those that a library must bring.
  [[nodiscard]] bool defines(std::string_view name) const {
    const auto head = at<Elf64_Ehdr>(0);
    for (unsigned i = 0; i < head->e_shnum; ++i) {
      const auto section = section_at(*head, i);
      if (!section || (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)) continue;
      const auto names = section_at(*head, section->sh_link);
      if (names && defines(*section, *names, name)) return true;
    }
    return false;
  }

 private:
  template <typename T>
  [[nodiscard]] std::optional<T> at(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  [[nodiscard]] std::optional<Elf64_Shdr> section_at(const Elf64_Ehdr& head, unsigned number) const {
    return at<Elf64_Shdr>(head.e_shoff + std::uint64_t{number} * head.e_shentsize);
  }
  [[nodiscard]] bool defines(const Elf64_Shdr& symbols, const Elf64_Shdr& names,
                             std::string_view name) const {
    for (std::uint64_t place = 0; place + sizeof(Elf64_Sym) <= symbols.sh_size; place += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(symbols.sh_offset + place);
      if (!symbol) return false;
      if (symbol->st_shndx == SHN_UNDEF) continue;
      const std::uint64_t begin = names.sh_offset + symbol->st_name;
      if (begin < bytes_.size() && std::string_view(bytes_).substr(begin).starts_with(name) &&
          at<char>(begin + name.size()) == '\0')
        return true;
    }
    return false;
  }

  std::string bytes_;
};

}  // namespace

bool has_mpi_inside(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file || static_cast<std::uintmax_t>(file.tellg()) > kMostBytes) return false;
  file.seekg(0);
  const Elf program(std::string{std::istreambuf_iterator<char>(file), {}});
  return program.is_program() && program.defines(kFunction);
}

}  // namespace tutti::cli
