// Status and Result: how every fallible function of Tutti reports.
//
// A Status is a code from the one table in status.cc and a message that names what was tried, on what, and,
// where the caller can do something, what to do. Results cannot be ignored; no exception crosses a room.
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tutti {

// Values travel on the wire: append only, never renumber.
enum class Code : std::uint16_t {
  ok = 0,
  not_found = 1,
  exists = 2,
  not_directory = 3,
  is_directory = 4,
  not_empty = 5,
  permission = 6,
  invalid = 7,
  no_space = 8,
  io_error = 9,
  unavailable = 10,  // peer gone or unreachable; the operation may be repeated
  timed_out = 11,    // the configured patience is over
  busy = 12,         // a limit is reached; wait and repeat
  cancelled = 13,
  malformed = 14,  // a message or a stored record that does not parse
  bad_capability = 15,
  expired = 16,  // a capability that was good once; renew it
  version = 17,  // protocol or on-disk format of another version
  too_large = 18,
  name_too_long = 19,
  too_many_links = 20,
  cross_device = 21,
  stale = 22,  // the file was removed while open
  read_only = 23,
  unsupported = 24,
  internal = 25,
  corrupt = 26,  // stored bytes are not those that were written
};

// "not_found" and so on: stable, for logs and --json.
std::string_view code_name(Code code);
// The errno that says the same, for the C API.
int code_errno(Code code);
// The Code that fits an errno; io_error where none does.
Code code_from_errno(int error);
// A value from the wire; unknown numbers become Code::internal.
Code code_from_wire(std::uint16_t value);

// One word when ok; otherwise a pointer to code and message, so that returning one is cheap.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message);
  Status(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other);
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status from_errno(int error, std::string_view what);

  [[nodiscard]] bool ok() const { return !detail_; }
  [[nodiscard]] Code code() const { return detail_ ? detail_->code : Code::ok; }
  // Empty when ok.
  [[nodiscard]] const std::string& message() const;
  // "not_found: open /a: no such file".
  [[nodiscard]] std::string to_string() const;
  // The same code, with "context: " before the message.
  [[nodiscard]] Status with_context(std::string_view context) const;
  // Says at the call that losing this status is meant.
  void ignore() const {}

 private:
  struct Detail {
    Code code;
    std::string message;
  };
  std::unique_ptr<Detail> detail_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value)
      : state_(std::in_place_index<1>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Status status)
      : state_(std::in_place_index<0>, std::move(status)) {  // NOLINT(google-explicit-constructor)
    assert(!std::get<0>(state_).ok());
  }
  Result(Code code, std::string message) : Result(Status(code, std::move(message))) {}

  [[nodiscard]] bool ok() const { return state_.index() == 1; }
  [[nodiscard]] Code code() const { return ok() ? Code::ok : std::get<0>(state_).code(); }
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<0>(state_); }

  T& value() & { return std::get<1>(state_); }
  const T& value() const& { return std::get<1>(state_); }
  T&& value() && { return std::get<1>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace tutti

// The three propagation macros of the code base. In a coroutine: TUTTI_CO_TRY(co_await f()).
#define TUTTI_TRY(expression)                                  \
  do {                                                         \
    if (::tutti::Status tried_ = (expression); !tried_.ok()) { \
      return tried_;                                           \
    }                                                          \
  } while (false)

#define TUTTI_CO_TRY(expression)                               \
  do {                                                         \
    if (::tutti::Status tried_ = (expression); !tried_.ok()) { \
      co_return tried_;                                        \
    }                                                          \
  } while (false)
