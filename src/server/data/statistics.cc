#include "server/data/statistics.h"

#include <utility>

namespace tutti {

void Statistics::Way::go(Bytes begin, Bytes end) {
  if (at) {
    ++gaps;
    distance += begin > *at ? begin - *at : *at - begin;
  }
  at = end;
}

void Statistics::served(std::uint64_t application, ObjectId object, Bytes begin, Bytes end) {
  if (!wanted_) return;
  news_.set();
  if (!has_addresses()) return;
  if (noted_.size() < kMostNoted) {
    noted_.push_back({application, object, begin, end});
  } else {
    missed_ = true;
  }
}

Task<std::optional<Bytes>> Statistics::address(ObjectId object, Bytes offset) {
  const auto found = co_await store_.locate(object, offset);
  if (!found.ok()) co_return std::nullopt;
  co_return *found;
}

Task<void> Statistics::locate_noted() {
  const std::vector<Noted> noted = std::exchange(noted_, {});
  const bool missed = std::exchange(missed_, false);
  for (const Noted& each : noted) {
    Way& own = ways_[each.application];
    const auto begin = co_await address(each.object, each.begin);
    const auto last = co_await address(each.object, each.end - 1_B);
    if (begin && last) {
      all_.go(*begin, *last + 1_B);
      own.go(*begin, *last + 1_B);
    } else {
      all_.at.reset();
      own.at.reset();
    }
  }
  if (!missed) co_return;
  all_.at.reset();
  for (auto& [application, way] : ways_) way.at.reset();
}

Task<UseReport> Statistics::report(std::vector<Accounting::Row> accounts) {
  news_.reset();
  co_await locate_noted();
  UseReport report{{}, all_.gaps, all_.distance};
  std::map<std::uint64_t, Way> known;
  for (const Accounting::Row& row : accounts) {
    const auto way = row.others ? ways_.end() : ways_.find(row.application);
    Use use{row.application,
            row.others,
            row.reads + row.writes,
            row.bytes_read + row.bytes_written,
            row.served,
            0,
            {},
            static_cast<std::uint32_t>(row.queued),
            static_cast<std::uint32_t>(row.in_service)};
    if (way != ways_.end()) {
      use.gaps = way->second.gaps;
      use.distance = way->second.distance;
      known.insert(*way);
    }
    report.applications.push_back(use);
  }
  ways_ = std::move(known);
  co_return report;
}

}  // namespace tutti
