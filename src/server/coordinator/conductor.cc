#include "server/coordinator/conductor.h"

#include <algorithm>

namespace tutti {

Conductor::Conductor(Env env, Members& members, const PolicyKeeper& policy)
    : env_(env), members_(members), policy_(policy), scope_(env.clock.executor()) {}

Task<void> Conductor::run() {
  for (;;) {
    if (!announced_) {
      // Nothing to say before somebody is heard of.
      members_.reported().reset();
      co_await members_.reported().wait();
    }
    follow_policy();
    const Nanos window = orchestrator_->options().window;
    const Nanos wall = env_.clock.wall();
    const Nanos begin = window * ((wall + kLead) / window + 1);
    co_await env_.clock.sleep(begin - kLead - wall);
    if (members_.connected() != connected_) orchestrator_->interrupt();
    connected_ = members_.connected();
    orchestrator_->take(samples(), env_.clock.now(), watching_);
    if (!watching_) announce(begin);
  }
}

void Conductor::follow_policy() {
  const Result<PolicyRecord> record = policy_.read();
  const std::string text = record.ok() ? record->now.policy : std::string();
  if (orchestrator_ && text == text_) return;
  text_ = text;
  announced_ = false;
  const auto options = read_orchestra_options(text_);
  watching_ = !options.ok();
  orchestrator_.emplace(options.ok() ? *options : OrchestraOptions());
}

std::vector<OrchestraSample> Conductor::samples() const {
  std::vector<OrchestraSample> samples;
  for (std::uint32_t index = 0; index < members_.size(); ++index) {
    const Member* member = members_.member(index);
    if (member == nullptr) continue;
    const UseReport& report = member->report();
    OrchestraSample sample;
    sample.gaps = report.gaps;
    sample.distance = report.distance;
    sample.far = report.far;
    sample.rest_reuses = report.rest_reuses;
    sample.rest_reuse = report.rest_reuse;
    sample.jump = report.jump;
    sample.addresses = report.addresses;
    for (const Use& use : report.applications) {
      if (use.others) continue;
      sample.programs.push_back({use.application, use.bytes, use.requests,
                                 std::uint64_t{use.queued} + use.in_service, use.gaps, use.distance, use.far,
                                 use.reuses, use.reuse});
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

void Conductor::announce(Nanos begin) {
  const std::vector<OrchestraObject>& objects = orchestrator_->objects();
  const bool slices = objects.size() > 1;
  if (!slices && !announced_) return;
  const OrchestraOptions& options = orchestrator_->options();
  Advice advice;
  advice.expiry = begin + options.window * 2;
  if (slices) {
    advice.slices = make_slices(objects, options.even, begin, options.window, 2);
    // Until then what was told before holds: the window that ends now goes on under it.
    const auto told = announced_slices_.end();
    for (auto each = announced_slices_.begin(); each != told; ++each) {
      if (each->from < begin && each->to > begin - options.window) advice.slices.push_back(*each);
    }
    std::sort(advice.slices.begin(), advice.slices.end(),
              [](const TimeSlice& a, const TimeSlice& b) { return a.from < b.from; });
    ++announcements_;
  } else {
    for (const TimeSlice& each : announced_slices_) {
      if (each.from < begin && each.to > begin - options.window) advice.slices.push_back(each);
    }
    advice.expiry = begin;
  }
  announced_slices_ = advice.slices;
  announced_ = slices;
  members_.advise(std::move(advice));
}

std::vector<wire::OrchestraProgram> to_wire(const Orchestrator& orchestrator,
                                            const std::map<std::uint64_t, std::size_t>& files) {
  std::vector<wire::OrchestraProgram> rows;
  for (const ProgramView& view : orchestrator.programs()) {
    const auto found = files.find(view.application);
    const auto open = static_cast<std::uint32_t>(found == files.end() ? 0 : found->second);
    rows.emplace_back(view.application, view.gap, view.ratio, view.spread, view.reuse, view.part, open,
                      static_cast<std::uint8_t>(view.eligibility));
  }
  return rows;
}

wire::OrchestraState state_to_wire(const Orchestrator& orchestrator) {
  return {orchestrator.jump(), orchestrator.trial().with(), orchestrator.trial().without(),
          orchestrator.predicted_gain(), orchestrator.options().window.count()};
}

}  // namespace tutti
