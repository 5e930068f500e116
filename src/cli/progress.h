// Progress: a bar on standard error while bytes move, if that is a terminal; silent otherwise.
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "env/clock.h"

namespace tutti::cli {

class Progress {
 public:
  // `total` 0: not known.
  Progress(Clock& clock, std::string name, Bytes total);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  void advance(Bytes bytes);

 private:
  void draw();

  Clock& clock_;
  std::string name_;
  Bytes total_;
  Bytes done_;
  Nanos started_;
  Nanos drawn_;
  bool shown_ = false;
  bool terminal_;
};

}  // namespace tutti::cli
