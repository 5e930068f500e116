#include "env/real/network/frame_guard.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"
#include "env/real/loop/loop.h"
#include "env/real/network/socket_connection.h"

namespace tutti {
namespace {

AuthKey key_of(int fill) {
  AuthKey key;
  key.fill(static_cast<std::byte>(fill));
  return key;
}

TEST(FrameGuard, TagsOfEqualFramesDiffer) {
  FrameGuard guard(key_of(1), Protection::authenticate);
  const std::array<std::byte, 100> bytes{};
  FrameGuard::Frame one = guard.begin();
  FrameGuard::Frame two = guard.begin();
  one.add(bytes);
  two.add(bytes);
  const FrameGuard::Tag first = one.end();
  EXPECT_NE(two.end(), first);
  FrameGuard other(key_of(1), Protection::authenticate);
  FrameGuard::Frame pieces = other.begin();
  pieces.add(std::span(bytes).first(1));
  pieces.add(std::span(bytes).subspan(1));
  EXPECT_TRUE(pieces.ends_with(first)) << "pieces do not matter";
}

// The bytes are those of libsodium's standard function; its tag covers lengths too, so ours is compared with a plain one.
TEST(FrameGuard, EncryptsAsTheStandardDoes) {
  const std::vector<std::byte> header(24, std::byte{3});
  std::vector<std::byte> plain(1000);
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::byte>(i * 7);
  FrameGuard guard(key_of(1), Protection::encrypt);
  guard.begin();
  FrameGuard::Frame frame = guard.begin();  // number 1
  frame.add(header);
  std::vector<std::byte> sealed(plain.size());
  frame.seal(plain, sealed.data());

  const auto raw = [](auto* bytes) { return reinterpret_cast<const unsigned char*>(bytes); };
  const AuthKey key = key_of(1);
  std::vector<unsigned char> expected(plain.size());
  std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_ABYTES> their_tag{};
  std::array<unsigned char, crypto_aead_chacha20poly1305_ietf_NPUBBYTES> nonce{};
  nonce[4] = 1;
  crypto_aead_chacha20poly1305_ietf_encrypt_detached(expected.data(), their_tag.data(), nullptr,
                                                     raw(plain.data()), plain.size(), nullptr, 0, nullptr,
                                                     nonce.data(), raw(key.data()));
  EXPECT_EQ(std::memcmp(sealed.data(), expected.data(), expected.size()), 0);

  std::array<unsigned char, crypto_onetimeauth_KEYBYTES> once{};
  crypto_stream_chacha20_ietf(once.data(), once.size(), nonce.data(), raw(key.data()));
  std::vector<std::byte> all = header;
  all.insert(all.end(), sealed.begin(), sealed.end());
  FrameGuard::Tag tag{};
  crypto_onetimeauth(reinterpret_cast<unsigned char*>(tag.data()), raw(all.data()), all.size(), once.data());
  EXPECT_EQ(frame.end(), tag);
}

TEST(FrameGuard, OpensInAnyPiecesWhatWasSealedInOthers) {
  std::vector<std::byte> plain(4000);
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::byte>(i * 11);
  Random random(3);
  FrameGuard sender(key_of(1), Protection::encrypt);
  FrameGuard receiver(key_of(1), Protection::encrypt);
  for (int round = 0; round < 200; ++round) {
    FrameGuard::Frame out = sender.begin();
    FrameGuard::Frame in = receiver.begin();
    std::vector<std::byte> sealed(plain.size());
    std::vector<std::byte> opened(plain.size());
    for (std::size_t at = 0, count = 0; at < plain.size(); at += count) {
      count = std::min<std::size_t>(plain.size() - at, random.below(200));
      out.seal(std::span(plain).subspan(at, count), sealed.data() + at);
    }
    for (std::size_t at = 0, count = 0; at < plain.size(); at += count) {
      count = std::min<std::size_t>(plain.size() - at, random.below(200));
      in.open(std::span(sealed).subspan(at, count), opened.data() + at);
    }
    ASSERT_EQ(opened, plain);
    ASSERT_NE(sealed, plain);
    ASSERT_TRUE(in.ends_with(out.end()));
  }
}

// Two ends of a connection with a wire in between that the test holds.
class GuardedWire : public testing::TestWithParam<Protection> {
 protected:
  void SetUp() override {
    sender_ = make(near_, far_);
    receiver_ = make(other_near_, other_far_);
    ASSERT_TRUE(sender_ && receiver_);
    sender_->protect(key_of(1), key_of(2), GetParam());
    receiver_->protect(key_of(2), key_of(1), GetParam());
  }
  ~GuardedWire() override {
    ::close(far_);
    ::close(other_far_);
  }
  std::unique_ptr<SocketConnection> make(int& near, int& far) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    near = ends[0];
    far = ends[1];
    auto made = SocketConnection::make(loop_, near, 1U << 20U);
    EXPECT_TRUE(made.ok());
    (*made)->established(Peer(), false);
    return *std::move(made);
  }
  // What the sender has sent.
  std::vector<std::byte> wire() const {
    std::vector<std::byte> bytes(1U << 16U);
    const ssize_t count = ::recv(far_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }
  void pass_on(std::span<const std::byte> bytes) const {
    ASSERT_EQ(::send(other_far_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  Result<Frame> receive() { return loop_.run(receiver_->receive()); }

  Loop loop_;
  int near_ = -1, far_ = -1, other_near_ = -1, other_far_ = -1;
  std::unique_ptr<SocketConnection> sender_;
  std::unique_ptr<SocketConnection> receiver_;
  const std::vector<std::byte> payload_{100, std::byte{7}};
};

TEST_P(GuardedWire, FramesComeAsTheyWereSent) {
  for (std::uint64_t id = 1; id < 5; ++id) {
    ASSERT_TRUE(sender_->send(kFirstUserFrameType, id, std::span(payload_).first(id * 9)).ok());
    pass_on(wire());
    const Result<Frame> frame = receive();
    ASSERT_TRUE(frame.ok()) << frame.status().to_string();
    EXPECT_EQ(frame->id, id);
    const auto sent = std::span(payload_).first(id * 9);
    EXPECT_TRUE(std::equal(frame->payload.begin(), frame->payload.end(), sent.begin(), sent.end()));
  }
}

TEST_P(GuardedWire, PayloadIsSeenOnTheWireUnlessEncrypted) {
  ASSERT_TRUE(sender_->send(kFirstUserFrameType, 1, payload_).ok());
  const std::vector<std::byte> bytes = wire();
  const bool seen =
      std::search(bytes.begin(), bytes.end(), payload_.begin(), payload_.begin() + 16) != bytes.end();
  EXPECT_EQ(seen, GetParam() != Protection::encrypt);
}

TEST_P(GuardedWire, AlteredFrameEndsTheConnection) {
  ASSERT_TRUE(sender_->send(kFirstUserFrameType, 1, payload_).ok());
  std::vector<std::byte> bytes = wire();
  bytes[60] ^= std::byte{1};
  pass_on(bytes);
  EXPECT_EQ(receive().code(), Code::malformed);
  EXPECT_TRUE(receiver_->closed());
}

TEST_P(GuardedWire, AlteredIdEndsTheConnection) {
  ASSERT_TRUE(sender_->send(kFirstUserFrameType, 1, payload_).ok());
  std::vector<std::byte> bytes = wire();
  bytes[16] ^= std::byte{1};
  pass_on(bytes);
  EXPECT_EQ(receive().code(), Code::malformed);
}

// Bulk data, which goes to its place at once, and the frame that follows it.
class GuardedBulk : public GuardedWire {
 protected:
  static constexpr std::size_t kLength = 10'001;
  static constexpr std::size_t kFrame =
      sizeof(FrameHeader) + sizeof(PushTarget) + padded(kLength) + sizeof(FrameGuard::Tag);

  void SetUp() override {
    GuardedWire::SetUp();
    for (std::size_t i = 0; i < kLength; ++i) sent_[i] = static_cast<std::byte>(i * 13);
    const Segment place{reinterpret_cast<std::uint64_t>(got_.data()), got_.size()};
    region_.id = receiver_->expose({&place, 1}, Access::write);
    region_.segments = {place};
    Connection& sender = *sender_;
    ASSERT_TRUE(loop_.run(sender.push(std::span<const std::byte>(sent_), region_, 0_B)).ok());
    ASSERT_TRUE(sender_->send(kFirstUserFrameType, 1, payload_).ok());
    bytes_ = wire();
    ASSERT_GT(bytes_.size(), kFrame);
  }
  Code alter(std::size_t at) {
    bytes_[at] ^= std::byte{1};
    pass_on(bytes_);
    return receive().code();
  }

  std::vector<std::byte> sent_ = std::vector<std::byte>(kLength);
  std::vector<std::byte> got_ = std::vector<std::byte>(kLength);
  Region region_;
  std::vector<std::byte> bytes_;
};

TEST_P(GuardedBulk, ComesAsItWasSent) {
  pass_on(bytes_);
  ASSERT_TRUE(receive().ok());
  EXPECT_EQ(got_, sent_);
}

TEST_P(GuardedBulk, AlteredBodyEndsTheConnection) { EXPECT_EQ(alter(kFrame / 2), Code::malformed); }

TEST_P(GuardedBulk, AlteredTagEndsTheConnection) { EXPECT_EQ(alter(kFrame - 1), Code::malformed); }

TEST_P(GuardedWire, RepeatedFrameEndsTheConnection) {
  ASSERT_TRUE(sender_->send(kFirstUserFrameType, 1, payload_).ok());
  const std::vector<std::byte> bytes = wire();
  pass_on(bytes);
  EXPECT_TRUE(receive().ok());
  pass_on(bytes);
  EXPECT_EQ(receive().code(), Code::malformed);
}

TEST_P(GuardedWire, LeftOutFrameEndsTheConnection) {
  ASSERT_TRUE(sender_->send(kFirstUserFrameType, 1, payload_).ok());
  EXPECT_FALSE(wire().empty());
  ASSERT_TRUE(sender_->send(kFirstUserFrameType, 2, payload_).ok());
  pass_on(wire());
  EXPECT_EQ(receive().code(), Code::malformed);
}

TEST_P(GuardedWire, FrameOfAnotherEndsTheConnection) {
  SocketConnection& stranger = *receiver_;
  ASSERT_TRUE(stranger.send(kFirstUserFrameType, 1, payload_).ok());
  std::vector<std::byte> bytes(1U << 12U);
  const ssize_t count = ::recv(other_far_, bytes.data(), bytes.size(), MSG_DONTWAIT);
  ASSERT_GT(count, 0);
  bytes.resize(static_cast<std::size_t>(count));
  pass_on(bytes);  // its own words come back
  EXPECT_EQ(receive().code(), Code::malformed);
}

INSTANTIATE_TEST_SUITE_P(Ways, GuardedWire, testing::Values(Protection::authenticate, Protection::encrypt),
                         [](const auto& tested) { return std::string(protection_name(tested.param)); });

INSTANTIATE_TEST_SUITE_P(Ways, GuardedBulk, testing::Values(Protection::authenticate, Protection::encrypt),
                         [](const auto& tested) { return std::string(protection_name(tested.param)); });

}  // namespace
}  // namespace tutti
