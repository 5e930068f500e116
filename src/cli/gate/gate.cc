// tutti gate: turns for programs that write, on Tutti or any other file system (docs/gate.md).
#include <fmt/format.h>
#include <sys/stat.h>

#include <memory>

#include "base/parse.h"
#include "cli/cluster/choose_directory.h"
#include "cli/cluster/daemon.h"
#include "cli/command.h"
#include "cli/gate/launch.h"
#include "cli/gate/local_gate.h"
#include "cli/gate/prober.h"
#include "cli/gate/resources.h"
#include "cli/output.h"
#include "daemon/coordinator_daemon.h"

namespace tutti::cli {
namespace {

constexpr Nanos kStartPatience = 20_s;
constexpr Nanos kAnswerPatience = 3_s;

// ---- serve ----

struct ServeOptions {
  GateServeOptions gate;
  bool background = false;
};

int run_gate_serve(const Globals& globals, const ServeOptions& options) {
  Globals own = globals;
  if (own.directory.empty() && environment_variable("TUTTI_DIR").empty()) {
    const std::string home = environment_variable("HOME");
    own.directory = (home.empty() ? std::string("/tmp") : home) + "/.tutti-gate";
  }
  const auto state = choose_state_directory(own);
  if (!state.ok()) return report("gate serve", state.status());
  if (state->running("coordinator"))
    return report("gate serve", {Code::busy, fmt::format("a gate is served from {} already", state->path())});
  if (const Status ready = prepare_gate(*state, options.gate); !ready.ok())
    return report("gate serve", ready);
  const auto say = [&] {
    fmt::print(
        "The gate is open. For jobs:\n\n    export TUTTI_CLUSTER={}\n\nthen\n\n"
        "    tutti run --gate lock --gate-dir DIR -- mpirun -n 16 ./app\n"
        "    tutti gate status\n",
        state->config_path());
    std::fflush(stdout);
  };
  if (options.background) {
    auto started = start_daemon(*state, "coordinator");
    if (!started.ok()) return report("gate serve", started.status());
    if (const Status ready = wait_until_ready(*state, *started, kStartPatience); !ready.ok())
      return report("gate serve", ready);
    say();
    return kSuccess;
  }
  say();
  DaemonOptions daemon;
  daemon.config = state->config_path();
  return report("gate serve", run_daemon(daemon, "coordinator", serve_coordinator));
}

int run_gate_stop(const Globals& globals) {
  Globals own = globals;
  if (own.directory.empty() && environment_variable("TUTTI_DIR").empty())
    own.directory = environment_variable("HOME") + "/.tutti-gate";
  const auto state = choose_state_directory(own);
  if (!state.ok()) return report("gate stop", state.status());
  const auto stopped = stop_daemons(*state, {"coordinator"}, 5_s);
  if (stopped.empty())
    return report("gate stop", {Code::not_found, fmt::format("no gate is served from {}", state->path())});
  return kSuccess;
}

// ---- status ----

std::string_view state_name(std::uint8_t state) {
  switch (state) {
    case wire::kGateWaiting:
      return "waits";
    case wire::kGateGranted:
      return "writes";
    case wire::kGateBlocked:
      return "writes without a turn: blocked too long";
    case wire::kGateHolding:
      return "writes without a turn: held another";
    default:
      return "gone";
  }
}

Task<Result<Channel::Reply>> ask_status(ServerSession& server) {
  flatbuffers::FlatBufferBuilder builder(64);
  builder.Finish(wire::CreateGateStatusRequest(builder));
  co_return co_await server.call<wire::GateStatusReply>(wire::request_type(wire::Type::gate_status),
                                                        wire::bytes(builder));
}

Json to_json(const wire::GateStatusReply& status) {
  Json rows = Json::array();
  if (status.rows() != nullptr) {
    for (const wire::GateRow* row : *status.rows()) {
      Json resources = Json::array();
      if (row->resources() != nullptr) {
        for (const auto* each : *row->resources()) resources.push_back(each->str());
      }
      rows.push_back({{"job", fmt::format("{:016x}", row->job())},
                      {"program", wire::text(row->program())},
                      {"uid", row->uid()},
                      {"file", wire::text(row->label())},
                      {"resources", resources},
                      {"state", row->state() == wire::kGateWaiting   ? "waiting"
                                : row->state() == wire::kGateGranted ? "granted"
                                                                     : "passed"},
                      {"seconds", Nanos(row->since()).seconds()},
                      {"fence", row->fence()}});
    }
  }
  Json resources = Json::array();
  if (status.resources() != nullptr) {
    for (const wire::GateResourceRow* row : *status.resources()) {
      resources.push_back({{"resource", wire::text(row->resource())},
                           {"holders", row->holders()},
                           {"waiting", row->waiting()},
                           {"most", row->most()},
                           {"error", row->error()}});
    }
  }
  return {{"jobs", rows},
          {"resources", resources},
          {"asked", status.asked()},
          {"granted", status.granted()},
          {"passed_blocked", status.passed_blocked()},
          {"passed_holding", status.passed_holding()},
          {"unguarded", status.unguarded()},
          {"lost", status.lost()},
          {"lease_seconds", Nanos(status.lease()).seconds()},
          {"in_grace", status.in_grace()}};
}

int run_gate_status(const Globals& globals, bool json) {
  auto world = GateWorld::open(globals);
  if (!world.ok()) return report("gate status", world.status());
  GateSessionOptions options = (*world)->session_options(globals, "tutti gate status");
  if (globals.patience.empty()) options.patience = kAnswerPatience;
  GateSession session((*world)->env(), options);
  const auto reply = (*world)->loop.run(ask_status(session.server()));
  if (!reply.ok()) return report("gate status", reply.status());
  const auto& status = *flatbuffers::GetRoot<wire::GateStatusReply>(reply->payload.data());
  if (json) return print_json(to_json(status));
  Table table({"program", "file", "state", ">for"});
  if (status.rows() != nullptr) {
    for (const wire::GateRow* row : *status.rows()) {
      table.add({wire::text(row->program()), wire::text(row->label()), std::string(state_name(row->state())),
                 fmt::format("{:.1f} s", Nanos(row->since()).seconds())});
    }
  }
  fmt::print("{}", table.text());
  fmt::print(
      "\n{} turns given, {} lost. Without a turn wrote: {} that waited too long, {} that held another, {} "
      "while the "
      "gate was away.{}\nNot covered are programs that neither `tutti run --gate` nor `tutti gate with` "
      "started, and "
      "what those write in other places.\n",
      status.granted(), status.lost(), status.passed_blocked(), status.passed_holding(), status.unguarded(),
      status.in_grace() ? " After a loss of power: no turns are given yet." : "");
  return kSuccess;
}

// ---- with ----

struct WithOptions {
  std::string directory;
  std::string mode = "lock";
  std::string limit;
  std::vector<std::string> command;
};

Task<GateTurn> acquire(GateSession& session, GateAsk ask) {
  co_return co_await session.acquire(std::move(ask));
}

int run_gate_with(const Globals& globals, const WithOptions& options) {
  struct stat info {};
  if (::stat(options.directory.c_str(), &info) != 0)
    return report("gate with", Status::from_errno(errno, fmt::format("open {}", options.directory)));
  auto world = GateWorld::open(globals);
  if (!world.ok()) return report("gate with", world.status());
  GateAsk ask;
  ask.resources = {resource_of_device(info.st_dev)};
  ask.alone = options.mode == "lock";
  ask.label = options.directory;
  if (!options.limit.empty()) {
    const auto limit = parse_duration(options.limit);
    if (!limit.ok()) return report("gate with", limit.status().with_context("--limit"));
    ask.limit = *limit;
  }
  GateSession session((*world)->env(), (*world)->session_options(globals, program_name(options.command)));
  const GateTurn turn = (*world)->loop.run(acquire(session, std::move(ask)));
  const auto code = run_and_wait((*world)->loop, options.command);
  session.release(turn.number);
  return code.ok() ? *code : report("gate with", code.status());
}

// ---- calibrate ----

int run_gate_calibrate(const std::string& directory, bool json) {
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0)
    return report("gate calibrate", Status::from_errno(errno, fmt::format("open {}", directory)));
  const auto quiet = measure_quiet(directory);
  if (!quiet.ok()) return report("gate calibrate", quiet.status());
  const gate::BackoffOptions& options = quiet->options;
  const std::string resource = resource_of_device(info.st_dev);
  if (const Status stored = store_calibration(resource, options); !stored.ok())
    return report("gate calibrate", stored);
  if (json) {
    return print_json({{"resource", resource},
                       {"rate", quiet->rate.count()},
                       {"slowest", quiet->slowest.count()},
                       {"threshold", options.threshold.count()},
                       {"uneven", quiet->uneven()},
                       {"data_size", options.data_size.count()},
                       {"backoff", options.to_string()},
                       {"path", calibration_path(resource)}});
  }
  fmt::print("{}: {}/s for {}, {}/s at the slowest; below {}/s it counts as busy\nKept in {}\n", resource,
             to_string(quiet->rate), to_string(options.data_size), to_string(quiet->slowest),
             to_string(options.threshold), calibration_path(resource));
  if (quiet->uneven()) {
    fmt::print(stderr,
               "tutti: it was not quiet, or is uneven by itself: jobs would take it for busy at times. "
               "Measure again when nobody writes\n");
  }
  return kSuccess;
}

}  // namespace

