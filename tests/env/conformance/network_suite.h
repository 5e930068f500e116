// What every Network must do, whatever it is made of. To be instantiated with a World:
//
//   struct World {
//     Clock& clock();
//     Network& server_network();              // where listen() is called
//     Network& client_network();              // where connect() is called
//     std::string address();                  // to listen at; the same string each time
//     std::string silent_address();           // where nobody listens
//     template <typename T> T run(Task<T>);   // drives the world until the task has ended
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(Real, NetworkSuite, testing::Types<World>);
//
// Both ends live in the test's process, so an exposed address is good at both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "env/combine.h"
#include "env/network.h"
#include "env/scope.h"

namespace tutti::conformance {

using AcceptedConnection = Result<std::unique_ptr<Connection>>;

namespace network_suite {

inline constexpr std::uint16_t kType = kFirstUserFrameType;

inline std::vector<std::byte> pattern(std::size_t length, std::uint64_t seed) {
  std::vector<std::byte> bytes(length);
  Random random(seed);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random.next());
  return bytes;
}

inline Segment segment_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<std::uint64_t>(bytes.data()), bytes.size()};
}

// Receives until the connection ends, so that bulk traffic is served.
inline Task<void> keep_receiving(Connection& connection) {
  for (;;) {
    const Result<Frame> frame = co_await connection.receive();
    if (!frame.ok()) co_return;
  }
}

inline Task<Code> receive_code(Connection& connection) { co_return (co_await connection.receive()).code(); }

struct Received {
  Code code = Code::ok;
  std::uint16_t type = 0;
  std::uint64_t id = 0;
  std::vector<std::byte> payload;
  bool aligned = false;
};

inline Task<Received> receive_copy(Connection& connection) {
  const Result<Frame> frame = co_await connection.receive();
  Received received;
  received.code = frame.code();
  if (frame.ok()) {
    received.type = frame->type;
    received.id = frame->id;
    received.payload.assign(frame->payload.begin(), frame->payload.end());
    received.aligned = reinterpret_cast<std::uintptr_t>(frame->payload.data()) % 8 == 0;
  }
  co_return received;
}

inline Task<void> echo(Connection& connection) {
  for (;;) {
    const Result<Frame> frame = co_await connection.receive();
    if (!frame.ok()) co_return;
    if (!connection.send(frame->type, frame->id, frame->payload).ok()) co_return;
  }
}

inline Task<void> store_code(Task<Status> task, std::optional<Code>& code) {
  code = (co_await std::move(task)).code();
}

inline Task<bool> sleep_for(Clock& clock, Nanos duration) {
  co_await clock.sleep(duration);
  co_return true;
}

// Memory in pieces of many lengths, with gaps between them.
struct Pieces {
  Pieces(std::size_t count, std::uint64_t seed) {
    Random random(seed);
    std::vector<std::pair<std::size_t, std::size_t>> places;
    std::size_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
      at += random.between(1, 9);
      const std::size_t length = random.between(1, 700);
      places.emplace_back(at, length);
      at += length;
      total += length;
    }
    memory.assign(at + 16, std::byte{0xee});
    for (const auto& [start, length] : places) {
      segments.push_back(segment_of(std::span(memory).subspan(start, length)));
    }
  }
  void write(std::span<const std::byte> bytes) {
    for (const Segment& each : segments) {
      std::memcpy(reinterpret_cast<void*>(each.address), bytes.data(), each.length);
      bytes = bytes.subspan(each.length);
    }
  }
  [[nodiscard]] std::vector<std::byte> read() const {
    std::vector<std::byte> bytes;
    for (const Segment& each : segments) {
      const auto* start = reinterpret_cast<const std::byte*>(each.address);
      bytes.insert(bytes.end(), start, start + each.length);
    }
    return bytes;
  }
  [[nodiscard]] std::size_t untouched() const {
    const std::vector<std::byte> inside = read();
    const auto whole = std::count(memory.begin(), memory.end(), std::byte{0xee});
    const auto own = std::count(inside.begin(), inside.end(), std::byte{0xee});
    return static_cast<std::size_t>(whole - own);
  }
  std::vector<std::byte> memory;
  std::vector<Segment> segments;
  std::size_t total = 0;
};

}  // namespace network_suite

