// ChangeMarks: numbers that tell those who write objects by themselves whether their bytes are still there.
//
// A page of words in memory that others on this host map for reading: see WritableObject. Objects share words, so a change
// of one may look like one of another; that costs its writers a request and nothing else.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "env/real/file_descriptor.h"
#include "env/shared_file.h"
#include "env/store.h"

namespace tutti {

class ChangeMarks {
 public:
  static constexpr std::size_t kWords = 4096;

  // Null if the kernel has no memory for it, or does not let others read it.
  static std::unique_ptr<ChangeMarks> make();
  ChangeMarks(const ChangeMarks&) = delete;
  ChangeMarks& operator=(const ChangeMarks&) = delete;
  ~ChangeMarks();

  // Which word is that of the object.
  [[nodiscard]] static std::uint32_t word(ObjectId object);
  // For others, to be read.
  [[nodiscard]] const std::shared_ptr<const SharedFile>& file() const { return file_; }

  // From now on others may write the object.
  void share(ObjectId object) { shared_[word(object)] = true; }
  // Whether they may; also of others with the same word. Never changes back: a descriptor cannot be taken away.
  [[nodiscard]] bool shared(ObjectId object) const { return shared_[word(object)]; }

  // The object is about to be cut or removed.
  void changes(ObjectId object);
  [[nodiscard]] std::uint64_t value(ObjectId object) const;

 private:
  ChangeMarks(std::uint64_t* words, std::shared_ptr<const SharedFile> file)
      : words_(words), file_(std::move(file)) {}

  std::uint64_t* words_;
  std::shared_ptr<const SharedFile> file_;
  std::array<bool, kWords> shared_{};
};

}  // namespace tutti
