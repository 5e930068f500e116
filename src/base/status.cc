#include "base/status.h"

#include <array>
#include <cerrno>
#include <cstring>

namespace tutti {
namespace {

struct Row {
  Code code;
  std::string_view name;
  int error;
};

// The one table of error codes, in the order of their values.
constexpr std::array kTable = {
    Row{Code::ok, "ok", 0},
    Row{Code::not_found, "not_found", ENOENT},
    Row{Code::exists, "exists", EEXIST},
    Row{Code::not_directory, "not_directory", ENOTDIR},
    Row{Code::is_directory, "is_directory", EISDIR},
    Row{Code::not_empty, "not_empty", ENOTEMPTY},
    Row{Code::permission, "permission", EACCES},
    Row{Code::invalid, "invalid", EINVAL},
    Row{Code::no_space, "no_space", ENOSPC},
    Row{Code::io_error, "io_error", EIO},
    Row{Code::unavailable, "unavailable", ENOTCONN},
    Row{Code::timed_out, "timed_out", ETIMEDOUT},
    Row{Code::busy, "busy", EBUSY},
    Row{Code::cancelled, "cancelled", ECANCELED},
    Row{Code::malformed, "malformed", EBADMSG},
    Row{Code::bad_capability, "bad_capability", EKEYREJECTED},
    Row{Code::expired, "expired", EKEYEXPIRED},
    Row{Code::version, "version", EPROTONOSUPPORT},
    Row{Code::too_large, "too_large", EFBIG},
    Row{Code::name_too_long, "name_too_long", ENAMETOOLONG},
    Row{Code::too_many_links, "too_many_links", EMLINK},
    Row{Code::cross_device, "cross_device", EXDEV},
    Row{Code::stale, "stale", ESTALE},
    Row{Code::read_only, "read_only", EROFS},
    Row{Code::unsupported, "unsupported", ENOTSUP},
    Row{Code::internal, "internal", EPROTO},
    Row{Code::corrupt, "corrupt", EIO},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].code) != i) return false;
  }
  return true;
}
static_assert(in_order(), "kTable is indexed by the value of Code");

const Row& row(Code code) { return kTable[static_cast<std::size_t>(code)]; }

}  // namespace

std::string_view code_name(Code code) { return row(code).name; }

int code_errno(Code code) { return row(code).error; }

Code code_from_errno(int error) {
  if (error == EPERM) return Code::permission;
  if (error == EDQUOT) return Code::no_space;
  if (error == ECONNREFUSED || error == ECONNRESET || error == EPIPE || error == EHOSTUNREACH) {
    return Code::unavailable;
  }
  for (const Row& candidate : kTable) {
    if (candidate.error == error) return candidate.code;
  }
  return Code::io_error;
}

Code code_from_wire(std::uint16_t value) {
  return value < kTable.size() ? static_cast<Code>(value) : Code::internal;
}

Status::Status(Code code, std::string message) {
  assert(code != Code::ok);
  detail_ = std::make_unique<Detail>(Detail{code, std::move(message)});
}

Status::Status(const Status& other)
    : detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) detail_ = other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr;
  return *this;
}

Status Status::from_errno(int error, std::string_view what) {
  return {code_from_errno(error), std::string(what) + ": " + std::strerror(error)};
}

const std::string& Status::message() const {
  static const std::string kEmpty;
  return detail_ ? detail_->message : kEmpty;
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return std::string(code_name(code())) + ": " + message();
}

Status Status::with_context(std::string_view context) const {
  if (ok()) return {};
  return {code(), std::string(context) + ": " + message()};
}

}  // namespace tutti
