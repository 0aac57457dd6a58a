// winnow redis add, query and rebuild: many keys from text.
#include <algorithm>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "filter/base/mutex.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/redis_filter.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunRedisAdd(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const RedisFilter opened, OpenRedisFilter(arguments));
  uint64_t num_new = 0;
  const auto add = [&](const KeyBatch& keys) -> absl::Status {
    const absl::StatusOr<uint64_t> added =
        opened.module != nullptr ? opened.module->Add(keys) : opened.bitmap->Add(keys);
    if (!added.ok()) return ServerError(arguments, added.status());
    num_new += *added;
    return absl::OkStatus();
  };
  WINNOW_ASSIGN_OR_RETURN(const uint64_t num_keys, ForEachKeyBatch(arguments, add));
  return PrintAnswer(arguments, Json{{"keys", num_keys}, {"new", num_new}},
                     absl::StrCat(KeysText(num_keys), ", ", num_new, " of them new"), output);
}

// What the server says to a question that it has refused before; it is asked once more, since
// filters only count.
std::string RefusalOf(const RedisFilter& opened) {
  const absl::Status status = opened.module != nullptr ? opened.module->GetInfo().status()
                                                       : opened.bitmap->GetInfo().status();
  return status.ok() ? "the server refused" : std::string(status.message());
}

// Why some answers are no more than "maybe", or nothing.
std::string DoubtsOf(const RedisFilter& opened, const filter::redis::QueryCounts& counts) {
  std::string text;
  const auto add = [&text](uint64_t keys, const std::string& why) {
    if (keys != 0) absl::StrAppend(&text, text.empty() ? "" : "; ", KeysText(keys), ": ", why);
  };
  add(counts.missing, "there is no such filter, or it is not complete");
  add(counts.loading, "the server is loading");
  add(counts.changed, "the filter was changed time and again");
  add(counts.unreachable, "the server did not answer");
  if (counts.refused != 0) add(counts.refused, RefusalOf(opened));
  return text;
}

absl::StatusOr<ExitCode> RunRedisQuery(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const RedisFilter opened, OpenRedisFilter(arguments));
  const bool json = arguments.Has("json");
  const bool hex = arguments.Has("hex");
  const auto query = [&](const KeyBatch& keys) -> absl::Status {
    const std::vector<bool> answers = opened.module != nullptr ? opened.module->MayContain(keys)
                                                               : opened.bitmap->MayContain(keys);
    for (size_t i = 0; i < keys.size() && !arguments.Has("count"); ++i) {
      const std::string_view answer = answers[i] ? "maybe" : "no";
      if (json) {
        Json line = {{"answer", answer}};
        AddBytes(&line, "key", keys[i], hex);
        output.Write(ToLine(line));
      } else {
        output.Line(absl::StrCat(ToAbsl(answer), "\t",
                                 hex ? ToText(keys[i], TextForm::kHex) : std::string(keys[i])));
      }
    }
    return output.ok() ? absl::OkStatus() : output.Flush();
  };
  WINNOW_ASSIGN_OR_RETURN(const uint64_t num_keys,
                          ForEachKeyBatch(arguments, query, !arguments.Has("count")));
  const filter::redis::QueryCounts counts =
      opened.module != nullptr ? opened.module->counts() : opened.bitmap->counts();
  const std::string doubts = DoubtsOf(opened, counts);
  if (!doubts.empty()) Complain("redis query", absl::StrCat("answered maybe: ", doubts));
  if (arguments.Has("count")) {
    const uint64_t maybe = num_keys - counts.no;
    PrintAnswer(arguments, Json{{"maybe", maybe}, {"no", counts.no}},
                absl::StrCat("maybe\t", maybe, "\nno\t", counts.no), output);
  }
  if (!doubts.empty()) return ExitCode::kError;
  return num_keys == 1 && counts.no == 1 ? ExitCode::kNo : ExitCode::kOk;
}

