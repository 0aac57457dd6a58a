#include "tools/winnow/shell/family_text.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "tools/winnow/bloom_filter_text.h"
#include "tools/winnow/shell/binary_text.h"

namespace winnow::shell {
namespace {

constexpr std::string_view kRowPrefix = "ROWPREFIX_FIXED_LENGTH";
constexpr std::string_view kPrefixLengthKey = "RowPrefixBloomFilter.prefix_length";
constexpr uint64_t kForeverSeconds = 0x7fffffff;  // HBase's

// How a family is stored, which here other options say.
constexpr std::string_view kStorageAttributes[] = {
    "BLOCKCACHE",
    "BLOCKSIZE",
    "CACHE_BLOOMS_ON_WRITE",
    "CACHE_DATA_IN_L1",
    "CACHE_DATA_ON_WRITE",
    "CACHE_INDEX_ON_WRITE",
    "COMPRESSION",
    "COMPRESSION_COMPACT",
    "COMPRESSION_COMPACT_MAJOR",
    "COMPRESSION_COMPACT_MINOR",
    "COMPRESS_TAGS",
    "DATA_BLOCK_ENCODING",
    "DFS_REPLICATION",
    "EVICT_BLOCKS_ON_CLOSE",
    "IN_MEMORY",
    "IN_MEMORY_COMPACTION",
    "INDEX_BLOCK_ENCODING",
    "METADATA",
    "PREFETCH_BLOCKS_ON_OPEN",
    "REPLICATION_SCOPE",
    "STORAGE_POLICY",
};

// One that is not ignored, since it changes what is read; `only` is the value that tables keep to.
struct FixedAttribute {
  std::string_view name;
  std::string_view only;
  std::string_view reason;
};
constexpr FixedAttribute kFixedAttributes[] = {
    {"KEEP_DELETED_CELLS", "FALSE", "what a delete hides is gone"},
    {"NEW_VERSION_BEHAVIOR", "TRUE", "deletes always hide what was written before them, alone"},
    {"IS_MOB", "FALSE", "large values are stored as others are"},
    {"ENCRYPTION", "NONE", "nothing is encrypted"},
};

std::string Upper(std::string text) {
  for (char& letter : text) {
    if (letter >= 'a' && letter <= 'z') letter = static_cast<char>(letter - 'a' + 'A');
  }
  return text;
}

absl::Status CheckFixed(Keywords* attributes) {
  for (const FixedAttribute& fixed : kFixedAttributes) {
    WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> value,
                            attributes->TakeText(fixed.name));
    // HBase's own default of this one is what tables do not do; it is in each text of `describe`.
    const bool is_tolerated = fixed.name == "NEW_VERSION_BEHAVIOR";
    if (!value || Upper(*value) == fixed.only || is_tolerated) continue;
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(fixed.name), " => '", *value,
                                                   "' is not possible: ", ToAbsl(fixed.reason)));
  }
  return absl::OkStatus();
}

// A text, a text of several things with commas between, or a list of such.
absl::StatusOr<std::optional<std::string>> TakeBloomFilter(Keywords* attributes) {
  const std::optional<Value> value = attributes->Take("BLOOMFILTER");
  if (!value) return std::optional<std::string>();
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> texts, TextsOf(*value, "BLOOMFILTER"));
  return cli::BloomFilterOf(cli::BloomFilterItems(absl::StrJoin(texts, ",")));
}

// BLOOMFILTER, and with a prefix of rows its length from CONFIGURATION.
absl::Status SetBloomFilter(Keywords* attributes, FamilySchema* family,
                            std::vector<std::string>* ignored) {
  std::optional<uint64_t> length;
  if (std::optional<Value> value = attributes->Take("CONFIGURATION")) {
    if (!value->Is(Value::Type::kHash)) {
      return absl::InvalidArgumentError("CONFIGURATION must be a hash: {'KEY' => 'VALUE'}");
    }
    Keywords configuration(std::move(*value));
    WINNOW_ASSIGN_OR_RETURN(length, configuration.TakeNumber(kPrefixLengthKey));
    if (!configuration.empty()) ignored->emplace_back("CONFIGURATION");
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> type, TakeBloomFilter(attributes));
  if (type) family->bloom_filter = *type;
  const bool is_prefix = absl::StartsWith(family->bloom_filter, ToAbsl(kRowPrefix));
  if (length && !is_prefix) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(kPrefixLengthKey), " goes with ",
                                                   "BLOOMFILTER => '", ToAbsl(kRowPrefix), "'"));
  }
  if (length) family->bloom_filter = absl::StrCat(ToAbsl(kRowPrefix), ":", *length);
  if (family->bloom_filter == kRowPrefix) {
    return absl::InvalidArgumentError(absl::StrCat("Bloom filter type is ", ToAbsl(kRowPrefix),
                                                   ", ", ToAbsl(kPrefixLengthKey),
                                                   " not specified."));
  }
  return absl::OkStatus();
}

