// ServingView: whom each data server is serving, over time: a line of digits for each server, live on a terminal.
//
// A digit is the application that got most of what the server moved since the last look; '*' stands for several that shared
// it, '.' for none. Looks at which no server moved anything become one gap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/client.h"

namespace tutti::cli {

class ServingView {
 public:
  // `live`: draws on standard output, which must be a terminal.
  ServingView(std::uint32_t servers, bool live);

  void look(Client& client);
  // The lines at the end, as wide as fits, with their labels; empty if they are on the screen already.
  [[nodiscard]] std::string text() const;

 private:
  using Moved = std::map<std::uint64_t, std::uint64_t>;  // bytes by application

  [[nodiscard]] static char symbol(const Moved& moved);
  void draw();
  [[nodiscard]] std::string line(std::size_t server) const;

  bool live_;
  bool drawn_ = false;
  std::vector<Moved> totals_;  // by server, at the last look
  std::vector<std::string> lines_;
};

}  // namespace tutti::cli
