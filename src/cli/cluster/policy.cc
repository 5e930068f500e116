// tutti policy: the order of requests in a running cluster.
#include <memory>
#include <optional>

#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "policy/orchestra/orchestrator.h"
#include "policy/request/policy.h"

namespace tutti::cli {
namespace {

constexpr Nanos kStatusPatience = 2_s;
constexpr double kWorthwhile = 0.05;  // gain

struct PolicyOptions {
  std::string policy;
  bool json = false;
};

// The number of the first window under the policy; 0 if it has none.
std::int64_t first_window(const ClusterPolicy& policy) {
  const auto made = make_request_policy(policy.policy);
  if (!made.ok()) return 0;
  const Nanos interval = (*made)->counters().interval;
  return interval > 0_s ? policy.from / interval : 0;
}

Json to_json(const ClusterPolicy& policy) {
  Json out = {{"policy", policy.policy},
              {"version", policy.version},
              {"in_effect", policy.from <= policy.now},
              {"previous", policy.previous}};
  if (policy.from > 0_s) {
    out["from"] = time_utc(policy.from);
    out["from_window"] = first_window(policy);
  }
  return out;
}

// "since 2026-11-15 21:13:00, window 123456", "from ... on, in 1.2 s"
std::string when(const ClusterPolicy& policy) {
  if (policy.from <= 0_s) return "as in the cluster file";
  std::string text =
      fmt::format("{} {}", policy.from <= policy.now ? "since" : "from", time_text(policy.from));
  if (const std::int64_t window = first_window(policy); window > 0)
    text += fmt::format(", window {}", window);
  if (policy.from > policy.now) text += fmt::format(" (in {})", to_string(policy.from - policy.now));
  return text;
}

int run_show(const Globals& globals, bool json) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("policy show", client.status());
  const auto policy = (*client)->run((*client)->files().policy());
  if (!policy.ok()) return report("policy show", policy.status());
  Json rows = Json::array();
  Table table({"server", "in effect"});
  for (const ServerStatus& server : (*client)->run((*client)->files().status(kStatusPatience))) {
    if (server.kind != "data") continue;
    const bool up = server.reachable.ok();
    rows.push_back(
        {{"index", server.index}, {"reachable", up}, {"policy", up ? Json(server.policy) : Json()}});
    table.add({fmt::format("data.{}", server.index), up ? server.policy : "does not answer"});
  }
  if (json) {
    Json out = to_json(*policy);
    out["servers"] = rows;
    return print_json(out);
  }
  fmt::print("{}, {}\n", policy->policy, when(*policy));
  if (policy->from > policy->now) fmt::print("until then {}\n", policy->previous);
  fmt::print("\n{}", table.text());
  return kSuccess;
}

int run_set(const Globals& globals, const PolicyOptions& options) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("policy set", client.status());
  const auto policy = (*client)->run((*client)->files().set_policy(options.policy));
  if (!policy.ok()) return report("policy set", policy.status());
  if (options.json) return print_json(to_json(*policy));
  fmt::print("{} on {} data servers, {}\n", policy->policy, (*client)->config().servers(), when(*policy));
  return kSuccess;
}

// From what the servers report now, whatever policy they have.
int run_suggest(const Globals& globals, bool json) {
  auto client = Client::open(globals);
  if (!client.ok()) return report("policy suggest", client.status());
  std::optional<OrchestraStatus> found;
  for (const ServerStatus& server : (*client)->run((*client)->files().status(kStatusPatience))) {
    if (server.orchestra) found = server.orchestra;
  }
  if (!found) {
    return report(
        "policy suggest",
        Status(Code::unavailable, "the coordinator has heard of no requests yet: ask while programs run"));
  }
  std::size_t with_locality = 0;
  bool sliced = false;
  for (const OrchestraProgramStatus& each : found->programs) {
    const auto state = static_cast<Eligibility>(each.eligibility);
    with_locality += state == Eligibility::eligible || state == Eligibility::on_trial ? 1 : 0;
    sliced = sliced || each.part > 0;
  }
  const double measured = found->with > 0 && found->without > 0 ? found->with / found->without - 1 : 0;
  const std::string suggestion = found->predicted >= kWorthwhile || sliced ? "orchestrated" : "window";
  if (json) {
    return print_json({{"suggestion", suggestion},
                       {"expected_gain", found->predicted},
                       {"measured_gain", sliced || measured != 0 ? Json(measured) : Json()},
                       {"programs", found->programs.size()},
                       {"with_locality", with_locality},
                       {"jump_seconds", found->jump}});
  }
  fmt::print("{}: {} of {} programs go less far alone than all together; a jump costs {}.\n", suggestion,
             with_locality, found->programs.size(), to_string(Nanos::from_seconds(found->jump)));
  fmt::print("Time slices are expected to gain {:.0f} %", found->predicted * 100);
  if (measured != 0) fmt::print("; tried here, they gained {:.0f} %", measured * 100);
  fmt::print(".\n");
  return kSuccess;
}

}  // namespace

void add_policy(Command& root) {
  auto options = std::make_shared<PolicyOptions>();
  Command policy = root.add("policy", "Show or change the order of requests in a running cluster",
                            "tutti policy set 'window;interval=500'");
  policy.needs_command();
  Command show = policy.add("show", "The cluster's policy, and the one in effect on each server",
                            "tutti policy show --json");
  show.flag("--json", options->json, "Print JSON");
  show.action([&globals = root.globals(), options] { return run_show(globals, options->json); });
  Command suggest =
      policy.add("suggest", "What time slices (orchestrated) would gain for the programs that run now",
                 "tutti policy suggest --json");
  suggest.flag("--json", options->json, "Print JSON");
  suggest.action([&globals = root.globals(), options] { return run_suggest(globals, options->json); });
  Command set = policy.add("set", "Change it on all data servers from the same window on, or on none",
                           "tutti policy set 'window;interval=500;order=rotated'");
  set.option(
         "policy", options->policy,
         fmt::format("NAME;KEY=VALUE;... with one of the names {}", fmt::join(request_policy_names(), ", ")))
      .required();
  set.flag("--json", options->json, "Print JSON");
  set.action([&globals = root.globals(), options] { return run_set(globals, *options); });
}

}  // namespace tutti::cli