void add_gate(Command& root) {
  Command gate =
      root.add("gate", "Turns for jobs that write, on Tutti or any other file system", "tutti gate serve");
  gate.needs_command();

  auto serve_options = std::make_shared<ServeOptions>();
  Command serve = gate.add("serve", "Run a coordinator without a file system; says what to export",
                           "tutti gate serve --listen tcp:login1:7400");
  serve.option("--listen", serve_options->gate.listen, "unix:PATH, or tcp:HOST:PORT for jobs on other hosts");
  serve.option("--order", serve_options->gate.order, "Of turns: auto, preserved or overtaking")
      .one_of({"auto", "preserved", "overtaking"});
  serve.option("--lease", serve_options->gate.lease, "A job that is silent for longer loses its turn (5s)");
  serve.option("--limit", serve_options->gate.limit, "Who has waited so long goes on without a turn (never)");
  serve.flag("--background", serve_options->background, "Return when it serves");
  serve.action(
      [&globals = root.globals(), serve_options] { return run_gate_serve(globals, *serve_options); });

  Command stop = gate.add("stop", "Stop what `gate serve` started", "tutti gate stop");
  stop.action([&globals = root.globals()] { return run_gate_stop(globals); });

  auto json = std::make_shared<bool>(false);
  Command status =
      gate.add("status", "Who has a turn, who waits, and who wrote without", "tutti gate status");
  status.flag("--json", *json, "Print JSON");
  status.action([&globals = root.globals(), json] { return run_gate_status(globals, *json); });

  auto directory = std::make_shared<std::string>();
  Command calibrate =
      gate.add("calibrate",
               "Measure the file system of a directory while it is quiet, for --gate backoff and lock+probe",
               "tutti gate calibrate /scratch");
  calibrate.option("directory", *directory, "Where to write probes; none stays").required();
  calibrate.flag("--json", *json, "Print JSON");
  calibrate.action([directory, json] { return run_gate_calibrate(*directory, *json); });

  auto with_options = std::make_shared<WithOptions>();
  Command with = gate.add("with", "Run a command in a turn on the file system of a directory",
                          "tutti gate with /scratch -- tar xf data.tar -C /scratch");
  with.option("directory", with_options->directory, "Where the command writes").required();
  with.option("--gate", with_options->mode,
              "lock: nobody else at the same time; auto: as many as the storage feeds")
      .one_of({"lock", "auto"});
  with.option("--limit", with_options->limit, "The longest wait; then it goes on without a turn");
  with.option("command", with_options->command, "The command and its arguments, after --")
      .at_least(1)
      .required();
  with.action([&globals = root.globals(), with_options] { return run_gate_with(globals, *with_options); });
}

}  // namespace tutti::cli