template <typename World>
class NetworkSuite : public testing::Test {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Listener>> made = world_.server_network().listen(world_.address());
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    listener_ = *std::move(made);
    connect_pair(client_, server_);
  }
  void TearDown() override {
    scope_.cancel();
    client_.reset();
    server_.reset();
    listener_.reset();
  }

  void connect_pair(std::unique_ptr<Connection>& client, std::unique_ptr<Connection>& server) {
    std::vector<Task<AcceptedConnection>> both;
    both.push_back(listener_->accept());
    both.push_back(connect());
    std::vector<AcceptedConnection> made = world_.run(when_all(std::move(both)));
    for (const AcceptedConnection& each : made) ASSERT_TRUE(each.ok()) << each.status().to_string();
    server = *std::move(made[0]);
    client = *std::move(made[1]);
  }
  Task<AcceptedConnection> connect() {
    const std::string address = world_.address();
    co_return co_await world_.client_network().connect(address);
  }

  // Bulk traffic is served while both ends receive.
  void serve_bulk() {
    scope_.spawn(network_suite::keep_receiving(*client_));
    scope_.spawn(network_suite::keep_receiving(*server_));
  }
  Region expose(std::span<const Segment> segments, Access access) {
    Region region;
    region.id = client_->expose(segments, access);
    if (client_->needs_segments()) region.segments.assign(segments.begin(), segments.end());
    return region;
  }
  Code pull(const Region& region, std::uint64_t offset, std::span<std::byte> into) {
    return world_.run(server_->pull(region, Bytes(offset), into)).code();
  }
  // What was pushed is in place when something later has been there and back.
  Code push(std::span<const std::byte> from, const Region& region, std::uint64_t offset) {
    const Code code = world_.run(server_->push(from, region, Bytes(offset))).code();
    if (code != Code::ok) return code;
    std::vector<std::byte> later(1);
    const std::array<Segment, 1> segments = {network_suite::segment_of(later)};
    const Region region_behind = expose(segments, Access::read);
    std::vector<std::byte> got(1);
    const Code behind = pull(region_behind, 0, got);
    client_->withdraw(region_behind.id);
    return behind;
  }

  World world_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Connection> client_;
  std::unique_ptr<Connection> server_;
  Scope scope_{world_.clock().executor()};
};

TYPED_TEST_SUITE_P(NetworkSuite);

TYPED_TEST_P(NetworkSuite, FramesArriveInOrderWithTypeAndId) {
  using namespace network_suite;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto type = static_cast<std::uint16_t>(kType + i % 5);
    ASSERT_TRUE(this->client_->send(type, i * 3, pattern(i, i)).ok());
  }
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Received frame = this->world_.run(receive_copy(*this->server_));
    ASSERT_EQ(frame.code, Code::ok);
    EXPECT_EQ(frame.type, kType + i % 5);
    EXPECT_EQ(frame.id, i * 3);
    EXPECT_EQ(frame.payload, pattern(i, i));
    EXPECT_TRUE(frame.aligned);
  }
}

TYPED_TEST_P(NetworkSuite, LongestFrameArrivesWhole) {
  using namespace network_suite;
  for (const std::size_t length : {kMaxFramePayload, std::size_t{0}, kMaxFramePayload - 1, std::size_t{1}}) {
    ASSERT_TRUE(this->server_->send(kType, length, pattern(length, length)).ok());
  }
  for (const std::size_t length : {kMaxFramePayload, std::size_t{0}, kMaxFramePayload - 1, std::size_t{1}}) {
    const Received frame = this->world_.run(receive_copy(*this->client_));
    ASSERT_EQ(frame.code, Code::ok);
    EXPECT_EQ(frame.id, length);
    EXPECT_TRUE(frame.aligned);
    EXPECT_TRUE(frame.payload == pattern(length, length));
  }
}

TYPED_TEST_P(NetworkSuite, EchoOfManyFramesKeepsTheirOrder) {
  using namespace network_suite;
  this->scope_.spawn(echo(*this->server_));
  Random random(7);
  std::vector<std::vector<std::byte>> sent;
  for (std::uint64_t i = 0; i < 500; ++i) {
    sent.push_back(pattern(random.below(3000), i));
    ASSERT_TRUE(this->client_->send(kType, i, sent.back()).ok());
  }
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Received frame = this->world_.run(receive_copy(*this->client_));
    ASSERT_EQ(frame.code, Code::ok);
    ASSERT_EQ(frame.id, i);
    ASSERT_TRUE(frame.payload == sent[i]);
  }
}

