#include "env/real/store/object_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>

namespace tutti {
namespace {

constexpr std::uint64_t kPage = 4096;
// Address space costs nothing, a new mapping costs the page tables of the old one.
constexpr std::uint64_t kFirstWindow = 1ULL << 30U;

#ifdef MADV_POPULATE_WRITE
constexpr int kPopulate = MADV_POPULATE_WRITE;
#else
constexpr int kPopulate = 23;
#endif

constexpr std::uint64_t kBroughtIn = 64U << 10U;  // of a mapping, at once

constexpr std::uint64_t page_start(std::uint64_t offset) { return offset / kPage * kPage; }
constexpr std::uint64_t page_end(std::uint64_t offset) { return page_start(offset + kPage - 1); }

}  // namespace

std::shared_ptr<ObjectMapping> ObjectMapping::make(int fd, std::uint64_t window) {
  void* base = ::mmap(nullptr, window, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return nullptr;
  ::madvise(base, window, MADV_DONTDUMP);
  return std::shared_ptr<ObjectMapping>(new ObjectMapping(static_cast<std::byte*>(base), window));
}

ObjectMapping::~ObjectMapping() { ::munmap(base_, window_); }

std::span<std::byte> ObjectMapping::place(std::uint64_t offset, std::uint64_t length,
                                          const ExtentSet& allocated) {
  std::uint64_t start = page_start(offset);
  std::uint64_t end = page_end(offset + length);
  if (!present_.contains(start, end)) {
    // The neighbours too: small ranges of many writers would be a call and an entry each, and more entries than are kept.
    const std::uint64_t wide_start = start / kBroughtIn * kBroughtIn;
    const std::uint64_t wide_end = (end + kBroughtIn - 1) / kBroughtIn * kBroughtIn;
    if (wide_end <= window_ && allocated.contains(wide_start, wide_end)) {
      start = wide_start;
      end = wide_end;
    }
    // All at once is cheaper than a fault for each page. A kernel that does not know this lets them fault.
    if (::madvise(base_ + start, end - start, kPopulate) != 0 && errno != EINVAL) return {};
    present_.add(start, end);
  }
  return {base_ + offset, length};
}

void ObjectFile::note_allocated(std::uint64_t offset, std::uint64_t count) {
  if (count > 0) allocated.add(page_start(offset), page_end(offset + count));
}

bool ObjectFile::is_allocated(std::uint64_t offset, std::uint64_t count) {
  const std::uint64_t start = page_start(offset);
  const std::uint64_t end = page_end(offset + count);
  if (allocated.contains(start, end)) return true;
  const off_t hole = ::lseek(fd.get(), static_cast<off_t>(offset), SEEK_HOLE);
  if (hole < 0 || static_cast<std::uint64_t>(hole) <= offset) return false;
  allocated.add(start, page_end(static_cast<std::uint64_t>(hole)));
  return allocated.contains(start, end);
}

int ObjectFile::cut(std::uint64_t new_length) {
  if (::ftruncate(fd.get(), static_cast<off_t>(new_length)) != 0) return errno;
  allocated.cut(page_end(new_length));
  return 0;
}

bool ObjectFile::may_be_mapped(const Extent& extent) {
  return extent.length > Bytes() && shrinking == 0 && extent.end().count() <= length &&
         is_allocated(extent.offset.count(), extent.length.count());
}

bool ObjectFile::map_up_to(std::uint64_t end) {
  if (mapping == nullptr || mapping->window() < end)
    mapping = ObjectMapping::make(fd.get(), std::bit_ceil(std::max(kFirstWindow, length)));
  return mapping != nullptr;
}

template <typename Byte>
MappedRanges<Byte>::MappedRanges(std::shared_ptr<ObjectFile> file, std::span<const Extent> extents)
    : file_(std::move(file)) {
  if (extents.empty() || !file_->may_be_mapped(extents.front())) return;
  // One mapping for all of them, large enough for the last byte of the object.
  if (!file_->map_up_to(file_->length)) return;
  ObjectMapping& mapping = *file_->mapping;
  for (const Extent& extent : extents) {
    if (&extent != extents.data() && !file_->may_be_mapped(extent)) break;
    const std::span<std::byte> place =
        mapping.place(extent.offset.count(), extent.length.count(), file_->allocated);
    if (place.empty()) break;
    if (&extent == extents.data()) {
      first_ = place;
      mapping_ = file_->mapping;
      if (extents.size() > 1) many_.reserve(extents.size());
    }
    if (extents.size() > 1) many_.push_back(place);
  }
  if (mapping_ != nullptr && file_->map_users++ == 0) file_->unmapped.reset();
}

template <typename Byte>
MappedRanges<Byte>::~MappedRanges() {
  if (mapping_ != nullptr && --file_->map_users == 0) file_->unmapped.set();
}

template class MappedRanges<std::byte>;
template class MappedRanges<const std::byte>;

}  // namespace tutti
