// NameOracle: knows which names one directory may hold, when only one client at a time changes it. Pure.
//
// Every name has a set of possible states: absent, or a file with a known inode, or one whose inode nobody
// saw. An acknowledged change settles its names; one that failed leaves them in doubt until a later change
// settles them. An answer that fits none of the possible states is an error (Code::internal) that says what
// is wrong.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace tutti {

class NameOracle {
 public:
  // The outcome of a change or a question. A failed one (unavailable, timed out and the like) only widens.
  Status created(const std::string& name, bool exclusive, Code outcome, std::uint64_t inode);
  Status removed(const std::string& name, Code outcome);
  Status renamed(const std::string& from, const std::string& to, Code outcome);
  Status looked_up(const std::string& name, Code outcome, std::uint64_t inode) const;
  // A whole listing: name to inode.
  [[nodiscard]] Status listed(const std::map<std::string, std::uint64_t>& entries) const;

  // A change whose outcome nobody will learn.
  void create_in_doubt(const std::string& name) { at(name).insert(kUnknown); }
  void remove_in_doubt(const std::string& name) { at(name).insert(kAbsent); }
  void rename_in_doubt(const std::string& from, const std::string& to);

  // All states of the name that a listing may show, for messages.
  [[nodiscard]] std::string describe(const std::string& name) const;

 private:
  static constexpr std::uint64_t kAbsent = 0;
  static constexpr std::uint64_t kUnknown = 1;  // some file; never the inode of one (1 is the root)
  using States = std::set<std::uint64_t>;

  States& at(const std::string& name) { return names_.try_emplace(name, States{kAbsent}).first->second; }
  [[nodiscard]] const States& states(const std::string& name) const;
  [[nodiscard]] bool may_be_absent(const std::string& name) const { return states(name).contains(kAbsent); }
  [[nodiscard]] bool may_exist(const std::string& name) const;
  [[nodiscard]] bool may_be(const std::string& name, std::uint64_t inode) const;
  [[nodiscard]] Status wrong(const std::string& what, const std::string& name) const;

  std::map<std::string, States> names_;
};

// Whether an outcome leaves it open if the operation took place.
bool in_doubt(Code outcome);

}  // namespace tutti
