// Sessions, capabilities, repetitions and removal, over the simulated network.
#include "server/meta/meta_server.h"

#include "env/combine.h"
#include "server/meta/records.h"
#include "tests/server/meta/meta_world.h"

namespace tutti {
namespace {

using MetaServerTest = MetaWorld;
constexpr std::uint32_t kCreate = wire::kOpenWrite | wire::kOpenCreate;

TEST_F(MetaServerTest, SessionTellsClusterVersionAndTime) {
  ASSERT_TRUE(start().ok());
  const Client client = connect(1000);
  ASSERT_TRUE(client.session.ok());
  const auto& reply = last<wire::SessionReply>();
  EXPECT_EQ(reply.cluster(), kCluster);
  EXPECT_EQ(reply.version()->str(), TUTTI_VERSION);
  EXPECT_NEAR(static_cast<double>(reply.server_wall()), static_cast<double>(clock_.wall().count()), 1e6);
}

TEST_F(MetaServerTest, OtherProtocolIsRefusedWithWords) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000, 1, wire::kProtocolVersion + 1);
  EXPECT_EQ(client.session.code(), Code::version);
  EXPECT_EQ(lookup(client, "/").code(), Code::unavailable);
}

TEST_F(MetaServerTest, NothingIsServedBeforeTheSession) {
  ASSERT_TRUE(start().ok());
  Client client = connect_raw(1000);
  EXPECT_EQ(lookup(client, "/").code(), Code::unavailable);
}

TEST_F(MetaServerTest, SilentPeerIsDropped) {
  ASSERT_TRUE(start().ok());
  const Client client = connect_raw(1000);
  simulation_.run_until(simulation_.now() + 60_s);
  EXPECT_TRUE(client.channel->closed());
}

TEST_F(MetaServerTest, IdentityIsThePeersAndOpenGivesRightsAsAsked) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  ASSERT_TRUE(open(client, "/f", kCreate).ok());
  const auto& reply = last<wire::NodeReply>();
  EXPECT_TRUE(reply.created());
  EXPECT_EQ(reply.attributes()->uid(), 1000U);
  EXPECT_EQ(reply.attributes()->layout()->stripe_count(), kDataServers);
  ASSERT_NE(reply.capability(), nullptr);
  const wire::Capability capability = *reply.capability();
  EXPECT_EQ(capability.rights(), wire::kRightWrite | wire::kRightLength | wire::kRightKeep);
  EXPECT_EQ(capability.uid(), 1000U);
  EXPECT_EQ(capability.file(), reply.attributes()->inode());
  EXPECT_TRUE(key_.check(capability, wire::kRightWrite, clock_.wall() + 3590_s).ok());
  EXPECT_EQ(key_.check(capability, wire::kRightWrite, clock_.wall() + 3600_s).code(), Code::expired);

  ASSERT_TRUE(open(client, "/f", wire::kOpenRead).ok());
  EXPECT_FALSE(last<wire::NodeReply>().created());
  EXPECT_EQ(last<wire::NodeReply>().capability()->rights(),
            wire::kRightRead | wire::kRightLength | wire::kRightKeep);
  Client reader = connect(1001, 2);
  ASSERT_TRUE(open(reader, "/f", wire::kOpenRead).ok());
  EXPECT_EQ(last<wire::NodeReply>().capability()->rights(), wire::kRightRead | wire::kRightLength)
      << "only the owner may keep what he reads from";
  ASSERT_TRUE(lookup(client, "/f").ok());
  EXPECT_EQ(last<wire::NodeReply>().capability()->rights(), wire::kRightLength);
  ASSERT_TRUE(lookup(client, "/").ok());
  EXPECT_EQ(last<wire::NodeReply>().capability(), nullptr);
  EXPECT_EQ(last<wire::NodeReply>().attributes()->layout(), nullptr);
}

TEST_F(MetaServerTest, ErrorsNameOperationAndPath) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  EXPECT_EQ(lookup(client, "/no/such").to_string(), "not_found: look up /no/such: no such directory: 'no'");
  EXPECT_EQ(open(client, "x", wire::kOpenRead).to_string(), "not_found: open /x: no such file");
  EXPECT_EQ(rename(client, "/x", "/y").to_string(), "not_found: rename /x to /y: no such file or directory");
}

