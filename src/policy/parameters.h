// Parameters: what stands behind the name of a policy of any kind, "fcfs;dispatch_depth=8", as its maker reads it.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

class Parameters {
 public:
  // The text after the name: "" or ";key=value;...". A key that is not known is Code::invalid with the known ones.
  static Result<Parameters> parse(std::string_view text, std::span<const std::string_view> known);

  [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }
  // Each returns `otherwise` where the key is missing.
  [[nodiscard]] Result<std::uint64_t> number(std::string_view key, std::uint64_t otherwise, std::uint64_t low,
                                             std::uint64_t high) const;
  // A size as people write it, or "max".
  [[nodiscard]] Result<Bytes> bytes(std::string_view key, Bytes otherwise, Bytes low) const;
  // As it was written.
  [[nodiscard]] std::string_view text(std::string_view key, std::string_view otherwise) const;
  // The place of the word among `allowed`.
  [[nodiscard]] Result<std::size_t> choice(std::string_view key, std::size_t otherwise,
                                           std::span<const std::string_view> allowed) const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace tutti
