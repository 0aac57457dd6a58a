// winnow redis create and info.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/report/amount_text.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/fields.h"
#include "tools/winnow/redis_filter.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunRedisCreate(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const RedisFilter opened, OpenRedisFilter(arguments));
  absl::Status created;
  Json json = {{"name", arguments.positionals()[0]}};
  if (opened.module != nullptr) {
    if (arguments.Has("ttl") || arguments.Has("ttl-jitter") || arguments.Has("incomplete") ||
        arguments.Has("max-bytes")) {
      return absl::InvalidArgumentError(
          "--ttl, --ttl-jitter, --incomplete and --max-bytes are not for redisbloom");
    }
    if (opened.is_cuckoo && arguments.Has("fpr")) {
      return absl::InvalidArgumentError("--fpr is not for redisbloom_cuckoo");
    }
    WINNOW_ASSIGN_OR_RETURN(const RedisSize size, RedisSizeOf(arguments));
    created = opened.is_cuckoo
                  ? opened.module->Reserve(filter::RedisBloomCuckooOptions{.capacity = size.keys})
                  : opened.module->Reserve(
                        filter::RedisBloomOptions{.error_rate = size.fpr, .capacity = size.keys});
  } else {
    WINNOW_ASSIGN_OR_RETURN(const filter::RedisBitmapShape shape,
                            RedisShapeOf(arguments, opened.bitmap->rule()));
    filter::redis::CreateBitmapOptions options;
    if (arguments.Has("keys")) {
      WINNOW_ASSIGN_OR_RETURN(const RedisSize size, RedisSizeOf(arguments));
      options.expected_insertions = size.keys;
      options.fpr = size.fpr;
    }
    WINNOW_ASSIGN_OR_RETURN(options.ttl, SecondsOf(arguments, "ttl"));
    WINNOW_ASSIGN_OR_RETURN(options.ttl_jitter, SecondsOf(arguments, "ttl-jitter"));
    if (options.ttl_jitter.count() > 0 && options.ttl.count() == 0) {
      return absl::InvalidArgumentError("--ttl-jitter is a part of --ttl, which is missing");
    }
    options.is_complete = !arguments.Has("incomplete");
    WINNOW_ASSIGN_OR_RETURN(options.max_bytes, RedisMaxBytesOf(arguments));
    created = opened.bitmap->Create(shape, options);
    json["bits"] = shape.num_bits;
    json["probes"] = shape.num_probes;
  }
  WINNOW_RETURN_IF_ERROR(ServerError(arguments, created));
  return PrintDone(arguments, json, output);
}

Json BitmapInfo(const filter::redis::BitmapFilterInfo& info, std::string_view layout) {
  Json json = {{"layout", layout},
               {"bits", info.shape.num_bits},
               {"probes", info.shape.num_probes},
               {"bytes", info.num_bytes},
               {"bits_set", info.num_ones},
               {"keys_estimated", info.EstimatedKeys()},
               {"expected_fpr", info.ExpectedFpr()},
               {"complete", info.is_complete},
               {"configuration", info.has_configuration},
               {"being_rebuilt", info.is_being_rebuilt},
               {"open_writes", info.open_writes}};
  if (info.expected_insertions != 0) json["made_for_keys"] = info.expected_insertions;
  if (info.fpr != 0) json["promised_fpr"] = info.fpr;
  if (info.ttl_left.count() > 0) {
    json["expires_in_seconds"] = static_cast<double>(info.ttl_left.count()) / 1000;
  }
  return json;
}

absl::StatusOr<ExitCode> RunRedisInfo(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const RedisFilter opened, OpenRedisFilter(arguments));
  Json json = {{"name", arguments.positionals()[0]}};
  if (opened.module != nullptr) {
    const auto info = opened.module->GetInfo();
    WINNOW_RETURN_IF_ERROR(ServerError(arguments, info.status()));
    json["layout"] = arguments.Text("layout").value_or("");
    for (const auto& [name, value] : *info) json[name] = value;
  } else {
    const auto info = opened.bitmap->GetInfo();
    WINNOW_RETURN_IF_ERROR(ServerError(arguments, info.status()));
    json.update(BitmapInfo(*info, filter::RedisBitmapRuleName(opened.bitmap->rule())));
  }
  if (arguments.Has("json")) {
    output.Write(ToLine(json));
    return ExitCode::kOk;
  }
  PrintFields(json, "", output);
  return ExitCode::kOk;
}

}  // namespace

Command RedisCreateCommand() {
  return {
      .name = "redis create",
      .positionals = {"NAME", 1, 1},
      .database = DatabaseUse::kNone,
      .summary = "make an empty filter",
      .details = R"(
Redisson finds one of --layout=redisson as if it had called tryInit; go-zero one of
--layout=gozero --bits=N, where it was given the same N. A filter made for data that exists
already lacks it: with --incomplete it answers "maybe" to everything until the first
`winnow redis rebuild`. All keys of the filter expire at one moment.)",
      .json = R"({"name":NAME,"bits":N,"probes":N}; of redisbloom the name alone)",
      .examples = R"(
  winnow redis create users --url=redis://127.0.0.1 --keys=1e6 --fpr=1%
  winnow redis create seen --url=redis://127.0.0.1 --layout=gozero --bits=20000000
  winnow redis create day --url=redis://127.0.0.1 --keys=1e5 --ttl=86400 --ttl-jitter=300)",
      .flags = RedisFlags({{"keys", "N", "how many keys it is for, 1e6 or 1000000"},
                           {"fpr", "RATE", "false-positive rate at that number (default: 1%)"},
                           {"bits", "N", "go-zero's: so many bits, and 14 probes"},
                           {"ttl", "SECONDS", "time to live (default: none)"},
                           {"ttl-jitter", "SECONDS", "and a random time up to this (default: 0)"},
                           {"incomplete", "", "answers maybe until it is rebuilt"},
                           kRedisMaxBytesFlag}),
      .run = RunRedisCreate,
  };
}

Command RedisInfoCommand() {
  return {
      .name = "redis info",
      .positionals = {"NAME", 1, 1},
      .database = DatabaseUse::kNone,
      .summary = "what a filter is, how full, and whether it is being rebuilt",
      .details = R"(
Counts the bits that are set, which takes the server a while for large filters. Of redisbloom
it prints what BF.INFO or CF.INFO says.)",
      .json = R"(
{"name":NAME,"layout":L,"bits":N,"probes":N,"bytes":N,"bits_set":N,"keys_estimated":N,
"expected_fpr":R,"complete":B,"configuration":B,"being_rebuilt":B,"open_writes":N,
"made_for_keys":N,"promised_fpr":R,"expires_in_seconds":S}; the last three where known)",
      .examples = R"(
  winnow redis info users --url=redis://127.0.0.1
  winnow redis info seen --url=redis://127.0.0.1 --layout=gozero --bits=20000000)",
      .flags = RedisFlags({{"bits", "N", "go-zero's: its size, where nothing else says it"}}),
      .run = RunRedisInfo,
  };
}

}  // namespace winnow::cli
