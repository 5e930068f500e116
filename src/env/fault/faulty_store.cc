#include "env/fault/faulty_store.h"

#include <algorithm>
#include <string>

namespace tutti {

void FaultyStore::fail(StoreOperation operation, Code code, std::uint64_t count, std::uint64_t skip) {
  scripts_[operation].push_back(Script{code, skip, count, std::nullopt});
}

void FaultyStore::tear(Bytes written, std::uint64_t skip) {
  scripts_[StoreOperation::write].push_back(Script{Code::io_error, skip, 1, written});
}

FaultyStore::Fault FaultyStore::next(StoreOperation operation, ObjectId object) {
  std::deque<Script>& scripts = scripts_[operation];
  if (scripts.empty()) return {};
  Script& script = scripts.front();
  if (script.skip > 0) {
    --script.skip;
    return {};
  }
  ++injected_;
  Fault fault{Status(script.code, "object " + std::to_string(object.value) + ": injected fault"),
              script.torn};
  if (--script.count == 0) scripts.pop_front();
  return fault;
}

Status FaultyStore::by_chance(double probability, Code code, const char* what, ObjectId object) {
  if (probability <= 0 || !random_.chance(probability)) return Status();
  ++injected_;
  return Status(code, std::string(what) + " object " + std::to_string(object.value) + ": injected fault");
}

Task<Result<ReadResult>> FaultyStore::read(ObjectId object, std::span<const Extent> extents, Sink& sink) {
  TUTTI_CO_TRY(next(StoreOperation::read, object).status);
  TUTTI_CO_TRY(by_chance(faults_.read_error, Code::io_error, "read", object));
  co_return co_await inner_.read(object, extents, sink);
}

Task<Status> FaultyStore::write(ObjectId object, std::span<const Extent> extents, Source& source) {
  Bytes length;
  for (const Extent& extent : extents) length += extent.length;
  Fault fault = next(StoreOperation::write, object);
  if (fault.status.ok()) fault.status = by_chance(faults_.no_space, Code::no_space, "write", object);
  if (fault.status.ok()) fault.status = by_chance(faults_.write_error, Code::io_error, "write", object);
  if (fault.status.ok() && length > Bytes()) {
    fault.status = by_chance(faults_.torn_write, Code::io_error, "torn write", object);
    if (!fault.status.ok()) fault.torn = Bytes(random_.below(length.count()));
  }
  if (fault.status.ok()) co_return co_await inner_.write(object, extents, source);
  if (fault.torn) {
    const std::vector<Extent> written = slice(extents, 0_B, *fault.torn);
    TUTTI_CO_TRY(co_await inner_.write(object, written, source));
  }
  co_return fault.status;
}

Task<Status> FaultyStore::truncate(ObjectId object, Bytes length) {
  TUTTI_CO_TRY(next(StoreOperation::truncate, object).status);
  co_return co_await inner_.truncate(object, length);
}

Task<Status> FaultyStore::sync(ObjectId object) {
  Status status = next(StoreOperation::sync, object).status;
  if (status.ok()) status = by_chance(faults_.sync_error, Code::io_error, "sync", object);
  if (status.ok()) co_return co_await inner_.sync(object);
  ++losses_[object];
  if (lose_) lose_(object);
  co_return status;
}

std::uint64_t FaultyStore::losses(ObjectId object) const {
  const auto found = losses_.find(object);
  return inner_.losses(object) + (found == losses_.end() ? 0 : found->second);
}

Task<Status> FaultyStore::remove(ObjectId object) {
  TUTTI_CO_TRY(next(StoreOperation::remove, object).status);
  co_return co_await inner_.remove(object);
}

Task<Result<std::optional<Bytes>>> FaultyStore::length(ObjectId object) {
  TUTTI_CO_TRY(next(StoreOperation::length, object).status);
  co_return co_await inner_.length(object);
}

Task<Result<std::optional<Bytes>>> FaultyStore::locate(ObjectId object, Bytes offset) {
  return inner_.locate(object, offset);
}

Task<Result<std::vector<ObjectId>>> FaultyStore::list() {
  TUTTI_CO_TRY(next(StoreOperation::list, ObjectId()).status);
  co_return co_await inner_.list();
}

}  // namespace tutti
