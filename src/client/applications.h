// Who used the cluster, and who waited for whom: the accounts of all data servers together.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"

namespace tutti {

struct ApplicationStatus {
  std::uint64_t application = 0;
  bool others = false;  // all that a server does not tell apart, see server/data/accounting.h
  std::string program, job;
  std::uint64_t reads = 0, writes = 0;
  Bytes bytes_read, bytes_written;
  std::uint64_t queued = 0, in_service = 0;
  Nanos time_in_queue, served;  // summed over servers and requests
  struct Waited {
    std::uint64_t application = 0;
    bool others = false;
    Nanos time;
  };
  std::vector<Waited> waited_for;  // the longest first
};

struct ApplicationReport {
  std::vector<ApplicationStatus> applications;  // by id; the others last
  std::vector<std::string> silent;              // servers that gave no account, with the reason
};

// Adds what one server says. Code::malformed if its reply is not sound.
class ApplicationMerger {
 public:
  Status add(const std::vector<std::byte>& reply);
  void silent(std::string why) { report_.silent.push_back(std::move(why)); }
  ApplicationReport take();

 private:
  ApplicationStatus& row(std::uint64_t application);
  ApplicationReport report_;
};

}  // namespace tutti
