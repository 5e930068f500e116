// FaultyKv: any Kv, with updates that fail by script and by chance. Views are left alone.
//
// An update that fails here does not take place, or, for a lost answer, does. The wrapped kv must outlive
// this.
#pragma once

#include <cstdint>
#include <utility>

#include "base/random.h"
#include "env/kv.h"

namespace tutti {

struct KvFaults {
  double update_error = 0;  // probability of Code::io_error, nothing is changed
  double lost_answer = 0;   // probability of Code::unavailable, although the update took place
};

class FaultyKv final : public Kv {
 public:
  explicit FaultyKv(Kv& inner, const KvFaults& faults = {}, Random random = Random(1))
      : inner_(inner), faults_(faults), random_(random) {}

  void set_faults(const KvFaults& faults) { faults_ = faults; }
  // After `skip` more updates, the next `count` fail with `code` and change nothing.
  void fail(Code code, std::uint64_t count = 1, std::uint64_t skip = 0) {
    code_ = code;
    count_ = count;
    skip_ = skip;
  }
  [[nodiscard]] std::uint64_t injected() const { return injected_; }

  Status view(const std::function<Status(const KvReader&)>& body) override { return inner_.view(body); }
  Task<Status> update(std::function<Status(KvWriter&)> body) override;

 private:
  bool next_fails();

  Kv& inner_;
  KvFaults faults_;
  Random random_;
  Code code_ = Code::io_error;
  std::uint64_t count_ = 0;
  std::uint64_t skip_ = 0;
  std::uint64_t injected_ = 0;
};

}  // namespace tutti
