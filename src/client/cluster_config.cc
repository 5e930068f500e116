#include "client/cluster_config.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/config.h"
#include "env/real/network/address.h"
#include "policy/collective/plan.h"
#include "policy/request/policy.h"

namespace tutti {
namespace {

constexpr std::string_view kUnix = "unix:";

const std::vector<std::string>& movers() {
  static const std::vector<std::string> kMovers = {"automatic", "cma", "socket"};
  return kMovers;
}

const std::vector<std::string>& protections() {
  static const std::vector<std::string> kProtections(kProtectionNames.begin(), kProtectionNames.end());
  return kProtections;
}

const std::vector<std::string>& levels() {
  static const std::vector<std::string> kLevels = {"debug", "info", "warn", "error"};
  return kLevels;
}

const std::vector<std::string>& kinds_of_auth() {
  static const std::vector<std::string> kKinds = {"local", "key", "munge"};
  return kKinds;
}

// "run/meta.sock" in /a/b/cluster.toml is "/a/b/run/meta.sock".
std::string absolute_path(const std::string& path, const std::filesystem::path& directory) {
  std::error_code error;
  return (std::filesystem::absolute(directory, error) / path).lexically_normal().string();
}

Result<std::string> absolute_address(const std::string& address, const std::filesystem::path& directory) {
  Result<Address> parsed = parse_address(address);
  if (parsed.ok() && parsed->is_tcp() && parsed->port == 0) {
    return Status(Code::invalid, fmt::format("'{}' needs a port", address));
  }
  if (parsed.ok() && parsed->is_tcp()) return address;
  if (address.starts_with(kUnix) && address.size() > kUnix.size()) {
    return std::string(kUnix) + absolute_path(address.substr(kUnix.size()), directory);
  }
  return Status(Code::invalid,
                fmt::format("'{}' is not an address; write \"unix:PATH\" or \"tcp:HOST:PORT\"", address));
}

const std::vector<std::string>& gate_orders() {
  static const std::vector<std::string> kOrders = {"auto", "preserved", "overtaking"};
  return kOrders;
}

void read_servers(ConfigReader& file, ClusterConfig& config) {
  file.require("id");
  const bool gate_only = file.has("coordinator") && !file.has("meta") && !file.has("data");
  if (gate_only) {
    config.id = file.identifier("id", 0);
    config.coordinator = file.string("coordinator");
    return;
  }
  for (const char* key : {"meta", "data"}) file.require(key);
  config.id = file.identifier("id", 0);
  config.meta = file.string("meta");
  config.coordinator = file.string("coordinator");
  config.data = file.strings("data");
  if (config.data.empty()) file.fail("data", "needs at least one data server");
  if (config.data.size() > kMaxServers)
    file.fail("data", fmt::format("has more than {} servers", kMaxServers));
}

void read_service(ConfigReader& file, ClusterConfig& config) {
  config.policy = file.string("policy", config.policy);
  if (const auto policy = make_request_policy(config.policy); !policy.ok()) {
    file.fail("policy", policy.status().message());
  }
  config.stripe_size = file.bytes("stripe_size", config.stripe_size, Layout::kMinStripe, Layout::kMaxStripe);
  if (const Status fits = check_stripe_size(config.stripe_size); !fits.ok()) {
    file.fail("stripe_size", fits.message());
  }
  config.stripe_count = static_cast<std::uint32_t>(file.integer("stripe_count", 0, 0, kMaxServers));
  if (config.stripe_count > config.servers()) {
    file.fail("stripe_count", fmt::format("there are only {} data servers", config.servers()));
  }
  config.target_order = file.string("target_order", config.target_order);
  if (const auto order = make_target_order(config.target_order); !order.ok()) {
    file.fail("target_order", order.status().message());
  }
  config.schedule_block = file.bytes("schedule_block", config.schedule_block, kLeastBlock, kMostBlock);
  config.pieces_in_flight = file.integer("pieces_in_flight", 0, 0, static_cast<std::int64_t>(kMostInFlight));
  config.log_level = file.choice("log_level", config.log_level, levels());
  config.mover = file.choice("mover", config.mover, movers());
  config.device = file.choice("device", config.device, modelled_devices());
  config.checksums = file.choice("checksums", config.checksums, kinds_of_checksums());
  config.capability_lifetime =
      file.duration("capability_lifetime", config.capability_lifetime, 1_s, 604800_s);
  config.open_grace = file.duration("open_grace", config.open_grace, 1_s, 604800_s);
  config.max_request_age = file.duration("max_request_age", config.max_request_age, 0_s, 86400_s);
  config.max_queued = file.integer("max_queued", config.max_queued, 1, 100'000'000);
  config.max_queued_per_session =
      file.integer("max_queued_per_session", config.max_queued_per_session, 1, 100'000'000);
  config.queue_memory = file.bytes("queue_memory", config.queue_memory, 1_MiB, 16384_GiB);
  config.read_grant = file.bytes("read_grant", config.read_grant, 0_B, 1_GiB);
  config.write_grant = file.bytes("write_grant", config.write_grant, 0_B, 1_GiB);
  config.metadata_limit = file.bytes("metadata_limit", config.metadata_limit, 1_MiB, 16384_GiB);
  config.gate_order = file.choice("gate_order", config.gate_order, gate_orders());
  config.gate_lease = file.duration("gate_lease", config.gate_lease, 1_s, 3600_s);
  config.gate_limit = file.duration("gate_limit", config.gate_limit, 0_s, 604800_s);
}

// A key that may hold anything.
std::string toml_key(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += fmt::format("\\{}", c);
    } else if (code < 0x20 || code == 0x7f) {
      out += fmt::format("\\u{:04x}", code);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// "1000:100"
std::optional<Owner> parse_owner(const std::string& text) {
  Owner owner;
  const char* end = text.data() + text.size();
  const auto [colon, error] = std::from_chars(text.data(), end, owner.uid);
  if (error != std::errc() || colon == end || *colon != ':') return std::nullopt;
  const auto [stop, second_error] = std::from_chars(colon + 1, end, owner.gid);
  if (second_error != std::errc() || stop != end) return std::nullopt;
  return owner;
}

void read_identity(ConfigReader& file, const std::filesystem::path& directory, ClusterConfig& config) {
  config.auth = file.choice("auth", config.auth, kinds_of_auth());
  config.auth_keys = file.strings("auth_keys");
  for (std::string& path : config.auth_keys) path = absolute_path(path, directory);
  if (config.auth_keys.size() > kMostKeys) {
    file.fail("auth_keys", fmt::format("at most {} keys are valid at a time", kMostKeys));
  }
  if (config.auth == "key" && config.auth_keys.empty())
    file.fail("auth_keys", "auth = \"key\" needs a key file");
  if (file.has("owner")) {
    config.owner = parse_owner(file.string("owner"));
    if (!config.owner) file.fail("owner", "write \"UID:GID\", two numbers");
  }
  config.root_squash = file.boolean("root_squash", config.root_squash);
  config.local_path = file.boolean("local_path", config.local_path);
  config.read_grants = file.boolean("read_grants", config.read_grants);
  config.run_directory = absolute_path(file.string("run_directory", "run"), directory);
  config.munge_socket = file.string("munge_socket");
  config.protect = file.choice("protect", config.protect, protections());
  config.collective = file.string("collective", config.collective);
  if (const auto plan = make_collective_plan(config.collective); !plan.ok())
    file.fail("collective", plan.status().message());
  config.server_uid =
      static_cast<std::uint32_t>(file.integer("server_uid", config.server_uid, 0, UINT32_MAX));
}

// "alice" or "1001"
std::optional<std::uint32_t> parse_user(const std::string& text) {
  std::uint32_t uid = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, uid);
  if (error == std::errc() && stop == end) return uid;
  const passwd* user = ::getpwnam(text.c_str());
  if (user == nullptr) return std::nullopt;
  return user->pw_uid;
}

void read_applications(ConfigReader& file, ClusterConfig& config) {
  ConfigReader table = file.table("applications");
  const auto range = [](ConfigReader& where, const std::string& key) {
    const auto parsed = ApplicationRange::parse(where.word(key));
    if (!parsed.ok()) where.fail(key, parsed.status().message());
    return parsed.ok() ? *parsed : ApplicationRange();
  };
  config.applications.enforce = table.boolean("enforce", false);
  if (!table.word("all").empty()) config.applications.all = range(table, "all");
  ConfigReader users = table.table("users");
  for (const std::string& name : users.keys()) {
    const auto uid = parse_user(name);
    if (!uid) users.fail(name, "this host knows no such user: use the number");
    config.applications.users[uid.value_or(0)] = range(users, name);
  }
  ConfigReader programs = table.table("programs");
  for (const std::string& name : programs.keys()) config.applications.programs[name] = range(programs, name);
}

// The part of the file about application ids. It ends the file: what follows a table belongs to it.
std::string applications_text(const ApplicationRules& rules) {
  if (rules.empty()) return "";
  std::string text = fmt::format("\n[applications]\nenforce = {}\n", rules.enforce);
  if (rules.all) text += fmt::format("all = \"{}\"\n", rules.all->text());
  if (!rules.users.empty()) text += "[applications.users]\n";
  for (const auto& [uid, range] : rules.users) text += fmt::format("\"{}\" = \"{}\"\n", uid, range.text());
  if (!rules.programs.empty()) text += "[applications.programs]\n";
  for (const auto& [name, range] : rules.programs)
    text += fmt::format("{} = \"{}\"\n", toml_key(name), range.text());
  return text;
}

// The part of the file about identity; nothing for a cluster on one host.
std::string identity_text(const ClusterConfig& config, const std::filesystem::path& directory) {
  std::string text;
  if (config.auth != "local") text += fmt::format("auth = \"{}\"\n", config.auth);
  if (!config.auth_keys.empty()) {
    text += fmt::format("auth_keys = [\"{}\"]\n", fmt::join(config.auth_keys, "\", \""));
  }
  if (config.owner) text += fmt::format("owner = \"{}:{}\"\n", config.owner->uid, config.owner->gid);
  if (!config.root_squash) text += "root_squash = false\n";
  if (!config.local_path) text += "local_path = false\n";
  if (!config.read_grants) text += "read_grants = false\n";
  if (!config.run_directory.empty() && config.run_directory != absolute_path("run", directory)) {
    text += fmt::format("run_directory = \"{}\"\n", config.run_directory);
  }
  if (!config.munge_socket.empty()) text += fmt::format("munge_socket = \"{}\"\n", config.munge_socket);
  if (config.protect != ClusterConfig().protect) text += fmt::format("protect = \"{}\"\n", config.protect);
  if (config.collective != ClusterConfig().collective)
    text += fmt::format("collective = \"{}\"\n", config.collective);
  if (config.auth == "munge") text += fmt::format("server_uid = {}\n", config.server_uid);
  return text;
}

// Writes beside the file, syncs and renames: readers see the old text or the new one.
Status replace_file(const std::string& path, const std::string& text, std::uint32_t mode) {
  const std::string fresh = path + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  if (file < 0) return Status::from_errno(errno, fmt::format("create {}", fresh));
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fchmod(file, mode) == 0 && ::fsync(file) == 0;
  const int error = errno;
  ::close(file);
  if (!written) return Status::from_errno(error, fmt::format("write {}", fresh));
  if (std::rename(fresh.c_str(), path.c_str()) == 0) return {};
  return Status::from_errno(errno, fmt::format("rename {} to {}", fresh, path));
}

}  // namespace

const std::vector<std::string>& kinds_of_checksums() {
  static const std::vector<std::string> kinds = {"auto", "on", "off"};
  return kinds;
}

const std::vector<std::string>& modelled_devices() {
  static const std::vector<std::string> kDevices = {"none", "hdd", "hdd-shared", "ssd"};
  return kDevices;
}

Status check_stripe_size(Bytes size) {
  Layout layout;
  layout.stripe_size = size;
  return layout.validate();
}

Result<ClusterConfig> ClusterConfig::load(const std::string& path) {
  auto file = ConfigReader::load(path);
  if (!file.ok()) return file.status();
  const std::int64_t format = file->integer("format", kStateFormat, 1, 1'000'000);
  if (format > kStateFormat) {
    return Status(Code::version, fmt::format("{} has format {}, this Tutti knows up to {}: use a newer Tutti",
                                             file->where("format"), format, kStateFormat));
  }
  ClusterConfig config;
  read_servers(*file, config);
  read_service(*file, config);
  const auto directory = std::filesystem::path(path).parent_path();
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) config.server_uid = info.st_uid;
  read_identity(*file, directory, config);
  read_applications(*file, config);
  auto resolve = [&](std::string& address, const char* key) {
    if (address.empty()) return;
    auto absolute = absolute_address(address, directory);
    if (!absolute.ok()) return file->fail(key, absolute.status().message());
    address = *std::move(absolute);
  };
  resolve(config.meta, "meta");
  resolve(config.coordinator, "coordinator");
  if (config.coordinator == config.meta) config.coordinator.clear();
  for (std::string& address : config.data) resolve(address, "data");
  TUTTI_TRY(file->finish());
  return config;
}

