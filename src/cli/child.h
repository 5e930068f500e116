// Child: this program again, as another process, with pipes to its standard input and output.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "env/real/local_files.h"

namespace tutti::cli {

// SIGINT, SIGTERM and SIGHUP become readable instead of ending the process, so that it tidies up.
Result<Fd> catch_interrupts();

// A descriptor for a process; wait_for_end() says whether the process ended within `patience`.
Fd open_pidfd(pid_t pid);
bool wait_for_end(int pidfd, Nanos patience);

class Child {
 public:
  // `grace` is for a launcher, which has to end its own processes: what it gets for that after SIGTERM.
  static Result<std::unique_ptr<Child>> start(const std::vector<std::string>& arguments, Nanos grace = {});
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  // Kills it if it still runs, a launcher after its grace, and waits for it.
  ~Child();

  [[nodiscard]] int input() const { return input_.get(); }
  [[nodiscard]] int output() const { return output_.get(); }
  // Reads a line; Code::cancelled if `interrupt` (a descriptor) becomes readable first, Code::unavailable at
  // the end, Code::timed_out if nothing comes for `patience`.
  Result<std::string> read_line(int interrupt, std::optional<Nanos> patience = {});
  // Sends SIGTERM, once: several launchers that are told first end at the same time.
  void tell_to_end();
  // Waits for the end; ok if it ended with 0, Code::timed_out if it still runs after `patience`.
  Status wait(std::optional<Nanos> patience = {});

 private:
  Child(pid_t pid, Nanos grace, Fd input, Fd output)
      : pid_(pid), grace_(grace), input_(std::move(input)), output_(std::move(output)) {}
  pid_t pid_;
  Nanos grace_;
  bool told_ = false;
  Fd input_;
  Fd output_;
  std::string buffered_;
};

}  // namespace tutti::cli
