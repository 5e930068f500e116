// FuseSession: a mounted directory whose requests arrive in a Loop.
//
// The kernel's requests are read when the loop finds them and handed to the operations, which answer now or later, from
// the same thread, with libfuse's fuse_reply_ functions. Nothing blocks the loop but the operations themselves.
#pragma once

#define FUSE_USE_VERSION 312
#include <fuse_lowlevel.h>

#include <memory>
#include <string>

#include "base/status.h"
#include "env/real/loop/loop.h"
#include "env/task.h"

namespace tutti {

class FuseSession {
 public:
  // Mounts on `directory`, which exists. `user` is what fuse_req_userdata() gives the operations. Code::unavailable if
  // there is no /dev/fuse or no right to mount. The loop must outlive it.
  static Result<std::unique_ptr<FuseSession>> mount(Loop& loop, const std::string& directory,
                                                    const fuse_lowlevel_ops& operations, void* user);
  FuseSession(const FuseSession&) = delete;
  FuseSession& operator=(const FuseSession&) = delete;
  // Unmounts, also if it is in use: who uses it gets errors.
  ~FuseSession();

  // Serves until the directory is unmounted. Code::io_error if the kernel's side breaks.
  Task<Status> serve();

 private:
  explicit FuseSession(fuse_session* session) : session_(session) {}
  fuse_session* session_;
  bool mounted_ = false;
  fuse_buf buffer_{};
  FdWatch watch_;
};

}  // namespace tutti
