// The parts of `tutti demo`: a supervisor and, in processes of their own, applications.
#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"

namespace tutti::cli {

struct DemoApplication {
  std::uint64_t number = 0;
  std::string path;
  std::uint64_t size = 0;
};

// Prints "ready", waits for a byte on standard input, writes and reads back, and prints one line of JSON.
int run_demo_application(const Globals& globals, const DemoApplication& options);

}  // namespace tutti::cli
