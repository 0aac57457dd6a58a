// winnow redis against a redis-server of the test's own, as one would try it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/filter/redis/redis_server.h"
#include "tests/tools/winnow_cli_shell.h"

namespace winnow {
namespace {

using ::testing::HasSubstr;

class WinnowCliRedis : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!filter::redis::RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
    server_ = std::make_unique<filter::redis::RedisServer>();
  }
  // "winnow redis ARGUMENTS --url=..." after `before`, which is a pipe or nothing.
  ShellResult Redis(const std::string& arguments, const std::string& before = "") const {
    return shell_.Run(before + "winnow redis " + arguments +
                      " --timeout=60 --url=" + server_->url());
  }

  ScratchShell shell_;
  std::unique_ptr<filter::redis::RedisServer> server_;
};

TEST_F(WinnowCliRedis, MakesFillsAsksAndCopiesAFilter) {
  ShellResult result = Redis("create users --keys=1000 --fpr=1% --json");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "{\"name\":\"users\",\"bits\":9585,\"probes\":7}\n");
  EXPECT_THAT(Redis("create users --keys=1000").output, HasSubstr("there is such a filter"));
  EXPECT_EQ(Redis("add users", "printf 'Tom\\tcat\\nJerry\\n' | ").output,
            "2 keys, 2 of them new\n");
  result = Redis("query users", "printf 'Tom\\nSpike\\nJerry\\tmouse\\n' | ");
  EXPECT_EQ(result.output, "maybe\tTom\nno\tSpike\nmaybe\tJerry\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(Redis("query users", "echo Spike | ").exit_code, 1);
  EXPECT_EQ(Redis("query users --count", "printf 'Tom\\nSpike\\n' | ").output, "maybe\t1\nno\t1\n");
  EXPECT_THAT(Redis("info users").output, HasSubstr("keys_estimated     2"));
  EXPECT_EQ(Redis("dump users --out=users.filter").output, "");
  EXPECT_EQ(shell_.Run("printf 'Tom\\nSpike\\n' | winnow filter query users.filter").output,
            "maybe\tTom\nno\tSpike\n");
  EXPECT_THAT(shell_.Run("winnow filter info users.filter").output, HasSubstr("redisson"));
  EXPECT_EQ(Redis("load copy users.filter").output, "");
  EXPECT_EQ(Redis("query copy", "printf 'Tom\\nSpike\\n' | ").output, "maybe\tTom\nno\tSpike\n");
  EXPECT_THAT(Redis("load copy users.filter --layout=gozero").output,
              HasSubstr("not a filter of that layout"));
}

TEST_F(WinnowCliRedis, RebuildsAndMakesWhatIsMissing) {
  EXPECT_EQ(Redis("rebuild users --keys=1000", "printf 'Tom\\n' | ").output,
            "rebuilt with 1 key in 9585 bits\n");
  EXPECT_EQ(Redis("add users", "echo Jerry | ").exit_code, 0);
  EXPECT_EQ(Redis("rebuild users --keys=2000", "printf 'Tom\\n' | ").exit_code, 0);
  EXPECT_EQ(Redis("query users", "printf 'Tom\\nJerry\\n' | ").output, "maybe\tTom\nno\tJerry\n");
  // Bad input leaves the filter as it is.
  EXPECT_EQ(Redis("rebuild users --keys=2000 --hex", "echo xyz | ").exit_code, 3);
  EXPECT_EQ(Redis("query users", "echo Tom | ").output, "maybe\tTom\n");
}

