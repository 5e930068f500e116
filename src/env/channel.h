// Channel: requests and replies over one connection.
//
// call() sends a frame under a fresh id and waits for the frame that repeats it. Many calls may be under way; they
// end in any order. When the connection is lost every call ends with Code::unavailable. A call whose frame is
// destroyed forgets its reply. The channel must outlive its calls. Where the other side asks too, a handler gets the
// frames that answer no call; late replies are among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "env/network.h"
#include "env/scope.h"
#include "env/sync.h"

namespace tutti {

class Channel {
 public:
  // Called with a frame that answers no call. May close the channel, not destroy it.
  using Handler = std::function<void(Channel&, const Frame&)>;
  // Starts to receive at once.
  Channel(Executor& executor, std::unique_ptr<Connection> connection, Handler handler = {});
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel() = default;

  struct Reply {
    std::uint16_t type = 0;
    std::vector<std::byte> payload;  // aligned as new gives it
  };
  Task<Result<Reply>> call(std::uint16_t type, std::span<const std::byte> payload);

  [[nodiscard]] Connection& connection() { return *connection_; }
  [[nodiscard]] bool closed() const { return connection_->closed(); }
  void close();

  // For a watchdog: how many calls wait, how many frames came, and an event that is set while calls wait.
  [[nodiscard]] std::size_t waiting() const { return calls_.size(); }
  [[nodiscard]] std::uint64_t received() const { return received_; }
  [[nodiscard]] Event& active() { return active_; }
  // Set when the connection is lost or closed.
  [[nodiscard]] Event& ended() { return ended_; }

 private:
  struct Call;
  Task<void> receive_loop();

  Executor& executor_;
  std::unique_ptr<Connection> connection_;
  Handler handler_;
  std::uint64_t next_id_ = 1;
  std::uint64_t received_ = 0;
  std::map<std::uint64_t, Call*> calls_;
  Event active_;
  Event ended_;
  Scope scope_;
};

}  // namespace tutti
