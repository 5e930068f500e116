#include "server/capability.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/random.h"

namespace tutti {
namespace {

static_assert(ServerKey::kSize == crypto_generichash_KEYBYTES);

// What the hash covers: all of a capability but the hash.
struct Covered {
  std::uint64_t file;
  std::int64_t expiry;
  std::uint32_t rights;
  std::uint32_t uid;
};
static_assert(sizeof(Covered) == sizeof(wire::Capability) - 32);

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

}  // namespace

std::uint64_t message_digest(std::string_view bytes) {
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                     bytes.size(), nullptr, 0);
  std::uint64_t digest = 0;
  std::memcpy(&digest, hash.data(), sizeof(digest));
  return digest;
}

Result<ServerKey> ServerKey::load(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return Status::from_errno(errno, "open key file " + path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return Status::from_errno(errno, "stat key file " + path);
  if ((info.st_mode & 077U) != 0) {
    return Status(Code::permission, fmt::format("key file {} can be read by others: chmod 600 it", path));
  }
  ServerKey key;
  const ssize_t got = ::read(file.get(), key.keys_.data(), sizeof(key.keys_));
  if (got < 0) return Status::from_errno(errno, "read key file " + path);
  key.count_ = static_cast<std::size_t>(got) / kSize;
  if (key.count_ == 0 || static_cast<std::size_t>(got) % kSize != 0 || info.st_size != got) {
    return Status(Code::malformed, fmt::format("key file {} is not a key of {} bytes, or up to {} of them",
                                               path, kSize, kMostKeys));
  }
  return key;
}

Result<ServerKey> ServerKey::create(const std::string& path) {
  if (sodium_init() < 0) return Status(Code::internal, "libsodium does not start");
  ServerKey key;
  randombytes_buf(key.keys_[0].data(), kSize);
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (file.get() < 0) return Status::from_errno(errno, "create key file " + path);
  if (::write(file.get(), key.keys_[0].data(), kSize) != static_cast<ssize_t>(kSize) ||
      ::fsync(file.get()) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    return Status::from_errno(error, "write key file " + path);
  }
  return key;
}

ServerKey ServerKey::from_seed(std::uint64_t seed) {
  ServerKey key;
  Random random(seed);
  for (auto& byte : key.keys_[0]) byte = static_cast<std::uint8_t>(random.next());
  return key;
}

std::array<std::uint8_t, 32> ServerKey::mac(const wire::Capability& capability, const Key& key) {
  const Covered covered{capability.file(), capability.expiry(), capability.rights(), capability.uid()};
  std::array<std::uint8_t, 32> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(&covered),
                     sizeof(covered), key.data(), key.size());
  return hash;
}

wire::Capability ServerKey::sign(std::uint64_t file, std::uint32_t rights, std::uint32_t uid,
                                 Nanos expiry) const {
  const auto hash = mac(wire::Capability(file, expiry.count(), rights, uid), keys_[0]);
  return {file, expiry.count(), rights, uid,
          flatbuffers::span<const std::uint8_t, 32>(hash.data(), hash.size())};
}

bool ServerKey::genuine(const wire::Capability& capability) const {
  return std::any_of(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(count_), [&](const Key& key) {
    const auto hash = mac(capability, key);
    return sodium_memcmp(hash.data(), capability.mac()->data(), hash.size()) == 0;
  });
}

Status ServerKey::check(const wire::Capability& capability, std::uint32_t rights, Nanos wall) const {
  if (!genuine(capability)) return {Code::bad_capability, "the capability was not made by this cluster"};
  return permits(capability, rights, wall);
}

Status ServerKey::permits(const wire::Capability& capability, std::uint32_t rights, Nanos wall) {
  if ((capability.rights() & rights) != rights) {
    return {Code::bad_capability,
            fmt::format("the capability gives rights {:#x}, this takes {:#x}", capability.rights(), rights)};
  }
  if (Nanos(capability.expiry()) < wall) return {Code::expired, "the capability has expired: renew it"};
  return {};
}

}  // namespace tutti
