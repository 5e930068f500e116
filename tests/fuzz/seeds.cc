// Writes the seed corpus: one sound message of every type, and good beginnings of connections.
//   fuzz_seeds DIRECTORY      makes DIRECTORY/TYPE/good for each target
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "env/real/network/frame.h"
#include "tests/fuzz/fuzz_world.h"

namespace tutti::fuzz {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;

// Two of the same message: the second one meets what the first has done.
std::string input_of(const Builder& builder) {
  const auto bytes = wire::bytes(builder);
  std::string one(1, static_cast<char>(kSign));
  one += static_cast<char>(bytes.size() & 255U);
  one += static_cast<char>(bytes.size() >> 8U);
  one.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return one + one;
}

void write(const std::filesystem::path& directory, const std::string& target, const std::string& text,
           const char* name = "good") {
  std::filesystem::create_directories(directory / target);
  std::ofstream(directory / target / name, std::ios::binary) << text;
}

flatbuffers::Offset<wire::Place> place(Builder& builder, const char* path) {
  return wire::CreatePlace(builder, 0, builder.CreateString(path));
}

void data_seeds(const std::filesystem::path& directory) {
  const wire::Capability capability(42, 0, 15, 0);
  const wire::Tag tag(1, 1, 1, 1, 0);
  for (const char* target : {"read", "write"}) {
    Builder builder;
    const std::vector<wire::Extent> extents = {wire::Extent(0, 100), wire::Extent(4096, 50)};
    const auto list = builder.CreateVectorOfStructs(extents);
    const bool write_it = std::string(target) == "write";
    builder.Finish(wire::CreateTransferRequest(builder, &capability, &tag, list, write_it ? 1 : 2, 0, 8192));
    write(directory, target, input_of(builder));
    // The same through the view that the target has declared.
    Builder by_view;
    wire::TransferRequestBuilder fields(by_view);
    fields.add_capability(&capability);
    fields.add_tag(&tag);
    fields.add_region(write_it ? 1 : 2);
    fields.add_view(1);
    fields.add_view_offset(50);
    fields.add_view_length(1000);
    fields.add_view_share(1000);
    by_view.Finish(fields.Finish());
    write(directory, target, input_of(by_view), "view");
  }
  for (const char* target : {"sync", "length", "remove_object"}) {
    Builder builder;
    builder.Finish(wire::CreateObjectRequest(builder, &capability, &tag));
    write(directory, target, input_of(builder));
  }
  {
    Builder builder;
    // 32 blocks of 100 bytes, 300 apart, in a tile of 9,600: as layout/flat_codec.cc writes it.
    const std::vector<std::uint8_t> type = {0, 0x80, 0x96, 0x01, 0, 2, 64, 0xd8, 0x04, 0, 0xc8, 0x01};
    const auto list = builder.CreateVector(type);
    const wire::Layout layout(65536, 2, 0, 2, 0);
    builder.Finish(wire::CreateViewRequest(builder, 1, 42, &layout, 1, 100, list));
    write(directory, "view", input_of(builder));
  }
  {
    Builder builder;
    const wire::Took took(1000, 1);
    builder.Finish(wire::CreateTookRequest(builder, &tag, &took));
    write(directory, "took", input_of(builder));
  }
  {
    Builder builder;
    builder.Finish(wire::CreateNextDataRequest(builder, &capability, &tag, 100));
    write(directory, "next_data", input_of(builder));
  }
  {
    Builder builder;
    const std::vector<std::uint64_t> files = {42, 43, 1000};
    const auto list = builder.CreateVector(files);
    builder.Finish(wire::CreateRemoveObjectsRequest(builder, &capability, list, 1'000'000'000));
    write(directory, "remove_objects", input_of(builder));
  }
  {
    Builder builder;
    const std::vector<wire::LostLock> locks = {wire::LostLock(7, 1), wire::LostLock(7, 2)};
    const auto lost = builder.CreateVectorOfStructs(locks);
    builder.Finish(wire::CreateFenceRequest(builder, &capability, &tag, lost, 5, &capability));
    write(directory, "fence", input_of(builder));
  }
  Builder builder;
  builder.Finish(wire::CreateTruncateRequest(builder, &capability, &tag, 1000, true, true));
  write(directory, "truncate", input_of(builder));
}

void tree_seeds(const std::filesystem::path& directory) {
  const wire::LayoutWish wish(65536, 1, -1);
  const auto make = [&](const char* target, auto build) {
    Builder builder;
    build(builder);
    write(directory, target, input_of(builder));
  };
  make("open", [&](Builder& b) {
    const auto where = place(b, "/a");
    b.Finish(wire::CreateOpenRequest(b, where, 7, 0644, &wish, 1));
  });
  make("lookup", [](Builder& b) {
    const auto where = place(b, "/");
    b.Finish(wire::CreateLookupRequest(b, where, true));
  });
  make("make_directory", [&](Builder& b) {
    const auto where = place(b, "/d");
    b.Finish(wire::CreateMakeDirectoryRequest(b, where, 0755, &wish, 1));
  });
  make("symlink", [](Builder& b) {
    const auto where = place(b, "/s");
    const auto target = b.CreateString("s/../s");
    b.Finish(wire::CreateSymlinkRequest(b, where, target, 0));
  });
  make("link", [](Builder& b) {
    const auto from = place(b, "/a");
    const auto to = place(b, "/b");
    b.Finish(wire::CreateLinkRequest(b, from, to, 1));
  });
  make("remove", [](Builder& b) {
    const auto where = place(b, "/a");
    b.Finish(wire::CreateRemoveRequest(b, where, false, 1));
  });
  make("rename", [](Builder& b) {
    const auto from = place(b, "/a");
    const auto to = place(b, "/b");
    b.Finish(wire::CreateRenameRequest(b, from, to, false, 1));
  });
}

void other_seeds(const std::filesystem::path& directory) {
  const wire::Capability capability(2, 0, 15, 0);
  const auto make = [&](const char* target, auto build) {
    Builder builder;
    build(builder);
    write(directory, target, input_of(builder));
  };
  make("list", [](Builder& b) {
    const auto where = place(b, "/");
    const auto after = b.CreateString("a");
    b.Finish(wire::CreateListRequest(b, where, after, 100, true));
  });
  make("set_attributes", [](Builder& b) {
    const auto where = place(b, "/");
    b.Finish(wire::CreateSetAttributesRequest(b, where, true, 63, 0700, 1, 1, 5, 6, nullptr, 1));
  });
  make("renew", [&](Builder& b) { b.Finish(wire::CreateRenewRequest(b, &capability)); });
  make("commit", [&](Builder& b) { b.Finish(wire::CreateCommitRequest(b, &capability, 5, 1, true, 100)); });
  make("close", [](Builder& b) { b.Finish(wire::CreateCloseRequest(b, 1, true, 100)); });
  make("claim", [&](Builder& b) { b.Finish(wire::CreateClaimRequest(b, &capability, 1)); });
  make("name", [&](Builder& b) {
    const auto where = place(b, "/named");
    b.Finish(wire::CreateNameRequest(b, &capability, where, true, 1));
  });
  make("lock", [&](Builder& b) {
    b.Finish(wire::CreateLockRequest(b, &capability, 1, 10, 20, true, false, 50'000'000));
  });
  make("unlock", [](Builder& b) { b.Finish(wire::CreateUnlockRequest(b, 1)); });
  make("counter", [](Builder& b) { b.Finish(wire::CreateCounterRequest(b, 5, 1, 7, 1)); });
  make("status", [](Builder& b) { b.Finish(wire::CreateStatusRequest(b)); });
  make("cluster", [](Builder& b) { b.Finish(wire::CreateClusterRequest(b)); });
  make("applications", [](Builder& b) { b.Finish(wire::CreateApplicationsRequest(b)); });
  make("policy_change", [&](Builder& b) {
    const auto policy = b.CreateString("window;interval=250");
    b.Finish(wire::CreatePolicyChangeRequest(b, &capability, 1, 2, 3, policy, 1'293'840'001'000'000'000));
  });
  make("join", [&](Builder& b) { b.Finish(wire::CreateJoinRequest(b, &capability, 0, true)); });
  make("enrol", [&](Builder& b) {
    const wire::Uuid uuid(1, 2);
    const wire::Uuid metadata(3, 4);
    b.Finish(wire::CreateEnrolRequest(b, &capability, 0, &uuid, &metadata, 5, false));
  });
  make("list_objects", [&](Builder& b) { b.Finish(wire::CreateListObjectsRequest(b, &capability, 0, 100)); });
  make("scrub", [&](Builder& b) { b.Finish(wire::CreateScrubRequest(b, &capability, 5, 0, 65536)); });
  make("statistics", [](Builder& b) {
    const std::vector<wire::ApplicationStatistics> rows = {{7, 1, 4096, 1000, 1, 512, 0, 1},
                                                           {8, 2, 8192, 2000, 0, 0, 3, 0}};
    const auto list = b.CreateVectorOfStructs(rows);
    b.Finish(wire::CreateStatisticsRequest(b, list, 1, 512));
  });
  make("advice", [&](Builder& b) {
    constexpr std::int64_t kBegin = 1'293'840'001'000'000'000;
    const std::vector<wire::TimeSlice> slices = {
        {7, kBegin, kBegin + 1'000'000}, {wire::kOtherApplications, kBegin + 1'000'000, kBegin + 2'000'000}};
    const auto list = b.CreateVectorOfStructs(slices);
    const std::vector<wire::PlanStep> steps = {{kBegin, 1}, {kBegin + 1'000'000, 0}};
    const auto plan = b.CreateVectorOfStructs(steps);
    b.Finish(wire::CreateAdviceRequest(b, &capability, wire::kAdviceVersion, 1, kBegin + 60'000'000'000, list,
                                       plan));
  });
  make("set_policy", [](Builder& b) {
    const auto policy = b.CreateString("window;interval=250");
    b.Finish(wire::CreateSetPolicyRequest(b, policy));
  });
  make("session", [](Builder& b) {
    const auto job = b.CreateString("job");
    const auto program = b.CreateString("program");
    b.Finish(wire::CreateSessionRequest(b, wire::kProtocolVersion, 2, 3, job, program));
  });
}

// What follows a handshake that the target does properly: a pull, a push and an ordinary frame.
void transport_seeds(const std::filesystem::path& directory) {
  std::string frames;
  const auto add = [&](std::uint16_t type, std::string payload) {
    FrameHeader header;
    header.type = type;
    header.length = static_cast<std::uint32_t>(payload.size());
    payload.resize(padded(payload.size()));
    frames.append(reinterpret_cast<const char*>(&header), sizeof(header));
    frames += payload;
  };
  const PullRequest pull{1, 0, 64};
  const PushTarget push{2, 0};
  add(static_cast<std::uint16_t>(TransportFrame::pull),
      std::string(reinterpret_cast<const char*>(&pull), sizeof(pull)));
  add(static_cast<std::uint16_t>(TransportFrame::push_data),
      std::string(reinterpret_cast<const char*>(&push), sizeof(push)) + std::string(50, 'x'));
  add(kFirstUserFrameType, "hello");
  std::filesystem::create_directories(directory / "handshake");
  for (const int choice : {0, 1, 2, 3, 7}) {
    std::ofstream(directory / "handshake" / ("choice" + std::to_string(choice)), std::ios::binary)
        << static_cast<char>(choice) << frames;
  }
}

}  // namespace
}  // namespace tutti::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds DIRECTORY\n");
    return 2;
  }
  const std::filesystem::path directory = argv[1];
  tutti::fuzz::data_seeds(directory);
  tutti::fuzz::tree_seeds(directory);
  tutti::fuzz::other_seeds(directory);
  tutti::fuzz::transport_seeds(directory);
  return 0;
}
