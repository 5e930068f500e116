// DeviceMount: a directory that behaves like a file system on a modelled device, in real time.
//
// For experiments with programs that know nothing of Tutti, on a machine without such a device. Names and attributes are
// in memory, bytes in a Store that says how long things take; both are gone with the process. The kernel caches no bytes
// (every read and write comes here), and a file that was written is on the device when its close returns, as on NFS.
// Permissions are checked by the kernel. No extended attributes; locks are the kernel's own.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "env/real/loop/loop.h"
#include "env/store.h"
#include "env/task.h"

namespace tutti {

struct DeviceMountOptions {
  bool flush_at_close = true;  // a close waits until the file is on the device
};

class DeviceMount {
 public:
  // As FuseSession::mount. Loop and store must outlive it; nobody else may use the store.
  static Result<std::unique_ptr<DeviceMount>> create(Loop& loop, Store& store, const std::string& directory,
                                                     DeviceMountOptions options = {});
  DeviceMount(const DeviceMount&) = delete;
  DeviceMount& operator=(const DeviceMount&) = delete;
  // Unmounts; requests under way are dropped.
  ~DeviceMount();

  // Serves until somebody unmounts it.
  Task<Status> serve();

 private:
  class Impl;
  explicit DeviceMount(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace tutti
