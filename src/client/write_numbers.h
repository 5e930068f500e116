// WriteNumbers: the numbers of a client's writes on one server, by which the server knows a repetition.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace tutti {

class WriteNumbers {
 public:
  // A new one, whose answer is awaited from now on.
  std::uint64_t begin() {
    awaited_.push_back(++last_);
    return last_;
  }
  // It has its answer, or will not be repeated.
  void end(std::uint64_t number) { awaited_.erase(std::find(awaited_.begin(), awaited_.end(), number)); }
  // No answer to a smaller number is awaited.
  [[nodiscard]] std::uint64_t unanswered() const { return awaited_.empty() ? last_ + 1 : awaited_.front(); }

 private:
  std::uint64_t last_ = 0;
  std::vector<std::uint64_t> awaited_;  // ascending
};

// One number, for the life of a request with all its repetitions.
class WriteNumber {
 public:
  explicit WriteNumber(WriteNumbers& numbers) : numbers_(numbers), number_(numbers.begin()) {}
  WriteNumber(const WriteNumber&) = delete;
  WriteNumber& operator=(const WriteNumber&) = delete;
  ~WriteNumber() { numbers_.end(number_); }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::uint64_t unanswered() const { return numbers_.unanswered(); }

 private:
  WriteNumbers& numbers_;
  std::uint64_t number_;
};

}  // namespace tutti