Status ClusterConfig::save(const std::string& path, std::uint32_t mode) const {
  std::string servers;
  for (const std::string& address : data) servers += fmt::format("  \"{}\",\n", address);
  const std::string alone =
      coordinator.empty()
          ? ""
          : fmt::format("coordinator = \"{}\"   # unset: the metadata server is it\n", coordinator);
  const std::string gate = fmt::format(
      "gate_order = \"{}\"      # of turns at the gate: auto, preserved, overtaking\n"
      "gate_lease = \"{}s\"        # a job that is silent for longer loses its turn\n"
      "gate_limit = \"{}s\"        # who has waited so long goes on without a turn; 0s: nobody\n",
      gate_order, gate_lease.count() / 1'000'000'000, gate_limit.count() / 1'000'000'000);
  if (!has_files()) {
    const std::string text = fmt::format(
        "# A Tutti coordinator without a file system: its gate says which jobs write now (`tutti gate "
        "serve`).\n"
        "format = {}\nid = \"0x{:016x}\"\ncoordinator = \"{}\"\nlog_level = \"{}\"\n{}",
        kStateFormat, id, coordinator, log_level, gate);
    return replace_file(path, text + identity_text(*this, std::filesystem::path(path).parent_path()), mode);
  }
  const std::string text = fmt::format(
      R"(# A Tutti cluster. Daemons read it when they start: after a change, `tutti down` and `tutti up`.
format = {}
id = "0x{:016x}"

# "unix:PATH" or "tcp:HOST:PORT"; relative paths are taken from the directory of this file.
meta = "{}"
{}data = [
{}]

policy = "{}"          # order of requests in the data servers
stripe_size = {}       # bytes, default of new files
stripe_count = {}          # servers a new file is spread over; 0: all
target_order = "{}"      # in which clients visit the servers: auto, alternate, first, random, hash, load
schedule_block = {}    # bytes that a client sends to a server at a time, at most
log_level = "{}"        # debug, info, warn, error
mover = "{}"       # bulk data: automatic, cma (cross-memory attach), socket
device = "{}"           # a modelled disk under the data servers, in real time: none, hdd, hdd-shared, ssd
checksums = "{}"        # of the stored bytes: auto (where objects are on a disk), on, off
capability_lifetime = "{}s"
open_grace = "{}s"          # removed files that a client which is away has open are kept so long
max_request_age = "{}s"
max_queued = {}
max_queued_per_session = {}
queue_memory = {}
read_grant = {}    # how far local readers of objects in memory read on without asking, while nobody waits
write_grant = {}   # and writers write
metadata_limit = {}
)",
      kStateFormat, id, meta, alone, servers, policy, stripe_size.count(), stripe_count, target_order,
      schedule_block.count(), log_level, mover, device, checksums,
      capability_lifetime.count() / 1'000'000'000, open_grace.count() / 1'000'000'000,
      max_request_age.count() / 1'000'000'000, max_queued, max_queued_per_session, queue_memory.count(),
      read_grant.count(), write_grant.count(), metadata_limit.count());
  const std::string visiting =
      pieces_in_flight != 0 ? fmt::format("pieces_in_flight = {}\n", pieces_in_flight) : "";
  const std::string identity = identity_text(*this, std::filesystem::path(path).parent_path());
  return replace_file(path, text + visiting + gate + identity + applications_text(applications), mode);
}

