#include "fuse/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace tutti {
namespace {

// fusermount3 unmounts when this process dies; without it a dead mount stays until somebody calls umount.
constexpr const char* kHelper = "/bin/fusermount3";

std::string mount_options() {
  std::string options = "fsname=tutti,subtype=tutti,default_permissions";
  if (::geteuid() == 0) options += ",allow_other";
  if (::access(kHelper, X_OK) == 0) options += ",auto_unmount";
  return options;
}

}  // namespace

Result<std::unique_ptr<FuseSession>> FuseSession::mount(Loop& loop, const std::string& directory,
                                                        const fuse_lowlevel_ops& operations, void* user) {
  std::string name = "tutti";
  std::string flag = "-o";
  std::string options = mount_options();
  std::array<char*, 3> words{name.data(), flag.data(), options.data()};
  fuse_args arguments = FUSE_ARGS_INIT(static_cast<int>(words.size()), words.data());
  fuse_session* made = fuse_session_new(&arguments, &operations, sizeof(operations), user);
  fuse_opt_free_args(&arguments);
  if (made == nullptr) return Status(Code::unavailable, "make a FUSE session for " + directory);
  std::unique_ptr<FuseSession> session(new FuseSession(made));
  if (fuse_session_mount(made, directory.c_str()) != 0) {
    return Status(Code::unavailable,
                  "mount on " + directory + ": it needs /dev/fuse, and root or the package fuse3");
  }
  session->mounted_ = true;
  const int fd = fuse_session_fd(made);
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
    return Status::from_errno(errno, "prepare the descriptor of " + directory);
  TUTTI_TRY(session->watch_.add(loop, fd));
  return session;
}

FuseSession::~FuseSession() {
  watch_.remove();
  if (mounted_) fuse_session_unmount(session_);
  fuse_session_destroy(session_);
  std::free(buffer_.mem);
}

Task<Status> FuseSession::serve() {
  while (fuse_session_exited(session_) == 0) {
    const int got = fuse_session_receive_buf(session_, &buffer_);
    if (got > 0) {
      fuse_session_process_buf(session_, &buffer_);
      continue;
    }
    if (got == 0 || got == -ENODEV) break;  // unmounted
    if (got == -EINTR) continue;
    if (got != -EAGAIN) co_return Status::from_errno(-got, "read from /dev/fuse");
    watch_.drained();
    co_await watch_.readable();
  }
  co_return Status();
}

}  // namespace tutti
