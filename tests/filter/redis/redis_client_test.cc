// The client against servers that are slow, die, load, refuse, redirect or talk nonsense: time-outs
// hold, errors are told, and filters answer "maybe".

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "filter/redis/bitmap_scripts.h"
#include "filter/redis/key_slot.h"
#include "filter/redis/reply_reader.h"
#include "filter/redis/url.h"
#include "tests/filter/dynamic/golden_data.h"
#include "tests/filter/redis/fake_server.h"
#include "winnow/filter/redis/bit_sets.h"
#include "winnow/filter/redis/bitmap_filter.h"
#include "winnow/filter/redis/module_filter.h"

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

// How long a call takes that waits for its time-out: so long, and no more than a busy machine adds.
class RedisTimeOut {
 public:
  explicit RedisTimeOut(milliseconds time_out)
      : time_out_(time_out), begin_(std::chrono::steady_clock::now()) {}
  ~RedisTimeOut() {
    const auto taken = std::chrono::steady_clock::now() - begin_;
    EXPECT_GE(taken, time_out_);
    EXPECT_LT(taken, time_out_ + std::chrono::seconds(20));
  }

 private:
  const milliseconds time_out_;
  const std::chrono::steady_clock::time_point begin_;
};

std::ptrdiff_t NumDescriptors() {
  const std::filesystem::directory_iterator descriptors("/proc/self/fd");
  return std::distance(begin(descriptors), end(descriptors));
}

FakeServer::Handler Always(const std::string& answer) {
  return [answer](const FakeServer::Words&) { return answer; };
}

