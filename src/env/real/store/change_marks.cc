#include "env/real/store/change_marks.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <string>
#include <utility>

#include "base/random.h"
#include "env/real/network/shared_descriptor.h"

namespace tutti {

std::unique_ptr<ChangeMarks> ChangeMarks::make() {
  constexpr std::size_t kLength = kWords * sizeof(std::uint64_t);
  const FileDescriptor memory(::memfd_create("tutti-marks", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory.valid() || ::ftruncate(memory.get(), kLength) != 0) return nullptr;
  // Those who map it must never find it shorter.
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) return nullptr;
  FileDescriptor readable(
      ::open(fmt::format("/proc/self/fd/{}", memory.get()).c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable.valid()) return nullptr;
  void* base = ::mmap(nullptr, kLength, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (base == MAP_FAILED) return nullptr;
  return std::unique_ptr<ChangeMarks>(new ChangeMarks(
      static_cast<std::uint64_t*>(base), std::make_shared<SharedDescriptor>(std::move(readable))));
}

ChangeMarks::~ChangeMarks() { ::munmap(words_, kWords * sizeof(std::uint64_t)); }

std::uint32_t ChangeMarks::word(ObjectId object) {
  return static_cast<std::uint32_t>(mix64(object.value) % kWords);
}

// Whoever sees anything of what follows sees this.
void ChangeMarks::changes(ObjectId object) { __atomic_fetch_add(&words_[word(object)], 1, __ATOMIC_SEQ_CST); }

std::uint64_t ChangeMarks::value(ObjectId object) const {
  return __atomic_load_n(&words_[word(object)], __ATOMIC_SEQ_CST);
}

}  // namespace tutti