// HBase describes a time to live as '86400 SECONDS (1 DAY)', and takes '1 DAY 2 HOURS' too.
// Nothing: some other text.
std::optional<uint64_t> SecondsOfText(std::string_view text) {
  static constexpr std::pair<std::string_view, uint64_t> kUnits[] = {
      {"DAY", 24 * 60 * 60}, {"HOUR", 60 * 60}, {"MINUTE", 60}, {"SECOND", 1}};
  const std::string upper = Upper(std::string(text.substr(0, text.find('('))));
  const std::vector<std::string> words = absl::StrSplit(upper, ' ', absl::SkipWhitespace());
  if (words.empty() || words.size() % 2 != 0) return std::nullopt;
  uint64_t seconds = 0;
  for (size_t i = 0; i < words.size(); i += 2) {
    uint64_t count = 0;
    const auto unit = std::find_if(std::begin(kUnits), std::end(kUnits), [&](const auto& known) {
      return words[i + 1] == known.first || words[i + 1] == absl::StrCat(ToAbsl(known.first), "S");
    });
    if (!absl::SimpleAtoi(words[i], &count) || unit == std::end(kUnits)) return std::nullopt;
    // Years of seconds: none of these is near an overflow.
    if (count > kForeverSeconds) return std::nullopt;
    seconds += count * unit->second;
  }
  return seconds;
}

absl::Status SetTtl(Keywords* attributes, FamilySchema* family) {
  const std::optional<Value> value = attributes->Take("TTL");
  if (!value) return absl::OkStatus();
  if (value->Is(Value::Type::kText) && Upper(value->text) == "FOREVER") {
    family->ttl_seconds = 0;
    return absl::OkStatus();
  }
  std::optional<uint64_t> in_words;
  if (value->Is(Value::Type::kText)) in_words = SecondsOfText(value->text);
  uint64_t seconds = in_words.value_or(0);
  if (!in_words) {
    WINNOW_ASSIGN_OR_RETURN(
        seconds, NumberOf(*value, "TTL (seconds, as '86400' or '1 DAY 2 HOURS', or 'FOREVER')"));
  }
  if (seconds == 0) return absl::InvalidArgumentError("TTL is at least 1 second, or 'FOREVER'");
  family->ttl_seconds = seconds == kForeverSeconds ? 0 : seconds;
  return absl::OkStatus();
}

absl::Status SetCount(Keywords* attributes, std::string_view name, uint32_t* count) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> number, attributes->TakeNumber(name));
  if (number) *count = static_cast<uint32_t>(std::min<uint64_t>(*number, UINT32_MAX));
  return absl::OkStatus();
}

}  // namespace

std::string DescribeFamily(const FamilySchema& family) {
  std::string bloom = Quoted(family.bloom_filter);
  const std::string prefix = absl::StrCat(ToAbsl(kRowPrefix), ":");
  if (absl::StartsWith(family.bloom_filter, prefix)) {
    bloom = absl::StrCat(Quoted(kRowPrefix), ", CONFIGURATION => {", Quoted(kPrefixLengthKey),
                         " => ", Quoted(family.bloom_filter.substr(prefix.size())), "}");
  }
  const std::string ttl = family.ttl_seconds == 0 ? "FOREVER" : absl::StrCat(family.ttl_seconds);
  const std::string rules =
      family.garbage_rule.empty()
          ? absl::StrCat("VERSIONS => '", family.max_versions, "', TTL => '", ttl,
                         "', MIN_VERSIONS => '", family.min_versions, "'")
          : absl::StrCat("GARBAGE_RULE => ", Quoted(family.garbage_rule));
  // Most families have none, and HBase knows none.
  const std::string signature =
      family.signature.empty() ? "" : absl::StrCat(", SIGNATURE => ", Quoted(family.signature));
  return absl::StrCat("{NAME => ", Quoted(family.name), ", ", rules, ", BLOOMFILTER => ", bloom,
                      ", FILTER => ", Quoted(family.filter), signature, "}");
}

absl::Status SetAttributes(Keywords attributes, FamilySchema* family,
                           std::vector<std::string>* ignored) {
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> rule,
                          attributes.TakeText("GARBAGE_RULE"));
  if (rule) family->garbage_rule = *rule;
  if (rule && !rule->empty()) {  // it stands in the place of these
    family->max_versions = 1;
    family->ttl_seconds = 0;
    family->min_versions = 0;
  }
  // And these in its place.
  const bool has_counts =
      attributes.Has("VERSIONS") || attributes.Has("TTL") || attributes.Has("MIN_VERSIONS");
  if (!rule && has_counts) family->garbage_rule.clear();
  WINNOW_RETURN_IF_ERROR(SetCount(&attributes, "VERSIONS", &family->max_versions));
  WINNOW_RETURN_IF_ERROR(SetCount(&attributes, "MIN_VERSIONS", &family->min_versions));
  WINNOW_RETURN_IF_ERROR(SetTtl(&attributes, family));
  WINNOW_RETURN_IF_ERROR(SetBloomFilter(&attributes, family, ignored));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> filter, attributes.TakeText("FILTER"));
  if (filter) family->filter = *filter;
  WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> signature,
                          attributes.TakeText("SIGNATURE"));
  if (signature) family->signature = *signature;
  WINNOW_RETURN_IF_ERROR(CheckFixed(&attributes));
  for (const std::string_view name : kStorageAttributes) {
    if (attributes.Take(name)) ignored->emplace_back(name);
  }
  return attributes.Finish();
}

}  // namespace winnow::shell
