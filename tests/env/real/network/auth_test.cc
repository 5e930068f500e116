#include "env/real/network/auth.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "env/real/network/address.h"
#include "env/real/network/refusal_log.h"
#include "tests/env/real/network/tcp_support.h"
#include "tests/env/real/temporary_directory.h"

namespace tutti {
namespace {

using test::make_key;
using test::with_keys;

class KeyAuth : public testing::Test {
 protected:
  std::vector<std::byte> answer(Authenticator& client) const {
    const auto response = client.respond(exchange_);
    EXPECT_TRUE(response.ok()) << response.status().to_string();
    return response.ok() ? *response : std::vector<std::byte>();
  }
  Code verify(Authenticator& server, std::span<const std::byte> response) const {
    return server.verify(exchange_, response, Nanos(0)).code();
  }

  TemporaryDirectory directory_;
  std::string first_ = make_key(directory_ / "first", 'a');
  std::string second_ = make_key(directory_ / "second", 'b');
  Exchange exchange_{fresh_nonce(), fresh_nonce()};
};

TEST_F(KeyAuth, HolderOfTheKeyActsAsTheOwner) {
  AuthOptions options = with_keys({first_});
  options.owner = Owner{1234, 567};
  Authenticator server(options);
  Authenticator client(with_keys({first_}));
  const auto verified = server.verify(exchange_, answer(client), Nanos(0));
  ASSERT_TRUE(verified.ok()) << verified.status().to_string();
  EXPECT_EQ(verified->peer.uid, 1234U);
  EXPECT_EQ(verified->peer.gid, 567U);
  EXPECT_TRUE(verified->peer.groups.empty());
}

TEST_F(KeyAuth, WrongKeyIsRefused) {
  Authenticator server(with_keys({first_}));
  Authenticator client(with_keys({second_}));
  EXPECT_EQ(verify(server, answer(client)), Code::permission);
}

TEST_F(KeyAuth, ReplayedAnswerIsRefused) {
  Authenticator server(with_keys({first_}));
  Authenticator client(with_keys({first_}));
  const auto recorded = answer(client);
  EXPECT_EQ(verify(server, recorded), Code::ok);
  exchange_.server = fresh_nonce();
  EXPECT_EQ(verify(server, recorded), Code::permission);
}

TEST_F(KeyAuth, AnswerForOneServerIsRefusedByAnother) {
  Authenticator server(with_keys({first_}));
  Authenticator client(with_keys({first_}));
  exchange_.identity = "c1/data.0";
  const auto passed_on = answer(client);
  EXPECT_EQ(verify(server, passed_on), Code::ok);
  for (const char* other : {"c1/data.1", "c1/meta", "c2/data.0", ""}) {
    exchange_.identity = other;
    EXPECT_EQ(verify(server, passed_on), Code::permission) << other;
  }
}

TEST_F(KeyAuth, KeysOfASessionAreItsOwn) {
  AuthKey key{};
  const AuthKey forth = session_key(key, Role::client, exchange_, Protection::authenticate);
  EXPECT_NE(forth, session_key(key, Role::client, exchange_, Protection::encrypt));
  EXPECT_NE(forth, session_key(key, Role::server, exchange_, Protection::authenticate));
  EXPECT_NE(forth, key_proof(key, Role::client, exchange_, {}));
  Exchange other = exchange_;
  other.server = fresh_nonce();
  EXPECT_NE(forth, session_key(key, Role::client, other, Protection::authenticate));
}

TEST_F(KeyAuth, ReflectedAnswerIsRefused) {
  Authenticator server(with_keys({first_}));
  Authenticator client(with_keys({first_}));
  const auto verified = server.verify(exchange_, answer(client), Nanos(0));
  ASSERT_TRUE(verified.ok());
  // The server's own proof does not make a client, and the client's does not make a server.
  EXPECT_EQ(verify(server, Authenticator::sign(*verified, exchange_, {})), Code::permission);
  Proof own{};
  std::copy_n(answer(client).begin(), own.size(), own.begin());
  EXPECT_EQ(client.check(exchange_, {}, own).code(), Code::permission);
  const Exchange mirrored{exchange_.server, exchange_.client};
  EXPECT_EQ(server.verify(mirrored, answer(client), Nanos(0)).code(), Code::permission);
}

TEST_F(KeyAuth, TruncatedOrOverlongAnswerIsRefused) {
  Authenticator server(with_keys({first_}));
  Authenticator client(with_keys({first_}));
  auto response = answer(client);
  EXPECT_EQ(verify(server, {}), Code::malformed);
  EXPECT_EQ(verify(server, std::span(response).first(31)), Code::malformed);
  response.resize(3 * sizeof(Proof));
  EXPECT_EQ(verify(server, response), Code::malformed);
  response.resize(sizeof(Proof));
  for (std::size_t i = 0; i < response.size(); ++i) {
    response[i] ^= std::byte{1};
    ASSERT_EQ(verify(server, response), Code::permission);
    response[i] ^= std::byte{1};
  }
  EXPECT_EQ(verify(server, response), Code::ok);
}

TEST_F(KeyAuth, ServerProvesItsWords) {
  Authenticator server(with_keys({first_}));
  Authenticator client(with_keys({first_}));
  Authenticator stranger(with_keys({second_}));
  const auto verified = server.verify(exchange_, answer(client), Nanos(0));
  ASSERT_TRUE(verified.ok());
  std::vector<std::byte> body(10, std::byte{7});
  const Proof proof = Authenticator::sign(*verified, exchange_, body);
  EXPECT_TRUE(client.check(exchange_, body, proof).ok());
  EXPECT_EQ(stranger.check(exchange_, body, proof).code(), Code::permission);
  body[3] = std::byte{8};
  EXPECT_EQ(client.check(exchange_, body, proof).code(), Code::permission);
}

TEST_F(KeyAuth, KeysAreExchangedWithoutAStop) {
  const std::string old_place = make_key(directory_ / "old", 'o');
  const std::string new_place = directory_ / "new";
  Authenticator server(with_keys({old_place, new_place}));
  Authenticator late(with_keys({make_key(directory_ / "late", 'o')}));    // changes last
  Authenticator early(with_keys({make_key(directory_ / "early", 'n')}));  // has the new one already
  Authenticator both(with_keys({directory_ / "early", directory_ / "late"}));
  EXPECT_EQ(verify(server, answer(late)), Code::ok);
  EXPECT_EQ(verify(server, answer(early)), Code::permission);
  EXPECT_EQ(verify(server, answer(both)), Code::ok) << "a client may change before the server";

  make_key(new_place, 'n');
  EXPECT_EQ(verify(server, answer(late)), Code::ok);
  EXPECT_EQ(verify(server, answer(early)), Code::ok);

  std::filesystem::remove(old_place);
  EXPECT_EQ(verify(server, answer(late)), Code::permission);
  EXPECT_EQ(verify(server, answer(early)), Code::ok);
  make_key(new_place, 'z');
  EXPECT_EQ(verify(server, answer(early)), Code::permission) << "a changed file counts at once";
}

TEST_F(KeyAuth, BadKeyFilesAreExplained) {
  const auto fails = [](const std::string& path) { return Authenticator(with_keys({path})).usable(); };
  EXPECT_EQ(fails(make_key(directory_ / "open", 'a', 0644)).code(), Code::permission);
  EXPECT_NE(fails(directory_ / "open").message().find("chmod 600"), std::string::npos);
  EXPECT_EQ(fails(make_key(directory_ / "short", 'a', 0600, 31)).code(), Code::permission);
  EXPECT_EQ(fails(make_key(directory_ / "long", 'a', 0600, 33)).code(), Code::permission);
  EXPECT_NE(fails(directory_ / "missing").message().find("missing"), std::string::npos);
  EXPECT_FALSE(Authenticator(with_keys({})).usable().ok());
  EXPECT_EQ(Authenticator(AuthOptions()).usable().code(), Code::permission);
}

TEST(GroupCache, KnowsTheGroupsOfThisHostAndIsBounded) {
  GroupCache cache;
  const auto own = cache.groups_of(0, 0, Nanos(0));
  EXPECT_NE(std::find(own.begin(), own.end(), 0U), own.end());
  for (std::uint32_t uid = 3'000'000; uid < 3'002'000; ++uid) {
    EXPECT_TRUE(cache.groups_of(uid, 1, Nanos(0)).empty());
  }
  EXPECT_LE(cache.size(), 1024U);
  cache.groups_of(5, 5, 3600_s);
  EXPECT_EQ(cache.size(), 1U) << "old entries are forgotten";
}

TEST(RefusalLog, TellsOncePerCauseAndPeer) {
  RefusalLog log{Log()};
  const Status wrong(Code::permission, "wrong key");
  const Status garbage(Code::malformed, "garbage");
  EXPECT_TRUE(log.refused("here", "10.0.0.1", wrong, 5_s));
  EXPECT_FALSE(log.refused("here", "10.0.0.1", wrong, 5_s));
  EXPECT_TRUE(log.refused("here", "10.0.0.1", garbage, 5_s));
  EXPECT_TRUE(log.refused("here", "10.0.0.2", wrong, 5_s));
  EXPECT_FALSE(log.refused("here", "10.0.0.1", wrong, 500_s));
}

TEST(RefusalLog, ManyPeersDoNotFloodIt) {
  RefusalLog log{Log()};
  int lines = 0;
  for (int i = 0; i < 5000; ++i) {
    lines += log.refused("here", std::to_string(i), Status(Code::permission, ""), 5_s) ? 1 : 0;
  }
  EXPECT_EQ(lines, 10);
}

TEST(Address, UnderstandsBothKinds) {
  EXPECT_EQ(parse_address("unix:/a/b")->path, "/a/b");
  const auto plain = parse_address("tcp:host.example:7300");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->host, "host.example");
  EXPECT_EQ(plain->port, 7300);
  const auto six = parse_address("tcp:[::1]:80");
  ASSERT_TRUE(six.ok());
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->to_string(), "tcp:[::1]:80");
  for (const char* bad :
       {"", "tcp:", "tcp:1", "tcp:host", "tcp::80", "tcp:host:", "tcp:host:65536", "tcp:host:-1",
        "tcp:host:8x", "tcp:::1:80", "tcp:[]:80", "unix:", "udp:a:1", "/path"}) {
    EXPECT_EQ(parse_address(bad).code(), Code::invalid) << bad;
  }
}

TEST(Address, NumericHostsNeedNoLookup) {
  for (const char* text : {"tcp:127.0.0.1:80", "tcp:[::1]:80"}) {
    const auto parsed = parse_address(text);
    const auto found = resolve(*parsed, false);
    ASSERT_TRUE(found.ok()) << found.status().to_string();
    EXPECT_EQ(describe(found->front()).to_string(), text);
  }
  EXPECT_EQ(resolve(*parse_address("tcp:no-such-host.invalid:80"), false).code(), Code::unavailable);
}

}  // namespace
}  // namespace tutti
