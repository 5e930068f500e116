// Usage: how much of a data server's sessions and queue a user and an application have, so that none of them takes it all.
//
// Nobody may have more than kFactor times what is left: one that takes what it can get leaves a ninth, two that do so a
// seventeenth, and so on. There is room for everybody else, however many ask for much.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "base/units.h"

namespace tutti {

struct Usage {
  std::size_t sessions = 0;
  std::size_t requests = 0;
  Bytes memory;
  Bytes views;  // that its sessions have declared
};

// Whether somebody who has `used` of `most` may have more, while all together have `total`.
constexpr bool fair(std::uint64_t used, std::uint64_t total, std::uint64_t most) {
  constexpr std::uint64_t kFactor = 8;
  return total < most && used < kFactor * (most - total);
}

// The usage of those who have something.
class Usages {
 public:
  using Application = std::pair<std::uint32_t, std::uint64_t>;  // of a user
  std::shared_ptr<Usage> of_user(std::uint32_t uid) { return find(users_, uid); }
  std::shared_ptr<Usage> of_application(std::uint32_t uid, std::uint64_t id) {
    return find(applications_, Application{uid, id});
  }

 private:
  template <typename Key>
  std::shared_ptr<Usage> find(std::map<Key, std::weak_ptr<Usage>>& usages, const Key& key) {
    if (usages.size() >= prune_at_) {
      std::erase_if(usages, [](const auto& each) { return each.second.expired(); });
      prune_at_ = std::max<std::size_t>(64, 2 * usages.size());
    }
    std::weak_ptr<Usage>& place = usages[key];
    std::shared_ptr<Usage> usage = place.lock();
    if (usage == nullptr) place = usage = std::make_shared<Usage>();
    return usage;
  }
  std::size_t prune_at_ = 64;  // entries
  std::map<std::uint32_t, std::weak_ptr<Usage>> users_;
  std::map<Application, std::weak_ptr<Usage>> applications_;
};

}  // namespace tutti
