// Turns: a rank waits until those before it have sent their requests, and tells those behind it.
//
// For collective.cc and exchange.cc. Both calls use the group, so no other call of it may be under way.
#pragma once

#include "env/group.h"
#include "parallel/collective_file.h"
#include "policy/collective/plan.h"

namespace tutti {

class Turns {
 public:
  // The references must outlive the object.
  Turns(Group& group, CollectiveFile& file, const Arrangement& arrangement)
      : group_(group), file_(file), arrangement_(arrangement) {}

  // A rank's first transfer, in its turn. What the transfer returns is in `outcome`; the result is the group's.
  Task<Status> run(Task<Status> transfer, Status& outcome);

 private:
  Task<Status> hear();
  Task<Status> tell();
  Task<Status> tell_after_delay();
  [[nodiscard]] const RankTurn* mine() const;

  Group& group_;
  CollectiveFile& file_;
  const Arrangement& arrangement_;
};

}  // namespace tutti