std::string Bulk(std::string_view text) {
  return "$" + std::to_string(text.size()) + "\r\n" + std::string(text) + "\r\n";
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

// The one reply that these bytes are.
Reply ReadWhole(const std::string& bytes) {
  ReplyReader reader(1 << 20, 1000);
  EXPECT_TRUE(reader.Feed(bytes).ok());
  const auto reply = reader.Next();
  EXPECT_TRUE(reply.ok() && reply->has_value()) << bytes;
  EXPECT_FALSE(reader.HasUnread()) << bytes;
  return reply.ok() && reply->has_value() ? **reply : Reply();
}

TEST(RedisClient, ReadsWhatRealServersSend) {
  int num_replies = 0;
  const auto expect_errors_code = [&](const std::string& bytes, const std::string& of) {
    const Reply reply = ReadWhole(bytes);
    ++num_replies;
    EXPECT_EQ(reply.is_error(), bytes[0] == '-') << of;
    const absl::StatusCode code = reply.ToStatus().code();
    const auto begins = [&](std::string_view prefix) { return bytes.rfind(prefix, 0) == 0; };
    if (begins("-WRONGTYPE")) {
      EXPECT_EQ(code, absl::StatusCode::kFailedPrecondition) << of;
    } else if (begins("-WRONGPASS")) {
      EXPECT_EQ(code, absl::StatusCode::kPermissionDenied) << of;
    } else if (begins("-ERR unknown command") || begins("-ERR Unknown Redis command")) {
      EXPECT_EQ(code, absl::StatusCode::kUnimplemented) << of;
    } else {
      EXPECT_EQ(code, bytes[0] == '-' ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kOk)
          << of;
    }
  };
  for (const std::string& line : GoldenLines("redis/wire-7.0.15.txt")) {
    const size_t arrow = line.find(" => ");
    const bool is_command = line.rfind("> ", 0) == 0;
    const std::string bytes =
        is_command ? FromPythonBytes(std::string_view(line).substr(arrow + 4)) : "";
    // Neither what was followed by the end of the connection, nor the maps of RESP3.
    if (!is_command || bytes.find("<EOF>") != std::string::npos || bytes[0] == '%') continue;
    expect_errors_code(bytes, line);
  }
  EXPECT_GE(num_replies, 150);
  num_replies = 0;
  const std::vector<std::string> lines = GoldenLines("redisbloom/wire-2.6.28.txt");
  for (size_t i = 1; i + 1 < lines.size() && lines[i] != "== RESP3"; i += 2) {
    expect_errors_code(FromPythonBytes(lines[i + 1]), lines[i]);
  }
  EXPECT_EQ(num_replies, 175);
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
  {
    const RedisTimeOut held(ShortOptions().command_timeout);
    const auto reply = Ask("redis://127.0.0.1:" + std::to_string(port));
    EXPECT_TRUE(absl::IsDeadlineExceeded(reply.status())) << reply.status();
  }
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

// Many small replies come in one piece of what is received.
TEST(RedisClient, ItsLimitIsOfOneReply) {
  std::string replies;
  for (int i = 0; i < 50; ++i) replies += "+OK\r\n";
  ReplyReader reader(20, 1000);
  ASSERT_TRUE(reader.Feed(replies + "$4\r\nhal").ok());
  for (int i = 0; i < 50; ++i) {
    const auto reply = reader.Next();
    ASSERT_TRUE(reply.ok() && reply->has_value()) << i << ": " << reply.status();
    EXPECT_EQ((*reply)->text, "OK");
  }
  EXPECT_FALSE((*reader.Next()).has_value());
  ASSERT_TRUE(reader.Feed("f\r\n" + replies).ok());
  EXPECT_EQ((**reader.Next()).text, "half");
  for (const std::string& bytes :
       {Bulk("a reply of more than 20 bytes"), std::string("$900\r\nand"),
        "$900\r\n" + std::string(100, 'x')}) {
    ReplyReader large(20, 1000);
    ASSERT_TRUE(large.Feed(bytes).ok());
    const auto reply = large.Next();
    EXPECT_EQ(absl::IsDataLoss(reply.status()), bytes.size() > 20) << bytes;
  }
}

TEST(RedisClient, RefusesTheDoublesAndBooleansOfAProtocolThatNobodyAskedFor) {
  for (const char* answer : {"#t\r\n", "#f\r\n", ",1.5\r\n", "*1\r\n#t\r\n", "*1\r\n,inf\r\n"}) {
    EXPECT_TRUE(absl::IsDataLoss(AskFake(Always(answer)).status())) << answer;
  }
}

TEST(RedisClient, AnAnswerTooManyIsNotTakenForThatToTheNextQuestion) {
  std::atomic<int> questions{0};
  FakeServer server([&](const auto&) {
    const std::string answer = ":" + std::to_string(++questions) + "\r\n";
    return questions == 1 ? answer + answer : answer;
  });
  auto client = Client::Open(server.url(), ShortOptions());
  Request request;
  request.Command({"GET", "apple"});
  EXPECT_TRUE(absl::IsDataLoss((*client)->ExecuteOne("apple", request).status()));
  EXPECT_EQ((*client)->ExecuteOne("apple", request)->integer, 2);
  EXPECT_EQ(server.num_connections(), 2);
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
  // The same with ASK, where each command has ASKING before it but the first.
  FakeServer* third = nullptr;
  const auto ask = [](const FakeServer::Words& words, const FakeServer& there) -> std::string {
    return words[0] == "ASKING" ? "+OK\r\n" : "-ASK 1 " + there.address() + "\r\n";
  };
  FakeServer fourth([&](const auto& words) { return ask(words, *third); });
  FakeServer circle([&](const auto& words) { return ask(words, fourth); });
  third = &circle;
  const auto asked = Ask(circle.url());
  EXPECT_TRUE(absl::IsUnavailable(asked.status()));
  EXPECT_THAT(asked.status().message(), HasSubstr("redirected more than 5 times"));
  EXPECT_LE(circle.num_commands() + fourth.num_commands(), 15);
  for (const char* bad :
       {"-MOVED \r\n", "-MOVED 1\r\n", "-MOVED 1 host:port\r\n", "-ASK x :0\r\n"}) {
    EXPECT_TRUE(absl::IsDataLoss(AskFake(Always(bad)).status())) << bad;
  }
}

TEST(RedisClient, ASlotThatIsBeingMovedIsNoRedirection) {
  ClientOptions options = ShortOptions();
  options.command_timeout = std::chrono::seconds(60);
  FakeServer server(Always("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"));
  const absl::Status status = Ask(server.url(), options).status();
  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_THAT(status.message(), HasSubstr("TRYAGAIN"));
  EXPECT_EQ(server.num_commands(), 7);
  // It comes to an end.
  std::atomic<int> questions{0};
  FakeServer moving([&](const auto&) {
    return ++questions < 3 ? "-TRYAGAIN Multiple keys\r\n" : "$4\r\nhere\r\n";
  });
  EXPECT_EQ(Ask(moving.url(), options)->text, "here");
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

// A script's text has to follow its SHA-1 to where ASK pointed, with ASKING before it again.
TEST(RedisClient, FollowsAskWithAScriptThatTheOtherDoesNotKnow) {
  static const Script* const script = new Script("return 'here'");
  FakeServer* asked = nullptr;
  std::atomic<bool> is_asking{false};
  FakeServer importing([&](const FakeServer::Words& words) -> std::string {
    if (words[0] == "ASKING") {
      is_asking = true;
      return "+OK\r\n";
    }
    if (!is_asking.exchange(false)) return "-MOVED 1 " + asked->address() + "\r\n";
    return words[0] == "EVAL" ? "$4\r\nhere\r\n" : "-NOSCRIPT No matching script\r\n";
  });
  FakeServer owner([&](const auto&) { return "-ASK 1 " + importing.address() + "\r\n"; });
  asked = &owner;
  ClientOptions options = ShortOptions();
  options.max_redirects = 1;
  auto client = Client::Open(owner.url(), options);
  Request request;
  request.BeginScript(*script, std::vector<std::string>{"apple"}, 0);
  const auto reply = (*client)->ExecuteOne("apple", request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->text, "here");
  EXPECT_EQ(owner.num_commands(), 1);
  EXPECT_EQ(importing.num_commands(), 4);
}

// What a server describes a filter of 1199 bytes as.
std::string Described(std::string_view stamp) {
  std::string fields = "*16\r\n" + Bulk("ok") + Bulk(stamp);
  for (const std::string_view field :
       {"redisson", "9585", "7", "1", "9585", "7", "", "", "", "", "", "1199", "0", "-1"}) {
    fields += Bulk(field);
  }
  return fields;
}

// By a filter of the same shape, so that no piece of it is too short.
TEST(RedisClient, AFilterThatIsReplacedWhileItIsDownloadedIsNotMixed) {
  for (const bool is_replaced : {false, true}) {
    std::atomic<bool> was_read{false};
    FakeServer server([&](const FakeServer::Words& words) -> std::string {
      if (words[0] == "GETRANGE") {
        was_read = true;
        return Bulk(std::string(1199, '\0'));
      }
      return Described(was_read && is_replaced ? "the next" : "the first");
    });
    auto client = Client::Open(server.url(), ShortOptions());
    auto filter = BitmapFilter::Open(client->get(), "users");
    const absl::Status status = (*filter)->Download().status();
    EXPECT_TRUE(is_replaced ? absl::IsAborted(status) : status.ok()) << status;
  }
}

TEST(RedisClient, AConfigurationThatChangesTimeAndAgainIsMaybeAndCounted) {
  FakeServer server([](const FakeServer::Words& words) -> std::string {
    if (words[1] != DescribeScript().sha1()) return "*1\r\n$7\r\nchanged\r\n";
    return Described("a stamp");
  });
  auto client = Client::Open(server.url(), ShortOptions());
  auto filter = BitmapFilter::Open(client->get(), "users");
  EXPECT_TRUE((*filter)->MayContain("Tom"));
  EXPECT_EQ((*filter)->counts().changed, 1u);
  EXPECT_EQ((*filter)->counts().unreachable, 0u);
  EXPECT_TRUE(absl::IsAborted((*filter)->Add(std::vector<std::string_view>{"Tom"}).status()));
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
  ModuleFilter bloom(client->get(), "bloom", ModuleFilter::Kind::kBloom);
  ModuleFilter cuckoo(client->get(), "cuckoo", ModuleFilter::Kind::kCuckoo);
  DenseIdSet ids(client->get(), "ids", 1000);
  std::ptrdiff_t before = 0;
  for (int i = 0; i < 300; ++i) {
    if (i == 20) before = NumDescriptors();
    {
      const std::lock_guard<std::mutex> lock(mutex);
      answer.clear();
      for (uint32_t j = random() % 6; j > 0; --j) answer += kPieces[random() % std::size(kPieces)];
    }
    EXPECT_TRUE((*filter)->MayContain("Tom"));
    EXPECT_TRUE(bloom.MayContain("Tom"));
    EXPECT_TRUE(cuckoo.MayContain("Tom"));
    EXPECT_TRUE(ids.MayContain(17));
  }
  EXPECT_EQ((*filter)->counts().no, 0u);
  // One or two are open at a time here, and as many at the server, which may close them later.
  for (int i = 0; i < 1000 && NumDescriptors() > before + 10; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_LE(NumDescriptors(), before + 10);
}

TEST(RedisClient, WhatADenseSetIsToldThatIsNoAnswerIsMaybe) {
  for (const char* answer : {"*2\r\n$2\r\nok\r\n$1\r\n2\r\n", "*2\r\n$2\r\nok\r\n$1\r\nx\r\n",
                             "*2\r\n$2\r\nno\r\n$1\r\n0\r\n", "*2\r\n$2\r\nok\r\n:0\r\n"}) {
    FakeServer server(Always(answer));
    auto client = Client::Open(server.url(), ShortOptions());
    DenseIdSet ids(client->get(), "ids", 1000);
    EXPECT_TRUE(ids.MayContain(17)) << answer;
  }
  FakeServer server(Always("*2\r\n$2\r\nok\r\n$1\r\n0\r\n"));
  auto client = Client::Open(server.url(), ShortOptions());
  EXPECT_FALSE(DenseIdSet(client->get(), "ids", 1000).MayContain(17));
}

// Each reply is awaited before more is sent, so that a time-out is for so much work alone.
TEST(RedisClient, SoManyScriptsAreSentAtATime) {
  constexpr size_t kScripts = 64;
  ClientOptions options = ShortOptions();
  options.command_timeout = std::chrono::seconds(60);
  FakeServer server(Always("-OOM command not allowed\r\n"));
  auto client = Client::Open(server.url(), options);
  const std::vector<uint64_t> ids((kScripts + 1) * kMaxArguments, 17);
  DenseIdSet set(client->get(), "ids", 1000);
  EXPECT_TRUE(absl::IsResourceExhausted(set.Add(ids).status()));
  EXPECT_EQ(server.num_commands(), static_cast<int>(kScripts));
  const std::vector<std::string_view> keys((kScripts + 1) * kMaxArguments, "k");
  ModuleFilter filter(client->get(), "bloom", ModuleFilter::Kind::kBloom);
  EXPECT_TRUE(absl::IsResourceExhausted(filter.Add(keys).status()));
  EXPECT_EQ(server.num_commands(), 2 * static_cast<int>(kScripts));
}

TEST(RedisClient, ACuckooFilterThatMayGrowNoMoreIsFull) {
  FakeServer server(Always("-Maximum expansions reached script: 0123, on @user_script:8.\r\n"));
  auto client = Client::Open(server.url(), ShortOptions());
  ModuleFilter filter(client->get(), "cuckoo", ModuleFilter::Kind::kCuckoo);
  EXPECT_TRUE(absl::IsResourceExhausted(filter.Add(std::vector<std::string_view>{"Tom"}).status()));
  EXPECT_TRUE(
      absl::IsResourceExhausted(TairFilters(client->get()).cfadd("cuckoo", "Tom").status()));
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
  seen.clear();
  ASSERT_TRUE(Ask("redis://me:@" + server.address()).ok());
  EXPECT_THAT(seen, ::testing::ElementsAre("AUTH me  ", "GET apple "));
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

// The failure of the one that tries to connect is that of all.
TEST(RedisClient, WhoWaitsForAConnectionIsToldWhenTheServerDies) {
  constexpr int kConnections = 2;
  constexpr int kThreads = 24;
  int port = 0;
  const int listener = ListenOnLoopback(&port);
  ClientOptions options = ShortOptions();
  options.max_connections = kConnections;
  options.command_timeout = std::chrono::seconds(30);
  options.reconnect_delay = std::chrono::minutes(10);
  auto client = *Client::Open("redis://127.0.0.1:" + std::to_string(port), options);
  std::atomic<int> running{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      Request request;
      request.Command({"PING"});
      ++running;
      EXPECT_TRUE(absl::IsUnavailable(client->ExecuteOne("", request).status()));
    });
  }
  std::vector<int> sockets;
  for (int i = 0; i < kConnections; ++i) sockets.push_back(::accept(listener, nullptr, nullptr));
  while (running < kThreads) std::this_thread::yield();
  std::this_thread::sleep_for(milliseconds(50));  // most wait by now
  const auto begin = std::chrono::steady_clock::now();
  ::close(listener);
  for (const int socket : sockets) ::close(socket);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, options.command_timeout / 2);
}

TEST(RedisClient, AFrozenServerCostsOneTimeOutAndAThawedOneAnswers) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  RedisServer server;
  auto client = server.NewClient(ShortOptions());
  auto filter = BitmapFilter::Open(client.get(), "users");
  ASSERT_TRUE((*filter)->Create(*RedissonShape(1000, 0.01)).ok());
  EXPECT_FALSE((*filter)->MayContain("Tom"));
  server.Freeze();
  {
    const RedisTimeOut held(ShortOptions().command_timeout);
    EXPECT_TRUE((*filter)->MayContain("Tom"));
  }
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
