// Reads and writes through a declared view.
#include <limits>
#include <utility>
#include <vector>

#include "client/transfer/declared_view.h"
#include "client/transfer/open_file.h"
#include "client/transfer/transfer.h"

namespace tutti {
namespace {

constexpr std::size_t kRunsAtOnce = 16'384;

// Goes through the runs of a range of a view's data, many at a time.
class ViewWalk {
 public:
  // Servers are to know all of a directed call at once.
  ViewWalk(const FileView& view, Bytes offset, std::size_t bytes, const DirectedCall* call)
      : cursor_(view.cursor(static_cast<std::int64_t>(offset.count()))),
        left_(static_cast<std::int64_t>(bytes)),
        most_(call == nullptr ? kRunsAtOnce : std::numeric_limits<std::size_t>::max()) {}

  [[nodiscard]] bool done() const { return left_ == 0; }
  // The next runs, and how many bytes they have; valid until the next call.
  std::span<const Extent> next(std::size_t& bytes) {
    extents_.clear();
    bytes = 0;
    while (left_ > 0 && extents_.size() < most_) {
      const TypeRun run = cursor_.next(left_);
      const auto length = static_cast<std::uint64_t>(run.length);
      extents_.push_back({Bytes(static_cast<std::uint64_t>(run.offset)), Bytes(length)});
      bytes += length;
      left_ -= run.length;
    }
    return extents_;
  }

 private:
  TypeCursor cursor_;
  std::int64_t left_;
  std::size_t most_;
  std::vector<Extent> extents_;
};

Status check(const FileView& view, Bytes offset, std::size_t bytes) {
  TUTTI_TRY(view.validate(false));
  constexpr std::uint64_t kMost = wire::kMaxOffset;
  if (offset.count() > kMost || bytes > kMost - offset.count() ||
      !view.lies_before(static_cast<std::int64_t>(offset.count() + bytes), static_cast<std::int64_t>(kMost)))
    return {Code::too_large, "the range of the view lies past the largest offset"};
  return {};
}

template <typename Byte>
Segments segment_of(std::span<Byte> memory) {
  Segments segments;
  segments.push_back(Segment{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()});
  return segments;
}

}  // namespace

ViewPointer OpenFile::Impl::declare(FileView view) {
  return std::make_shared<DeclaredView>(std::move(view), system_.next_view(),
                                        file_.capability.capability().file(), file_.layout());
}

Task<Result<Bytes>> OpenFile::Impl::read_view(ViewPointer view, Bytes offset, std::span<std::byte> buffer,
                                              const DirectedCall* call) {
  TUTTI_CO_TRY(check(view->view(), offset, buffer.size()).with_context("read " + path()));
  ViewWalk walk(view->view(), offset, buffer.size(), call);
  Bytes done;
  Bytes got;
  while (!walk.done()) {
    std::size_t bytes = 0;
    const std::span<const Extent> extents = walk.next(bytes);
    const auto part = buffer.subspan(done.count(), bytes);
    const ViewUse use{file_.options.views ? view.get() : nullptr, (offset + done).count(),
                      reinterpret_cast<std::uint64_t>(part.data()), call, walk.done()};
    const auto read = co_await read_extents(file_, FileExtents(extents), segment_of(part), use);
    if (!read.ok()) co_return read.status();
    if (*read > 0_B) got = done + *read;
    done += Bytes(bytes);
    if (read->count() < bytes && view->view().ascending()) break;
  }
  co_return got;
}

Task<Status> OpenFile::Impl::write_view(ViewPointer view, Bytes offset, std::span<const std::byte> buffer,
                                        const DirectedCall* call) {
  TUTTI_CO_TRY(check(view->view(), offset, buffer.size()).with_context("write " + path()));
  ViewWalk walk(view->view(), offset, buffer.size(), call);
  Bytes done;
  while (!walk.done()) {
    std::size_t bytes = 0;
    const std::span<const Extent> extents = walk.next(bytes);
    const auto part = buffer.subspan(done.count(), bytes);
    const ViewUse use{file_.options.views ? view.get() : nullptr, (offset + done).count(),
                      reinterpret_cast<std::uint64_t>(part.data()), call, walk.done()};
    TUTTI_CO_TRY(co_await write_extents(file_, FileExtents(extents), segment_of(part), use));
    done += Bytes(bytes);
  }
  co_return Status();
}

}  // namespace tutti
