#include "base/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <limits>
#include <sstream>

#include <toml++/toml.h>

#include "base/parse.h"

namespace tutti {

// A table of the document and the keys that were asked for in it.
struct ConfigReader::Node {
  const toml::table* table = nullptr;  // null: absent in the file
  std::string path;                    // "data.device." for messages; empty at the root
  std::vector<std::string> asked;
};

struct ConfigReader::Document {
  std::string name;
  toml::table root;
  std::string error;                         // the first one at a key that is there
  std::string missing;                       // the first one at a key that is not; a misspelt key explains it
  std::vector<std::shared_ptr<Node>> nodes;  // in the order of asking

  void fail(std::uint32_t line, std::string_view message, bool present) {
    std::string& slot = present ? error : missing;
    if (!slot.empty()) return;
    slot = line == 0 ? fmt::format("{}: {}", name, message) : fmt::format("{}:{}: {}", name, line, message);
  }
};

namespace {

std::string_view type_name(toml::node_type type) {
  switch (type) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "true or false";
    default:
      return "a date or time";
  }
}

// The first key, in the order of the file, that was not asked for.
const toml::key* first_unknown(const toml::table& table, const std::vector<std::string>& asked) {
  const toml::key* found = nullptr;
  for (auto&& [key, value] : table) {
    if (std::find(asked.begin(), asked.end(), key.str()) != asked.end()) continue;
    if (found == nullptr || key.source().begin < found->source().begin) found = &key;
  }
  return found;
}

constexpr std::size_t kMostBytes = 1U << 20U;  // of a file

const toml::node* find(const toml::table* table, std::string_view key) {
  return table == nullptr ? nullptr : table->get(key);
}

}  // namespace

ConfigReader::ConfigReader(std::shared_ptr<Document> document, std::shared_ptr<Node> node)
    : document_(std::move(document)), node_(std::move(node)) {}

Result<ConfigReader> ConfigReader::load(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Status::from_errno(errno, fmt::format("read {}", path));
  std::string text(kMostBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return Status(Code::io_error, fmt::format("read {}: is it a file?", path));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostBytes) {
    return Status(Code::too_large, fmt::format("read {}: it has more than {}; is it the right file?", path,
                                               to_string(Bytes(kMostBytes))));
  }
  return parse(text, path);
}

Result<ConfigReader> ConfigReader::parse(std::string_view text, std::string name) {
  auto document = std::make_shared<Document>();
  document->name = std::move(name);
  try {
    document->root = toml::parse(text, document->name);
  } catch (const toml::parse_error& failure) {
    return Status(Code::invalid, fmt::format("{}:{}: {}", document->name, failure.source().begin.line,
                                             failure.description()));
  } catch (const std::exception& failure) {
    return Status(Code::invalid, fmt::format("{}: {}", document->name, failure.what()));
  }
  ConfigReader reader(document, nullptr);
  return reader.child(&document->root, "");
}

ConfigReader ConfigReader::child(const void* table, std::string path) {
  auto node = std::make_shared<Node>();
  node->table = static_cast<const toml::table*>(table);
  node->path = std::move(path);
  document_->nodes.push_back(node);
  return {document_, node};
}

bool ConfigReader::has(std::string_view key) const { return find(node_->table, key) != nullptr; }

void ConfigReader::require(std::string_view key) {
  if (has(key)) return;
  const std::uint32_t line = node_->table != nullptr ? node_->table->source().begin.line : 0;
  document_->fail(node_->path.empty() ? 0 : line, fmt::format("key '{}{}' is missing", node_->path, key),
                  false);
}

std::string ConfigReader::where(std::string_view key) const {
  const toml::node* value = find(node_->table, key);
  if (value == nullptr) value = node_->table;
  if (value == nullptr) return document_->name;
  return fmt::format("{}:{}", document_->name, value->source().begin.line);
}

void ConfigReader::fail(std::string_view key, std::string_view message) {
  const toml::node* value = find(node_->table, key);
  const bool present = value != nullptr;
  if (!present) value = node_->table;
  document_->fail(value != nullptr ? value->source().begin.line : 0,
                  fmt::format("{}{}: {}", node_->path, key, message), present);
}

namespace {

struct FailAt {
  ConfigReader& reader;
  std::string_view key;
  void operator()(const std::string& message) const { reader.fail(key, message); }
};

// The node as a T, or an error that names the expected type.
template <typename T>
std::optional<T> value_as(const toml::node* value, std::string_view expected, const FailAt& fail) {
  if (value == nullptr) return std::nullopt;
  if (const auto* typed = value->as<T>()) return typed->get();
  fail(fmt::format("must be {}, not {}", expected, type_name(value->type())));
  return std::nullopt;
}

std::optional<double> as_number(const toml::node& value) {
  if (const auto* integer = value.as_integer()) return static_cast<double>(integer->get());
  if (const auto* floating = value.as_floating_point()) return floating->get();
  return std::nullopt;
}

}  // namespace