// Fills a rebuild, and renews its lease while the input has nothing to say.
class LeasedRebuild {
 public:
  LeasedRebuild(filter::redis::BitmapRebuild* rebuild, std::chrono::milliseconds lease)
      : rebuild_(rebuild),
        pause_(std::max(lease / 3, std::chrono::milliseconds(1))),
        next_(std::chrono::steady_clock::now() + pause_),
        renewing_([this] { RenewUntilEnd(); }) {}
  ~LeasedRebuild() {
    {
      MutexLock lock(&mutex_);
      has_ended_ = true;
    }
    ended_.SignalAll();
    renewing_.join();
  }
  LeasedRebuild(const LeasedRebuild&) = delete;
  LeasedRebuild& operator=(const LeasedRebuild&) = delete;

  absl::Status Add(const KeyBatch& keys) {
    MutexLock lock(&mutex_);
    PutOff();
    return rebuild_->Add(keys);
  }

 private:
  void PutOff() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    next_ = std::chrono::steady_clock::now() + pause_;
  }

  void RenewUntilEnd() {
    MutexLock lock(&mutex_);
    while (!has_ended_) {
      const auto left = next_ - std::chrono::steady_clock::now();
      if (left > left.zero()) {
        ended_.WaitFor(&mutex_, std::chrono::ceil<std::chrono::microseconds>(left));
        continue;
      }
      // If the rebuild is lost the next batch, or the end, says so.
      (void)rebuild_->Renew();
      PutOff();
    }
  }

  Mutex mutex_;
  // Takes one thread at a time.
  filter::redis::BitmapRebuild* const rebuild_ ABSL_PT_GUARDED_BY(mutex_);
  const std::chrono::milliseconds pause_;
  CondVar ended_;
  std::chrono::steady_clock::time_point next_ ABSL_GUARDED_BY(mutex_);
  bool has_ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread renewing_;
};

absl::StatusOr<uint64_t> FillFromInputs(const Arguments& arguments,
                                        filter::redis::BitmapRebuild* rebuild,
                                        std::chrono::milliseconds lease) {
  LeasedRebuild leased(rebuild, lease);
  return ForEachKeyBatch(
      arguments, [&](const KeyBatch& keys) { return ServerError(arguments, leased.Add(keys)); });
}

absl::StatusOr<ExitCode> RunRedisRebuild(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const RedisFilter opened,
                          OpenRedisFilterToReplace(arguments, [&](filter::RedisBitmapRule rule) {
                            return RedisShapeOf(arguments, rule);
                          }));
  if (opened.bitmap == nullptr) {
    return absl::InvalidArgumentError("only gozero, jedis and redisson filters can be rebuilt");
  }
  WINNOW_ASSIGN_OR_RETURN(const filter::RedisBitmapShape shape,
                          RedisShapeOf(arguments, opened.bitmap->rule()));
  filter::redis::RebuildOptions options;
  WINNOW_ASSIGN_OR_RETURN(options.max_bytes, RedisMaxBytesOf(arguments));
  if (arguments.Has("keys")) {
    WINNOW_ASSIGN_OR_RETURN(const RedisSize size, RedisSizeOf(arguments));
    options.expected_insertions = size.keys;
    options.fpr = size.fpr;
  }
  if (arguments.Has("lease")) {
    WINNOW_ASSIGN_OR_RETURN(options.lease, SecondsOf(arguments, "lease"));
    if (options.lease.count() == 0) {
      return absl::InvalidArgumentError("--lease must be more than 0");
    }
  }
  auto rebuild = opened.bitmap->StartRebuild(shape, options);
  if (absl::IsNotFound(rebuild.status())) {
    // Nobody must believe an empty filter before it is filled.
    const absl::Status created =
        opened.bitmap->Create(shape, {.expected_insertions = options.expected_insertions,
                                      .fpr = options.fpr,
                                      .max_bytes = options.max_bytes,
                                      .is_complete = false});
    WINNOW_RETURN_IF_ERROR(ServerError(arguments, created));
    rebuild = opened.bitmap->StartRebuild(shape, options);
  }
  WINNOW_RETURN_IF_ERROR(ServerError(arguments, rebuild.status()));
  const absl::StatusOr<uint64_t> num_keys =
      FillFromInputs(arguments, rebuild->get(), options.lease);
  if (!num_keys.ok()) {
    const absl::Status abandoned = (*rebuild)->Abandon();
    if (!abandoned.ok()) Complain("redis rebuild", ToStd(abandoned.message()));
    return num_keys.status();
  }
  WINNOW_RETURN_IF_ERROR(ServerError(arguments, (*rebuild)->Finish()));
  if (options.expected_insertions != 0 && *num_keys > options.expected_insertions) {
    Complain("redis rebuild",
             absl::StrCat("more keys than the filter is for, so more false positives: ", *num_keys,
                          ", --keys=", options.expected_insertions));
  }
  return PrintAnswer(
      arguments, Json{{"keys", *num_keys}, {"bits", shape.num_bits}},
      absl::StrCat("rebuilt with ", KeysText(*num_keys), " in ", shape.num_bits, " bits"), output);
}

}  // namespace

