#include "env/real/network/early_bytes.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/random.h"
#include "env/combine.h"
#include "env/real/network/frame.h"
#include "env/real/network/socket_network.h"
#include "env/scope.h"
#include "tests/env/conformance/network_suite.h"
#include "tests/env/real/network/tcp_support.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

using namespace conformance::network_suite;

TEST(EarlyPace, ClientIsAllowedAfterPromptPullsAndNoLongerAfterALateOne) {
  EarlyPace pace;
  for (unsigned i = 1; i < EarlyPace::kPrompt; ++i) EXPECT_EQ(pace.pulled(true), EarlyPace::Word::none);
  EXPECT_EQ(pace.pulled(true), EarlyPace::Word::allow);
  EXPECT_EQ(pace.pulled(true), EarlyPace::Word::none);
  EXPECT_TRUE(pace.allowed());
  EXPECT_EQ(pace.pulled(false), EarlyPace::Word::forbid);
  EXPECT_EQ(pace.pulled(false), EarlyPace::Word::none);
  EXPECT_FALSE(pace.allowed());
}

TEST(EarlyPace, LatePullBeginsTheRowAnew) {
  EarlyPace pace;
  for (unsigned i = 1; i < EarlyPace::kPrompt; ++i) pace.pulled(true);
  pace.pulled(false);
  for (unsigned i = 1; i < EarlyPace::kPrompt; ++i) EXPECT_EQ(pace.pulled(true), EarlyPace::Word::none);
  EXPECT_EQ(pace.pulled(true), EarlyPace::Word::allow);
}

TEST(EarlyBytes, WhatIsHeldIsBounded) {
  EarlyBytes early;
  constexpr std::size_t kLength = EarlyBytes::kMostHeld / 4;
  for (std::uint64_t region = 1; region <= 5; ++region) early.announced(region);
  for (std::uint64_t region = 1; region <= 4; ++region) EXPECT_NE(early.hold(region, kLength), nullptr);
  EXPECT_EQ(early.hold(5, kLength), nullptr);
  EXPECT_EQ(early.find(5), nullptr) << "a pull of it asks for it";
  early.erase(2);
  early.announced(6);
  EXPECT_NE(early.hold(6, kLength), nullptr);
}

TEST(EarlyBytes, OldestRegionHasToGoWhenThereAreTooMany) {
  EarlyBytes early;
  for (std::uint64_t region = 1; region <= EarlyBytes::kMostRegions; ++region) {
    EXPECT_EQ(early.one_too_many(), 0U);
    early.announced(region);
  }
  EXPECT_EQ(early.one_too_many(), 1U);
  early.erase(1);
  EXPECT_EQ(early.one_too_many(), 0U);
}

// What a server does with a request.
enum class Serving { at_once, later, in_parts, not_at_all };

template <typename Protect>
class EarlyBytesOnTcp : public testing::Test {
 protected:
  void SetUp() override {
    SocketOptions options;
    options.auth = test::with_keys({test::make_key(directory_ / "key", 'k')});
    options.protection = Protect::value;
    network_ = std::make_unique<SocketNetwork>(loop_, options);
    auto listener = network_->listen("tcp:" + test::loopback_host() + ":0");
    ASSERT_TRUE(listener.ok()) << listener.status().to_string();
    listener_ = *std::move(listener);
    auto client = loop_.run(network_->connect(SocketNetwork::address_of(*listener_)));
    auto server = loop_.run(listener_->accept());
    ASSERT_TRUE(client.ok() && server.ok());
    client_ = *std::move(client);
    server_ = *std::move(server);
    scope_ = std::make_unique<Scope>(loop_.executor());
    scope_->spawn(serve(this));
  }
  void TearDown() override { scope_.reset(); }

  // The id of a request is its region. It is answered when the bytes are there.
  static Task<void> serve(EarlyBytesOnTcp* self) {
    for (;;) {
      const Result<Frame> frame = co_await self->server_->receive();
      if (!frame.ok()) co_return;
      self->scope_->spawn(transfer(self, frame->id, self->serving_));
    }
  }
  static Task<void> transfer(EarlyBytesOnTcp* self, std::uint64_t id, Serving serving) {
    Region region;
    region.id = id;
    std::vector<std::byte> bytes(self->length_);
    const std::span<std::byte> all(bytes);
    Status status;
    if (serving == Serving::later) co_await self->loop_.clock().sleep(1_ms);
    if (serving == Serving::in_parts) {
      const std::size_t half = bytes.size() / 2;
      status = co_await self->server_->pull(region, 0_B, all.first(half));
      if (status.ok()) status = co_await self->server_->pull(region, Bytes(half), all.subspan(half));
    } else if (serving != Serving::not_at_all) {
      status = co_await self->server_->pull(region, 0_B, all);
    }
    self->pulled_ = std::move(bytes);
    ++self->served_;
    self->server_->send(kType, static_cast<std::uint64_t>(status.code()), {}).ignore();
  }

  // Returns what the server got.
  std::vector<std::byte> write(const std::vector<std::byte>& bytes, Serving serving) {
    serving_ = serving;
    length_ = bytes.size();
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
    const std::uint64_t region = client_->expose({&segment, 1}, Access::read);
    EXPECT_TRUE(client_->send(kType, region, {}).ok());
    const Received reply = loop_.run(receive_copy(*client_));
    EXPECT_EQ(reply.code, Code::ok);
    EXPECT_EQ(reply.id, static_cast<std::uint64_t>(Code::ok));
    client_->withdraw(region);
    return std::move(pulled_);
  }
  void until_allowed(std::size_t length) {
    for (unsigned i = 0; i <= EarlyPace::kPrompt; ++i) {
      const std::vector<std::byte> bytes = pattern(length, i);
      EXPECT_EQ(write(bytes, Serving::at_once), bytes);
    }
  }

