// A tree in memory and callers, for tests of the metadata server's pure parts.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "server/meta/edit.h"

namespace tutti::meta {

class MapKv : public KvWriter {
 public:
  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key) const override {
    const auto found = map.find(key);
    return found == map.end() ? std::optional<std::string>() : std::optional<std::string>(found->second);
  }
  [[nodiscard]] Status scan(
      std::string_view from,
      const std::function<bool(std::string_view key, std::string_view value)>& visit) const override {
    for (auto each = map.lower_bound(from); each != map.end(); ++each) {
      if (!visit(each->first, each->second)) break;
    }
    return {};
  }
  Status put(std::string_view key, std::string_view value) override {
    EXPECT_GE(key.size(), 1U);
    EXPECT_LE(key.size(), 511U);
    note(key);
    map.insert_or_assign(std::string(key), std::string(value));
    return {};
  }
  Status erase(std::string_view key) override {
    note(key);
    const auto found = map.find(key);
    if (found != map.end()) map.erase(found);
    return {};
  }
  void begin() { undo_.clear(); }
  void roll_back() {
    for (; !undo_.empty(); undo_.pop_back()) {
      auto& [key, value] = undo_.back();
      if (value) {
        map.insert_or_assign(key, *value);
      } else {
        map.erase(key);
      }
    }
  }

  std::map<std::string, std::string, std::less<>> map;

 private:
  void note(std::string_view key) { undo_.emplace_back(std::string(key), *get(key)); }

  std::vector<std::pair<std::string, std::optional<std::string>>> undo_;
};

inline constexpr Nanos kStart = Nanos(1'000'000'000'000);

// Each operation is a transaction of its own, one second after the one before; a failed one changes nothing.
class MetaFixture : public testing::Test {
 protected:
  MetaFixture() {
    Inode root;
    root.id = root.parent = wire::kRootInode;
    root.type = wire::kDirectory;
    root.mode = 01777;
    root.links = 2;
    EXPECT_TRUE(kv_.put(inode_key(root.id), encode(root)).ok());
    EXPECT_TRUE(kv_.put(superblock_key(), encode(Superblock())).ok());
  }

  static Caller user(std::uint32_t uid, std::vector<std::uint32_t> groups = {}) {
    return {uid, uid, std::move(groups), {}};
  }
  static Place at(std::string path) { return {0, std::move(path)}; }

  template <typename Operation>
  auto change(Caller caller, Operation operation) {
    caller.wall = now_ += 1_s;
    kv_.begin();
    TreeEditor editor(kv_, caller, defaults_, *decode_superblock(kv_.map.at(superblock_key())));
    auto result = operation(editor);
    removed_ = editor.removed();
    if (result.ok()) {
      EXPECT_TRUE(editor.finish().ok());
    } else {
      kv_.roll_back();
    }
    return result;
  }

  Result<Opened> open(const Caller& caller, const std::string& path, std::uint32_t flags,
                      std::uint32_t mode = 0644, const Wish& wish = {}) {
    return change(caller, [&](TreeEditor& editor) { return editor.open(at(path), flags, mode, wish); });
  }
  Result<Opened> create(const Caller& caller, const std::string& path, std::uint32_t mode = 0644,
                        const Wish& wish = {}) {
    return open(caller, path, wire::kOpenWrite | wire::kOpenCreate | wire::kOpenExclusive, mode, wish);
  }
  Result<Inode> make_directory(const Caller& caller, const std::string& path, std::uint32_t mode = 0755,
                               const Wish& wish = {}) {
    return change(caller, [&](TreeEditor& editor) { return editor.make_directory(at(path), mode, wish); });
  }
  Result<Inode> symlink(const Caller& caller, const std::string& target, const std::string& path) {
    return change(caller, [&](TreeEditor& editor) { return editor.symlink(at(path), target); });
  }
  Result<Inode> link(const Caller& caller, const std::string& from, const std::string& to) {
    return change(caller, [&](TreeEditor& editor) { return editor.link(at(from), at(to)); });
  }
  Code remove(const Caller& caller, const std::string& path, bool directory = false) {
    return change(caller, [&](TreeEditor& editor) { return editor.remove(at(path), directory); }).code();
  }
  Code rename(const Caller& caller, const std::string& from, const std::string& to, bool exclusive = false) {
    return change(caller, [&](TreeEditor& editor) { return editor.rename(at(from), at(to), exclusive); })
        .code();
  }
  Result<Inode> set(const Caller& caller, const std::string& path, const AttributeChange& wanted,
                    bool follow = true) {
    return change(caller,
                  [&](TreeEditor& editor) { return editor.set_attributes(at(path), follow, wanted); });
  }
  Result<Inode> chmod(const Caller& caller, const std::string& path, std::uint32_t mode) {
    AttributeChange wanted;
    wanted.mask = wire::kSetMode;
    wanted.mode = mode;
    return set(caller, path, wanted);
  }
  Result<Inode> stat(const std::string& path, bool follow = true) const { return stat(root_, path, follow); }
  Result<Inode> stat(const Caller& caller, const std::string& path, bool follow = true) const {
    return Tree(kv_, caller).lookup(at(path), follow);
  }
  std::size_t count(char kind) const {
    std::size_t found = 0;
    for (const auto& [key, value] : kv_.map) found += key[0] == kind ? 1U : 0U;
    return found;
  }
  std::uint64_t files() const { return decode_superblock(kv_.map.at(superblock_key()))->files; }

  MapKv kv_;
  ClusterDefaults defaults_{4, 64_KiB, 0};
  Nanos now_ = kStart;
  Caller root_ = user(0);
  Caller alice_ = user(1000, {500});
  Caller bob_ = user(2000, {500});
  std::vector<RemovedFile> removed_;
};

}  // namespace tutti::meta