TEST_F(WinnowCliRedis, SaysWhyItCannotTell) {
  ShellResult result = Redis("query nothing", "echo Tom | ");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("maybe\tTom\n"));
  EXPECT_THAT(result.output, HasSubstr("there is no such filter"));
  EXPECT_EQ(Redis("add nothing", "echo Tom | ").exit_code, 3);
  result = Redis("create bloom --layout=redisbloom --keys=100");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("unknown command 'BF.RESERVE'"));
  EXPECT_EQ(Redis("create users --keys=100 --layout=guava").exit_code, 2);
  EXPECT_EQ(shell_.Run("winnow redis info users").exit_code, 2);
  EXPECT_EQ(shell_.Run("winnow redis info users --url=http://x").exit_code, 2);
  result = shell_.Run("echo Tom | winnow redis query users --url=redis://127.0.0.1:1");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("the server did not answer"));
  EXPECT_EQ(shell_.Run("winnow redis").exit_code, 2);
}

TEST_F(WinnowCliRedis, NamesWhatIsWrongOnce) {
  ASSERT_EQ(Redis("create users --keys=10").exit_code, 0);
  EXPECT_EQ(Redis("create users --keys=10").output,
            "winnow: redis create: users: there is such a filter or key\n");
  server_->Cli("LPUSH list one");
  for (const char* verb : {"info", "add"}) {
    const ShellResult result = Redis(std::string(verb) + " list", "echo Tom | ");
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.output, HasSubstr("list: Redis says: WRONGTYPE"));
    EXPECT_THAT(result.output, ::testing::Not(HasSubstr("script")));
  }
  const ShellResult asked = Redis("query list", "echo Tom | ");
  EXPECT_EQ(asked.exit_code, 3);
  EXPECT_THAT(asked.output, HasSubstr("maybe\tTom"));
  EXPECT_THAT(Redis("rebuild users --keys=1", "printf '1\\n2\\n3\\n' | ").output,
              HasSubstr("more keys than the filter is for, so more false positives: 3, --keys=1"));
}

TEST_F(WinnowCliRedis, ReplacesNothingThatIsNoFilterOfTheLayout) {
  ASSERT_EQ(Redis("create made --layout=gozero --bits=64").exit_code, 0);
  ASSERT_EQ(Redis("dump made --layout=gozero --out=made.filter").exit_code, 0);
  ASSERT_EQ(Redis("create other --keys=100").exit_code, 0);
  ASSERT_EQ(Redis("add other", "echo Tom | ").output, "1 key, 1 of them new\n");
  server_->Cli("SET page '<html>my page</html>'");
  const auto expect_refused = [&](const std::string& arguments, const std::string& message) {
    const ShellResult result = Redis(arguments, "echo Tom | ");
    EXPECT_EQ(result.exit_code, 3) << arguments;
    EXPECT_THAT(result.output, HasSubstr(message)) << arguments;
  };
  const std::string page =
      "page: there is a string of 20 bytes without a configuration under this name, no filter of ";
  for (const char* layout : {"gozero", "jedis", "redisson"}) {
    expect_refused("rebuild page --keys=100 --layout=" + std::string(layout), page + layout);
  }
  expect_refused("load page made.filter --layout=gozero", page + "gozero");
  expect_refused("load page made.filter --layout=gozero --adopt", page + "gozero");  // too long
  expect_refused("rebuild page --layout=gozero --bits=80 --adopt", page + "gozero");
  EXPECT_EQ(server_->Cli("GET page"), "<html>my page</html>");
  const std::string wrong = " under this name, no filter of ";
  expect_refused("rebuild made --keys=100", "there is a filter of gozero" + wrong + "redisson");
  expect_refused("rebuild other --keys=100 --layout=gozero",
                 "there is a filter of redisson" + wrong + "gozero");
  expect_refused("load other made.filter --layout=gozero",
                 "there is a filter of redisson" + wrong + "gozero");
  EXPECT_EQ(Redis("query other", "echo Tom | ").output, "maybe\tTom\n");
  // What go-zero made says nothing of itself: whoever asks for it must.
  server_->Cli("SETBIT theirs 100 1");
  expect_refused("rebuild theirs --layout=gozero --bits=128", "theirs: there is a string of 13");
  EXPECT_EQ(Redis("rebuild theirs --layout=gozero --bits=128 --adopt", "echo Tom | ").output,
            "rebuilt with 1 key in 128 bits\n");
  EXPECT_EQ(Redis("query theirs --layout=gozero", "echo Tom | ").output, "maybe\tTom\n");
  server_->Cli("SET more x");
  EXPECT_EQ(Redis("load more made.filter --layout=gozero --adopt").exit_code, 0);
  EXPECT_EQ(Redis("rebuild other --keys=9 --adopt", "echo Tom | ").exit_code, 2);
}

