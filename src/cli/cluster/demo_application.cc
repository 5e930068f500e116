// One application of the demo, a process of its own: writes a file when told to, reads it back and compares.
#include <sodium.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "base/random.h"
#include "cli/client.h"
#include "cli/cluster/demo.h"
#include "cli/output.h"

namespace tutti::cli {
namespace {

constexpr std::size_t kPieceSize = 8U << 20U;

// BLAKE2b over a stream.
class Hash {
 public:
  Hash() { crypto_generichash_init(&state_, nullptr, 0, kSize); }
  void add(std::span<const std::byte> bytes) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::string hex() {
    std::array<unsigned char, kSize> sum{};
    crypto_generichash_final(&state_, sum.data(), sum.size());
    std::string text;
    for (const unsigned char byte : sum) text += fmt::format("{:02x}", byte);
    return text;
  }

 private:
  static constexpr std::size_t kSize = 16;
  crypto_generichash_state state_{};
};

// The content of the file: random bytes, each piece marked with its number so that no two are alike.
class Content {
 public:
  explicit Content(std::uint64_t seed) : bytes_(kPieceSize) {
    Random random(seed);
    for (std::size_t at = 0; at < kPieceSize; at += sizeof(std::uint64_t)) {
      const std::uint64_t word = random.next();
      std::memcpy(bytes_.data() + at, &word, sizeof(word));
    }
  }
  std::span<const std::byte> piece(std::uint64_t offset, std::uint64_t size) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(kPieceSize, size - offset));
    std::memcpy(bytes_.data(), &offset, sizeof(offset));
    return std::span<const std::byte>(bytes_).first(length);
  }

 private:
  std::vector<std::byte> bytes_;
};

struct Measured {
  Nanos write_time, read_time;
  std::string written, read;
  Layout layout;
};

Task<Status> write_file(OpenFile& file, Content& content, std::uint64_t size) {
  for (std::uint64_t offset = 0; offset < size; offset += kPieceSize) {
    TUTTI_CO_TRY(co_await file.write(Bytes(offset), content.piece(offset, size)));
  }
  co_return Status();
}

Task<Status> read_file(Clock& clock, OpenFile& file, std::uint64_t size, Nanos& time, Hash& hash) {
  std::vector<std::byte> buffer(kPieceSize);
  for (std::uint64_t offset = 0; offset < size; offset += kPieceSize) {
    const Nanos started = clock.now();
    const auto read = co_await file.read(Bytes(offset), buffer);
    if (!read.ok()) co_return read.status();
    time += clock.now() - started;
    hash.add(std::span(buffer).first(static_cast<std::size_t>(read->count())));
  }
  co_return Status();
}

// Says "ready" and waits for the word to go.
Status wait_for_start() {
  fmt::print("ready\n");
  std::fflush(stdout);
  char go = 0;
  if (::read(STDIN_FILENO, &go, 1) == 1) return {};
  return {Code::cancelled, "the demo has ended"};
}

Task<Result<Measured>> run_application(Client& client, std::string path, std::uint64_t size,
                                       Content& content) {
  Measured measured;
  Clock& clock = client.loop().clock();
  OpenOptions options;
  options.write = true;
  options.create = true;
  auto file = co_await client.files().open(path, options);
  if (!file.ok()) co_return file.status();
  measured.layout = (*file)->layout();
  TUTTI_CO_TRY(wait_for_start());
  const Nanos started = clock.now();
  TUTTI_CO_TRY(co_await write_file(**file, content, size));
  measured.write_time = clock.now() - started;
  Hash read;
  TUTTI_CO_TRY(co_await read_file(clock, **file, size, measured.read_time, read));
  measured.read = read.hex();
  TUTTI_CO_TRY(co_await (*file)->close());
  co_return measured;
}

}  // namespace

int run_demo_application(const Globals& globals, const DemoApplication& options) {
  if (sodium_init() < 0) return report("demo", Status(Code::internal, "libsodium does not start"));
  auto client = Client::open(globals);
  if (!client.ok()) return report("demo", client.status());
  Content content(options.number);
  auto measured = (*client)->run(run_application(**client, options.path, options.size, content));
  if (!measured.ok()) return report("demo application " + options.path, measured.status());
  Hash written;
  for (std::uint64_t offset = 0; offset < options.size; offset += kPieceSize) {
    written.add(content.piece(offset, options.size));
  }
  const Json out = {{"application", options.number},
                    {"path", options.path},
                    {"bytes", options.size},
                    {"write_seconds", measured->write_time.seconds()},
                    {"read_seconds", measured->read_time.seconds()},
                    {"hash", measured->read},
                    {"intact", measured->read == written.hex()},
                    {"stripe_size", measured->layout.stripe_size.count()},
                    {"stripe_count", measured->layout.stripe_count}};
  fmt::print("{}\n", out.dump());
  return kSuccess;
}

}  // namespace tutti::cli
