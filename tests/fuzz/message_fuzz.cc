// The fuzz target of one message type, which the build names.
#include "tests/fuzz/fuzz_world.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tutti::fuzz::run_messages(tutti::wire::Type::TUTTI_FUZZ_TYPE, std::as_bytes(std::span(data, size)));
  return 0;
}
