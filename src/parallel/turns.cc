#include "parallel/turns.h"

#include <utility>
#include <vector>

#include "env/combine.h"

namespace tutti {

const RankTurn* Turns::mine() const {
  const auto rank = static_cast<std::size_t>(group_.rank());
  return rank < arrangement_.turns.size() ? &arrangement_.turns[rank] : nullptr;
}

Task<Status> Turns::hear() {
  const RankTurn* turn = mine();
  if (turn == nullptr || turn->hears.empty()) co_return Status();
  std::vector<std::byte> words(turn->hears.size());
  std::vector<Incoming> receive;
  for (std::size_t i = 0; i < words.size(); ++i) receive.push_back({turn->hears[i], {&words[i], 1}});
  co_return co_await group_.exchange({}, receive);
}

Task<Status> Turns::tell() {
  const RankTurn* turn = mine();
  if (turn == nullptr || turn->tells.empty()) co_return Status();
  const std::byte word{1};
  std::vector<Outgoing> send;
  for (const int rank : turn->tells) send.push_back({rank, {&word, 1}});
  co_return co_await group_.exchange(send, {});
}

Task<Status> Turns::tell_after_delay() {
  const RankTurn* turn = mine();
  if (turn == nullptr || turn->tells.empty()) co_return Status();
  if (arrangement_.delay > Nanos()) co_await file_.clock().sleep(arrangement_.delay);
  co_return co_await tell();
}

Task<Status> Turns::run(Task<Status> transfer, Status& outcome) {
  TUTTI_CO_TRY(co_await hear());
  if (arrangement_.serialized) {
    outcome = co_await std::move(transfer);
    co_return co_await tell();
  }
  // The first task has sent its requests when the second begins.
  std::vector<Task<Status>> tasks;
  tasks.push_back(std::move(transfer));
  tasks.push_back(tell_after_delay());
  std::vector<Status> ended = co_await when_all(std::move(tasks));
  outcome = std::move(ended[0]);
  co_return std::move(ended[1]);
}

}  // namespace tutti
