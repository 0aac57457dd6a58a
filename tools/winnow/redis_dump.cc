// winnow redis dump and load: filters between a server and files.
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/report/report_file.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/filter_file.h"
#include "tools/winnow/redis_filter.h"

namespace winnow::cli {
namespace {

absl::StatusOr<std::string> DumpOf(const RedisFilter& opened) {
  if (opened.bitmap != nullptr) {
    WINNOW_ASSIGN_OR_RETURN(const filter::RedisBitmap bitmap, opened.bitmap->Download());
    return bitmap.Serialize();
  }
  WINNOW_ASSIGN_OR_RETURN(const auto chunks, opened.module->Dump());
  if (opened.is_cuckoo) {
    WINNOW_ASSIGN_OR_RETURN(const auto cuckoo, filter::RedisBloomCuckooFilter::Load(chunks));
    return cuckoo.Serialize();
  }
  WINNOW_ASSIGN_OR_RETURN(const auto bloom, filter::RedisBloomFilter::Load(chunks));
  return bloom.Serialize();
}

absl::StatusOr<ExitCode> RunRedisDump(const Arguments& arguments, Output& output) {
  const std::string path = arguments.Text("out").value_or("");
  if (path.empty()) return absl::InvalidArgumentError("say where the filter goes: --out=FILE");
  WINNOW_ASSIGN_OR_RETURN(const RedisFilter opened, OpenRedisFilter(arguments));
  const absl::StatusOr<std::string> bytes = DumpOf(opened);
  WINNOW_RETURN_IF_ERROR(ServerError(arguments, bytes.status()));
  WINNOW_RETURN_IF_ERROR(report::WriteWholeFile(path, *bytes));
  return PrintDone(arguments, Json{{"file", path}, {"file_bytes", bytes->size()}}, output);
}

absl::Status WrongKind(const std::string& path) {
  return absl::FailedPreconditionError(
      absl::StrCat(path, ": not a filter of that layout; `winnow filter info` says what it is"));
}

// The whole of a generation at once, beside writers.
absl::Status LoadBitmap(const filter::RedisBitmap& bitmap, filter::redis::BitmapFilter* filter) {
  filter::redis::RebuildOptions options;
  options.max_bytes = uint64_t{512} << 20;
  auto rebuild = filter->StartRebuild(bitmap.shape(), options);
  if (absl::IsNotFound(rebuild.status())) {
    WINNOW_RETURN_IF_ERROR(
        filter->Create(bitmap.shape(), {.max_bytes = options.max_bytes, .is_complete = false}));
    rebuild = filter->StartRebuild(bitmap.shape(), options);
  }
  if (!rebuild.ok()) return rebuild.status();
  if (const absl::Status added = (*rebuild)->AddAll(bitmap); !added.ok()) {
    (*rebuild)->Abandon().IgnoreError();  // else nobody could try again before its lease ends
    return added;
  }
  return (*rebuild)->Finish();
}

absl::StatusOr<ExitCode> RunRedisLoad(const Arguments& arguments, Output& output) {
  const std::string& path = arguments.positionals()[1];
  WINNOW_ASSIGN_OR_RETURN(const FilterFile file, ReadFilterFile(path));
  const auto* bitmap = std::get_if<filter::RedisBitmap>(&file.filter);
  absl::Status status = WrongKind(path);
  WINNOW_ASSIGN_OR_RETURN(
      const RedisFilter opened,
      OpenRedisFilterToReplace(
          arguments, [&](filter::RedisBitmapRule rule) -> absl::StatusOr<filter::RedisBitmapShape> {
            if (bitmap == nullptr || bitmap->shape().rule != rule) return status;
            return bitmap->shape();
          }));
  if (opened.bitmap != nullptr) {
    if (bitmap != nullptr && bitmap->shape().rule == opened.bitmap->rule()) {
      status = LoadBitmap(*bitmap, opened.bitmap.get());
    }
  } else if (opened.is_cuckoo) {
    const auto* cuckoo = std::get_if<filter::RedisBloomCuckooFilter>(&file.filter);
    if (cuckoo != nullptr) status = opened.module->Restore(cuckoo->Dump());
  } else {
    const auto* bloom = std::get_if<filter::RedisBloomFilter>(&file.filter);
    if (bloom != nullptr) status = opened.module->Restore(bloom->Dump());
  }
  WINNOW_RETURN_IF_ERROR(ServerError(arguments, status));
  return PrintDone(arguments, Json{{"file", path}, {"file_bytes", file.num_bytes}}, output);
}

}  // namespace

Command RedisDumpCommand() {
  return {
      .name = "redis dump",
      .positionals = {"NAME", 1, 1},
      .database = DatabaseUse::kNone,
      .summary = "copy a filter into a file, which `winnow filter` understands",
      .details = R"(
The file is checksummed and says what it holds: `winnow filter query` asks it without a server.
Keys that are added meanwhile may be in it or not; a redisbloom filter must not change.)",
      .json = R"({"file":F,"file_bytes":N})",
      .examples = R"(
  winnow redis dump users --url=redis://127.0.0.1 --out=users.filter
  echo Tom | winnow filter query users.filter)",
      .flags = RedisFlags({{"out", "FILE", "where the filter goes; an older one is replaced"},
                           {"bits", "N", "go-zero's: its size, where nothing else says it"}}),
      .run = RunRedisDump,
  };
}

Command RedisLoadCommand() {
  return {
      .name = "redis load",
      .positionals = {"NAME FILE", 2, 2},
      .database = DatabaseUse::kNone,
      .summary = "put the filter of a file on the server",
      .details = R"(
Takes what `winnow redis dump` wrote, of the same layout. A gozero, jedis or redisson filter of
that name is replaced in one step, as by a rebuild; a redisbloom one must not exist. Anything
else under the name stays: another type, a filter of another layout, or a string without
configuration, unless --adopt says that it is a filter.)",
      .json = R"({"file":F,"file_bytes":N})",
      .examples = R"(
  winnow redis load users users.filter --url=redis://127.0.0.1
  winnow redis load seen seen.filter --url=redis://127.0.0.1 --layout=redisbloom)",
      .flags = RedisFlags({kRedisAdoptFlag}),
      .run = RunRedisLoad,
  };
}

}  // namespace winnow::cli