TEST_F(MetaServerTest, EveryOperationWorksOverTheWire) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  ASSERT_TRUE(make_directory(client, "/d").ok());
  ASSERT_TRUE(create(client, "/d/f").ok());
  Builder symlink;
  const auto link_place = place(symlink, "/s");
  symlink.Finish(wire::CreateSymlinkRequest(symlink, link_place, symlink.CreateString("/d/f")));
  ASSERT_TRUE(ask<wire::NodeReply>(client, wire::Type::symlink, symlink).ok());
  EXPECT_EQ(last<wire::NodeReply>().attributes()->target()->str(), "/d/f");
  Builder link;
  const auto from = place(link, "/d/f");
  const auto to = place(link, "/d/g");
  link.Finish(wire::CreateLinkRequest(link, from, to));
  ASSERT_TRUE(ask<wire::NodeReply>(client, wire::Type::link, link).ok());
  EXPECT_EQ(last<wire::NodeReply>().attributes()->links(), 2U);
  Builder attributes;
  const auto target = place(attributes, "/s");
  const wire::LayoutWish wish(0, 0, -1);
  attributes.Finish(wire::CreateSetAttributesRequest(
      attributes, target, true, wire::kSetMode | wire::kSetModified, 0600, 0, 0, 0, 77, &wish));
  ASSERT_TRUE(ask<wire::NodeReply>(client, wire::Type::set_attributes, attributes).ok());
  EXPECT_EQ(last<wire::NodeReply>().attributes()->mode(), 0600U);
  EXPECT_EQ(last<wire::NodeReply>().attributes()->modified(), 77);
  Builder list;
  const auto directory = place(list, "/d");
  list.Finish(wire::CreateListRequest(list, directory, 0, 10, true));
  ASSERT_TRUE(ask<wire::ListReply>(client, wire::Type::list, list).ok());
  const auto& listed = last<wire::ListReply>();
  ASSERT_EQ(listed.entries()->size(), 2U);
  EXPECT_EQ(listed.entries()->Get(0)->name()->str(), "f");
  EXPECT_EQ(listed.entries()->Get(1)->attributes()->links(), 2U);
  EXPECT_TRUE(key_.check(*listed.entries()->Get(0)->capability(), wire::kRightLength, clock_.wall()).ok());
  EXPECT_FALSE(listed.more());
  ASSERT_TRUE(status(client).ok());
  EXPECT_EQ(last<wire::ServerStatusReply>().kind()->str(), "meta");
  EXPECT_EQ(last<wire::ServerStatusReply>().files(), 1U);
  EXPECT_EQ(last<wire::ServerStatusReply>().sessions(), 1U);
  EXPECT_GT(last<wire::ServerStatusReply>().uptime(), 0);
  EXPECT_TRUE(rename(client, "/d/f", "/h").ok());
  EXPECT_TRUE(remove(client, "/h").ok());
  EXPECT_TRUE(remove(client, "/d/g").ok());
  EXPECT_TRUE(remove(client, "/d", true).ok());
}

TEST_F(MetaServerTest, OneOfTwoExclusiveCreatorsWins) {
  ASSERT_TRUE(start().ok());
  Client one = connect(1000, 1);
  Client two = connect(1000, 2);
  const Builder message = open_message("/f", kCreate | wire::kOpenExclusive);
  std::vector<Task<Result<Channel::Reply>>> calls;
  for (int i = 0; i < 10; ++i) {
    Channel& channel = i % 2 == 0 ? *one.channel : *two.channel;
    calls.push_back(channel.call(wire::request_type(wire::Type::open), wire::bytes(message)));
  }
  int won = 0;
  for (auto& reply : run(when_all(std::move(calls)))) {
    const Status status = wire::status_of(*wire::parse<wire::NodeReply>(reply->payload));
    won += status.ok() ? 1 : 0;
    EXPECT_TRUE(status.ok() || status.code() == Code::exists);
  }
  EXPECT_EQ(won, 1);
}

TEST_F(MetaServerTest, ManyRequestsAtOnceAreAllAnsweredAndShareSyncs) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  std::vector<Builder> messages;
  for (int i = 0; i < 500; ++i) messages.push_back(open_message("/f" + std::to_string(i), kCreate));
  std::vector<Task<Result<Channel::Reply>>> calls;
  for (const Builder& message : messages) {
    calls.push_back(client.channel->call(wire::request_type(wire::Type::open), wire::bytes(message)));
  }
  const std::uint64_t before = kv_.syncs();
  for (auto& reply : run(when_all(std::move(calls)))) {
    ASSERT_TRUE(reply.ok());
    EXPECT_TRUE(wire::status_of(*wire::parse<wire::NodeReply>(reply->payload)).ok());
  }
  EXPECT_LT(kv_.syncs() - before, 40U);
}