  TemporaryDirectory directory_;
  Loop loop_;
  std::unique_ptr<SocketNetwork> network_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connection> client_;
  std::unique_ptr<Connection> server_;
  Serving serving_ = Serving::at_once;
  std::size_t length_ = 0;
  std::vector<std::byte> pulled_;
  unsigned served_ = 0;
  std::unique_ptr<Scope> scope_;
};

template <Protection kProtection>
using ProtectedBy = std::integral_constant<Protection, kProtection>;
using Protections = testing::Types<ProtectedBy<Protection::none>, ProtectedBy<Protection::authenticate>,
                                   ProtectedBy<Protection::encrypt>>;
TYPED_TEST_SUITE(EarlyBytesOnTcp, Protections);

// A client serves pulls while it receives. Here it does not, and the bytes come all the same.
TYPED_TEST(EarlyBytesOnTcp, ComeWithTheRequestWhenPullsWerePrompt) {
  constexpr std::size_t kLength = 200'000;
  this->until_allowed(kLength);
  const std::vector<std::byte> bytes = pattern(kLength, 99);
  const Segment segment{reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
  const unsigned before = this->served_;
  const std::uint64_t region = this->client_->expose({&segment, 1}, Access::read);
  ASSERT_TRUE(this->client_->send(kType, region, {}).ok());
  for (int turn = 0; turn < 10'000 && this->served_ == before; ++turn) this->loop_.run_once(1_ms);
  EXPECT_EQ(this->served_, before + 1);
  EXPECT_EQ(this->pulled_, bytes);
}

TYPED_TEST(EarlyBytesOnTcp, LatePullFindsThemAndTheNextAreAskedFor) {
  constexpr std::size_t kLength = 200'000;
  this->until_allowed(kLength);
  for (unsigned i = 0; i < 3; ++i) {
    const std::vector<std::byte> bytes = pattern(kLength, 100 + i);
    EXPECT_EQ(this->write(bytes, Serving::later), bytes);
  }
}

TYPED_TEST(EarlyBytesOnTcp, RequestThatNeedsNoBytesLeavesTheStreamInOrder) {
  constexpr std::size_t kLength = 256U << 10U;
  this->until_allowed(kLength);
  for (unsigned i = 0; i < 50; ++i) {
    this->write(pattern(kLength, i), Serving::not_at_all);
    const std::vector<std::byte> bytes = pattern(kLength, 100 + i);
    ASSERT_EQ(this->write(bytes, Serving::at_once), bytes);
  }
}

TYPED_TEST(EarlyBytesOnTcp, BytesAreTheSameHoweverTheyAreTaken) {
  Random random(1);
  for (unsigned i = 0; i < 400; ++i) {
    const std::size_t length = 1 + random.below(300'000);
    const std::vector<std::byte> bytes = pattern(length, i);
    // Mostly at once, so that the others are met while it is allowed.
    const auto draw = random.below(20);
    const Serving serving = draw == 0   ? Serving::later
                            : draw == 1 ? Serving::in_parts
                            : draw == 2 ? Serving::not_at_all
                                        : Serving::at_once;
    const std::vector<std::byte> got = this->write(bytes, serving);
    if (serving != Serving::not_at_all) {
      ASSERT_EQ(got, bytes) << i;
    }
  }
}

// Many requests before the first answer: more than are held.
TYPED_TEST(EarlyBytesOnTcp, ManyAtOnceAreAllServed) {
  constexpr std::size_t kLength = 256U << 10U;
  constexpr unsigned kRequests = 40;
  this->until_allowed(kLength);
  this->serving_ = Serving::later;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::uint64_t> regions;
  const unsigned before = this->served_;
  for (unsigned i = 0; i < kRequests; ++i) {
    bytes.push_back(pattern(kLength, i));
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.back().data()), kLength};
    regions.push_back(this->client_->expose({&segment, 1}, Access::read));
    ASSERT_TRUE(this->client_->send(kType, regions.back(), {}).ok());
  }
  for (unsigned i = 0; i < kRequests; ++i) {
    const Received reply = this->loop_.run(receive_copy(*this->client_));
    ASSERT_EQ(reply.code, Code::ok);
    EXPECT_EQ(reply.id, static_cast<std::uint64_t>(Code::ok));
  }
  EXPECT_EQ(this->served_, before + kRequests);
  for (const std::uint64_t region : regions) this->client_->withdraw(region);
}

// Its memory is used for something else from then on.
TYPED_TEST(EarlyBytesOnTcp, RegionThatIsWithdrawnIsNotSent) {
  constexpr std::size_t kLength = 256U << 10U;
  this->until_allowed(kLength);
  this->serving_ = Serving::later;
  this->length_ = kLength;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::uint64_t> regions;
  constexpr unsigned kRequests = 40;  // more than the socket takes
  for (unsigned i = 0; i < kRequests; ++i) {
    bytes.push_back(pattern(kLength, i));
    const Segment segment{reinterpret_cast<std::uint64_t>(bytes.back().data()), kLength};
    regions.push_back(this->client_->expose({&segment, 1}, Access::read));
    ASSERT_TRUE(this->client_->send(kType, regions.back(), {}).ok());
  }
  for (const std::uint64_t region : regions) this->client_->withdraw(region);
  unsigned refused = 0;
  for (unsigned i = 0; i < kRequests; ++i) {
    const Received reply = this->loop_.run(receive_copy(*this->client_));
    ASSERT_EQ(reply.code, Code::ok);
    if (reply.id != static_cast<std::uint64_t>(Code::ok)) ++refused;
  }
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(this->write(bytes[0], Serving::at_once), bytes[0]) << "the connection goes on";
}

}  // namespace
}  // namespace tutti
