#include "lab/faults/name_oracle.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti {

bool in_doubt(Code outcome) {
  switch (outcome) {
    case Code::unavailable:
    case Code::timed_out:
    case Code::busy:
    case Code::cancelled:
    case Code::io_error:
    case Code::no_space:
      return true;
    default:
      return false;
  }
}

const NameOracle::States& NameOracle::states(const std::string& name) const {
  static const States kAbsentOnly = {kAbsent};
  const auto found = names_.find(name);
  return found == names_.end() ? kAbsentOnly : found->second;
}

bool NameOracle::may_exist(const std::string& name) const {
  const States& all = states(name);
  return std::any_of(all.begin(), all.end(), [](std::uint64_t state) { return state != kAbsent; });
}

bool NameOracle::may_be(const std::string& name, std::uint64_t inode) const {
  return states(name).contains(inode) || states(name).contains(kUnknown);
}

std::string NameOracle::describe(const std::string& name) const {
  std::string text;
  for (const std::uint64_t state : states(name)) {
    if (!text.empty()) text += " or ";
    text += state == kAbsent ? "absent" : state == kUnknown ? "a new file" : fmt::format("inode {}", state);
  }
  return text;
}

Status NameOracle::wrong(const std::string& what, const std::string& name) const {
  return {Code::internal, fmt::format("{}: {} should be {}", what, name, describe(name))};
}

Status NameOracle::created(const std::string& name, bool exclusive, Code outcome, std::uint64_t inode) {
  if (outcome == Code::ok) {
    if (exclusive && !may_be_absent(name)) return wrong("exclusive create succeeded", name);
    if (!may_be_absent(name) && !may_be(name, inode)) {
      return wrong(fmt::format("open gave inode {}", inode), name);
    }
    at(name) = {inode};
    return {};
  }
  if (in_doubt(outcome)) {
    create_in_doubt(name);
    return {};
  }
  if (outcome == Code::exists && exclusive && may_exist(name)) return {};
  return wrong(fmt::format("create ended with {}", code_name(outcome)), name);
}

Status NameOracle::removed(const std::string& name, Code outcome) {
  if (outcome == Code::ok) {
    if (!may_exist(name)) return wrong("remove succeeded", name);
    at(name) = {kAbsent};
    return {};
  }
  if (in_doubt(outcome)) {
    remove_in_doubt(name);
    return {};
  }
  if (outcome == Code::not_found && may_be_absent(name)) return {};
  return wrong(fmt::format("remove ended with {}", code_name(outcome)), name);
}

void NameOracle::rename_in_doubt(const std::string& from, const std::string& to) {
  const States moved = states(from);
  for (const std::uint64_t state : moved) {
    if (state != kAbsent) at(to).insert(state);
  }
  at(from).insert(kAbsent);
}

Status NameOracle::renamed(const std::string& from, const std::string& to, Code outcome) {
  if (outcome == Code::ok) {
    if (!may_exist(from)) return wrong("rename succeeded", from);
    States moved = states(from);
    moved.erase(kAbsent);
    if (from == to) return {};
    at(to) = std::move(moved);
    at(from) = {kAbsent};
    return {};
  }
  if (in_doubt(outcome)) {
    rename_in_doubt(from, to);
    return {};
  }
  if (outcome == Code::not_found && may_be_absent(from)) return {};
  return wrong(fmt::format("rename ended with {}", code_name(outcome)), from);
}

Status NameOracle::looked_up(const std::string& name, Code outcome, std::uint64_t inode) const {
  if (outcome == Code::ok && !may_be(name, inode))
    return wrong(fmt::format("stat gave inode {}", inode), name);
  if (outcome == Code::not_found && !may_be_absent(name)) return wrong("stat found nothing", name);
  if (outcome != Code::ok && outcome != Code::not_found && !in_doubt(outcome)) {
    return wrong(fmt::format("stat ended with {}", code_name(outcome)), name);
  }
  return {};
}

Status NameOracle::listed(const std::map<std::string, std::uint64_t>& entries) const {
  for (const auto& [name, inode] : entries) {
    if (!may_be(name, inode)) return wrong(fmt::format("the listing has inode {}", inode), name);
  }
  for (const auto& [name, states] : names_) {
    if (!states.contains(kAbsent) && !entries.contains(name)) return wrong("the listing lacks it", name);
  }
  return {};
}

}  // namespace tutti