TEST_F(MetaServerTest, RepeatedChangesAreAnsweredAsTheFirstTime) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000, 9);
  ASSERT_TRUE(make_directory(client, "/d", 1).ok());
  ASSERT_TRUE(create(client, "/d/f", 2).ok());
  const std::uint64_t file = last<wire::NodeReply>().attributes()->inode();
  ASSERT_TRUE(rename(client, "/d/f", "/d/g", 3).ok());
  ASSERT_TRUE(remove(client, "/d/g", false, 4).ok());
  ASSERT_TRUE(open(client, "/ro", kCreate, 5, 0400).ok());

  // The connection is lost; even the server is another one.
  stop();
  ASSERT_TRUE(start().ok());
  client = connect(1000, 9);
  EXPECT_TRUE(make_directory(client, "/d", 1).ok());
  EXPECT_TRUE(create(client, "/d/f", 2).ok());
  EXPECT_TRUE(last<wire::NodeReply>().created());
  EXPECT_EQ(last<wire::NodeReply>().attributes()->inode(), file);
  EXPECT_TRUE(rename(client, "/d/f", "/d/g", 3).ok());
  EXPECT_TRUE(remove(client, "/d/g", false, 4).ok());
  EXPECT_TRUE(open(client, "/ro", kCreate, 5, 0400).ok()) << "whoever made it may write it";
  EXPECT_EQ(lookup(client, "/d/f").code(), Code::not_found);

  EXPECT_EQ(make_directory(client, "/d", 6).code(), Code::exists) << "a new request is not a repetition";
  EXPECT_EQ(make_directory(client, "/d").code(), Code::exists);
  EXPECT_EQ(remove(client, "/d/g", false, 7).code(), Code::not_found);
  Client other = connect(1001, 9);
  EXPECT_EQ(make_directory(other, "/d", 1).code(), Code::exists) << "nor is another user's";
  Client second = connect(1000, 10);
  EXPECT_EQ(make_directory(second, "/d", 1).code(), Code::exists) << "nor another client's";
}

TEST_F(MetaServerTest, RepetitionRacesWithTheFirstAndStillHappensOnce) {
  ASSERT_TRUE(start().ok());
  Client one = connect(1000, 9);
  Client two = connect(1000, 9);
  const Builder message = open_message("/f", kCreate | wire::kOpenExclusive, 1);
  std::vector<Task<Result<Channel::Reply>>> calls;
  for (Channel* channel : {one.channel.get(), two.channel.get()}) {
    calls.push_back(channel->call(wire::request_type(wire::Type::open), wire::bytes(message)));
  }
  for (auto& reply : run(when_all(std::move(calls)))) {
    EXPECT_TRUE(wire::status_of(*wire::parse<wire::NodeReply>(reply->payload)).ok());
  }
  ASSERT_TRUE(status(one).ok());
  EXPECT_EQ(last<wire::ServerStatusReply>().files(), 1U);
}

TEST_F(MetaServerTest, RenewalIsForTheHolderAndNotForEver) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  ASSERT_TRUE(open(client, "/f", kCreate).ok());
  const wire::Capability old = *last<wire::NodeReply>().capability();
  simulation_.run_until(simulation_.now() + 5400_s);
  EXPECT_EQ(key_.check(old, wire::kRightWrite, clock_.wall()).code(), Code::expired);
  ASSERT_TRUE(renew(client, old).ok());
  const wire::Capability renewed = *last<wire::CapabilityReply>().capability();
  EXPECT_TRUE(key_.check(renewed, wire::kRightWrite, clock_.wall() + 3000_s).ok());
  EXPECT_EQ(renewed.rights(), old.rights());

  Client other = connect(1001, 2);
  EXPECT_EQ(renew(other, old).code(), Code::permission);
  const wire::Capability forged(old.file() + 1, old.expiry(), old.rights(), old.uid(),
                                flatbuffers::span<const std::uint8_t, 32>(old.mac()->data(), 32));
  EXPECT_EQ(renew(client, forged).code(), Code::permission);
  EXPECT_EQ(renew(client, key_.sign(5, wire::kRightRemove, 1000, clock_.wall())).code(), Code::permission);
  simulation_.run_until(simulation_.now() + 3000_s);
  const Status late = renew(client, old);
  EXPECT_EQ(late.code(), Code::expired);
  EXPECT_NE(late.message().find("open the file again"), std::string::npos);
}

