#include "cli/lab/mount.h"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "base/parse.h"
#include "cli/output.h"
#include "env/scope.h"
#include "env/sim/store/memory_store.h"
#include "env/sim/store/modelled_device.h"
#include "fuse/device_mount.h"

namespace tutti::cli {
namespace {

struct MountOptions {
  std::string directory;
  std::string device = "hdd";
  std::string scheduler = "deadline";
  std::string memory = "1GiB";
  bool lazy = false;
  bool json = false;
};

Task<void> stop_at_signal(Loop& loop, Signals& signals) {
  co_await signals.next();
  loop.stop();
}

Task<void> stop_at_end(Loop& loop, Task<Status> serving, Status& result) {
  result = co_await std::move(serving);
  loop.stop();
}

// What the device did; printed at the end.
int print_work(const DeviceStore& device, bool json) {
  const DeviceStatistics& work = device.device_statistics();
  const Motion motion = device.device_motion();
  const double busy = static_cast<double>(work.busy.count()) / 1e9;
  if (json) {
    return print_json({{"bytes_read", work.bytes_read.count()},
                       {"bytes_written", work.bytes_written.count()},
                       {"requests", work.reads + work.writes},
                       {"jumps", motion.jumps},
                       {"busy_s", busy}});
  }
  fmt::print("The device read {} and wrote {} in {} requests, jumped {} times and was busy for {:.1f} s.\n",
             to_string(work.bytes_read), to_string(work.bytes_written), work.reads + work.writes,
             motion.jumps, busy);
  return kSuccess;
}

Result<int> serve(const MountOptions& options) {
  Loop loop;
  const auto signals = Signals::watch(loop, {SIGINT, SIGTERM, SIGHUP});
  if (!signals.ok()) return signals.status();
  ModelledDevice wanted;
  wanted.name = options.device;
  wanted.scheduler = options.scheduler;
  const auto memory = parse_bytes(options.memory);
  if (!memory.ok()) return memory.status();
  wanted.store.cache.size = *memory;
  wanted.store.inodes = false;  // names are in memory
  MemoryStore bytes;
  const auto device = make_modelled_device(loop.clock(), bytes, wanted);
  if (!device.ok()) return device.status();
  const auto mount =
      DeviceMount::create(loop, **device, options.directory, {.flush_at_close = !options.lazy});
  if (!mount.ok()) return mount.status();
  fmt::print("mounted {} on {}\n", options.device, options.directory);
  std::fflush(stdout);  // whoever started this waits for the line
  Status ended;
  Scope scope(loop.executor());
  scope.spawn(stop_at_signal(loop, **signals));
  scope.spawn(stop_at_end(loop, (*mount)->serve(), ended));
  loop.run();
  scope.cancel();
  if (!ended.ok()) return ended;
  return print_work(**device, options.json);
}

}  // namespace

void add_lab_mount(Command& lab) {
  auto options = std::make_shared<MountOptions>();
  Command mount =
      lab.add("mount",
              "Mount a directory on a modelled device in real time, until interrupted or unmounted; its "
              "files are in memory and go with it",
              "tutti lab mount /mnt/slow --device hdd");
  mount.option("directory", options->directory, "Where; it must exist").required().not_empty();
  mount.option("--device", options->device, "The modelled device").one_of({"hdd", "ssd"}).show_default();
  mount.option("--scheduler", options->scheduler, "Who orders its requests")
      .one_of({"none", "deadline", "anticipatory"})
      .show_default();
  mount.option("--memory", options->memory, "Its page cache; 0: none")
      .checked([](const std::string& text) { return parse_bytes(text).status(); })
      .show_default();
  mount.flag("--lazy", options->lazy, "A close does not wait until the file is on the device");
  mount.flag("--json", options->json, "At the end, print what the device did as JSON");
  mount.action([options] {
    const auto done = serve(*options);
    return done.ok() ? *done : report("lab mount " + options->directory, done.status());
  });
}

}  // namespace tutti::cli
