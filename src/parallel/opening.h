// Opening: what rank 0 tells the other ranks after it has opened a file, in one message. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tutti {

struct Opening {
  Status status;  // of rank 0; the rest counts if it is ok
  std::uint64_t counter_key = 0;
  std::int64_t position = 0;  // where the file pointers begin
  std::string shared;         // OpenFile::share(); empty: everybody opens the file
};

std::string encode_opening(const Opening& opening);
// Code::malformed for bytes that encode_opening() did not make.
Result<Opening> decode_opening(std::string_view bytes);

}  // namespace tutti
