// The client against servers that are slow, die, load, refuse, redirect or talk nonsense: time-outs
// hold, errors are told, and filters answer "maybe".

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "filter/redis/key_slot.h"
#include "filter/redis/url.h"
#include "tests/filter/redis/fake_server.h"
#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

ClientOptions ShortOptions() {
  ClientOptions options;
  options.connect_timeout = milliseconds(500);
  options.command_timeout = milliseconds(300);
  options.reconnect_delay = milliseconds(0);
  return options;
}

absl::StatusOr<Reply> Ask(const std::string& url, const ClientOptions& options = ShortOptions()) {
  auto client = Client::Open(url, options);
  EXPECT_TRUE(client.ok()) << client.status();
  Request request;
  request.Command({"GET", "apple"});
  return (*client)->ExecuteOne("apple", request);
}

absl::StatusOr<Reply> AskFake(const FakeServer::Handler& handler) {
  FakeServer server(handler);
  return Ask(server.url());
}

// What MayContain says of a filter on such a server, and what it counted.
QueryCounts Question(const FakeServer::Handler& handler) {
  FakeServer server(handler);
  auto client = Client::Open(server.url(), ShortOptions());
  auto filter = BitmapFilter::Open(client->get(), "users");
  EXPECT_TRUE((*filter)->MayContain("Tom"));
  EXPECT_FALSE((*filter)->Add(std::vector<std::string_view>{"Tom"}).ok());
  return (*filter)->counts();
}

FakeServer::Handler Always(const std::string& answer) {
  return [answer](const FakeServer::Words&) { return answer; };
}