TEST_F(WinnowCliRedis, SaysWhatTheServerSaid) {
  ASSERT_EQ(Redis("create users --keys=10").exit_code, 0);
  const std::string address = "127.0.0.1:" + std::to_string(server_->port());
  const auto query = [&](const std::string& url) {
    return shell_.Run("printf 'Tom\\nJerry\\n' | winnow redis query users --timeout=60 --url=" +
                      url);
  };
  ShellResult result = query("redis://:wrong@" + address);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("answered maybe: 2 keys: Redis at " + address + ": "));
  EXPECT_THAT(result.output, HasSubstr("AUTH"));
  result = query("redis://" + address + "/99");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("DB index is out of range"));
  EXPECT_THAT(Redis("query users --layout=gozero", "echo Tom | ").output,
              HasSubstr("answered maybe: 1 key: users is a filter of redisson, not gozero"));
}

TEST_F(WinnowCliRedis, RefusesTimesThatMeanNothing) {
  for (const char* command :
       {"rebuild users --keys=10 --lease=0", "rebuild users --keys=10 --lease=0.0001",
        "create users --keys=10 --ttl=0.0001", "create users --keys=10 --ttl=-1",
        "create users --keys=10 --ttl-jitter=5"}) {
    const ShellResult result = Redis(command, "echo Tom | ");
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.output, HasSubstr("--")) << command;
  }
  EXPECT_EQ(server_->Cli("EXISTS users"), "0");
}

TEST_F(WinnowCliRedis, RefusesFlagsThatALayoutOrEachOtherLeavesWithoutMeaning) {
  for (const char* command : {"create users --layout=redisbloom --keys=10 --ttl-jitter=5",
                              "create users --layout=redisbloom_cuckoo --keys=10 --fpr=1%",
                              "create users --layout=gozero --bits=64 --keys=10",
                              "rebuild users --layout=gozero --bits=64 --fpr=1%",
                              "query users --layout=redisbloom --bits=64"}) {
    const ShellResult result = Redis(command, "echo Tom | ");
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_THAT(result.output, HasSubstr("--")) << command;
  }
  EXPECT_EQ(server_->Cli("EXISTS users"), "0");
}

TEST_F(WinnowCliRedis, ReadsLargeFilesAndStopsWithWhoeverReads) {
  ASSERT_EQ(Redis("create users --keys=1e5 --fpr=0.1%").exit_code, 0);
  ASSERT_EQ(shell_.Run("seq 1 100000 | sed 's/$/\tvalue/' >users.tsv").exit_code, 0);
  EXPECT_THAT(Redis("add users users.tsv").output, HasSubstr("100000 keys, "));
  EXPECT_EQ(Redis("query users --count users.tsv").output, "maybe\t100000\nno\t0\n");
  const ShellResult cut = shell_.Run(
      "winnow redis query users users.tsv --timeout=60 --url=" + server_->url() + " | head -n 2");
  EXPECT_EQ(cut.output, "maybe\t1\nmaybe\t2\n");
}

