#include "tests/fuzz/fuzz_world.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "env/combine.h"
#include "env/scope.h"
#include "env/sim/clock.h"
#include "env/sim/kv/memory_kv.h"
#include "env/sim/network/network.h"
#include "env/sim/simulation.h"
#include "env/sim/store/memory_store.h"
#include "policy/request/policy.h"
#include "server/coordinator/member_messages.h"
#include "server/coordinator/policy_change.h"
#include "server/data/data_server.h"
#include "server/fence.h"
#include "server/meta/meta_server.h"
#include "server/removal.h"
#include "server/store_messages.h"

namespace tutti::fuzz {
namespace {

constexpr std::uint64_t kFile = 42;
constexpr std::size_t kMostMessages = 16;

Task<void> finish(Task<Status> serving) { (co_await std::move(serving)).ignore(); }

Task<void> keep_receiving(Connection* connection) {
  for (;;) {
    const Result<Frame> frame = co_await connection->receive();
    if (!frame.ok()) co_return;
  }
}

Task<bool> sleep(Clock* clock, Nanos length) {
  co_await clock->sleep(length);
  co_return true;
}

enum class Whom : std::uint8_t { data, meta, member };  // a member: a data server, by its coordinator

class World {
 public:
  World(Whom whom, wire::Type type) : whom_(whom), type_(type) {
    server_node_ = fabric_.add_node();
    client_node_ = fabric_.add_node();
    data_address_ = SimNetwork::address(server_node_, "data");
    address_ = whom == Whom::meta ? SimNetwork::address(server_node_, "meta") : data_address_;
    coordinator_address_ = SimNetwork::address(client_node_, "coordinator");
    if (whom == Whom::member)
      receiving_.spawn(coordinate(*fabric_.node(client_node_).listen(coordinator_address_)));
    start_data();
    if (whom == Whom::meta) start_meta();
    connect();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    scope_.cancel();
    receiving_.cancel();
    connection_.reset();
    meta_server_.reset();
    data_server_.reset();
  }

  void send(wire::Type type, std::span<const std::byte> payload, std::uint8_t flags) {
    if (!connection_ || connection_->closed()) connect();
    if (!connection_) return;
    std::vector<std::uint64_t> aligned((payload.size() + 7) / 8);
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(aligned)).first(payload.size());
    std::copy(payload.begin(), payload.end(), bytes.begin());
    if ((flags & kSign) != 0) sign(type, bytes);
    const std::uint64_t first_id = whom_ == Whom::member ? wire::kDownwards : 0;
    connection_->send(wire::request_type(type), first_id + ++next_id_, bytes).ignore();
    if (type == wire::Type::view) use_view(bytes);
    simulation_.run(sleep(&clock_, 100_ms));
  }

 private:
  // Plays the coordinator for the data server, one session after the other.
  Task<void> coordinate(std::unique_ptr<Listener> listener) {
    for (;;) {
      auto accepted = co_await listener->accept();
      if (!accepted.ok()) co_return;
      connection_ = *std::move(accepted);
      for (;;) {
        const Result<Frame> frame = co_await connection_->receive();
        if (!frame.ok()) break;
        answer(*frame);
      }
    }
  }
  void answer(const Frame& frame) {
    flatbuffers::FlatBufferBuilder builder;
    if (frame.type == wire::request_type(wire::Type::session)) {
      builder.Finish(wire::CreateSessionReply(builder, 0, 0, clock_.wall().count(), 7));
    } else if (frame.type == wire::request_type(wire::Type::cluster)) {
      builder.Finish(wire::CreateClusterReply(builder, 0, 0, clock_.wall().count()));
    } else if (frame.type == wire::request_type(wire::Type::join)) {
      builder.Finish(wire::CreateJoinReply(builder));
    } else {
      return;
    }
    const auto type = static_cast<std::uint16_t>(frame.type | wire::kReplyBit);
    connection_->send(type, frame.id, wire::bytes(builder)).ignore();
  }

