#include "cli/printable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

namespace tutti::cli {
namespace {

// How many bytes of valid, harmless UTF-8 the text begins with: one character, or 0.
std::size_t graphic(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0};
  };
  const std::uint8_t first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  const std::size_t length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return 0;
  }
  const bool overlong = (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
  const bool no_character = (first == 0xed && byte(1) >= 0xa0) || (first == 0xf4 && byte(1) >= 0x90);
  const bool control = first == 0xc2 && byte(1) < 0xa0;  // U+0080 to U+009F
  return overlong || no_character || control ? 0 : length;
}

std::string escape(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    default:
      return fmt::format("\\{:03o}", static_cast<std::uint8_t>(byte));
  }
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = graphic(text);
    if (length == 0) {
      out += escape(text.front());
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out;
}

std::string shell_quoted(std::string_view name) {
  if (printable(name) == name) return std::string(name);
  std::string out = "'";
  bool escaping = false;
  while (!name.empty()) {
    const std::size_t length = graphic(name);
    if ((length == 0) != escaping) {
      out += escaping ? "''" : "'$'";
      escaping = !escaping;
    }
    if (length == 0) {
      out += escape(name.front());
    } else if (name.front() == '\'') {
      out += "'\\''";
    } else {
      out += name.substr(0, length);
    }
    name.remove_prefix(length == 0 ? 1 : length);
  }
  return out + "'";
}

std::string shown(std::string_view name) {
  static const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  return terminal ? shell_quoted(name) : std::string(name);
}

}  // namespace tutti::cli
