// Kv: the port for ordered, transactional metadata.
//
// Keys and values are bytes; keys are 1 to 511 bytes long and ordered bytewise. view() sees one consistent,
// committed state. update() is all or nothing, and durable (synced) when it has returned ok; updates that wait at
// the same time share one sync. Updates run one after another, in the order of the calls, each seeing what the
// ones before it did.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "env/task.h"

namespace tutti {

class KvReader {
 public:
  virtual ~KvReader() = default;
  [[nodiscard]] virtual Result<std::optional<std::string>> get(std::string_view key) const = 0;
  // Calls `visit` for each key >= `from` in order, until it returns false.
  [[nodiscard]] virtual Status scan(
      std::string_view from,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const = 0;
};

class KvWriter : public KvReader {
 public:
  virtual Status put(std::string_view key, std::string_view value) = 0;
  // Success if the key does not exist.
  virtual Status erase(std::string_view key) = 0;
};

class Kv {
 public:
  Kv() = default;
  Kv(const Kv&) = delete;
  Kv& operator=(const Kv&) = delete;
  virtual ~Kv() = default;

  virtual Status view(const std::function<Status(const KvReader&)>& body) = 0;
  // If `body` returns an error nothing is changed and the error is returned. It may run on another thread, and more
  // than once, of which the last time counts: it must touch nothing but the writer and what it captured by value or what
  // only it uses until update() returns.
  // If the update is cancelled, it may or may not have taken place; the captured state must then not be shared.
  virtual Task<Status> update(std::function<Status(KvWriter&)> body) = 0;
};

}  // namespace tutti
