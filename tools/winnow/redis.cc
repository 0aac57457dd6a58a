// winnow redis: the noun whose verbs are in redis_*.cc.
#include <string>

#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/winnow/commands.h"

namespace winnow::cli {
namespace {

const std::string& RedisVerbLines() {
  static const std::string* const lines = [] {
    auto* text = new std::string("What to do:\n");
    for (const Command& verb :
         {RedisCreateCommand(), RedisInfoCommand(), RedisAddCommand(), RedisQueryCommand(),
          RedisDumpCommand(), RedisLoadCommand(), RedisRebuildCommand()}) {
      const std::string_view name = verb.name.substr(verb.name.find(' ') + 1);
      absl::StrAppendFormat(text, "  %-9s %s\n", ToAbsl(name), ToAbsl(verb.summary));
    }
    *text +=
        "`winnow redis VERB --help` explains each. A filter lies under a NAME on a Redis server,\n"
        "where programs with go-zero, Jedis, Redisson or RedisBloom use it too: --layout says in\n"
        "whose form. Keys are lines; what follows a tab is not read.";
    return text;
  }();
  return *lines;
}

absl::StatusOr<ExitCode> RunRedis(const Arguments&, Output&) {
  return absl::InvalidArgumentError(
      "name what to do: create, info, add, query, dump, load or rebuild");
}

}  // namespace

Command RedisCommand() {
  return {
      .name = "redis",
      .positionals = {"VERB ...", 0, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "filters on a Redis server, in the forms that other programs use",
      .details = RedisVerbLines(),
      .json = "each verb's help says what it prints",
      .examples = R"(
  winnow redis create users --url=redis://127.0.0.1 --keys=1e6 --fpr=1%
  winnow redis add users users.txt --url=redis://127.0.0.1
  echo Tom | winnow redis query users --url=redis://127.0.0.1)",
      .run = RunRedis,
  };
}

}  // namespace winnow::cli
