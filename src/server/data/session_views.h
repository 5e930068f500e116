// SessionViews: the file views that a client has declared on its connection, so that its transfers need not list what they
// touch: they name a range of a view's data, and the server finds the extents of its object itself.
//
// A view is looked at where it lies in the message before any memory is spent on it: one that is malformed, that
// overlaps itself and is written through, or that would take more than kLargest is refused. A session keeps kMost bytes of
// them and forgets those that were not used for longest; all sessions keep ViewMemory::most, of which no user takes all.
// A client whose view was forgotten is told so (Code::not_found) and declares it again; one whose view was refused
// (Code::unsupported) lists its extents instead.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "base/status.h"
#include "base/units.h"
#include "layout/layout.h"
#include "layout/view.h"
#include "server/data/usage.h"
#include "wire/messages.h"

namespace tutti {

// What the views of all sessions of a server take.
struct ViewMemory {
  Bytes most;
  Bytes used{};
};

struct SessionView {
  std::uint64_t file = 0;
  FileView view;
  Layout layout;
  std::uint32_t slot = 0;
};

class SessionViews {
 public:
  static constexpr Bytes kLargest = 512_KiB;  // of one view, in memory
  static constexpr Bytes kMost = 1_MiB;

  // Of a session of this user. `memory` must outlive it.
  SessionViews(ViewMemory& memory, std::shared_ptr<Usage> user) : memory_(memory), user_(std::move(user)) {}
  SessionViews(const SessionViews&) = delete;
  SessionViews& operator=(const SessionViews&) = delete;
  ~SessionViews();

  // Code::malformed for what no honest client sends. A view that is refused is remembered as such.
  [[nodiscard]] Status declare(const wire::ViewRequest& request);
  // A view of the file; Code::not_found or Code::unsupported if it is not there. Valid until the next call of declare().
  [[nodiscard]] Result<const SessionView*> find(std::uint64_t number, std::uint64_t file);

  [[nodiscard]] std::size_t size() const { return views_.size(); }
  [[nodiscard]] Bytes memory() const { return used_; }

 private:
  struct Entry {
    SessionView view;
    Bytes memory;
    std::uint64_t last_use = 0;
  };
  using Entries = std::map<std::uint64_t, Entry>;

  // Why the view is refused, if it is.
  [[nodiscard]] Status check(const wire::ViewRequest& request, const Layout& layout, Bytes& memory) const;
  void make_room(Bytes memory);
  void forget(Entries::iterator entry);

  ViewMemory& memory_;
  std::shared_ptr<Usage> user_;
  Entries views_;
  Bytes used_;
  std::uint64_t uses_ = 0;
  std::uint64_t refused_ = 0;  // the last that was, and why
  Status why_;
};

}  // namespace tutti