  void start_data() {
    DataServerOptions options;
    options.cluster = 7;
    if (whom_ == Whom::member) options.coordinator = coordinator_address_;
    data_server_ = std::make_unique<DataServer>(Env{clock_, fabric_.node(server_node_), random_, {}}, store_,
                                                std::move(*make_request_policy("fcfs")), key_, options);
    auto listener = fabric_.node(server_node_).listen(data_address_);
    scope_.spawn(finish(data_server_->serve(*std::move(listener))));
    data_server_->start().ignore();
  }
  void start_meta() {
    MetaServerOptions options;
    options.cluster = 7;
    options.data_servers = {data_address_};
    options.enrol = type_ == wire::Type::enrol;
    meta_server_ = std::make_unique<MetaServer>(Env{clock_, fabric_.node(server_node_), random_, {}}, kv_,
                                                key_, options);
    simulation_.run(meta_server_->open());
    auto listener = fabric_.node(server_node_).listen(address_);
    scope_.spawn(finish(meta_server_->serve(*std::move(listener))));
  }
  void connect() {
    if (whom_ == Whom::member) {  // it comes by itself
      simulation_.run(sleep(&clock_, 2_s));
      return;
    }
    receiving_.cancel();
    connection_.reset();
    auto made = simulation_.run(fabric_.node(client_node_).connect(address_));
    if (!made || !made->ok()) return;
    connection_ = **std::move(made);
    receiving_.spawn(keep_receiving(connection_.get()));
    // Region 1 can be read, region 2 can be written.
    const Segment segment{reinterpret_cast<std::uint64_t>(memory_.data()), memory_.size()};
    connection_->expose({&segment, 1}, Access::read);
    connection_->expose({&segment, 1}, Access::write);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(wire::CreateSessionRequest(builder, wire::kProtocolVersion, 1, 1));
    connection_->send(wire::request_type(wire::Type::session), ++next_id_, wire::bytes(builder)).ignore();
    if (type_ == wire::Type::read || type_ == wire::Type::write) declare_view();
    if (type_ == wire::Type::statistics) {  // only members send them
      const auto join = join_message(key_, {0, false}, clock_.wall());
      connection_->send(wire::request_type(wire::Type::join), ++next_id_, wire::bytes(join)).ignore();
    }
    simulation_.run(sleep(&clock_, 100_ms));
  }