TEST_F(WinnowCliRedis, AnInterruptedRebuildLeavesTheFilterAndEndsWithItsLease) {
  ASSERT_EQ(Redis("create users --keys=100").exit_code, 0);
  ASSERT_EQ(Redis("add users", "echo Tom | ").exit_code, 0);
  // Ended once it has begun: until then there is no other generation.
  const std::string rebuild =
      "winnow redis rebuild users --keys=200 --timeout=60 --url=" + server_->url();
  const std::string begun = "until redis-cli -p " + std::to_string(server_->port()) +
                            " EXISTS '{users}:winnow:next' | grep -q 1; do sleep 0.02; done; ";
  const ShellResult ended =
      shell_.Run("mkfifo rows; " + rebuild + " --lease=3 <rows & rebuild=$!; exec 3>rows; " +
                 begun + "kill $rebuild; wait $rebuild; echo ended with $?; exec 3>&-");
  EXPECT_THAT(ended.output, HasSubstr("ended with 143"));
  EXPECT_EQ(Redis("query users", "echo Tom | ").output, "maybe\tTom\n");
  const ShellResult soon = Redis("rebuild users --keys=200", "echo Tom | ");
  if (soon.exit_code != 0) {
    EXPECT_THAT(soon.output, HasSubstr("another rebuild is under way"));
  }
  const ShellResult later = shell_.Run("for i in $(seq 200); do echo Tom | " + rebuild +
                                       " 2>/dev/null && break; sleep 0.1; done");
  EXPECT_EQ(later.output, "rebuilt with 1 key in 1917 bits\n");
  EXPECT_EQ(Redis("query users", "printf 'Tom\\nSpike\\n' | ").output, "maybe\tTom\nno\tSpike\n");
}

TEST_F(WinnowCliRedis, ARebuildOutlivesTheSilenceOfItsInput) {
  EXPECT_EQ(
      Redis("rebuild users --keys=1000 --lease=3", "(echo Tom; sleep 8; echo Jerry) | ").output,
      "rebuilt with 2 keys in 9585 bits\n");
  EXPECT_EQ(Redis("query users", "printf 'Tom\\nJerry\\n' | ").output,
            "maybe\tTom\nmaybe\tJerry\n");
}

TEST_F(WinnowCliRedis, MakesNothingLargerThanItMay) {
  for (const char* verb : {"create", "rebuild"}) {
    const std::string command = std::string(verb) + " users --keys=1e5 --fpr=1%";
    const ShellResult refused = Redis(command + " --max-bytes=100KiB", "echo Tom | ");
    EXPECT_EQ(refused.exit_code, 3) << verb;
    EXPECT_THAT(refused.output, HasSubstr("119814 bytes, allowed are 102400"));
    EXPECT_EQ(Redis(command + " --max-bytes=200KiB", "echo Tom | ").exit_code, 0) << verb;
  }
  EXPECT_EQ(Redis("create more --keys=10 --max-bytes=few").exit_code, 2);
}

TEST_F(WinnowCliRedis, AServerThatHangsCostsTheTimeOut) {
  ASSERT_EQ(Redis("create users --keys=100").exit_code, 0);
  server_->Freeze();
  for (const char* verb : {"add", "query", "info", "rebuild --keys=10"}) {
    const ShellResult result = shell_.Run("echo Tom | winnow redis " + std::string(verb) +
                                          " users --timeout=0.3 --url=" + server_->url());
    EXPECT_EQ(result.exit_code, 3) << verb;
    EXPECT_NE(result.output, "") << verb;
  }
  server_->Thaw();
}

TEST_F(WinnowCliRedis, ReadsAFilterOfGoZeros) {
  EXPECT_EQ(Redis("create seen --layout=gozero --bits=64").exit_code, 0);
  server_->Cli("SET theirs x");
  EXPECT_THAT(Redis("info theirs --layout=gozero --bits=64 --json").output,
              HasSubstr("\"configuration\":false"));
  EXPECT_EQ(Redis("add seen --layout=gozero", "printf 'hello\\nworld\\n' | ").exit_code, 0);
  EXPECT_EQ(server_->Cli("--no-raw GETRANGE seen 0 3"), "\"\\xa5,\\x9bZ\"");
}

}  // namespace
}  // namespace winnow
