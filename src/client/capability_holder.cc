#include "client/capability_holder.h"

namespace tutti {

CapabilityHolder::CapabilityHolder(Executor& executor, const wire::Capability& capability)
    : meta_(nullptr), capability_(capability), open_flags_(0), renewal_ended_(executor) {}

CapabilityHolder::CapabilityHolder(Executor& executor, ServerSession& meta,
                                   const wire::Capability& capability, std::uint32_t open_flags)
    : meta_(&meta), capability_(capability), open_flags_(open_flags), renewal_ended_(executor) {}

Task<Status> CapabilityHolder::renew(std::uint64_t used) {
  if (meta_ == nullptr) co_return Status(Code::expired, "the capability has expired");
  while (version_ == used && renewing_) {
    co_await renewal_ended_.wait();
    // One that was given up has no outcome: then it is our turn.
    if (version_ == used && !renewing_ && !outcome_.ok()) co_return outcome_;
  }
  if (version_ != used) co_return Status();
  struct Renewing {
    explicit Renewing(CapabilityHolder& holder) : holder(holder) {
      holder.renewing_ = true;
      holder.outcome_ = Status();
      holder.renewal_ended_.reset();
    }
    Renewing(const Renewing&) = delete;
    Renewing& operator=(const Renewing&) = delete;
    ~Renewing() {
      holder.renewing_ = false;
      holder.renewal_ended_.set();
    }
    CapabilityHolder& holder;
  };
  const Renewing renewing(*this);
  const Status status = co_await fetch();
  if (status.ok()) ++version_;
  outcome_ = status;
  co_return status;
}

Task<Status> CapabilityHolder::fetch() {
  flatbuffers::FlatBufferBuilder builder(256);
  builder.Finish(wire::CreateRenewRequest(builder, &capability_));
  const auto reply = co_await meta_->call<wire::CapabilityReply>(wire::request_type(wire::Type::renew),
                                                                 wire::bytes(builder));
  // What nobody answered was not refused.
  if (reply.code() == Code::timed_out || reply.code() == Code::unavailable)
    co_return reply.status().with_context("renew the capability");
  if (!reply.ok()) co_return co_await open_again();
  const auto* message = flatbuffers::GetRoot<wire::CapabilityReply>(reply->payload.data());
  if (message->capability() == nullptr)
    co_return Status(Code::malformed, "renew: the reply lacks the capability");
  capability_ = *message->capability();
  co_return Status();
}

// It has lain for too long to be renewed: the file is opened again, by number, with all checks.
Task<Status> CapabilityHolder::open_again() {
  flatbuffers::FlatBufferBuilder builder(256);
  const auto none = builder.CreateString("");
  const auto place = wire::CreatePlace(builder, capability_.file(), none);
  const wire::LayoutWish wish(0, 0, -1);
  builder.Finish(wire::CreateOpenRequest(builder, place, open_flags_ & (wire::kOpenRead | wire::kOpenWrite),
                                         0, &wish, 0));
  const auto opened =
      co_await meta_->call<wire::NodeReply>(wire::request_type(wire::Type::open), wire::bytes(builder));
  if (!opened.ok()) co_return opened.status().with_context("renew the capability");
  const auto* node = flatbuffers::GetRoot<wire::NodeReply>(opened->payload.data());
  if (node->capability() == nullptr)
    co_return Status(Code::malformed, "open: the reply lacks the capability");
  capability_ = *node->capability();
  co_return Status();
}

}  // namespace tutti
