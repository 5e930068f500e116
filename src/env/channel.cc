#include "env/channel.h"

namespace tutti {

// Lives in the frame of call(); takes itself off the list when that frame goes.
struct Channel::Call {
  Call(Channel& channel, std::uint64_t id) : channel(channel), id(id), done(channel.executor_) {
    channel.calls_.emplace(id, this);
    channel.active_.set();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    channel.calls_.erase(id);
    if (channel.calls_.empty()) channel.active_.reset();
  }

  Channel& channel;
  std::uint64_t id;
  Event done;
  Status status;
  Reply reply;
};

Channel::Channel(Executor& executor, std::unique_ptr<Connection> connection, Handler handler)
    : executor_(executor),
      connection_(std::move(connection)),
      handler_(std::move(handler)),
      active_(executor),
      ended_(executor),
      scope_(executor) {
  scope_.spawn(receive_loop());
}

Task<Result<Channel::Reply>> Channel::call(std::uint16_t type, std::span<const std::byte> payload) {
  if (closed())
    co_return Status(Code::unavailable, "connection to " + connection_->peer().name + " is closed");
  Call call(*this, next_id_++);
  TUTTI_CO_TRY(connection_->send(type, call.id, payload));
  co_await call.done.wait();
  if (!call.status.ok()) co_return std::move(call.status);
  co_return std::move(call.reply);
}

void Channel::close() { connection_->close(); }

Task<void> Channel::receive_loop() {
  for (;;) {
    Result<Frame> frame = co_await connection_->receive();
    if (!frame.ok()) {
      connection_->close();
      for (auto& [id, call] : calls_) {
        call->status = Status(Code::unavailable, frame.status().message());
        call->done.set();
      }
      ended_.set();
      co_return;
    }
    ++received_;
    const auto found = calls_.find(frame->id);
    if (found == calls_.end()) {  // the caller has given up, or the other side asks
      if (handler_) handler_(*this, *frame);
      continue;
    }
    found->second->reply.type = frame->type;
    found->second->reply.payload.assign(frame->payload.begin(), frame->payload.end());
    found->second->done.set();
  }
}

}  // namespace tutti