std::string ConfigReader::string(std::string_view key, std::string_view fallback) {
  node_->asked.emplace_back(key);
  auto value = value_as<std::string>(find(node_->table, key), "a string", FailAt{*this, key});
  return value ? *value : std::string(fallback);
}

std::string ConfigReader::word(std::string_view key, std::string_view fallback) {
  const toml::node* value = find(node_->table, key);
  if (value == nullptr || !value->is_integer()) return string(key, fallback);
  node_->asked.emplace_back(key);
  return fmt::format("{}", value->as_integer()->get());
}

std::string ConfigReader::choice(std::string_view key, std::string_view fallback,
                                 std::span<const std::string> allowed) {
  std::string value = string(key, fallback);
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end() || value == fallback) return value;
  fail(key, fmt::format("'{}' is not known; use one of: {}", value, fmt::join(allowed, ", ")));
  return std::string(fallback);
}

bool ConfigReader::boolean(std::string_view key, bool fallback) {
  node_->asked.emplace_back(key);
  return value_as<bool>(find(node_->table, key), "true or false", FailAt{*this, key}).value_or(fallback);
}

std::int64_t ConfigReader::integer(std::string_view key, std::int64_t fallback, std::int64_t low,
                                   std::int64_t high) {
  node_->asked.emplace_back(key);
  const auto value = value_as<std::int64_t>(find(node_->table, key), "an integer", FailAt{*this, key});
  if (!value) return fallback;
  if (*value >= low && *value <= high) return *value;
  fail(key, fmt::format("{} is out of range; use {} to {}", *value, low, high));
  return fallback;
}

std::uint64_t ConfigReader::identifier(std::string_view key, std::uint64_t fallback) {
  const toml::node* value = find(node_->table, key);
  if (value != nullptr && value->is_integer()) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::uint64_t>(integer(key, 0, 0, kMost));
  }
  const std::string text = string(key);
  if (text.empty()) return fallback;
  std::uint64_t parsed = 0;
  const char* end = text.data() + text.size();
  if (text.size() > 2 && text.starts_with("0x")) {
    const auto [stop, error] = std::from_chars(text.data() + 2, end, parsed, 16);
    if (error == std::errc() && stop == end) return parsed;
  }
  fail(key, fmt::format("'{}' is not an identifier; use \"0x\" and up to 16 hexadecimal digits", text));
  return fallback;
}

double ConfigReader::number(std::string_view key, double fallback, double low, double high) {
  node_->asked.emplace_back(key);
  const toml::node* value = find(node_->table, key);
  if (value == nullptr) return fallback;
  const auto number = as_number(*value);
  if (!number) {
    fail(key, fmt::format("must be a number, not {}", type_name(value->type())));
  } else if (!(*number >= low && *number <= high)) {
    fail(key, fmt::format("{} is out of range; use {} to {}", *number, low, high));
  } else {
    return *number;
  }
  return fallback;
}

Bytes ConfigReader::bytes(std::string_view key, Bytes fallback, Bytes low, Bytes high) {
  node_->asked.emplace_back(key);
  const toml::node* value = find(node_->table, key);
  if (value == nullptr) return fallback;
  Result<Bytes> parsed(Code::invalid, "must be a size such as \"64KiB\" or a number of bytes");
  if (const auto* text = value->as_string()) {
    parsed = parse_bytes(text->get());
  } else if (const auto* integer = value->as_integer(); integer != nullptr && integer->get() >= 0) {
    parsed = Bytes(static_cast<std::uint64_t>(integer->get()));
  }
  if (!parsed.ok()) {
    fail(key, parsed.status().message());
  } else if (*parsed < low || *parsed > high) {
    fail(key, fmt::format("{} is out of range; use {} to {}", to_string(*parsed), to_string(low),
                          to_string(high)));
  } else {
    return *parsed;
  }
  return fallback;
}

Nanos ConfigReader::duration(std::string_view key, Nanos fallback, Nanos low, Nanos high) {
  node_->asked.emplace_back(key);
  const auto text =
      value_as<std::string>(find(node_->table, key), "a duration such as \"250ms\"", FailAt{*this, key});
  if (!text) return fallback;
  const auto parsed = parse_duration(*text);
  if (!parsed.ok()) {
    fail(key, parsed.status().message());
  } else if (*parsed < low || *parsed > high) {
    fail(key, fmt::format("{} is out of range; use {} to {}", *text, to_string(low), to_string(high)));
  } else {
    return *parsed;
  }
  return fallback;
}

