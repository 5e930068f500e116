// The options --stripe-size, --stripe-count and --first-server, as put and mkdir have them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/command.h"
#include "client/file_system.h"

namespace tutti::cli {

struct StripingOptions {
  std::optional<std::string> size;
  std::optional<std::string> count;  // a number or "all"
  std::optional<std::int32_t> first;
};

// Whether the text is a size that a stripe may have.
Status check_stripe_size_text(const std::string& text);

void add_striping(Command& command, StripingOptions& options);
// What they say, or Code::invalid.
Result<LayoutWish> layout_wish(const StripingOptions& options);

}  // namespace tutti::cli
