// GrantsWatch: the grants of one process, and a look at them while a server waits for one.
//
// A server that has a grant and sends nothing (it was stopped, or its disk is slow) would keep its place from those that could send.
// When no bytes come from anybody for a while, the places go to those that wait.
#pragma once

#include "env/real/loop/loop.h"
#include "env/real/network/read_grants.h"
#include "env/scope.h"

namespace tutti {

class GrantsWatch {
 public:
  // `quiet`: so long without bytes.
  GrantsWatch(Loop& loop, Nanos quiet) : loop_(loop), quiet_(quiet), scope_(loop.executor()) {}

  [[nodiscard]] ReadGrants& grants() { return grants_; }
  // Somebody waits.
  void wake();

 private:
  Task<void> watch();

  Loop& loop_;
  Nanos quiet_;
  ReadGrants grants_;
  bool awake_ = false;
  Scope scope_;
};

}  // namespace tutti