TEST_F(MetaServerTest, RenewalChecksTheFileAndTheRights) {
  ASSERT_TRUE(start().ok());
  Client owner = connect(1000);
  Client reader = connect(1001, 2);
  const auto change_mode = [&](std::uint32_t mode) {
    Builder builder;
    const auto path = builder.CreateString("/f");
    const auto place = wire::CreatePlace(builder, wire::kRootInode, path);
    builder.Finish(wire::CreateSetAttributesRequest(builder, place, true, wire::kSetMode, mode));
    return ask<wire::NodeReply>(owner, wire::Type::set_attributes, builder);
  };
  ASSERT_TRUE(open(owner, "/f", kCreate).ok());
  ASSERT_TRUE(change_mode(0644).ok());
  ASSERT_TRUE(open(owner, "/f", wire::kOpenRead | wire::kOpenWrite).ok());
  const wire::Capability owners = *last<wire::NodeReply>().capability();
  ASSERT_TRUE(open(reader, "/f", wire::kOpenRead).ok());
  const wire::Capability readers = *last<wire::NodeReply>().capability();
  EXPECT_TRUE(renew(reader, readers).ok());
  ASSERT_TRUE(change_mode(0000).ok());
  EXPECT_EQ(renew(reader, readers).code(), Code::permission);
  EXPECT_TRUE(renew(owner, owners).ok()) << "he could change it back";
  EXPECT_EQ(renew(owner, key_.sign(owners.file() + 100, wire::kRightRead, 1000, clock_.wall())).code(),
            Code::stale)
      << "there is no such file";
}

TEST_F(MetaServerTest, CommitTakesAGenuineWriteCapability) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  ASSERT_TRUE(open(client, "/f", kCreate).ok());
  const wire::Capability writing = *last<wire::NodeReply>().capability();
  ASSERT_TRUE(open(client, "/f", wire::kOpenRead).ok());
  const wire::Capability reading = *last<wire::NodeReply>().capability();
  simulation_.run_until(simulation_.now() + 10_s);
  EXPECT_EQ(commit(client, reading, clock_.wall()).code(), Code::bad_capability);
  const Nanos before = clock_.wall();
  ASSERT_TRUE(commit(client, writing, before + 1000_s).ok());
  ASSERT_TRUE(lookup(client, "/f").ok());
  EXPECT_GE(last<wire::NodeReply>().attributes()->modified(), before.count());
  EXPECT_LE(last<wire::NodeReply>().attributes()->modified(), clock_.wall().count());
  Client other = connect(1001, 2);
  EXPECT_EQ(commit(other, writing, before).code(), Code::permission);
}

TEST_F(MetaServerTest, StartChecksWhatItFinds) {
  MetaServerOptions none = options_;
  none.data_servers.clear();
  std::swap(none, options_);
  EXPECT_EQ(start().code(), Code::invalid);
  std::swap(none, options_);
  ASSERT_TRUE(start().ok());
  stop();
  options_.cluster = kCluster + 1;
  EXPECT_EQ(start().code(), Code::invalid);
  options_.cluster = kCluster;
  EXPECT_TRUE(start().ok());
  stop();
  meta::Superblock newer;
  newer.format = meta::kFormat + 1;
  const auto put = [newer](KvWriter& kv) { return kv.put(meta::superblock_key(), meta::encode(newer)); };
  ASSERT_TRUE(run(kv_.update(put)).ok());
  const Status refused = start();
  EXPECT_EQ(refused.code(), Code::version);
  EXPECT_NE(refused.message().find("format 3"), std::string::npos);
  const auto damage = [](KvWriter& kv) { return kv.put(meta::superblock_key(), "x"); };
  ASSERT_TRUE(run(kv_.update(damage)).ok());
  EXPECT_EQ(start().code(), Code::malformed);
  const auto lose = [](KvWriter& kv) { return kv.erase(meta::superblock_key()); };
  ASSERT_TRUE(run(kv_.update(lose)).ok());
  EXPECT_EQ(start().code(), Code::malformed) << "the tree must not be taken for an empty store";
}

TEST_F(MetaServerTest, TreeSurvivesARestart) {
  ASSERT_TRUE(start().ok());
  Client client = connect(1000);
  ASSERT_TRUE(create(client, "/f").ok());
  const std::uint64_t file = last<wire::NodeReply>().attributes()->inode();
  stop();
  ASSERT_TRUE(start().ok());
  client = connect(1000);
  ASSERT_TRUE(lookup(client, "/f").ok());
  EXPECT_EQ(last<wire::NodeReply>().attributes()->inode(), file);
  ASSERT_TRUE(remove(client, "/f").ok());
  ASSERT_TRUE(create(client, "/f").ok());
  EXPECT_GT(last<wire::NodeReply>().attributes()->inode(), file);
}