ApplicationRange ClusterConfig::application_range(const std::string& program) const {
  return applications.range_for(::geteuid(), program);
}

SocketOptions ClusterConfig::socket_options(Log log) const {
  SocketOptions options;
  options.mover = mover_choice();
  options.take_local_path = local_path;
  options.grant_reads = read_grants;
  options.log = std::move(log);
  options.auth.kind = auth == "key" ? AuthKind::key : auth == "munge" ? AuthKind::munge : AuthKind::local;
  options.auth.keys = auth_keys;
  options.auth.owner = owner;
  options.auth.root_squash = root_squash;
  options.auth.munge_socket = munge_socket;
  options.auth.server_uid = server_uid;
  options.protection = protection_named(protect).value_or(Protection::authenticate);
  // What a server is called: the same for everybody who has a file of this cluster, whatever addresses stand in it.
  const auto name = [&](const std::string& address, const std::string& role) {
    if (!address.empty()) options.identities[address] = fmt::format("{:016x}/{}", id, role);
  };
  name(meta, "meta");
  name(coordinator, "coordinator");
  for (std::size_t i = 0; i < data.size(); ++i) name(data[i], fmt::format("data.{}", i));
  return options;
}

gate::LockOptions ClusterConfig::gate_options() const {
  gate::LockOptions options;
  options.order = gate_order == "preserved"    ? gate::Order::preserved
                  : gate_order == "overtaking" ? gate::Order::overtaking
                                               : gate::Order::learned;
  options.lease = options.grace = gate_lease;
  if (gate_limit > 0_s) options.most_blocked = gate_limit;
  return options;
}

MoverChoice ClusterConfig::mover_choice() const {
  if (mover == "cma") return MoverChoice::cma;
  if (mover == "socket") return MoverChoice::socket;
  return MoverChoice::automatic;
}

}  // namespace tutti
