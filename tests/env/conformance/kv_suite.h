// The contract of Kv as tests, run over every implementation.
//
// To run it over one, write a World and register it:
//
//   struct MyWorld {
//     Kv& kv();                                // empty at first
//     Executor& executor();                    // what its tasks run on
//     template <typename T> T run(Task<T> t);  // drives the task to its end
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(My, KvSuite, testing::Types<MyWorld>);
//
// A World is made for each test and destroyed after it, with everything it put on disk.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "env/combine.h"
#include "env/kv.h"

namespace tutti::conformance {

using Pairs = std::vector<std::pair<std::string, std::string>>;

// All pairs from `from` on, at most `limit`.
inline Pairs pairs_from(const KvReader& reader, std::string_view from, std::size_t limit = 1'000'000) {
  Pairs pairs;
  const Status status = reader.scan(from, [&](std::string_view key, std::string_view value) {
    pairs.emplace_back(key, value);
    return pairs.size() < limit;
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  return pairs;
}

template <typename World>
class KvSuite : public testing::Test {
 protected:
  Status update(std::function<Status(KvWriter&)> body) {
    return world_.run(world_.kv().update(std::move(body)));
  }
  Status put(std::string key, std::string value) {
    return update([key = std::move(key), value = std::move(value)](KvWriter& writer) {
      return writer.put(key, value);
    });
  }
  std::optional<std::string> get(const std::string& key) {
    std::optional<std::string> value;
    const Status status = world_.kv().view([&](const KvReader& reader) {
      auto got = reader.get(key);
      if (!got.ok()) return got.status();
      value = std::move(*got);
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
    return value;
  }
  Pairs scan(std::string_view from, std::size_t limit = 1'000'000) {
    Pairs pairs;
    const Status status = world_.kv().view([&](const KvReader& reader) {
      pairs = pairs_from(reader, from, limit);
      return Status();
    });
    EXPECT_TRUE(status.ok()) << status.to_string();
    return pairs;
  }

  World world_;
};

TYPED_TEST_SUITE_P(KvSuite);

TYPED_TEST_P(KvSuite, ReadsBackWhatWasPut) {
  EXPECT_EQ(this->get("a"), std::nullopt);
  ASSERT_TRUE(this->put("a", "1").ok());
  EXPECT_EQ(this->get("a"), "1");
  ASSERT_TRUE(this->put("a", "other").ok());
  EXPECT_EQ(this->get("a"), "other");
}

TYPED_TEST_P(KvSuite, EmptyAndLargeValuesAndAllBytesAreKept) {
  std::string binary;
  for (int i = 0; i < 256; ++i) binary.push_back(static_cast<char>(i));
  const std::string large(100'000, 'x');
  ASSERT_TRUE(this->put("empty", "").ok());
  ASSERT_TRUE(this->put(binary, binary).ok());
  ASSERT_TRUE(this->put("large", large).ok());
  EXPECT_EQ(this->get("empty"), "");
  EXPECT_EQ(this->get(binary), binary);
  EXPECT_EQ(this->get("large"), large);
}

TYPED_TEST_P(KvSuite, EraseRemovesAndAbsentKeysAreNoError) {
  ASSERT_TRUE(this->put("a", "1").ok());
  ASSERT_TRUE(this->update([](KvWriter& writer) { return writer.erase("a"); }).ok());
  EXPECT_EQ(this->get("a"), std::nullopt);
  EXPECT_TRUE(this->update([](KvWriter& writer) { return writer.erase("a"); }).ok());
}

TYPED_TEST_P(KvSuite, ScanIsInBytewiseOrder) {
  const std::string high("\xff\x01", 2);
  const std::string zero("a\0b", 3);
  for (const auto& key :
       {std::string("b"), high, std::string("a"), zero, std::string("ab"), std::string("B")}) {
    ASSERT_TRUE(this->put(key, "v").ok());
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : this->scan("")) keys.push_back(key);
  EXPECT_EQ(keys, (std::vector<std::string>{"B", "a", zero, "ab", "b", high}));
}

TYPED_TEST_P(KvSuite, ScanStartsAtTheFirstKeyNotBelowAndStopsWhenTold) {
  for (const char* key : {"a", "c", "e", "g"}) ASSERT_TRUE(this->put(key, key).ok());
  EXPECT_EQ(this->scan("c"), (Pairs{{"c", "c"}, {"e", "e"}, {"g", "g"}}));
  EXPECT_EQ(this->scan("d"), (Pairs{{"e", "e"}, {"g", "g"}}));
  EXPECT_EQ(this->scan("d", 1), (Pairs{{"e", "e"}}));
  EXPECT_TRUE(this->scan("h").empty());
}

TYPED_TEST_P(KvSuite, FailingUpdateLeavesNothing) {
  ASSERT_TRUE(this->put("kept", "old").ok());
  ASSERT_TRUE(this->put("erased", "old").ok());
  const Status status = this->update([](KvWriter& writer) {
    TUTTI_TRY(writer.put("kept", "new"));
    TUTTI_TRY(writer.put("kept", "newer"));
    TUTTI_TRY(writer.put("added", "new"));
    TUTTI_TRY(writer.erase("erased"));
    return Status(Code::busy, "changed my mind");
  });
  EXPECT_EQ(status.code(), Code::busy);
  EXPECT_EQ(status.message(), "changed my mind");
  EXPECT_EQ(this->scan(""), (Pairs{{"erased", "old"}, {"kept", "old"}}));
}

TYPED_TEST_P(KvSuite, UpdateReadsItsOwnWrites) {
  ASSERT_TRUE(this->put("a", "1").ok());
  ASSERT_TRUE(this->put("c", "3").ok());
  Pairs seen;
  std::optional<std::string> own;
  const Status status = this->update([&seen, &own](KvWriter& writer) {
    TUTTI_TRY(writer.put("b", "2"));
    TUTTI_TRY(writer.erase("a"));
    auto got = writer.get("b");
    if (!got.ok()) return got.status();
    own = *got;
    seen = pairs_from(writer, "");
    return Status();
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(own, "2");
  EXPECT_EQ(seen, (Pairs{{"b", "2"}, {"c", "3"}}));
}

TYPED_TEST_P(KvSuite, ManyConcurrentUpdatesRunInOrderAndNoneIsLost) {
  constexpr int kCount = 200;
  std::vector<Task<Status>> updates;
  for (int i = 0; i < kCount; ++i) {
    std::function<Status(KvWriter&)> body = [i](KvWriter& writer) {
      auto list = writer.get("list");
      if (!list.ok()) return list.status();
      TUTTI_TRY(writer.put("list", list->value_or("") + std::to_string(i) + ","));
      return i % 10 == 9 ? Status(Code::busy, "every tenth fails") : Status();
    };
    updates.push_back(this->world_.kv().update(std::move(body)));
  }
  const std::vector<Status> results = this->world_.run(when_all(std::move(updates)));
  std::string expected;
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(results[static_cast<std::size_t>(i)].ok(), i % 10 != 9);
    if (i % 10 != 9) expected += std::to_string(i) + ",";
  }
  EXPECT_EQ(this->get("list"), expected);
}

TYPED_TEST_P(KvSuite, KeysOfOneTo511BytesAreAllowedAndOthersRefused) {
  const std::string longest(511, 'k');
  const std::string too_long(512, 'k');
  ASSERT_TRUE(this->put(longest, "v").ok());
  EXPECT_EQ(this->get(longest), "v");
  EXPECT_EQ(this->put(too_long, "v").code(), Code::invalid);
  EXPECT_EQ(this->put("", "v").code(), Code::invalid);
  EXPECT_EQ(this->update([&](KvWriter& writer) { return writer.erase(too_long); }).code(), Code::invalid);
  EXPECT_EQ(this->update([](KvWriter& writer) { return writer.erase(""); }).code(), Code::invalid);
  EXPECT_EQ(this->scan("").size(), 1U);
}

TYPED_TEST_P(KvSuite, ErrorOfAViewIsReturned) {
  const Status status =
      this->world_.kv().view([](const KvReader& /*reader*/) { return Status(Code::stale, "seen enough"); });
  EXPECT_EQ(status.code(), Code::stale);
}

REGISTER_TYPED_TEST_SUITE_P(KvSuite, ReadsBackWhatWasPut, EmptyAndLargeValuesAndAllBytesAreKept,
                            EraseRemovesAndAbsentKeysAreNoError, ScanIsInBytewiseOrder,
                            ScanStartsAtTheFirstKeyNotBelowAndStopsWhenTold, FailingUpdateLeavesNothing,
                            UpdateReadsItsOwnWrites, ManyConcurrentUpdatesRunInOrderAndNoneIsLost,
                            KeysOfOneTo511BytesAreAllowedAndOthersRefused, ErrorOfAViewIsReturned);

}  // namespace tutti::conformance