namespace {

// Each element of an array through `convert`, which returns nothing after it has reported a fault.
template <typename T, typename Convert>
std::vector<T> elements(const toml::node* value, std::string_view expected, const FailAt& fail,
                        Convert&& convert) {
  std::vector<T> items;
  if (value == nullptr) return items;
  const toml::array* array = value->as_array();
  if (array == nullptr) {
    fail(fmt::format("must be an array of {}, not {}", expected, type_name(value->type())));
    return items;
  }
  for (const toml::node& element : *array) {
    const std::optional<T> item = convert(element);
    if (!item) {
      fail(fmt::format("element {} must be one of the {} allowed", items.size() + 1, expected));
      return {};
    }
    items.push_back(*item);
  }
  return items;
}

}  // namespace

std::vector<std::string> ConfigReader::strings(std::string_view key) {
  node_->asked.emplace_back(key);
  return elements<std::string>(find(node_->table, key), "strings", FailAt{*this, key},
                               [](const toml::node& element) { return element.value<std::string>(); });
}

std::vector<std::int64_t> ConfigReader::integers(std::string_view key, std::int64_t low, std::int64_t high) {
  node_->asked.emplace_back(key);
  return elements<std::int64_t>(find(node_->table, key), fmt::format("integers from {} to {}", low, high),
                                FailAt{*this, key}, [&](const toml::node& element) {
                                  auto value = element.value_exact<std::int64_t>();
                                  return value && *value >= low && *value <= high ? value : std::nullopt;
                                });
}

std::vector<double> ConfigReader::numbers(std::string_view key, double low, double high) {
  node_->asked.emplace_back(key);
  return elements<double>(find(node_->table, key), fmt::format("numbers from {} to {}", low, high),
                          FailAt{*this, key}, [&](const toml::node& element) {
                            const auto value = as_number(element);
                            return value && *value >= low && *value <= high ? value : std::nullopt;
                          });
}

ConfigReader ConfigReader::table(std::string_view key) {
  node_->asked.emplace_back(key);
  const toml::node* value = find(node_->table, key);
  const toml::table* table = value != nullptr ? value->as_table() : nullptr;
  if (value != nullptr && table == nullptr) {
    fail(key, fmt::format("must be a table, not {}", type_name(value->type())));
  }
  return child(table, fmt::format("{}{}.", node_->path, key));
}

std::vector<ConfigReader> ConfigReader::tables(std::string_view key) {
  const toml::node* value = find(node_->table, key);
  if (value == nullptr || value->is_table()) {
    if (value != nullptr) return {table(key)};
    node_->asked.emplace_back(key);
    return {};
  }
  node_->asked.emplace_back(key);
  std::vector<ConfigReader> readers;
  const toml::array* array = value->as_array();
  if (array == nullptr) {
    fail(key, fmt::format("must be an array of tables ([[{}]]), not {}", key, type_name(value->type())));
    return readers;
  }
  for (const toml::node& element : *array) {
    if (!element.is_table()) {
      fail(key,
           fmt::format("element {} must be a table, not {}", readers.size() + 1, type_name(element.type())));
      return readers;
    }
    readers.push_back(child(element.as_table(), fmt::format("{}{}[{}].", node_->path, key, readers.size())));
  }
  return readers;
}

std::vector<std::string> ConfigReader::keys() const {
  std::vector<const toml::key*> found;
  if (node_->table != nullptr) {
    for (auto&& [key, value] : *node_->table) found.push_back(&key);
  }
  std::sort(found.begin(), found.end(),
            [](const toml::key* a, const toml::key* b) { return a->source().begin < b->source().begin; });
  std::vector<std::string> names;
  for (const toml::key* key : found) names.emplace_back(key->str());
  return names;
}

Status ConfigReader::finish() const {
  if (!document_->error.empty()) return {Code::invalid, document_->error};
  for (const auto& node : document_->nodes) {
    if (node->table == nullptr) continue;
    const toml::key* key = first_unknown(*node->table, node->asked);
    if (key == nullptr) continue;
    const auto meant = nearest(key->str(), node->asked);
    return {Code::invalid,
            fmt::format("{}:{}: unknown key '{}{}'{}", document_->name, key->source().begin.line, node->path,
                        key->str(), meant ? fmt::format("; did you mean '{}{}'?", node->path, *meant) : "")};
  }
  if (!document_->missing.empty()) return {Code::invalid, document_->missing};
  return {};
}

}  // namespace tutti
