// Visiting: how the servers of a file are visited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/file_system.h"
#include "policy/target/order.h"

namespace tutti {

struct Visiting {
  std::shared_ptr<const TargetOrder> order;  // never null
  Bytes block;                               // the largest piece
  std::size_t in_flight = 0;                 // pieces of one transfer; 0: see ClientOptions
  std::size_t per_server = 0;                // 0: any number
  std::uint64_t chance = 0;                  // drawn for the client

  // Takes what is not left out of the wish. Code::invalid, and nothing is changed, if a part of it is not known.
  Status apply(const VisitWish& wish);
};

}  // namespace tutti