Command RedisAddCommand() {
  return {
      .name = "redis add",
      .positionals = {"NAME [KEYFILE...]", 1, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "add keys, one a line",
      .details = R"(
Reads the files, or standard input. Nothing is made in the place of a filter that is missing or
has expired: `winnow redis create` does that.)",
      .json = R"({"keys":N,"new":N})",
      .examples = R"(
  winnow redis add users users.tsv --url=redis://127.0.0.1
  echo Tom | winnow redis add users --url=redis://127.0.0.1)",
      .flags = RedisFlags({{"bits", "N", "go-zero's: its size, where nothing else says it"},
                           {"hex", "", "lines are keys as hexadecimal digits"}}),
      .run = RunRedisAdd,
  };
}

Command RedisQueryCommand() {
  return {
      .name = "redis query",
      .positionals = {"NAME [KEYFILE...]", 1, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "ask for keys, one a line: maybe or no",
      .details = R"(
Prints maybe<TAB>KEY or no<TAB>KEY in the order of the lines, 1000 of them a round trip. Where
the filter cannot be asked the answer is maybe; standard error says why, and the exit code is 3.
A single key that is absent ends with 1.)",
      .json = R"({"answer":"maybe" or "no","key":K} for each, or with --count {"maybe":N,"no":N})",
      .examples = R"(
  echo Tom | winnow redis query users --url=redis://127.0.0.1
  winnow redis query users candidates.tsv --url=redis://127.0.0.1 --count)",
      .flags = RedisFlags({{"count", "", "print only how many there are of each"},
                           {"bits", "N", "go-zero's: its size, where nothing else says it"},
                           {"hex", "", "lines are keys as hexadecimal digits"}}),
      .run = RunRedisQuery,
  };
}

Command RedisRebuildCommand() {
  return {
      .name = "redis rebuild",
      .positionals = {"NAME [KEYFILE...]", 1, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "fill a new generation from all keys, then put it in place",
      .details = R"(
The old filter answers, and is added to, until the new one is complete; writers that use this
library add to both. One rebuild at a time: another waits for the lease to end, which is renewed
as long as this runs, however long the input is silent. A filter that does not exist is made, and
answers maybe until this has ended. If it is interrupted, or the input is bad, the old filter
stays. Anything else under the name stays, too: another type, a filter of another layout, or a
string without configuration, unless --adopt says that it is a filter.)",
      .json = R"({"keys":N,"bits":N})",
      .examples = R"(
  winnow redis rebuild users all-users.tsv --url=redis://127.0.0.1 --keys=2e6 --fpr=1%
  psql -Atc 'select name from users' | winnow redis rebuild users --url=redis://127.0.0.1 --keys=2e6)",
      .flags = RedisFlags(
          {{"keys", "N", "how many keys it is for, 1e6 or 1000000"},
           {"fpr", "RATE", "false-positive rate at that number (default: 1%)"},
           {"bits", "N", "go-zero's: so many bits, and 14 probes"},
           {"lease", "SECONDS", "lost if it cannot reach the server for so long (default: 30)"},
           kRedisAdoptFlag,
           kRedisMaxBytesFlag,
           {"hex", "", "lines are keys as hexadecimal digits"}}),
      .run = RunRedisRebuild,
  };
}

}  // namespace winnow::cli
