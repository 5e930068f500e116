// TransferTable: the transfers of a dispatcher by their ids. Transfers come and go with every request, so the memory of
// those that are gone, as far as it is small, serves the next ones.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policy/request/flat_map.h"
#include "server/data/transfer.h"

namespace tutti {

class TransferTable {
 public:
  // One to fill in and insert, with empty lists.
  std::unique_ptr<Transfer> blank();
  // By the id of its request, which no other one here has.
  Transfer& insert(std::unique_ptr<Transfer> transfer);
  // It must be there.
  Transfer& at(std::uint64_t id) { return *slots_[by_id_.find(id)]; }
  // It is known by another id from now on, which no other one here has.
  void renumber(Transfer& transfer, std::uint64_t id);
  // Destroys it.
  void erase(const Transfer& transfer);
  // In no particular order, but the same in every run.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& transfer : slots_) {
      if (transfer != nullptr) visit(*transfer);
    }
  }
  // Those in this state, in order of arrival.
  [[nodiscard]] std::vector<Transfer*> in_state(TransferState state) const;

 private:
  static constexpr std::size_t kSpare = 64;          // lists kept
  static constexpr std::size_t kSpareBytes = 32768;  // of each, at most

  FlatMap<std::uint64_t, HashOfNumber> by_id_;  // to the slot
  std::vector<std::unique_ptr<Transfer>> slots_;
  std::vector<std::uint32_t> free_;  // slots
  std::vector<TransferLists> spare_;
};

}  // namespace tutti
