// Child: this program again, as another process, with pipes to its standard input and output.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/files.h"

namespace tutti::cli {

// SIGINT, SIGTERM and SIGHUP become readable instead of ending the process, so that it tidies up.
Result<Fd> catch_interrupts();

class Child {
 public:
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& arguments);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Kills it if it still runs, and waits for it.
  ~Child();

  [[nodiscard]] int input() const { return input_.get(); }
  [[nodiscard]] int output() const { return output_.get(); }
  // Reads a line; Code::cancelled if `interrupt` (a descriptor) becomes readable first, Code::unavailable at
  // the end.
  Result<std::string> read_line(int interrupt);
  // Waits for the end; ok if it ended with 0.
  Status wait();

 private:
  Child(pid_t pid, Fd input, Fd output) : pid_(pid), input_(std::move(input)), output_(std::move(output)) {}
  pid_t pid_;
  Fd input_;
  Fd output_;
  std::string buffered_;
};

}  // namespace tutti::cli
