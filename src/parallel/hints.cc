#include "parallel/hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/parse.h"
#include "client/application.h"

namespace tutti {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns why the value is refused; empty if it was taken.
using Taker = std::string (*)(const std::string& value, FileHints& hints);

template <Bytes CollectiveOptions::*field>
std::string take_size(const std::string& value, FileHints& hints) {
  const auto size = parse_bytes(value);
  if (!size.ok() || *size == Bytes(0) || *size > 1024_GiB) return "not a size";
  hints.collective.*field = *size;
  return "";
}

template <Toggle CollectiveOptions::*field>
std::string take_choice(const std::string& value, FileHints& hints) {
  if (value == "enable") {
    hints.collective.*field = Toggle::enable;
  } else if (value == "disable") {
    hints.collective.*field = Toggle::disable;
  } else if (value == "automatic") {
    hints.collective.*field = Toggle::automatic;
  } else {
    return "use enable, disable or automatic";
  }
  return "";
}

std::string take_unit(const std::string& value, FileHints& hints) {
  const auto size = parse_bytes(value);
  Layout layout;
  if (size.ok()) layout.stripe_size = *size;
  if (!size.ok() || !layout.validate().ok()) return "not a stripe size";
  hints.layout.stripe_size = *size;
  return "";
}

std::string take_factor(const std::string& value, FileHints& hints) {
  const auto count = whole(value);
  if (!count || *count < -1 || *count > 65535) return "not a number of servers";
  hints.layout.stripe_count = *count < 0 ? 0xffffffffU : static_cast<std::uint32_t>(*count);
  return "";
}

std::string take_start(const std::string& value, FileHints& hints) {
  const auto server = whole(value);
  if (!server || *server < -1 || *server > 65535) return "not the number of a server";
  hints.layout.first_server = static_cast<std::int32_t>(*server);
  return "";
}

std::string take_nodes(const std::string& value, FileHints& hints) {
  const auto count = whole(value);
  if (!count || *count < 1 || *count > 1'000'000) return "not a number of aggregators";
  hints.collective.cb_nodes = static_cast<int>(*count);
  return "";
}

std::string take_config_list(const std::string& value, FileHints& hints) {
  hints.cb_config_list = value;
  return "";
}

std::string take_no_independent(const std::string& value, FileHints& hints) {
  if (value != "true" && value != "false") return "use true or false";
  hints.no_independent = value == "true";
  return "";
}

std::string take_buffering(const std::string& value, FileHints& hints) {
  if (value != "true" && value != "false") return "use true or false";
  hints.collective.cb_read = hints.collective.cb_write =
      value == "true" ? Toggle::automatic : Toggle::disable;
  return "";
}

std::string take_permissions(const std::string& value, FileHints& hints) {
  std::uint32_t mode = 0;
  const auto [stop, error] = std::from_chars(value.data(), value.data() + value.size(), mode, 8);
  if (error != std::errc() || stop != value.data() + value.size() || mode > 0777)
    return "not permissions in octal";
  hints.permissions = mode;
  return "";
}

std::string take_application(const std::string& value, FileHints& hints) {
  const auto application = parse_application(value);
  if (!application.ok()) return application.status().message();
  hints.application = *application;
  return "";
}

std::string take_collective(const std::string& value, FileHints& hints) {
  if (const Status known = check_collective_plan(value); !known.ok()) return known.message();
  hints.collective.plan = value;
  return "";
}

std::string take_target_order(const std::string& value, FileHints& hints) {
  if (const auto order = make_target_order(value); !order.ok()) return order.status().message();
  hints.visit.order = value;
  return "";
}

std::string take_schedule_block(const std::string& value, FileHints& hints) {
  const auto size = parse_bytes(value);
  if (!size.ok() || *size < kLeastBlock || *size > kMostBlock) return "not a size from 4 KiB to 8 MiB";
  hints.visit.block = *size;
  return "";
}

std::string take_in_flight(const std::string& value, FileHints& hints) {
  const auto count = whole(value);
  if (!count || *count < 1 || *count > static_cast<std::int64_t>(kMostInFlight)) return "use 1 to 16";
  hints.visit.in_flight = static_cast<std::size_t>(*count);
  return "";
}

struct Known {
  std::string_view key;
  Taker take;
};

constexpr std::array kKnown = {
    Known{"cb_buffer_size", &take_size<&CollectiveOptions::cb_buffer_size>},
    Known{"cb_config_list", &take_config_list},
    Known{"cb_nodes", &take_nodes},
    Known{"collective_buffering", &take_buffering},
    Known{"file_perm", &take_permissions},
    Known{"ind_rd_buffer_size", &take_size<&CollectiveOptions::ind_rd_buffer_size>},
    Known{"ind_wr_buffer_size", &take_size<&CollectiveOptions::ind_wr_buffer_size>},
    Known{"romio_cb_read", &take_choice<&CollectiveOptions::cb_read>},
    Known{"romio_cb_write", &take_choice<&CollectiveOptions::cb_write>},
    Known{"romio_ds_read", &take_choice<&CollectiveOptions::ds_read>},
    Known{"romio_ds_write", &take_choice<&CollectiveOptions::ds_write>},
    Known{"romio_no_indep_rw", &take_no_independent},
    Known{"start_iodevice", &take_start},
    Known{"striping_factor", &take_factor},
    Known{"striping_unit", &take_unit},
    Known{"tutti_app_id", &take_application},
    Known{"tutti_collective", &take_collective},
    Known{"tutti_pieces_in_flight", &take_in_flight},
    Known{"tutti_schedule_block", &take_schedule_block},
    Known{"tutti_target_order", &take_target_order},
    Known{"tutti_views", &take_choice<&CollectiveOptions::views>},
};

// Hints of the standard, of ROMIO and of OMPIO that ask for what Tutti does in another way or does not need.
constexpr std::array kWithoutMeaning = {
    "access_style",
    "cb_block_size",
    "chunked",
    "chunked_item",
    "chunked_size",
    "direct_read",
    "direct_write",
    "filename",
    "io_node_list",
    "nb_proc",
    "num_io_nodes",
    "romio_cb_alltoall",
    "romio_cb_ds_threshold",
    "romio_cb_fr_alignment",
    "romio_cb_fr_type",
    "romio_cb_pfr",
    "romio_min_fdomain_size",
    "romio_synchronized_flush",
    "romio_visibility_immediate",
};

std::string_view word(Toggle choice) {
  switch (choice) {
    case Toggle::enable:
      return "enable";
    case Toggle::disable:
      return "disable";
    case Toggle::automatic:
      break;
  }
  return "automatic";
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  return text;
}

// Takes what stands before the first separator off the text.
std::string_view take_until(std::string_view& text, char separator) {
  const auto end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

}  // namespace

HintReport apply_hints(const HintList& list, FileHints& hints) {
  HintReport report;
  for (const auto& [key, value] : list) {
    const auto known = std::find_if(kKnown.begin(), kKnown.end(),
                                    [&name = key](const Known& each) { return each.key == name; });
    if (known != kKnown.end()) {
      const std::string why = known->take(value, hints);
      if (!why.empty()) report.refused.push_back(fmt::format("{}={}: {}", key, value, why));
    } else if (std::find(kWithoutMeaning.begin(), kWithoutMeaning.end(), key) != kWithoutMeaning.end()) {
      report.ignored.push_back(key);
    }
  }
  return report;
}

CollectiveOptions FileHints::options() const {
  CollectiveOptions options = collective;
  if (no_independent) options.cb_read = options.cb_write = Toggle::enable;
  return options;
}

HintList effective_hints(const FileHints& hints, const Layout& layout, std::uint64_t application, int ranks) {
  const CollectiveOptions used = hints.options();
  HintList list;
  list.emplace_back("cb_buffer_size", std::to_string(used.cb_buffer_size.count()));
  if (!hints.cb_config_list.empty()) list.emplace_back("cb_config_list", hints.cb_config_list);
  // Unless told otherwise, as many aggregate as the file has servers.
  const auto nodes = used.cb_nodes > 0 ? static_cast<std::uint32_t>(used.cb_nodes) : layout.stripe_count;
  list.emplace_back("cb_nodes", std::to_string(std::min(nodes, static_cast<std::uint32_t>(ranks))));
  list.emplace_back("ind_rd_buffer_size", std::to_string(used.ind_rd_buffer_size.count()));
  list.emplace_back("ind_wr_buffer_size", std::to_string(used.ind_wr_buffer_size.count()));
  list.emplace_back("romio_cb_read", word(used.cb_read));
  list.emplace_back("romio_cb_write", word(used.cb_write));
  list.emplace_back("romio_ds_read", word(used.ds_read));
  list.emplace_back("romio_ds_write", word(used.ds_write));
  list.emplace_back("romio_no_indep_rw", hints.no_independent ? "true" : "false");
  list.emplace_back("start_iodevice", std::to_string(layout.first_server));
  list.emplace_back("striping_factor", std::to_string(layout.stripe_count));
  list.emplace_back("striping_unit", std::to_string(layout.stripe_size.count()));
  list.emplace_back("tutti_app_id", fmt::format("0x{:016x}", application));
  list.emplace_back("tutti_collective", used.plan);
  if (hints.visit.in_flight != 0)
    list.emplace_back("tutti_pieces_in_flight", std::to_string(hints.visit.in_flight));
  if (hints.visit.block != 0_B)
    list.emplace_back("tutti_schedule_block", std::to_string(hints.visit.block.count()));
  if (!hints.visit.order.empty()) list.emplace_back("tutti_target_order", hints.visit.order);
  list.emplace_back("tutti_views", word(used.views));
  return list;
}

HintList parse_hints_file(std::string_view text) {
  HintList list;
  while (!text.empty()) {
    std::string_view line = take_until(text, '\n');
    line = trimmed(line.substr(0, line.find('#')));
    const auto gap = line.find_first_of(" \t");
    if (gap == std::string_view::npos) continue;
    list.emplace_back(line.substr(0, gap), trimmed(line.substr(gap)));
  }
  return list;
}

void add_default_hints(const HintList& defaults, HintList& list) {
  for (const auto& each : defaults) {
    const bool there =
        std::any_of(list.begin(), list.end(), [&](const auto& own) { return own.first == each.first; });
    if (!there) list.push_back(each);
  }
}

std::string encode_hints(const HintList& list) {
  std::string bytes;
  for (const auto& [key, value] : list) {
    bytes.append(key).push_back('\0');
    bytes.append(value).push_back('\0');
  }
  return bytes;
}

HintList decode_hints(std::string_view bytes) {
  HintList list;
  while (!bytes.empty()) {
    const std::string_view key = take_until(bytes, '\0');
    list.emplace_back(key, take_until(bytes, '\0'));
  }
  return list;
}

std::vector<int> aggregators_by_host(std::string_view config_list, std::span<const std::string> hosts,
                                     std::int64_t most) {
  std::vector<std::pair<std::string, std::int64_t>> entries;
  while (!config_list.empty()) {
    std::string_view entry = trimmed(take_until(config_list, ','));
    const std::string host(trimmed(take_until(entry, ':')));
    const auto count = entry.empty() ? std::optional<std::int64_t>(1) : whole(trimmed(entry));
    if (host.empty() || (!count && trimmed(entry) != "*")) return {};
    entries.emplace_back(host, count.value_or(static_cast<std::int64_t>(hosts.size())));
  }
  std::map<std::string, std::int64_t> taken;
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& each) {
      return each.first == "*" || each.first == hosts[rank];
    });
    if (entry == entries.end() || taken[hosts[rank]] >= entry->second) continue;
    if (most > 0 && static_cast<std::int64_t>(ranks.size()) >= most) break;
    ++taken[hosts[rank]];
    ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

}  // namespace tutti
