#include "client/real/real_client.h"

#include <algorithm>
#include <cerrno>

#include "base/parse.h"
#include "env/real/system_random.h"

namespace tutti {
namespace {

// Time in which the program does not call in, or is stopped, is no silence of the servers.
constexpr Nanos kLongestGap = 1_s;

}  // namespace

Nanos patience_of_milliseconds(std::uint64_t milliseconds) {
  constexpr std::int64_t kNanos = 1'000'000;
  const auto most = static_cast<std::uint64_t>(kMostPatience.count() / kNanos);
  return Nanos(static_cast<std::int64_t>(std::min(milliseconds, most)) * kNanos);
}

Log client_log(std::string_view name, std::optional<LogLevel> level, const Environment& environment) {
  if (const auto wanted = parse_log_level(environment("TUTTI_LOG")); wanted.ok()) level = *wanted;
  return level ? Log::to_stderr(name, *level) : Log();
}

RealClient::RealClient(RealClientOptions options) : options_(std::move(options)), random_(system_random()) {
  loop_.set_spin(kSpin);
  loop_.clock().stand_still_after(kLongestGap);
  if (options_.program.empty()) options_.program = program_invocation_short_name;
  if (options_.job.empty()) options_.job = job_identity(options_.environment).job;
}

RealClient::~RealClient() = default;

Result<std::uint64_t> RealClient::application() {
  if (application_) return *application_;
  const auto chosen = choose_application(options_.application, options_.environment, random_.next());
  if (chosen.ok()) application_ = *chosen;
  return chosen;
}

Result<Nanos> RealClient::patience() const {
  if (options_.patience) return std::min(*options_.patience, kMostPatience);
  const std::string text = options_.environment("TUTTI_PATIENCE");
  if (text.empty()) return ClientOptions().patience;
  const auto patience = parse_duration(text);
  if (!patience.ok()) return patience.status().with_context("TUTTI_PATIENCE");
  return std::min(*patience, kMostPatience);
}

Status RealClient::connect() {
  if (connection_) return {};
  const auto config = load_cluster(options_.cluster, options_.environment);
  return config.ok() ? connect(*config) : config.status();
}

Status RealClient::connect(const ClusterConfig& config) {
  if (connection_) return {};
  if (!config.has_files()) {
    return {Code::invalid,
            "the cluster has a gate and no file system: use `tutti gate`, or name another with --cluster"};
  }
  const auto wait = patience();
  if (!wait.ok()) return wait.status();
  if (const auto chosen = application(); !chosen.ok()) return chosen.status();
  connection_ = std::make_unique<Connection>(loop_, config, options_.log);
  connection_->options.patience = *wait;
  connection_->options.job = options_.job;
  connection_->options.program = options_.program;
  connection_->options.gate = options_.gate;
  connection_->options.target_order = config.target_order;
  connection_->options.piece = config.schedule_block;
  connection_->options.pieces_in_flight = static_cast<std::size_t>(config.pieces_in_flight);
  connection_->options.application_range = config.application_range(options_.program);
  return {};
}

void RealClient::disconnect() { connection_.reset(); }

FileSystem& RealClient::make_files(std::uint64_t application) {
  auto& system = connection_->systems[application];
  if (system) return *system;
  ClientOptions options = connection_->options;
  options.application = application;
  system = std::make_unique<FileSystem>(Env{loop_.clock(), connection_->network, random_, options_.log},
                                        connection_->config.map(), std::move(options));
  return *system;
}

bool RealClient::locking() const {
  if (!connection_) return false;
  const auto& systems = connection_->systems;
  return std::any_of(systems.begin(), systems.end(), [](const auto& each) { return each.second->locking(); });
}

Result<FileSystem*> RealClient::files_of(std::uint64_t application) {
  if (Status connected = connect(); !connected.ok()) return connected;
  return &make_files(application);
}

}  // namespace tutti
