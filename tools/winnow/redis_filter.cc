#include "tools/winnow/redis_filter.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/amounts.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/progress.h"
#include "tools/winnow/record_reader.h"

namespace winnow::cli {
namespace {

constexpr size_t kBatchKeys = 1000;
constexpr size_t kBatchBytes = size_t{1} << 20;

absl::StatusOr<filter::RedisBitmapRule> RuleOf(const std::string& layout) {
  for (const auto rule : {filter::RedisBitmapRule::kGoZero, filter::RedisBitmapRule::kJedis,
                          filter::RedisBitmapRule::kRedisson}) {
    if (layout == filter::RedisBitmapRuleName(rule)) return rule;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--layout=", layout,
                   ": there are gozero, jedis, redisson, redisbloom and redisbloom_cuckoo"));
}

absl::StatusOr<std::string> UrlOf(const Arguments& arguments) {
  const std::string url = arguments.Text("url").value_or("");
  if (url.empty()) {
    return absl::InvalidArgumentError("say which server: --url=redis://127.0.0.1:6379");
  }
  return url;
}

}  // namespace

std::vector<FlagSpec> RedisFlags(std::vector<FlagSpec> more) {
  more.push_back(
      {"url", "URL", "redis://[[user]:password@]host[:port][/database], or unix:///path"});
  more.push_back(
      {"layout", "NAME", "gozero, jedis, redisson (default), redisbloom or redisbloom_cuckoo"});
  more.push_back({"timeout", "SECONDS", "for one command (default: 5)"});
  return more;
}

absl::StatusOr<std::chrono::milliseconds> SecondsOf(const Arguments& arguments,
                                                    std::string_view flag) {
  const std::string text = arguments.Text(flag).value_or("0");
  double seconds = 0;
  if (!absl::SimpleAtod(text, &seconds) || !(seconds >= 0) || seconds > 1e9) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", ToAbsl(flag), "=", text, ": not a number of seconds"));
  }
  const std::chrono::milliseconds rounded(std::llround(seconds * 1000));
  if (seconds > 0 && rounded.count() == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--", ToAbsl(flag), "=", text, ": less than a millisecond"));
  }
  return rounded;
}

namespace {

// `of_bare`: what a string without configuration is taken for; empty: for nothing.
absl::StatusOr<RedisFilter> Open(const Arguments& arguments, const RedisShapeOfRule& of_bare) {
  WINNOW_ASSIGN_OR_RETURN(const std::string url, UrlOf(arguments));
  filter::redis::ClientOptions options;
  options.command_timeout = std::chrono::seconds(5);
  options.connect_timeout = std::chrono::seconds(5);
  WINNOW_ASSIGN_OR_RETURN(const std::chrono::milliseconds timeout, SecondsOf(arguments, "timeout"));
  if (timeout.count() > 0) options.command_timeout = options.connect_timeout = timeout;
  RedisFilter opened;
  WINNOW_ASSIGN_OR_RETURN(opened.client, filter::redis::Client::Open(url, options));
  const std::string layout = arguments.Text("layout").value_or("redisson");
  const std::string& name = arguments.positionals()[0];
  opened.is_cuckoo = layout == "redisbloom_cuckoo";
  if (opened.is_cuckoo || layout == "redisbloom") {
    if (of_bare) {
      return absl::InvalidArgumentError(absl::StrCat("--bits and --adopt are not for ", layout));
    }
    using Kind = filter::redis::ModuleFilter::Kind;
    opened.module = std::make_unique<filter::redis::ModuleFilter>(
        opened.client.get(), name, opened.is_cuckoo ? Kind::kCuckoo : Kind::kBloom);
    return opened;
  }
  filter::redis::BitmapFilterOptions filter_options;
  WINNOW_ASSIGN_OR_RETURN(filter_options.rule, RuleOf(layout));
  if (of_bare) {
    WINNOW_ASSIGN_OR_RETURN(filter_options.shape_without_configuration,
                            of_bare(filter_options.rule));
  }
  WINNOW_ASSIGN_OR_RETURN(
      opened.bitmap, filter::redis::BitmapFilter::Open(opened.client.get(), name, filter_options));
  return opened;
}

}  // namespace

absl::StatusOr<RedisFilter> OpenRedisFilter(const Arguments& arguments) {
  if (!arguments.Has("bits")) return Open(arguments, nullptr);
  return Open(arguments,
              [&](filter::RedisBitmapRule rule) { return RedisShapeOf(arguments, rule); });
}