TEST(RedisClient, ErrorsHaveTheCodesThatSayWhatToDo) {
  EXPECT_TRUE(absl::IsUnavailable(AskFake(Always("-LOADING Redis is loading\r\n")).status()));
  EXPECT_TRUE(
      absl::IsUnavailable(AskFake(Always("-CLUSTERDOWN Hash slot not served\r\n")).status()));
  EXPECT_TRUE(absl::IsResourceExhausted(AskFake(Always("-OOM command not allowed\r\n")).status()));
  EXPECT_TRUE(
      absl::IsFailedPrecondition(AskFake(Always("-READONLY You can't write\r\n")).status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(AskFake(Always("-WRONGTYPE Operation\r\n")).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(AskFake(Always("-NOAUTH Authentication\r\n")).status()));
  EXPECT_TRUE(absl::IsUnimplemented(AskFake(Always("-ERR unknown command 'X'\r\n")).status()));
  EXPECT_EQ(AskFake(Always("$5\r\nhello\r\n"))->text, "hello");
}

TEST(RedisClient, AFilterThatCannotBeAskedSaysMaybeAndCountsWhy) {
  EXPECT_EQ(Question(Always("-LOADING Redis is loading\r\n")).loading, 1u);
  EXPECT_EQ(Question(Always("-READONLY You can't write\r\n")).refused, 1u);
  EXPECT_EQ(Question(Always("-OOM command not allowed\r\n")).refused, 1u);
  EXPECT_EQ(Question(Always("$-1\r\n")).unreachable, 1u);  // not what the script answers
  EXPECT_EQ(Question(Always("*1\r\n$2\r\nok\r\n")).unreachable, 1u);
  EXPECT_EQ(Question(Always("")).unreachable, 1u);  // never
  EXPECT_EQ(Question(Always("HTTP/1.1 400 Bad\r\n")).unreachable, 1u);
  EXPECT_EQ(Question([](const auto&) { return std::nullopt; }).unreachable, 1u);
  EXPECT_EQ(Question(Always("*1\r\n$7\r\nchanged\r\n")).unreachable, 1u);
}

TEST(RedisClient, AServerThatCannotBeReachedIsTriedOnceInAWhile) {
  int port = 0;
  ::close(ListenOnLoopback(&port));
  ClientOptions options = ShortOptions();
  options.reconnect_delay = std::chrono::minutes(10);
  auto client = Client::Open("redis://127.0.0.1:" + std::to_string(port), options);
  Request request;
  request.Command({"PING"});
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(absl::IsUnavailable((*client)->ExecuteOne("", request).status()));
  }
}

TEST(RedisClient, TimeOutsHoldWhateverTrickles) {
  std::atomic<bool> stopped{false};
  int port = 0;
  const int listener = ListenOnLoopback(&port);
  std::thread drips([&] {
    const int socket = ::accept(listener, nullptr, nullptr);
    // A bulk string of a megabyte, a byte at a time: never done.
    ::send(socket, "$1000000\r\n", 10, MSG_NOSIGNAL);
    while (!stopped && ::send(socket, "x", 1, MSG_NOSIGNAL) == 1) {
      std::this_thread::sleep_for(milliseconds(10));
    }
    ::close(socket);
  });
  const auto reply = Ask("redis://127.0.0.1:" + std::to_string(port));
  EXPECT_TRUE(absl::IsDeadlineExceeded(reply.status())) << reply.status();
  stopped = true;
  drips.join();
  ::close(listener);
}

TEST(RedisClient, RefusesRepliesBeyondItsLimits) {
  ClientOptions options = ShortOptions();
  options.max_reply_bytes = 100000;
  const std::string endless(300000, 'x');
  FakeServer large(Always("$300000\r\n" + endless + "\r\n"));
  EXPECT_TRUE(absl::IsDataLoss(Ask(large.url(), options).status()));
  // Two thousand million elements, of which none comes.
  FakeServer many(Always("*2000000000\r\n"));
  EXPECT_TRUE(absl::IsDataLoss(Ask(many.url(), options).status()));
  FakeServer deep(Always("*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"));
  EXPECT_TRUE(absl::IsDataLoss(Ask(deep.url(), options).status()));
}

TEST(RedisClient, ARedirectionInACircleEnds) {
  FakeServer* other = nullptr;
  FakeServer one([&](const auto&) { return "-MOVED 1 " + other->address() + "\r\n"; });
  FakeServer two([&](const auto&) { return "-MOVED 1 " + one.address() + "\r\n"; });
  other = &two;
  const auto reply = Ask(one.url());
  EXPECT_TRUE(absl::IsUnavailable(reply.status()));
  EXPECT_THAT(reply.status().message(), HasSubstr("redirected more than 5 times"));
  EXPECT_LE(one.num_commands() + two.num_commands(), 8);
  for (const char* bad :
       {"-MOVED \r\n", "-MOVED 1\r\n", "-MOVED 1 host:port\r\n", "-ASK x :0\r\n"}) {
    EXPECT_TRUE(absl::IsDataLoss(AskFake(Always(bad)).status())) << bad;
  }
}

TEST(RedisClient, FollowsMovedAndRemembersIt) {
  FakeServer owner(Always("$4\r\nhere\r\n"));
  FakeServer seed([&](const auto&) { return "-MOVED 7092 " + owner.address() + "\r\n"; });
  auto client = Client::Open(seed.url(), ShortOptions());
  Request request;
  request.Command({"GET", "apple"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ((*client)->ExecuteOne("apple", request)->text, "here");
  EXPECT_EQ(seed.num_commands(), 1);
  EXPECT_EQ(owner.num_commands(), 3);
}

TEST(RedisClient, FollowsAskOnceWithAsking) {
  FakeServer importing([](const FakeServer::Words& words) -> std::string {
    return words[0] == "ASKING" ? "+OK\r\n" : "$4\r\nhere\r\n";
  });
  FakeServer owner([&](const FakeServer::Words& words) -> std::string {
    return words[1] == "moving" ? "-ASK 1 " + importing.address() + "\r\n" : "$4\r\nthat\r\n";
  });
  auto client = Client::Open(owner.url(), ShortOptions());
  Request request;
  request.Command({"GET", "stays"});
  request.Command({"GET", "moving"});
  const auto replies = (*client)->Execute("stays", request);
  ASSERT_TRUE(replies.ok()) << replies.status();
  EXPECT_EQ((*replies)[0].text, "that");
  EXPECT_EQ((*replies)[1].text, "here");
  EXPECT_EQ(importing.num_commands(), 2);
  ASSERT_TRUE((*client)->Execute("stays", request).ok());  // asks the owner first again
  EXPECT_EQ(owner.num_commands(), 4);
}

TEST(RedisClient, GarbageNeverHangsOrCrashes) {
  std::mt19937 random(1);
  std::string answer;
  std::mutex mutex;
  FakeServer server([&](const auto&) {
    const std::lock_guard<std::mutex> lock(mutex);
    return answer;
  });
  static constexpr std::string_view kPieces[] = {"*",
                                                 "$",
                                                 ":",
                                                 "+",
                                                 "-",
                                                 "\r\n",
                                                 "0",
                                                 "-1",
                                                 "5",
                                                 "99999999999999999999",
                                                 "ok",
                                                 "*2\r\n",
                                                 "$2\r\nok\r\n",
                                                 "\0",
                                                 "*3\r\n$7\r\nchanged\r\n",
                                                 "_",
                                                 "#t\r\n",
                                                 "%1\r\n",
                                                 ":1\r\n"};
  ClientOptions options = ShortOptions();
  options.command_timeout = milliseconds(10);
  auto client = Client::Open(server.url(), options);
  auto filter = BitmapFilter::Open(client->get(), "users");
  for (int i = 0; i < 300; ++i) {
    {
      const std::lock_guard<std::mutex> lock(mutex);
      answer.clear();
      for (uint32_t j = random() % 6; j > 0; --j) answer += kPieces[random() % std::size(kPieces)];
    }
    EXPECT_TRUE((*filter)->MayContain("Tom"));
  }
  EXPECT_EQ((*filter)->counts().no, 0u);
}

TEST(RedisClient, DiesMidReplyAndComesBack) {
  std::atomic<int> commands{0};
  FakeServer server([&](const FakeServer::Words&) -> std::optional<std::string> {
    return commands++ % 2 == 0 ? "$10\r\nhal" : "$2\r\nok\r\n";
  });
  auto client = Client::Open(server.url(), ShortOptions());
  Request request;
  request.Command({"GET", "apple"});
  EXPECT_FALSE((*client)->ExecuteOne("apple", request).ok());
  EXPECT_EQ((*client)->ExecuteOne("apple", request)->text, "ok");  // on a new connection
  EXPECT_EQ(server.num_connections(), 2);
}

TEST(RedisClient, AuthAndSelectComeFromTheUrl) {
  std::vector<std::string> seen;
  FakeServer server([&](const FakeServer::Words& words) -> std::string {
    std::string line;
    for (const std::string& word : words) line += word + " ";
    seen.push_back(line);
    return words[0] == "GET" ? "$-1\r\n" : "+OK\r\n";
  });
  ASSERT_TRUE(Ask("redis://me:p%40ss@" + server.address() + "/3").ok());
  EXPECT_THAT(seen, ::testing::ElementsAre("AUTH me p@ss ", "SELECT 3 ", "GET apple "));
  FakeServer refusing(Always("-WRONGPASS invalid username-password pair\r\n"));
  const auto refused = Ask("redis://:secret@" + refusing.address());
  EXPECT_TRUE(absl::IsPermissionDenied(refused.status()));
  EXPECT_THAT(refused.status().message(), ::testing::Not(HasSubstr("secret")));
}

TEST(RedisClient, RefusesUrlsThatItDoesNotUnderstand) {
  for (const char* url : {"", "127.0.0.1:6379", "http://x", "redis://", "redis://x:0",
                          "redis://x:70000", "redis://x:port", "redis://x/db", "redis://user@x",
                          "rediss://x", "unix://x", "redis://:%zz@x", "redis://x/99999999"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Client::Open(url).status())) << url;
  }
  const auto url = ParseServerUrl("redis://[::1]:7000/2");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->endpoint.host, "::1");
  EXPECT_EQ(url->endpoint.port, 7000);
  EXPECT_EQ(ParseServerUrl("redis://host")->endpoint.port, 6379);
  EXPECT_EQ(ParseHostPort("2001:db8::1:7001", {})->host, "2001:db8::1");
  EXPECT_EQ(ParseHostPort(":7001", {"asked", 1, ""})->host, "asked");
}

TEST(RedisClient, SlotsAreThoseOfRedisCluster) {
  EXPECT_EQ(SlotOf("123456789"), 0x31c3 % kNumSlots);
  EXPECT_EQ(SlotOf("foo{bar}baz"), SlotOf("bar"));
  EXPECT_EQ(SlotOf("{}x"), SlotOf("{}x"));
  EXPECT_NE(SlotOf("{}x"), SlotOf("x"));
  EXPECT_EQ(KeyBeside("users", "config"), "{users}:config");
  EXPECT_EQ(KeyBeside("a{b}c", "config"), "a{b}c:config");
}

TEST(RedisClient, AFrozenServerCostsOneTimeOutAndAThawedOneAnswers) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  RedisServer server;
  auto client = server.NewClient(ShortOptions());
  auto filter = BitmapFilter::Open(client.get(), "users");
  ASSERT_TRUE((*filter)->Create(*RedissonShape(1000, 0.01)).ok());
  EXPECT_FALSE((*filter)->MayContain("Tom"));
  server.Freeze();
  EXPECT_TRUE((*filter)->MayContain("Tom"));
  EXPECT_EQ((*filter)->counts().unreachable, 1u);
  server.Thaw();
  int tries = 0;
  while ((*filter)->MayContain("Tom") && ++tries < 100) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_LT(tries, 100);
  ASSERT_TRUE(server.Restart());  // with nothing in it
  const uint64_t missing = (*filter)->counts().missing;
  EXPECT_TRUE((*filter)->MayContain("Tom"));
  EXPECT_EQ((*filter)->counts().missing, missing + 1);
}

