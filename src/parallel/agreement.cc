#include "parallel/agreement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

namespace tutti {
namespace {

// A rank's Status as others get it. A longer message is cut.
struct StatusRecord {
  std::uint16_t code = 0;
  std::uint16_t length = 0;
  std::array<char, 508> message{};
};

}  // namespace

Task<Status> agree(Group& group, Status mine, std::span<std::int64_t> values) {
  if (group.size() == 1) co_return mine;
  // The lowest failing rank has the largest number.
  std::vector<std::int64_t> all{mine.ok() ? 0 : group.size() - group.rank()};
  all.insert(all.end(), values.begin(), values.end());
  TUTTI_CO_TRY(co_await group.allreduce(Reduce::max, all));
  if (all[0] == 0) {
    std::copy(all.begin() + 1, all.end(), values.begin());
    co_return Status();
  }
  const int root = group.size() - static_cast<int>(all[0]);
  StatusRecord record;
  if (root == group.rank()) {
    record.code = static_cast<std::uint16_t>(mine.code());
    record.length = static_cast<std::uint16_t>(std::min(mine.message().size(), record.message.size()));
    std::memcpy(record.message.data(), mine.message().data(), record.length);
  }
  TUTTI_CO_TRY(co_await group.broadcast(root, std::as_writable_bytes(std::span(&record, 1))));
  if (record.length > record.message.size()) co_return Status(Code::malformed, "agreement among ranks");
  co_return Status(code_from_wire(record.code), std::string(record.message.data(), record.length));
}

}  // namespace tutti
