#include "policy/orchestra/orchestrator.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/random.h"

namespace tutti {
namespace {

double ratio_of(double a, double b) { return b > 0 ? a / b : 0; }

// Counters of a server that has started anew are no difference.
template <typename Number>
Number less(Number now, Number before) {
  return now >= before ? now - before : Number();
}

}  // namespace

std::string_view eligibility_name(Eligibility eligibility) {
  switch (eligibility) {
    case Eligibility::unknown:
      return "unknown";
    case Eligibility::uneven:
      return "servers differ";
    case Eligibility::no_gain:
      return "no gain";
    case Eligibility::on_trial:
      return "on trial";
    case Eligibility::too_slow:
      return "too slow";
    case Eligibility::eligible:
      return "eligible";
    case Eligibility::by_trial:
      return "by trial";
  }
  return "?";
}

std::vector<OrchestraSample> Orchestrator::difference(const std::vector<Sample>& now,
                                                      const std::vector<Sample>& before) {
  std::vector<Sample> change;
  for (std::size_t i = 0; i < now.size() && i < before.size(); ++i) {
    const Sample& a = now[i];
    const Sample& b = before[i];
    Sample each;
    each.gaps = less(a.gaps, b.gaps);
    each.distance = less(a.distance, b.distance);
    each.far = less(a.far, b.far);
    each.rest_reuses = less(a.rest_reuses, b.rest_reuses);
    each.rest_reuse = less(a.rest_reuse, b.rest_reuse);
    each.jump = a.jump;
    for (const Sample::Program& program : a.programs) {
      Sample::Program old;
      for (const Sample::Program& other : b.programs) {
        if (other.application == program.application) old = other;
      }
      each.programs.push_back(
          {program.application, less(program.bytes, old.bytes), less(program.requests, old.requests),
           program.present, less(program.gaps, old.gaps), less(program.distance, old.distance),
           less(program.far, old.far), less(program.reuses, old.reuses), less(program.reuse, old.reuse)});
    }
    change.push_back(std::move(each));
  }
  return change;
}

Orchestrator::Means Orchestrator::means(const std::vector<double>& values) {
  Means result;
  result.count = values.size();
  if (values.empty()) return result;
  const auto count = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean) / count;
  result.deviation = ratio_of(std::sqrt(squares), result.mean);
  return result;
}

const std::vector<OrchestraObject>& Orchestrator::take(const std::vector<OrchestraSample>& servers, Nanos now,
                                                       bool watch) {
  const std::vector<Sample> change = difference(servers, previous_);
  const bool comparable = !change.empty() && servers.size() == previous_.size();
  previous_ = servers;
  if (!comparable) {
    objects_.clear();
    return objects_;
  }
  std::set<std::uint64_t> active;
  std::vector<double> gaps;
  std::vector<double> jumps;
  Bytes bytes;
  Nanos rest;
  std::uint64_t rest_reuses = 0;
  for (const Sample& server : change) {
    if (server.gaps >= kFewestGaps)
      gaps.push_back(static_cast<double>(server.distance.count()) / static_cast<double>(server.gaps));
    jumps.push_back(server.jump.seconds());
    rest += server.rest_reuse;
    rest_reuses += server.rest_reuses;
    for (const Sample::Program& program : server.programs) {
      bytes += program.bytes;
      if (program.requests + program.present > 0) active.insert(program.application);
    }
  }
  jump_ = means(jumps).mean;
  if (rest_reuses > 0) rest_reuse_ = rest.seconds() / static_cast<double>(rest_reuses);
  std::erase_if(standings_, [&](const auto& each) { return !active.contains(each.first); });
  views_.clear();
  std::uint64_t load = 0;
  for (const std::uint64_t application : active) {
    judge(change, application, means(gaps), now);
    load = mix64(load ^ application);
  }
  choose_objects();
  if (objects_.size() < 2) predict(change);
  if (watch) return objects_;
  const bool possible = candidates_.size() > 1 && worth_trying_;
  if (options_.by == OrchestraOptions::By::addresses) {
    objects_ = possible ? candidates_ : std::vector<OrchestraObject>();
  } else {
    const bool slices = trial_.window(objects_.size() > 1, bytes, load, possible, now);
    objects_ = slices ? candidates_ : std::vector<OrchestraObject>();
  }
  const std::vector<double> parts = divide_window(objects_, options_.even);
  for (ProgramView& view : views_) {
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      if (!objects_[i].rest && objects_[i].application == view.application) view.part = parts[i];
    }
  }
  return objects_;
}

