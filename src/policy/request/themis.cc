#include "policy/request/themis.h"

#include <fmt/format.h>

#include <algorithm>

#include "policy/request/registry.h"

namespace tutti {
namespace {

constexpr std::string_view kParameters[] = {"share", "seed", "dispatch_depth"};
constexpr std::string_view kShares[] = {"job", "size", "user", "user_size"};

Result<std::unique_ptr<RequestPolicy>> make(const Parameters& parameters) {
  ThemisOptions options;
  const auto share = parameters.choice("share", 0, kShares);
  if (!share.ok()) return share.status();
  const auto seed = parameters.number("seed", options.seed, 0, ~std::uint64_t{0});
  if (!seed.ok()) return seed.status();
  const auto depth = GuardedPolicy::read_depth(parameters);
  if (!depth.ok()) return depth.status();
  options.share = static_cast<ThemisOptions::Share>(*share);
  options.seed = *seed;
  options.dispatch_depth = *depth;
  return std::unique_ptr<RequestPolicy>(std::make_unique<ThemisPolicy>(options));
}

}  // namespace

constinit const Registration<RequestPolicy> request_policies::themis = {"themis", kParameters, make};

std::string ThemisPolicy::name() const {
  return fmt::format("themis;share={};seed={};dispatch_depth={}",
                     kShares[static_cast<std::size_t>(options_.share)], options_.seed, dispatch_depth());
}

void ThemisPolicy::enter(Handle handle, Nanos /*now*/) {
  const QueuedRequest& entered = request(handle);
  const auto [queue, fresh] = queues_.open(entered.application);
  if (queue >= applications_.size()) applications_.resize(std::size_t{queue} + 1);
  Application& application = applications_[queue];
  if (fresh) application = Application();
  if (application.processes.size() < kMostProcesses &&
      application.processes.find(entered.client) == application.processes.kNone) {
    application.processes.insert(entered.client, 0);
  }
  queues_.push(queue, handle, entered.id);
  const bool by_user =
      options_.share == ThemisOptions::Share::user || options_.share == ThemisOptions::Share::user_size;
  take_part(queue, by_user ? entered.user : 0);
}

void ThemisPolicy::take_part(Queue queue, std::uint64_t user_key) {
  Application& application = applications_[queue];
  if (application.user == kNone) {
    application.user = user_of(user_key);
    User& user = users_[application.user];
    if (user.free_slots.empty()) {
      application.slot = static_cast<std::uint32_t>(user.applications.size());
      user.applications.push_back(queue);
    } else {
      application.slot = user.free_slots.back();
      user.free_slots.pop_back();
      user.applications[application.slot] = queue;
    }
  }
  users_[application.user].shares.set(application.slot, weight_of(queue));
}

std::uint64_t ThemisPolicy::weight_of(Queue queue) const {
  const bool by_size =
      options_.share == ThemisOptions::Share::size || options_.share == ThemisOptions::Share::user_size;
  return by_size ? applications_[queue].processes.size() : 1;
}

std::uint32_t ThemisPolicy::user_of(std::uint64_t key) {
  const std::uint32_t known = by_user_.find(key);
  if (known != by_user_.kNone) return known;
  auto made = static_cast<std::uint32_t>(users_.size());
  if (free_users_.empty()) {
    users_.emplace_back();
  } else {
    made = free_users_.back();
    free_users_.pop_back();
  }
  users_[made].key = key;
  users_[made].place = static_cast<std::uint32_t>(present_.size());
  present_.push_back(made);
  by_user_.insert(key, made);
  return made;
}

ThemisPolicy::Choice ThemisPolicy::choose(Nanos /*now*/) {
  const User& user = users_[present_[random_.below(present_.size())]];
  const Queue queue = user.applications[user.shares.find(random_.below(user.shares.total()))];
  const Handle handle = queues_.take(queue);
  leave_if_empty(queue);
  return Choice::dispatch(handle);
}

void ThemisPolicy::leave_if_empty(Queue queue) {
  if (!queues_.empty(queue)) return;
  Application& application = applications_[queue];
  const std::uint32_t at = application.user;
  User& user = users_[at];
  user.shares.set(application.slot, 0);
  user.free_slots.push_back(application.slot);
  application.user = kNone;
  if (user.shares.total() > 0) return;
  users_[present_.back()].place = user.place;
  present_[user.place] = present_.back();
  present_.pop_back();
  by_user_.erase(user.key);
  free_users_.push_back(at);
}

void ThemisPolicy::left(Handle handle, Nanos /*now*/) { leave_if_empty(queues_.remove(handle)); }

void ThemisPolicy::ended(Handle handle, Nanos /*now*/) { queues_.end(handle); }

}  // namespace tutti