TEST_F(MetaServerTest, LostClientsChangesStopAndOthersGoOn) {
  ASSERT_TRUE(start().ok());
  Client leaving = connect(1000, 1);
  Client staying = connect(1000, 2);
  std::vector<Builder> messages;
  for (int i = 0; i < 300; ++i) messages.push_back(open_message("/f" + std::to_string(i), kCreate));
  Scope calls(simulation_.executor());
  std::vector<Task<Result<Channel::Reply>>> tasks;
  for (const Builder& message : messages) {
    tasks.push_back(leaving.channel->call(wire::request_type(wire::Type::open), wire::bytes(message)));
  }
  struct Drop {
    static Task<void> all(std::vector<Task<Result<Channel::Reply>>> tasks) {
      for (auto& reply : co_await when_all(std::move(tasks))) reply.status().ignore();
    }
  };
  calls.spawn(Drop::all(std::move(tasks)));
  simulation_.run_until(simulation_.now() + 300_us);
  calls.cancel();
  leaving.channel.reset();
  EXPECT_TRUE(create(staying, "/mine").ok());
  simulation_.run_until(simulation_.now() + 5_s);
  ASSERT_TRUE(status(staying).ok());
  EXPECT_EQ(last<wire::ServerStatusReply>().sessions(), 1U);
}

TEST_F(MetaServerTest, QuietServerHasNoTimers) {
  ASSERT_TRUE(start().ok());
  {
    Client client = connect(1000);
    ASSERT_TRUE(create(client, "/f").ok());
  }
  simulation_.run();
  const Nanos quiet = simulation_.now();
  simulation_.run();
  EXPECT_EQ(simulation_.now(), quiet);
  EXPECT_EQ(simulation_.executor().next_deadline(), Nanos::max());
}

TEST_F(MetaServerTest, RandomBytesCostOnlyTheConnection) {
  ASSERT_TRUE(start().ok());
  Client good = connect(1000, 1);
  Random random(5);
  int closed = 0;
  for (int i = 0; i < 300; ++i) {
    Client bad = connect(1001, 2);
    std::vector<std::byte> bytes(random.below(200));
    for (auto& byte : bytes) byte = static_cast<std::byte>(random.next());
    const auto type =
        static_cast<std::uint16_t>(random.chance(0.9) ? 100 + random.below(12) : random.below(65536));
    if (type < kFirstUserFrameType) continue;
    auto reply = run(bad.channel->call(type, bytes));
    closed += reply.ok() ? 0 : 1;
  }
  EXPECT_GT(closed, 200);
  EXPECT_TRUE(lookup(good, "/").ok());
}

TEST_F(MetaServerTest, DamagedMessagesNeverCrash) {
  ASSERT_TRUE(start().ok());
  Random random(6);
  Client good = connect(1000, 1);
  Client bad = connect(1001, 2);
  for (int i = 0; i < 2000; ++i) {
    if (bad.channel->closed()) bad = connect(1001, 2);
    const Builder sound = open_message("/some/path", kCreate, 7);
    const auto source = wire::bytes(sound);
    std::vector<std::byte> bytes(source.begin(), source.end());
    for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
      bytes[random.below(bytes.size())] = static_cast<std::byte>(random.next());
    }
    if (random.chance(0.2)) bytes.resize(random.below(bytes.size()));
    const auto type = static_cast<std::uint16_t>(100 + random.below(11));
    run(bad.channel->call(type, bytes)).status().ignore();
  }
  EXPECT_TRUE(lookup(good, "/").ok());
}

TEST_F(MetaServerTest, MessageWithoutAPlaceIsMalformed) {
  ASSERT_TRUE(start().ok());
  for (const wire::Type type :
       {wire::Type::open, wire::Type::lookup, wire::Type::make_directory, wire::Type::symlink,
        wire::Type::link, wire::Type::remove, wire::Type::rename, wire::Type::list,
        wire::Type::set_attributes, wire::Type::renew, wire::Type::commit}) {
    Client client = connect(1000);
    Builder empty;
    empty.Finish(wire::CreateStatusRequest(empty));
    EXPECT_EQ(ask<wire::StatusReply>(client, type, empty).code(), Code::unavailable);
  }
}

}  // namespace
}  // namespace tutti
