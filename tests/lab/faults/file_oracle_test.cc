#include "lab/faults/file_oracle.h"

#include <gtest/gtest.h>

namespace tutti {
namespace {

Layout two_servers() { return Layout{512_B, 2, 0, 2}; }

std::vector<Extent> one(std::uint64_t offset, std::uint64_t length) {
  return {Extent{Bytes(offset), Bytes(length)}};
}

std::vector<std::byte> bytes_of(FileOracle::OperationId id, std::uint64_t offset, std::uint64_t length) {
  std::vector<std::byte> bytes;
  for (std::uint64_t i = 0; i < length; ++i) bytes.push_back(FileOracle::value(id, Bytes(offset + i)));
  return bytes;
}

Status read(FileOracle& oracle, std::uint64_t offset, std::uint64_t length,
            const std::vector<std::byte>& bytes) {
  const auto id = oracle.begin_read(one(offset, length));
  return oracle.end_read(id, bytes);
}

TEST(FileOracle, AnAcknowledgedWriteMustBeSeen) {
  FileOracle oracle(two_servers());
  const auto first = oracle.begin_write(one(0, 100));
  oracle.end(first, true);
  EXPECT_TRUE(read(oracle, 0, 100, bytes_of(first, 0, 100)).ok());
  const auto second = oracle.begin_write(one(50, 10));
  oracle.end(second, true);
  EXPECT_FALSE(read(oracle, 0, 100, bytes_of(first, 0, 100)).ok());
  EXPECT_TRUE(read(oracle, 50, 10, bytes_of(second, 50, 10)).ok());
}

TEST(FileOracle, AFailedWriteIsInDoubtUntilALaterOneReplacesIt) {
  FileOracle oracle(two_servers());
  const auto first = oracle.begin_write(one(0, 100));
  oracle.end(first, true);
  const auto failed = oracle.begin_write(one(0, 100));
  oracle.end(failed, false);
  EXPECT_TRUE(read(oracle, 0, 100, bytes_of(first, 0, 100)).ok());
  EXPECT_TRUE(read(oracle, 0, 100, bytes_of(failed, 0, 100)).ok());
  const auto third = oracle.begin_write(one(0, 100));
  oracle.end(third, true);
  EXPECT_FALSE(read(oracle, 0, 100, bytes_of(failed, 0, 100)).ok());
}

TEST(FileOracle, WritesAtTheSameTimeMayEndInEitherOrder) {
  FileOracle oracle(two_servers());
  const auto a = oracle.begin_write(one(0, 10));
  const auto b = oracle.begin_write(one(0, 10));
  oracle.end(a, true);
  oracle.end(b, true);
  EXPECT_TRUE(read(oracle, 0, 10, bytes_of(a, 0, 10)).ok());
  EXPECT_TRUE(read(oracle, 0, 10, bytes_of(b, 0, 10)).ok());
  EXPECT_FALSE(read(oracle, 0, 10, std::vector<std::byte>(10, std::byte{0})).ok());
}

TEST(FileOracle, AReadMaySeeAWriteThatBeganMeanwhile) {
  FileOracle oracle(two_servers());
  const auto old = oracle.begin_write(one(0, 10));
  oracle.end(old, true);
  const auto reading = oracle.begin_read(one(0, 10));
  const auto fresh = oracle.begin_write(one(0, 10));
  EXPECT_TRUE(oracle.end_read(reading, bytes_of(fresh, 0, 10)).ok());
}

TEST(FileOracle, SyncedBytesSurviveLossOfPowerAndOthersNeedNot) {
  FileOracle oracle(two_servers());
  const auto synced = oracle.begin_write(one(0, 1024));
  oracle.end(synced, true);
  oracle.end(oracle.begin_sync(), true);
  const auto unsynced = oracle.begin_write(one(0, 1024));
  oracle.end(unsynced, true);
  EXPECT_FALSE(read(oracle, 0, 512, bytes_of(synced, 0, 512)).ok());
  oracle.power_lost(0);
  EXPECT_TRUE(read(oracle, 0, 512, bytes_of(synced, 0, 512)).ok());
  EXPECT_TRUE(read(oracle, 0, 512, bytes_of(unsynced, 0, 512)).ok());
  EXPECT_FALSE(read(oracle, 0, 512, std::vector<std::byte>(512, std::byte{0})).ok());
  EXPECT_FALSE(read(oracle, 512, 512, bytes_of(synced, 512, 512)).ok()) << "server 1 kept its power";
}

TEST(FileOracle, TruncateCutsAndLeavesZeros) {
  FileOracle oracle(two_servers());
  const auto write = oracle.begin_write(one(0, 1000));
  oracle.end(write, true);
  oracle.end(oracle.begin_truncate(100_B), true);
  EXPECT_FALSE(read(oracle, 0, 1000, bytes_of(write, 0, 1000)).ok());
  EXPECT_TRUE(read(oracle, 0, 1000, bytes_of(write, 0, 100)).ok());
  oracle.end(oracle.begin_truncate(200_B), true);
  EXPECT_TRUE(read(oracle, 100, 1000, std::vector<std::byte>(100, std::byte{0})).ok());
  EXPECT_FALSE(read(oracle, 100, 1000, bytes_of(write, 100, 100)).ok());
}

TEST(FileOracle, TheSizeIsKnownUnlessAChangeIsInDoubt) {
  FileOracle oracle(two_servers());
  oracle.end(oracle.begin_write(one(0, 1000)), true);
  const auto asking = oracle.begin_read({});
  EXPECT_TRUE(oracle.check_size(asking, 1000_B).ok());
  EXPECT_FALSE(oracle.check_size(asking, 999_B).ok());
  oracle.end(oracle.begin_write(one(0, 2000)), false);
  const auto again = oracle.begin_read({});
  EXPECT_TRUE(oracle.check_size(again, 1500_B).ok());
  EXPECT_FALSE(oracle.check_size(again, 2001_B).ok());
}

}  // namespace
}  // namespace tutti