TYPED_TEST_P(NetworkSuite, ConnectingToNobodyIsUnavailable) {
  const std::string address = this->world_.silent_address();
  const AcceptedConnection connection = this->world_.run(this->world_.client_network().connect(address));
  EXPECT_EQ(connection.code(), Code::unavailable) << connection.status().to_string();
}

TYPED_TEST_P(NetworkSuite, AddressInUseIsRefused) {
  EXPECT_FALSE(this->world_.server_network().listen(this->world_.address()).ok());
}

TYPED_TEST_P(NetworkSuite, CloseEndsWaitingReceive) {
  using namespace network_suite;
  std::vector<Task<Code>> tasks;
  tasks.push_back(receive_code(*this->server_));
  struct Closer {
    static Task<Code> close(Clock& clock, Connection& connection) {
      co_await clock.sleep(1_ms);
      connection.close();
      co_return Code::ok;
    }
  };
  tasks.push_back(Closer::close(this->world_.clock(), *this->server_));
  EXPECT_EQ(this->world_.run(when_all(std::move(tasks)))[0], Code::unavailable);
  EXPECT_TRUE(this->server_->closed());
  EXPECT_EQ(this->server_->send(kType, 0, {}).code(), Code::unavailable);
  EXPECT_EQ(this->world_.run(receive_code(*this->server_)), Code::unavailable);
  this->server_->close();
}

TYPED_TEST_P(NetworkSuite, PeerReceivesWhatWasSentBeforeClose) {
  using namespace network_suite;
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(this->server_->send(kType, i, pattern(10, i)).ok());
  this->server_->close();
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(this->world_.run(receive_copy(*this->client_)).id, i);
  EXPECT_EQ(this->world_.run(receive_code(*this->client_)), Code::unavailable);
  EXPECT_TRUE(this->client_->closed());
}

TYPED_TEST_P(NetworkSuite, DestructionClosesForThePeer) {
  this->client_.reset();
  EXPECT_EQ(this->world_.run(network_suite::receive_code(*this->server_)), Code::unavailable);
}

TYPED_TEST_P(NetworkSuite, CancelledReceiveLosesNothing) {
  using namespace network_suite;
  {
    Scope waiting(this->world_.clock().executor());
    waiting.spawn(keep_receiving(*this->server_));
    this->world_.run(sleep_for(this->world_.clock(), 1_ms));
  }
  ASSERT_TRUE(this->client_->send(kType, 42, pattern(100, 1)).ok());
  EXPECT_EQ(this->world_.run(receive_copy(*this->server_)).id, 42U);
}

TYPED_TEST_P(NetworkSuite, ConnectionsDoNotDisturbEachOther) {
  using namespace network_suite;
  std::unique_ptr<Connection> other_client;
  std::unique_ptr<Connection> other_server;
  this->connect_pair(other_client, other_server);
  this->client_->close();
  ASSERT_TRUE(other_client->send(kType, 5, pattern(5, 5)).ok());
  EXPECT_EQ(this->world_.run(receive_copy(*other_server)).id, 5U);
  ASSERT_TRUE(other_server->send(kType, 6, {}).ok());
  EXPECT_EQ(this->world_.run(receive_copy(*other_client)).id, 6U);
}

