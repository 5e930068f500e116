#include "lab/sim/sim_storage.h"

#include <fmt/format.h>

#include <array>
#include <fstream>
#include <sstream>

#include "env/sim/device/hdd.h"
#include "env/sim/device/ssd.h"

namespace tutti {
namespace {

const std::array<std::string, 3> kDevices = {"memory", "hdd", "ssd"};
const std::array<std::string, 3> kSchedulers = {"none", "deadline", "anticipatory"};
const std::array<std::string, 2> kReadAheadKinds = {"on_demand", "two_windows"};

// Another data sheet than the built-in one.
void read_device_file(ConfigReader& reader, SimStorageOptions& options) {
  const std::string path = reader.string("device_file");
  if (path.empty()) return;
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return reader.fail("device_file", path + " cannot be read");
  Status status;
  if (options.device == SimDevice::hdd) {
    auto parsed = parse_hdd(text.str());
    status = parsed.status();
    if (parsed.ok()) options.hdd = *parsed;
  } else if (options.device == SimDevice::ssd) {
    auto parsed = parse_ssd(text.str());
    status = parsed.status();
    if (parsed.ok()) options.ssd = *parsed;
  } else {
    status = Status(Code::invalid, "memory has no data sheet: use device = \"hdd\" or \"ssd\"");
  }
  if (!status.ok()) reader.fail("device_file", status.message());
}

}  // namespace

std::string_view device_name(SimDevice device) { return kDevices[static_cast<std::size_t>(device)]; }

std::string describe(const SimStorageOptions& options) {
  if (options.device == SimDevice::memory) return "memory";
  const std::string& name = options.device == SimDevice::hdd ? options.hdd.name : options.ssd.name;
  return fmt::format("{} {}, scheduler {}, page cache {}", device_name(options.device), name,
                     options.scheduler, to_string(options.store.cache.size));
}

void read_storage(ConfigReader& reader, SimStorageOptions& options) {
  const std::string device = reader.choice("device", kDevices[0], kDevices);
  for (std::size_t i = 0; i < kDevices.size(); ++i) {
    if (device == kDevices[i]) options.device = static_cast<SimDevice>(i);
  }
  read_device_file(reader, options);
  options.phantom = reader.boolean("phantom", true);
  options.scheduler = reader.choice("scheduler", options.scheduler, kSchedulers);
  PageCacheOptions& cache = options.store.cache;
  cache.size = reader.bytes("page_cache", cache.size, 0_B, 1024_GiB);
  cache.read_ahead = reader.bytes("read_ahead", cache.read_ahead, 0_B, 1_GiB);
  const std::string kind = reader.choice("read_ahead_kind", kReadAheadKinds[0], kReadAheadKinds);
  cache.read_ahead_kind = kind == kReadAheadKinds[0] ? ReadAheadKind::on_demand : ReadAheadKind::two_windows;
  cache.background_ratio = reader.number("dirty_background_ratio", cache.background_ratio, 0, 1);
  cache.dirty_ratio = reader.number("dirty_ratio", cache.dirty_ratio, 0, 1);
  cache.dirty_expire = reader.duration("dirty_expire", cache.dirty_expire, 1_ms, 86400_s);
}

Result<std::unique_ptr<SimStorage>> SimStorage::create(Clock& clock, const SimStorageOptions& options,
                                                       Random random) {
  std::unique_ptr<SimStorage> storage(new SimStorage());
  MemoryStoreOptions memory;
  memory.capacity = options.capacity;
  memory.phantom = options.phantom;
  memory.identity = options.identity;
  storage->memory_ = std::make_unique<MemoryStore>(memory, random.fork());
  storage->top_ = storage->memory_.get();
  if (options.device != SimDevice::memory) {
    auto scheduler = make_io_scheduler(options.scheduler);
    if (!scheduler.ok()) return scheduler.status();
    std::unique_ptr<Device> device;
    if (options.device == SimDevice::hdd) {
      device = std::make_unique<HddModel>(options.hdd);
    } else {
      device = std::make_unique<SsdModel>(options.ssd);
    }
    storage->device_ = std::make_unique<DeviceStore>(clock, *storage->top_, std::move(device),
                                                     std::move(*scheduler), options.store);
    storage->top_ = storage->device_.get();
  }
  storage->faulty_ = std::make_unique<FaultyStore>(*storage->top_, StoreFaults(), random.fork());
  storage->faulty_->on_failed_sync([memory = storage->memory_.get(), made = storage.get()](ObjectId object) {
    memory->lose_unsynced(object);
    if (made->failed_sync_) made->failed_sync_(object);
  });
  Store* measured = storage->faulty_.get();
  if (!options.cpu.free()) {
    storage->cpu_ = std::make_unique<CpuStore>(clock, *measured, options.cpu);
    measured = storage->cpu_.get();
  }
  storage->meter_ = std::make_unique<MeterStore>(clock, *measured);
  if (!options.bare) storage->top_ = storage->meter_.get();
  return storage;
}

Task<Status> SimStorage::prepare(ObjectId object, Bytes length) {
  TUTTI_CO_TRY(co_await memory_->truncate(object, length));
  place(object, length);
  co_return Status();
}

void SimStorage::place(ObjectId object, Bytes length) {
  if (device_) device_->place_whole(object, length);
}

void SimStorage::lose_power() {
  if (device_) device_->power_loss();
  memory_->crash();
}

void SimStorage::begin_measurement() {
  if (device_) device_->drop_caches();
  busy_before_ = Nanos();
  busy_before_ = busy();
  jumps_before_ = 0;
  jumps_before_ = jumps();
  meter_->reset();
}

std::uint64_t SimStorage::jumps() const {
  return device_ ? device_->device_motion().jumps - jumps_before_ : 0;
}

Nanos SimStorage::busy() const {
  return device_ ? device_->device_statistics().busy - busy_before_ : Nanos();
}

}  // namespace tutti