Eligibility Orchestrator::first_conditions(const ProgramView& view, std::size_t servers) const {
  if (servers == 0) return Eligibility::unknown;
  if (view.spread >= options_.deviation) return Eligibility::uneven;
  return view.ratio >= options_.ratio ? Eligibility::on_trial : Eligibility::no_gain;
}

void Orchestrator::judge(const std::vector<Sample>& change, std::uint64_t application, const Means& all,
                         Nanos now) {
  std::vector<double> gaps;
  double reuse = 0;
  double reuses = 0;
  for (const Sample& server : change) {
    for (const Sample::Program& program : server.programs) {
      if (program.application != application) continue;
      if (program.gaps >= kFewestGaps)
        gaps.push_back(static_cast<double>(program.distance.count()) / static_cast<double>(program.gaps));
      reuse += program.reuse.seconds();
      reuses += static_cast<double>(program.reuses);
    }
  }
  const Means own = means(gaps);
  Standing& standing = standings_[application];
  if (reuses > 0) standing.reuse = reuse / reuses;
  ProgramView view;
  view.application = application;
  view.gap = own.mean;
  view.ratio = ratio_of(all.mean, own.mean);
  // With slices the few gaps between programs are the orchestrator's own doing.
  view.spread = objects_.size() > 1 ? own.deviation : std::max(all.deviation, own.deviation);
  view.reuse = standing.reuse;
  const bool addresses =
      std::any_of(previous_.begin(), previous_.end(), [](const Sample& server) { return server.addresses; });
  if (options_.by == OrchestraOptions::By::trial ||
      (options_.by == OrchestraOptions::By::both && !addresses)) {
    standing.eligibility = Eligibility::by_trial;
  } else {
    const Eligibility first = first_conditions(view, std::min(own.count, all.count));
    const bool had =
        standing.eligibility == Eligibility::eligible || standing.eligibility == Eligibility::on_trial;
    if (first == Eligibility::on_trial) {
      standing.misses = 0;
      if (now < standing.refused_until) {
        standing.eligibility = Eligibility::too_slow;
      } else if (!had || standing.reuse <= 0) {
        standing.reuse = 0;
        standing.eligibility = Eligibility::on_trial;
      } else {
        standing.eligibility = Eligibility::eligible;
      }
    } else if (!had || ++standing.misses >= kMisses) {
      standing.eligibility = first;
    }
    // It had slices, and has them still. Whether conditions 1 and 2 hold meanwhile is no matter: in slices all go as far as it does alone.
    const bool granted = standing.eligibility == Eligibility::eligible ||
                         (had && standing.eligibility == Eligibility::on_trial);
    // Where trials have the last word they measure what condition 3 concludes.
    const bool concluded = options_.by == OrchestraOptions::By::addresses;
    if (concluded && granted && reuses > 0 && standing.reuse > options_.seek * jump_) {
      standing.eligibility = Eligibility::too_slow;
      standing.refused_until = now + standing.refusal;
      standing.refusal = std::min(standing.refusal * 2, kLongestRefusal);
    }
  }
  view.eligibility = standing.eligibility;
  views_.push_back(view);
}

void Orchestrator::predict(const std::vector<Sample>& change) {
  predicted_ = 0;
  worth_trying_ = true;
  if (candidates_.size() < 2) return;
  double saved = 0;
  for (const Sample& server : change) {
    double alone = 0;
    for (const Sample::Program& program : server.programs) alone += static_cast<double>(program.far);
    const double jumps = std::max(0.0, static_cast<double>(server.far) - alone);
    saved += jumps * server.jump.seconds() / static_cast<double>(change.size());
  }
  // Two jumps of each window stay, and a server cannot save more time than there is.
  const double window = options_.window.seconds();
  saved = std::clamp(saved - static_cast<double>(candidates_.size()) * jump_, 0.0, 0.9 * window);
  predicted_ = saved / (window - saved);
  const bool known = std::none_of(views_.begin(), views_.end(), [](const ProgramView& view) {
    return view.eligibility == Eligibility::by_trial;
  });
  if (known && options_.by == OrchestraOptions::By::both) worth_trying_ = predicted_ > kWorthTrying;
}

void Orchestrator::choose_objects() {
  candidates_.clear();
  bool rest = false;
  for (const ProgramView& view : views_) {
    const bool gets = view.eligibility == Eligibility::eligible ||
                      view.eligibility == Eligibility::on_trial || view.eligibility == Eligibility::by_trial;
    if (gets) {
      candidates_.push_back({view.application, false, standings_[view.application].reuse});
    } else {
      rest = true;
    }
  }
  if (rest && !candidates_.empty()) candidates_.push_back({0, true, rest_reuse_});
}

}  // namespace tutti