  // For transfers to name: blocks of 100 bytes, 300 apart.
  void declare_view() {
    const std::vector<std::uint8_t> type = {0, 0xd8, 0x04, 0, 0, 0xc8, 0x01};
    flatbuffers::FlatBufferBuilder builder;
    const auto list = builder.CreateVector(type);
    const wire::Layout layout(65536, 2, 0, 2, 0);
    builder.Finish(wire::CreateViewRequest(builder, 1, kFile, &layout, 0, 100, list));
    connection_->send(wire::request_type(wire::Type::view), 0, wire::bytes(builder)).ignore();
  }
  // Reads through a view that was just declared: the server walks it, whatever it is.
  void use_view(std::span<const std::byte> bytes) {
    const auto* request = wire::parse<wire::ViewRequest>(bytes);
    if (request == nullptr) return;
    const wire::Capability capability = key_.sign(request->file(), 15, 0, clock_.wall() + 60_s);
    const wire::Tag tag(1, 1, 1, 1, 0);
    for (const std::uint64_t offset : {std::uint64_t{0}, std::uint64_t{12'345}, std::uint64_t{1} << 61U}) {
      flatbuffers::FlatBufferBuilder builder;
      wire::TransferRequestBuilder fields(builder);
      fields.add_capability(&capability);
      fields.add_tag(&tag);
      fields.add_region(2);
      fields.add_view(request->number());
      fields.add_view_offset(offset);
      fields.add_view_length(50'000);
      fields.add_view_share(50'000);
      builder.Finish(fields.Finish());
      connection_->send(wire::request_type(wire::Type::read), ++next_id_, wire::bytes(builder)).ignore();
    }
  }

  // Makes the capability inside a sound message genuine, for a file of the fuzzer's choice.
  template <typename Message>
  void sign_in(std::span<std::byte> bytes) {
    const auto* message = wire::parse<Message>(bytes);
    if (message == nullptr || message->capability() == nullptr) return;
    auto* place = const_cast<wire::Capability*>(message->capability());
    *place = key_.sign(whom_ == Whom::meta ? place->file() % 8 : kFile, 15, place->uid() % 2,
                       clock_.wall() + 60_s);
  }
  // The capability of a change of the policy is made over the rest of the message.
  void sign_policy_change(std::span<std::byte> bytes) {
    const auto* request = wire::parse<wire::PolicyChangeRequest>(bytes);
    if (request == nullptr || request->capability() == nullptr || request->policy() == nullptr) return;
    const PolicyMessage message{
        static_cast<PolicyStep>(request->step()),
        {request->version(), request->change(), request->policy()->str(), Nanos(request->from())}};
    const auto genuine = policy_change_message(key_, message, clock_.wall());
    const auto* made = wire::parse<wire::PolicyChangeRequest>(wire::bytes(genuine));
    *const_cast<wire::Capability*>(request->capability()) = *made->capability();
  }
  void sign_join(std::span<std::byte> bytes) {
    const auto* request = wire::parse<wire::JoinRequest>(bytes);
    if (request == nullptr || request->capability() == nullptr) return;
    const auto genuine = join_message(key_, {request->index(), request->rotational()}, clock_.wall());
    const auto* made = wire::parse<wire::JoinRequest>(wire::bytes(genuine));
    *const_cast<wire::Capability*>(request->capability()) = *made->capability();
  }
  void sign_enrol(std::span<std::byte> bytes) {
    const auto* request = wire::parse<wire::EnrolRequest>(bytes);
    if (request == nullptr || request->capability() == nullptr) return;
    const EnrolMessage message{request->index(), from_wire(request->uuid()), from_wire(request->metadata()),
                               request->newest(), request->replaces()};
    const auto genuine = enrol_message(key_, message, clock_.wall());
    const auto* made = wire::parse<wire::EnrolRequest>(wire::bytes(genuine));
    *const_cast<wire::Capability*>(request->capability()) = *made->capability();
  }
  void sign_list_objects(std::span<std::byte> bytes) {
    const auto* request = wire::parse<wire::ListObjectsRequest>(bytes);
    if (request == nullptr || request->capability() == nullptr) return;
    const auto genuine = list_objects_message(key_, request->after(), clock_.wall());
    const auto* made = wire::parse<wire::ListObjectsRequest>(wire::bytes(genuine));
    *const_cast<wire::Capability*>(request->capability()) = *made->capability();
  }
  void sign_scrub(std::span<std::byte> bytes) {
    const auto* request = wire::parse<wire::ScrubRequest>(bytes);
    if (request == nullptr || request->capability() == nullptr) return;
    const ScrubMessage message{ObjectId{request->object()},
                               {Bytes(request->offset()), Bytes(request->length())}};
    const auto genuine = scrub_message(key_, message, clock_.wall());
    const auto* made = wire::parse<wire::ScrubRequest>(wire::bytes(genuine));
    *const_cast<wire::Capability*>(request->capability()) = *made->capability();
  }
  void sign_advice(std::span<std::byte> bytes) {
    const auto* request = wire::parse<wire::AdviceRequest>(bytes);
    if (request == nullptr || request->capability() == nullptr || !wire::aligned(request->slices()) ||
        !wire::aligned(request->plan())) {
      return;
    }
    Advice advice{request->epoch(), Nanos(request->expiry()), {}, {}};
    for (std::size_t i = 0; request->slices() != nullptr && i < request->slices()->size(); ++i) {
      const wire::TimeSlice* slice = request->slices()->Get(static_cast<flatbuffers::uoffset_t>(i));
      const bool rest = slice->application() == wire::kOtherApplications;
      advice.slices.push_back(
          {rest ? 0 : slice->application(), rest, Nanos(slice->from()), Nanos(slice->to())});
    }
    for (std::size_t i = 0; request->plan() != nullptr && i < request->plan()->size(); ++i) {
      const wire::PlanStep* step = request->plan()->Get(static_cast<flatbuffers::uoffset_t>(i));
      advice.plan.push_back({Nanos(step->from()), step->choice()});
    }
    const auto genuine = advice_message(key_, advice, clock_.wall());
    const auto* made = flatbuffers::GetRoot<wire::AdviceRequest>(genuine.GetBufferPointer());
    *const_cast<wire::Capability*>(request->capability()) = *made->capability();
  }
  void sign_removal(std::span<std::byte> bytes) {
    const auto* request = wire::parse<wire::RemoveObjectsRequest>(bytes);
    if (request == nullptr || request->capability() == nullptr || request->files() == nullptr) return;
    const std::vector<std::uint64_t> files = wire::numbers(request->files());
    *const_cast<wire::Capability*>(request->capability()) =
        key_.sign(removal_digest(files, request->until()), wire::kRightRemove, 0, clock_.wall() + 60_s);
  }
  void sign_fence(std::span<std::byte> bytes) {
    sign_in<wire::FenceRequest>(bytes);
    const auto* request = wire::parse<wire::FenceRequest>(bytes);
    if (request == nullptr || request->proof() == nullptr || !wire::aligned(request->lost())) return;
    std::vector<wire::LostLock> lost;
    for (std::size_t i = 0; request->lost() != nullptr && i < request->lost()->size(); ++i)
      lost.push_back(*request->lost()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    *const_cast<wire::Capability*>(request->proof()) =
        key_.sign(fence_digest(kFile, lost, request->epoch()), wire::kRightFence, 0, clock_.wall() + 60_s);
  }
  void sign(wire::Type type, std::span<std::byte> bytes) {
    switch (type) {
      case wire::Type::join:
        return sign_join(bytes);
      case wire::Type::enrol:
        return sign_enrol(bytes);
      case wire::Type::list_objects:
        return sign_list_objects(bytes);
      case wire::Type::scrub:
        return sign_scrub(bytes);
      case wire::Type::advice:
        return sign_advice(bytes);
      case wire::Type::policy_change:
        return sign_policy_change(bytes);
      case wire::Type::read:
      case wire::Type::write:
        return sign_in<wire::TransferRequest>(bytes);
      case wire::Type::sync:
      case wire::Type::length:
      case wire::Type::remove_object:
        return sign_in<wire::ObjectRequest>(bytes);
      case wire::Type::remove_objects:
        return sign_removal(bytes);
      case wire::Type::fence:
        return sign_fence(bytes);
      case wire::Type::next_data:
        return sign_in<wire::NextDataRequest>(bytes);
      case wire::Type::claim:
        return sign_in<wire::ClaimRequest>(bytes);
      case wire::Type::name:
        return sign_in<wire::NameRequest>(bytes);
      case wire::Type::truncate:
        return sign_in<wire::TruncateRequest>(bytes);
      case wire::Type::renew:
        return sign_in<wire::RenewRequest>(bytes);
      case wire::Type::commit:
        return sign_in<wire::CommitRequest>(bytes);
      case wire::Type::lock:
        return sign_in<wire::LockRequest>(bytes);
      default:
        return;
    }
  }

  Whom whom_;
  wire::Type type_;
  Simulation simulation_{1};
  SimClock clock_{simulation_};
  SimNetwork fabric_{simulation_, {}, Random(2)};
  Random random_{3};
  MemoryStore store_;
  MemoryKv kv_{clock_, {200_us}};
  ServerKey key_ = ServerKey::from_seed(4);
  NodeId server_node_ = 0;
  NodeId client_node_ = 0;
  std::string address_;
  std::string data_address_;
  std::string coordinator_address_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(1U << 16U);
  std::unique_ptr<DataServer> data_server_;
  std::unique_ptr<MetaServer> meta_server_;
  Scope scope_{simulation_.executor()};
  std::unique_ptr<Connection> connection_;
  Scope receiving_{simulation_.executor()};
  std::uint64_t next_id_ = 0;
};

void run_in(Whom whom, wire::Type type, std::span<const std::byte> input) {
  World world(whom, type);
  for (std::size_t i = 0; i < kMostMessages && input.size() >= 3; ++i) {
    const auto flags = static_cast<std::uint8_t>(input[0]);
    std::size_t length = static_cast<std::size_t>(input[1]) | (static_cast<std::size_t>(input[2]) << 8U);
    input = input.subspan(3);
    length = std::min(length, input.size());
    world.send(type, input.first(length), flags);
    input = input.subspan(length);
  }
}

}  // namespace

void run_messages(wire::Type type, std::span<const std::byte> input) {
  if (type == wire::Type::policy_change || type == wire::Type::advice)
    return run_in(Whom::member, type, input);
  const bool both = type == wire::Type::session || type == wire::Type::status;
  const bool meta = type >= wire::Type::open || type == wire::Type::cluster;
  if (both || !meta) run_in(Whom::data, type, input);
  if (both || meta) run_in(Whom::meta, type, input);
}

}  // namespace tutti::fuzz