TYPED_TEST_P(NetworkSuite, PullGathersManySegments) {
  using namespace network_suite;
  Pieces pieces(3000, 1);
  const std::vector<std::byte> bytes = pattern(pieces.total, 2);
  pieces.write(bytes);
  this->serve_bulk();
  const Region region = this->expose(pieces.segments, Access::read);
  std::vector<std::byte> got(pieces.total);
  ASSERT_EQ(this->pull(region, 0, got), Code::ok);
  EXPECT_TRUE(got == bytes);
  Random random(3);
  for (int i = 0; i < 50; ++i) {
    const std::size_t offset = random.below(pieces.total);
    const std::size_t length = random.below(pieces.total - offset + 1);
    std::vector<std::byte> part(length);
    ASSERT_EQ(this->pull(region, offset, part), Code::ok);
    ASSERT_TRUE(std::equal(part.begin(), part.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
}

TYPED_TEST_P(NetworkSuite, PushScattersIntoManySegments) {
  using namespace network_suite;
  Pieces pieces(3000, 4);
  const std::size_t gaps = pieces.untouched();
  std::vector<std::byte> expected = pattern(pieces.total, 5);
  this->serve_bulk();
  const Region region = this->expose(pieces.segments, Access::write);
  ASSERT_EQ(this->push(expected, region, 0), Code::ok);
  EXPECT_TRUE(pieces.read() == expected);
  Random random(6);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const std::size_t offset = random.below(pieces.total);
    const std::vector<std::byte> part = pattern(random.below(pieces.total - offset + 1), i);
    ASSERT_EQ(this->push(part, region, offset), Code::ok);
    std::copy(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(offset));
    ASSERT_TRUE(pieces.read() == expected);
  }
  EXPECT_EQ(pieces.untouched(), gaps);
}

// Both sides in many pieces, of other lengths each, more than one call of the kernel takes.
TYPED_TEST_P(NetworkSuite, PullAndPushTakeAListOfPlaces) {
  using namespace network_suite;
  Pieces far(3000, 7);
  Pieces near(2500, 8);
  std::vector<std::span<std::byte>> places;
  std::vector<std::span<const std::byte>> sent;
  std::size_t length = 0;
  for (const Segment& segment : near.segments) {
    if (length + segment.length > far.total) break;
    places.emplace_back(reinterpret_cast<std::byte*>(segment.address), segment.length);
    sent.emplace_back(places.back());
    if (length == 0) places.emplace_back();  // an empty one does no harm
    length += segment.length;
  }
  const std::size_t offset = far.total - length;
  const std::vector<std::byte> bytes = pattern(far.total, 9);
  far.write(bytes);
  this->serve_bulk();
  const Region readable = this->expose(far.segments, Access::read);
  ASSERT_EQ(this->world_.run(this->server_->pull(readable, Bytes(offset), Places(places))).code(), Code::ok);
  auto expected = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  for (const auto place : places) {
    ASSERT_TRUE(std::equal(place.begin(), place.end(), expected));
    expected += static_cast<std::ptrdiff_t>(place.size());
  }
  far.write(pattern(far.total, 10));
  std::vector<std::byte> after = far.read();
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.end(),
            after.begin() + static_cast<std::ptrdiff_t>(offset));
  const Region writable = this->expose(far.segments, Access::write);
  ASSERT_EQ(this->world_.run(this->server_->push(ConstPlaces(sent), writable, Bytes(offset))).code(),
            Code::ok);
  ASSERT_EQ(this->push(std::span(bytes).last(1), writable, far.total - 1), Code::ok);
  EXPECT_TRUE(far.read() == after);
  std::vector<std::byte> small(10);
  const std::array<std::span<std::byte>, 2> too_long = {small, small};
  EXPECT_NE(this->world_.run(this->server_->pull(readable, Bytes(far.total - 15), too_long)).code(),
            Code::ok);
}

TYPED_TEST_P(NetworkSuite, BulkOutsideTheRegionFails) {
  using namespace network_suite;
  std::vector<std::byte> memory = pattern(1000, 1);
  const std::array<Segment, 1> segments = {segment_of(memory)};
  this->serve_bulk();
  const Region readable = this->expose(segments, Access::read);
  const Region writable = this->expose(segments, Access::write);
  std::vector<std::byte> place(600);
  EXPECT_NE(this->pull(readable, 500, place), Code::ok);
  EXPECT_NE(this->pull(readable, ~std::uint64_t{0} - 10, place), Code::ok);
  EXPECT_EQ(this->pull(readable, 400, place), Code::ok);
  EXPECT_NE(this->push(place, writable, 500), Code::ok);
  EXPECT_NE(this->push(place, writable, ~std::uint64_t{0} - 10), Code::ok);
  EXPECT_TRUE(memory == pattern(1000, 1));
}

TYPED_TEST_P(NetworkSuite, WithdrawnOrUnknownRegionFails) {
  using namespace network_suite;
  if (this->client_->needs_segments()) GTEST_SKIP() << "this transport reaches memory by address alone";
  std::vector<std::byte> memory = pattern(1000, 1);
  const std::array<Segment, 1> segments = {segment_of(memory)};
  this->serve_bulk();
  const Region readable = this->expose(segments, Access::read);
  const Region writable = this->expose(segments, Access::write);
  std::vector<std::byte> place(10);
  EXPECT_NE(this->pull(writable, 0, place), Code::ok);
  this->client_->withdraw(writable.id);
  this->push(place, writable, 0);  // may be dropped at the other end without a word
  Region unknown;
  unknown.id = 12345;
  EXPECT_NE(this->pull(unknown, 0, place), Code::ok);
  EXPECT_NE(this->push(place, readable, 0), Code::ok);
  this->client_->withdraw(readable.id);
  EXPECT_NE(this->pull(readable, 0, place), Code::ok);
  EXPECT_TRUE(memory == pattern(1000, 1));
}

TYPED_TEST_P(NetworkSuite, BulkEndsWhenTheConnectionIsLost) {
  using namespace network_suite;
  std::vector<std::byte> memory(8U << 20U);
  const std::array<Segment, 1> segments = {segment_of(memory)};
  const Region region = this->expose(segments, Access::write);
  if (this->client_->needs_segments()) GTEST_SKIP() << "bulk data of this transport does not wait";
  this->scope_.spawn(keep_receiving(*this->server_));  // the client does not receive: nothing is served
  const std::vector<std::byte> bytes(memory.size());
  std::optional<Code> code;
  this->scope_.spawn(store_code(this->server_->push(bytes, region, Bytes(0)), code));
  this->world_.run(sleep_for(this->world_.clock(), 1_ms));
  EXPECT_FALSE(code.has_value());
  this->client_->close();
  while (!code) this->world_.run(sleep_for(this->world_.clock(), 1_ms));
  EXPECT_EQ(*code, Code::unavailable);
}

TYPED_TEST_P(NetworkSuite, CancelledBulkLeavesTheConnectionUsable) {
  using namespace network_suite;
  std::vector<std::byte> memory = pattern(4U << 20U, 1);
  const std::array<Segment, 1> segments = {segment_of(memory)};
  const Region readable = this->expose(segments, Access::read);
  const Region writable = this->expose(segments, Access::write);
  this->serve_bulk();
  for (int i = 0; i < 20; ++i) {
    std::vector<std::byte> place(memory.size());
    std::optional<Code> ignored_pull;
    std::optional<Code> ignored_push;
    Scope cancelled(this->world_.clock().executor());
    cancelled.spawn(store_code(this->server_->pull(readable, Bytes(0), place), ignored_pull));
    cancelled.spawn(store_code(this->server_->push(place, writable, Bytes(0)), ignored_push));
    this->world_.run(sleep_for(this->world_.clock(), Nanos(i * 20'000)));
  }
  std::vector<std::byte> place(memory.size());
  ASSERT_EQ(this->pull(readable, 0, place), Code::ok);
  EXPECT_TRUE(place == memory);
  this->scope_.cancel();
  ASSERT_TRUE(this->client_->send(kType, 77, {}).ok());
  EXPECT_EQ(this->world_.run(receive_copy(*this->server_)).id, 77U);
}

TYPED_TEST_P(NetworkSuite, FramesAndBulkShareTheConnection) {
  using namespace network_suite;
  std::vector<std::byte> memory = pattern(3'000'001, 1);
  const std::array<Segment, 1> segments = {segment_of(memory)};
  const Region region = this->expose(segments, Access::read);
  this->scope_.spawn(keep_receiving(*this->server_));
  std::vector<std::byte> place(memory.size());
  std::optional<Code> code;
  this->scope_.spawn(store_code(this->server_->pull(region, Bytes(0), place), code));
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(this->server_->send(kType, i, pattern(i, i)).ok());
    ASSERT_TRUE(this->client_->send(kType, i, pattern(i, i)).ok());
    const Received frame = this->world_.run(receive_copy(*this->client_));
    ASSERT_EQ(frame.id, i);
    ASSERT_TRUE(frame.aligned);
    ASSERT_EQ(frame.payload, pattern(i, i));
  }
  this->scope_.spawn(keep_receiving(*this->client_));
  while (!code) this->world_.run(sleep_for(this->world_.clock(), 1_ms));
  EXPECT_EQ(*code, Code::ok);
  EXPECT_TRUE(place == memory);
}

REGISTER_TYPED_TEST_SUITE_P(NetworkSuite, FramesArriveInOrderWithTypeAndId, LongestFrameArrivesWhole,
                            EchoOfManyFramesKeepsTheirOrder, ConnectingToNobodyIsUnavailable,
                            AddressInUseIsRefused, CloseEndsWaitingReceive,
                            PeerReceivesWhatWasSentBeforeClose, DestructionClosesForThePeer,
                            CancelledReceiveLosesNothing, ConnectionsDoNotDisturbEachOther,
                            PullGathersManySegments, PushScattersIntoManySegments,
                            PullAndPushTakeAListOfPlaces, BulkOutsideTheRegionFails,
                            WithdrawnOrUnknownRegionFails, BulkEndsWhenTheConnectionIsLost,
                            CancelledBulkLeavesTheConnectionUsable, FramesAndBulkShareTheConnection);

}  // namespace tutti::conformance
