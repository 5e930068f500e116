#include "server/data/accounting.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace tutti {
namespace {

Nanos to_nanos(double count) {
  // 2^63 itself does not fit.
  constexpr double kLargest = 9.2e18;
  return Nanos(static_cast<std::int64_t>(std::clamp(count, 0.0, kLargest)));
}

}  // namespace

Accounting::Slot Accounting::arrived(std::uint64_t application, std::string_view program,
                                     std::string_view job, Nanos now) {
  Slot slot = find(application);
  if (slot == accounts_.size()) {
    slot = vacate();
    if (slot != kOthers) {
      reset(slot, application);
      accounts_[slot].program = program;
      accounts_[slot].job = job;
    }
  }
  advance(now);
  settle(slot, now);
  ++accounts_[slot].queued;
  return slot;
}

void Accounting::started(Slot slot, Nanos now) {
  advance(now);
  settle(slot, now);
  --accounts_[slot].queued;
  begin_service(slot);
}

void Accounting::returned(Slot slot, Nanos now) {
  advance(now);
  settle(slot, now);
  end_service(slot);
  ++accounts_[slot].queued;
}

void Accounting::ended(Slot slot, Nanos now) {
  advance(now);
  end_service(slot);
}

void Accounting::dropped(Slot slot, Nanos now) {
  advance(now);
  settle(slot, now);
  --accounts_[slot].queued;
}

void Accounting::count(Slot slot, bool write, Bytes length, std::uint64_t requests) {
  Account& account = accounts_[slot];
  (write ? account.writes : account.reads) += requests;
  (write ? account.bytes_written : account.bytes_read) += length;
}

bool Accounting::nobody_but(std::uint64_t application) const {
  for (Slot slot = 0; slot < accounts_.size(); ++slot) {
    const bool own = slot != kOthers && applications_[slot] == application;
    if (!own && accounts_[slot].queued + accounts_[slot].in_service > 0) return false;
  }
  return true;
}

// Its slot, or the number of slots if it has none.
Accounting::Slot Accounting::find(std::uint64_t application) const {
  const auto found = std::find(applications_.begin() + 1, applications_.end(), application);
  return static_cast<Slot>(found - applications_.begin());
}

// A slot for a new application, or that of the others if all are busy.
Accounting::Slot Accounting::vacate() {
  if (accounts_.size() < kSlots) {
    accounts_.emplace_back();
    applications_.push_back(0);
    return static_cast<Slot>(accounts_.size() - 1);
  }
  Slot quietest = kOthers;
  for (Slot slot = 1; slot < kSlots; ++slot) {
    const Account& account = accounts_[slot];
    if (account.queued + account.in_service > 0) continue;
    if (quietest == kOthers || account.touched < accounts_[quietest].touched) quietest = slot;
  }
  if (quietest == kOthers) return kOthers;

  Account& others = accounts_[kOthers];
  const Account& leaving = accounts_[quietest];
  others.reads += leaving.reads;
  others.writes += leaving.writes;
  others.bytes_read += leaving.bytes_read;
  others.bytes_written += leaving.bytes_written;
  others.in_queue += leaving.in_queue;
  for (Slot slot = 0; slot < kSlots; ++slot) others.waited[slot] += leaving.waited[slot];
  // What everybody waited for it, they waited for the others.
  for (Account& account : accounts_) {
    const double unsettled = served_[quietest] - account.seen[quietest];
    account.waited[kOthers] += account.waited[quietest] + static_cast<double>(account.queued) * unsettled;
    account.seen[kOthers] += served_[quietest];
  }
  served_[kOthers] += served_[quietest];
  return quietest;
}

void Accounting::reset(Slot slot, std::uint64_t application) {
  accounts_[slot] = Account();
  applications_[slot] = application;
  for (Account& account : accounts_) account.waited[slot] = account.seen[slot] = 0;
  served_[slot] = 0;
}

void Accounting::advance(Nanos now) {
  const double passed = static_cast<double>((now - served_until_).count());
  served_until_ = now;
  for (const Slot slot : serving_) {
    served_[slot] +=
        passed * static_cast<double>(accounts_[slot].in_service) / static_cast<double>(in_service_);
  }
}

void Accounting::settle(Slot slot, Nanos now) {
  Account& account = accounts_[slot];
  account.touched = ++events_;
  const std::size_t used = accounts_.size();
  if (account.queued > 0) {
    const auto waiting = static_cast<double>(account.queued);
    account.in_queue += waiting * static_cast<double>((now - account.settled).count());
    for (std::size_t i = 0; i < used; ++i) account.waited[i] += waiting * (served_[i] - account.seen[i]);
  }
  std::copy_n(served_.begin(), used, account.seen.begin());
  account.settled = now;
}

void Accounting::begin_service(Slot slot) {
  if (accounts_[slot].in_service++ == 0) serving_.push_back(slot);
  ++in_service_;
}

void Accounting::end_service(Slot slot) {
  assert(accounts_[slot].in_service > 0);
  --in_service_;
  if (--accounts_[slot].in_service == 0) serving_.erase(std::find(serving_.begin(), serving_.end(), slot));
}

std::vector<Accounting::Row> Accounting::rows(Nanos now) {
  advance(now);
  std::vector<Row> rows;
  const auto add = [&](Slot slot) {
    settle(slot, now);
    const Account& account = accounts_[slot];
    Row row{applications_[slot],
            slot == kOthers,
            account.program,
            account.job,
            account.reads,
            account.writes,
            account.bytes_read,
            account.bytes_written,
            account.queued,
            account.in_service,
            to_nanos(account.in_queue),
            to_nanos(served_[slot]),
            {}};
    for (Slot other = 0; other < accounts_.size(); ++other) {
      const Nanos time = to_nanos(account.waited[other]);
      if (time > 0_s) row.waited_for.push_back({applications_[other], other == kOthers, time});
    }
    rows.push_back(std::move(row));
  };
  for (Slot slot = 1; slot < accounts_.size(); ++slot) add(slot);
  const Account& others = accounts_[kOthers];
  if (others.reads + others.writes + others.queued + others.in_service > 0) add(kOthers);
  return rows;
}

}  // namespace tutti