TEST(RedisClient, AServerWithoutMemoryOrThatIsAReplicaAnswersAndTakesNothing) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  RedisServer server;
  auto client = server.NewClient();
  auto filter = BitmapFilter::Open(client.get(), "users");
  ASSERT_TRUE((*filter)->Create(*RedissonShape(1000, 0.0001)).ok());
  const std::vector<std::string_view> tom = {"Tom"};
  const std::vector<std::string_view> jerry = {"Jerry"};
  ASSERT_TRUE((*filter)->Add(tom).ok());
  ASSERT_EQ(server.Cli("CONFIG SET maxmemory 1"), "OK");
  EXPECT_TRUE(absl::IsResourceExhausted((*filter)->Add(jerry).status()));
  EXPECT_TRUE(absl::IsResourceExhausted((*filter)->BeginWrite(jerry).status()));
  EXPECT_TRUE((*filter)->MayContain("Tom"));
  EXPECT_FALSE((*filter)->MayContain("Jerry"));
  ASSERT_EQ(server.Cli("CONFIG SET maxmemory 0"), "OK");
  int nobody = 0;
  ::close(ListenOnLoopback(&nobody));
  ASSERT_EQ(server.Cli("REPLICAOF 127.0.0.1 " + std::to_string(nobody)), "OK");
  EXPECT_TRUE(absl::IsFailedPrecondition((*filter)->Add(jerry).status()));
  EXPECT_TRUE((*filter)->MayContain("Tom"));
  EXPECT_FALSE((*filter)->MayContain("Jerry"));
  EXPECT_EQ((*filter)->counts().refused, 0u);
}

TEST(RedisClient, ManyThreadsShareFewConnections) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  RedisServer server;
  ClientOptions options = RedisServer::PatientOptions();
  options.max_connections = 2;
  auto client = server.NewClient(options);
  auto filter = BitmapFilter::Open(client.get(), "users");
  ASSERT_TRUE((*filter)->Create(*RedissonShape(10000, 0.001)).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const std::string key = std::to_string(t) + "/" + std::to_string(i);
        EXPECT_TRUE((*filter)->Add(std::vector<std::string_view>{key}).ok());
        EXPECT_TRUE((*filter)->MayContain(key));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ((*filter)->counts().found, 400u);
  EXPECT_THAT(server.Cli("INFO clients"), HasSubstr("connected_clients:3"));  // redis-cli's too
}

}  // namespace
}  // namespace winnow::filter::redis
