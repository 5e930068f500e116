#include "cli/files/striping.h"

#include <fmt/format.h>

#include <charconv>

#include "base/parse.h"
#include "client/cluster_config.h"

namespace tutti::cli {

Status check_stripe_size_text(const std::string& text) {
  const auto size = parse_bytes(text);
  return size.ok() ? check_stripe_size(*size) : size.status();
}

void add_striping(Command& command, StripingOptions& options) {
  command
      .option("--stripe-size", options.size, "Bytes on one server before the next one's turn, such as 1MiB")
      .checked(check_stripe_size_text);
  command.option("--stripe-count", options.count, "Number of servers to spread over, or 'all'")
      .checked([](const std::string& text) {
        StripingOptions only;
        only.count = text;
        return layout_wish(only).status();
      });
  command.option("--first-server", options.first, "Number of the server with the first stripe")
      .range(0, kMaxServers - 1);
}

Result<LayoutWish> layout_wish(const StripingOptions& options) {
  LayoutWish wish;
  if (options.size) {
    const auto size = parse_bytes(*options.size);
    if (!size.ok()) return size.status().with_context("--stripe-size");
    TUTTI_TRY(check_stripe_size(*size).with_context("--stripe-size"));
    wish.stripe_size = *size;
  }
  if (options.count) {
    const char* end = options.count->data() + options.count->size();
    const auto [stop, error] = std::from_chars(options.count->data(), end, wish.stripe_count);
    const bool number =
        error == std::errc() && stop == end && wish.stripe_count > 0 && wish.stripe_count <= kMaxServers;
    if (*options.count == "all") {
      wish.stripe_count = 0xffffffffU;
    } else if (!number) {
      return Status(Code::invalid, fmt::format("'{}': use 1 to {}, or all", *options.count, kMaxServers));
    }
  }
  if (options.first) wish.first_server = *options.first;
  return wish;
}

}  // namespace tutti::cli