absl::StatusOr<RedisFilter> OpenRedisFilterToReplace(const Arguments& arguments,
                                                     const RedisShapeOfRule& of_rule) {
  if (!arguments.Has("adopt")) return Open(arguments, nullptr);
  return Open(arguments,
              [&](filter::RedisBitmapRule rule) -> absl::StatusOr<filter::RedisBitmapShape> {
                // Redisson's have a configuration beside them.
                if (rule == filter::RedisBitmapRule::kRedisson) {
                  return absl::InvalidArgumentError("--adopt is for gozero and jedis filters");
                }
                return of_rule(rule);
              });
}

absl::StatusOr<RedisSize> RedisSizeOf(const Arguments& arguments) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> keys, CountOf(arguments, "keys"));
  if (!keys.has_value()) {
    return absl::InvalidArgumentError("say for how many keys: --keys=1e6");
  }
  RedisSize size = {*keys, 0.01};
  WINNOW_ASSIGN_OR_RETURN(const std::optional<double> fpr, RateOf(arguments, "fpr"));
  size.fpr = fpr.value_or(size.fpr);
  return size;
}

absl::StatusOr<filter::RedisBitmapShape> RedisShapeOf(const Arguments& arguments,
                                                      filter::RedisBitmapRule rule) {
  if (arguments.Has("bits")) {
    if (rule != filter::RedisBitmapRule::kGoZero) {
      return absl::InvalidArgumentError("--bits is for --layout=gozero, which has 14 probes");
    }
    if (arguments.Has("keys") || arguments.Has("fpr")) {
      return absl::InvalidArgumentError("give --bits, or --keys and --fpr, not both");
    }
    WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> bits, CountOf(arguments, "bits"));
    return filter::GoZeroShape(*bits);
  }
  WINNOW_ASSIGN_OR_RETURN(const RedisSize size, RedisSizeOf(arguments));
  switch (rule) {
    case filter::RedisBitmapRule::kGoZero:
      return filter::GoZeroShape(size.keys, size.fpr);
    case filter::RedisBitmapRule::kJedis:
      return filter::JedisShape(size.keys, size.fpr);
    case filter::RedisBitmapRule::kRedisson:
      break;
  }
  return filter::RedissonShape(size.keys, size.fpr);
}

absl::StatusOr<uint64_t> RedisMaxBytesOf(const Arguments& arguments) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> bytes, BytesOf(arguments, "max-bytes"));
  return bytes.value_or(uint64_t{512} << 20);
}

absl::StatusOr<uint64_t> ForEachKeyBatch(const Arguments& arguments,
                                         const std::function<absl::Status(const KeyBatch&)>& visit,
                                         bool prints_lines) {
  const std::vector<std::string> paths(arguments.positionals().begin() + 1,
                                       arguments.positionals().end());
  WINNOW_ASSIGN_OR_RETURN(const std::vector<InputFile> inputs, OpenInputs(paths));
  const TextForm form = arguments.Has("hex") ? TextForm::kHex : TextForm::kRaw;
  Progress progress(TotalBytes(inputs), {.things = "keys", .prints_lines = prints_lines});
  uint64_t num_keys = 0;
  uint64_t finished_bytes = 0;
  std::vector<std::string> keys;
  size_t batch_bytes = 0;
  const auto flush = [&]() -> absl::Status {
    if (keys.empty()) return absl::OkStatus();
    WINNOW_RETURN_IF_ERROR(visit(KeyBatch(keys.begin(), keys.end())));
    num_keys += keys.size();
    keys.clear();
    batch_bytes = 0;
    return absl::OkStatus();
  };
  for (const InputFile& input : inputs) {
    LineReader lines(input.descriptor(), input.name());
    WINNOW_RETURN_IF_ERROR(lines.ForEach([&](std::string_view line) -> absl::Status {
      absl::StatusOr<std::string> key = FromInputText(line.substr(0, line.find('\t')), form);
      if (!key.ok()) return lines.InContext(key.status());
      batch_bytes += key->size();
      keys.push_back(*std::move(key));
      if (keys.size() < kBatchKeys && batch_bytes < kBatchBytes) return absl::OkStatus();
      progress.Update(num_keys, finished_bytes + lines.bytes_read());
      return flush();
    }));
    finished_bytes += lines.bytes_read();
  }
  WINNOW_RETURN_IF_ERROR(flush());
  return num_keys;
}

std::string KeysText(uint64_t num_keys) {
  return absl::StrCat(num_keys, num_keys == 1 ? " key" : " keys");
}

absl::Status ServerError(const Arguments& arguments, const absl::Status& status) {
  if (status.ok()) return status;
  const absl::StatusCode code =
      absl::IsInvalidArgument(status) ? absl::StatusCode::kFailedPrecondition : status.code();
  // Some name the filter already.
  const std::string name = arguments.positionals()[0] + ": ";
  const std::string message(status.message());
  return absl::Status(code, message.rfind(name, 0) == 0 ? message : name + message);
}

}  // namespace winnow::cli
