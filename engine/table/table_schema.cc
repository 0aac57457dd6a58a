#include "engine/table/table_schema.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/table/signed_columns.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/spec.h"

namespace winnow {

namespace {

constexpr char kTableFormat = 1;
constexpr uint64_t kHasRowMarkers = 1;
constexpr uint64_t kHasCellTtls = 2;
// The store's limit.
constexpr size_t kMaxColumnFamilyNameBytes = 255;
constexpr std::string_view kRowPrefixText = "ROWPREFIX_FIXED_LENGTH:";
constexpr std::string_view kDelimiterText = "ROWPREFIX_DELIMITED:";
constexpr std::string_view kRowPart = "component:1";

absl::Status BadSchema(std::string_view of, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", absl::CHexEscape(ToAbsl(of)), "': ", ToAbsl(what)));
}

// No colon, which separates table and family in the name of a column family.
absl::Status CheckName(std::string_view name) {
  const auto is_good = [](char letter) {
    return absl::ascii_isalnum(static_cast<unsigned char>(letter)) || letter == '_' ||
           letter == '-' || letter == '.';
  };
  if (!name.empty() && std::all_of(name.begin(), name.end(), is_good)) return absl::OkStatus();
  return BadSchema(name, "a name of a table or family has letters, digits, '_', '-' and '.' alone");
}

absl::Status CheckGarbageRule(const FamilySchema& family) {
  if (const auto rule = GarbageRule::Parse(family.garbage_rule); !rule.ok()) {
    return BadSchema(family.name, ToStd(rule.status().message()));
  }
  // A schema that gave both would say two things of the same versions.
  const FamilySchema defaults;
  if (family.max_versions == defaults.max_versions && family.ttl_seconds == 0 &&
      family.min_versions == 0) {
    return absl::OkStatus();
  }
  return BadSchema(family.name,
                   "a garbage rule stands in the place of VERSIONS, TTL, MIN_VERSIONS");
}

absl::Status CheckFamilyRules(const FamilySchema& family) {
  if (family.max_versions < 1 || family.max_versions > kUnlimitedVersions) {
    return BadSchema(family.name, absl::StrCat("VERSIONS is ", family.max_versions,
                                               ", and must be from 1 to ", kUnlimitedVersions));
  }
  if (family.ttl_seconds > kMaxTtlSeconds) {
    return BadSchema(family.name, absl::StrCat("TTL is ", family.ttl_seconds,
                                               ", and must be from 0 to ", kMaxTtlSeconds));
  }
  if (family.min_versions > 0 && family.ttl_seconds == 0) {
    return BadSchema(family.name, "MIN_VERSIONS means nothing without a TTL");
  }
  // Then the time to live would let go of nothing that VERSIONS has kept.
  if (family.min_versions >= family.max_versions) {
    return BadSchema(family.name,
                     absl::StrCat("MIN_VERSIONS is ", family.min_versions,
                                  ", and must be less than VERSIONS, ", family.max_versions));
  }
  if (!family.garbage_rule.empty()) WINNOW_RETURN_IF_ERROR(CheckGarbageRule(family));
  const FilterTexts texts = FilterTextsOf(family);
  // Read as the store will read them.
  if (const auto key = filter::FilterKeyExtractor::Parse(texts.filter_key); !key.ok()) {
    return BadSchema(family.name, absl::StrCat("BLOOMFILTER: ", key.status().message()));
  }
  if (const auto spec = filter::ParseFilterSpec(texts.filter); !spec.ok()) {
    return BadSchema(family.name, absl::StrCat("FILTER: ", spec.status().message()));
  }
  if (const absl::Status columns = CheckSignature(family.signature); !columns.ok()) {
    return BadSchema(family.name, absl::StrCat("SIGNATURE: ", columns.message()));
  }
  return absl::OkStatus();
}

// In the order of FORMAT.md. Flags that are unknown are damage: a version that has more of them
// writes another first byte.
bool GetFamily(std::string_view* rest, StoredFamily* family) {
  std::string_view name;
  std::string_view bloom_filter;
  std::string_view filter;
  std::string_view garbage_rule;
  std::string_view signature;
  uint64_t flags = 0;
  if (!GetLengthPrefixed(rest, &name) || !GetVarint32(rest, &family->schema.max_versions) ||
      !GetVarint32(rest, &family->schema.min_versions) ||
      !GetVarint64(rest, &family->schema.ttl_seconds) || !GetLengthPrefixed(rest, &bloom_filter) ||
      !GetLengthPrefixed(rest, &filter) || !GetLengthPrefixed(rest, &garbage_rule) ||
      !GetLengthPrefixed(rest, &signature) || !GetVarint64(rest, &family->tightened_ms) ||
      !GetVarint64(rest, &flags)) {
    return false;
  }
  family->schema.name.assign(name);
  family->schema.bloom_filter.assign(bloom_filter);
  family->schema.filter.assign(filter);
  family->schema.garbage_rule.assign(garbage_rule);
  family->schema.signature.assign(signature);
  family->has_row_markers = (flags & kHasRowMarkers) != 0;
  family->has_cell_ttls = (flags & kHasCellTtls) != 0;
  return flags <= (kHasRowMarkers | kHasCellTtls);
}

}  // namespace

std::string ColumnFamilyName(std::string_view table, std::string_view family) {
  return absl::StrCat(ToAbsl(table), ":", ToAbsl(family));
}

namespace {

// Prefixes and delimiters end with the row: of a row that is shorter each column, or each cell,
// would add a filter key of its own.
std::string WithinRows(const filter::FilterKeyExtractor& key) {
  std::string text;
  for (size_t i = 0; i < key.num_parts(); i++) {
    const std::string part = key.part(i).ToString();
    const bool is_cut = part.starts_with("prefix:") || part.starts_with("delimiter:");
    absl::StrAppend(&text, i == 0 ? "" : "+", is_cut ? "component:1:" : "", part);
  }
  // Two parts may be one now, which no filter key may have.
  return filter::FilterKeyExtractor::Parse(text).ok() ? text : key.ToString();
}

}  // namespace

// What a filter knows of rows and columns it knows as components of the key (FORMAT.md):
// `component:1` is the row with its end, `component:2` row and column.
FilterTexts FilterTextsOf(const FamilySchema& schema) {
  const std::string_view bloom = schema.bloom_filter;
  FilterTexts texts{schema.filter, std::string(bloom)};
  if (bloom == "NONE") texts = {"none", std::string(kRowPart)};
  if (bloom == "ROW") texts.filter_key = kRowPart;
  if (bloom == "ROWCOL") texts.filter_key = "component:1+component:2";
  if (bloom.starts_with(kRowPrefixText)) {
    texts.filter_key =
        absl::StrCat(ToAbsl(kRowPart), "+prefix:", ToAbsl(bloom.substr(kRowPrefixText.size())));
  }
  if (bloom.starts_with(kDelimiterText)) {
    texts.filter_key =
        absl::StrCat(ToAbsl(kRowPart), "+delimiter:", ToAbsl(bloom.substr(kDelimiterText.size())));
  }
  // As the store writes them, so that they can be compared. What cannot be parsed is left as it is,
  // for CheckFamilyRules to report.
  if (const auto key = filter::FilterKeyExtractor::Parse(texts.filter_key); key.ok()) {
    // Parsed once more, for the order of parts.
    const auto within = filter::FilterKeyExtractor::Parse(WithinRows(*key));
    texts.filter_key = within.ok() ? within->ToString() : key->ToString();
  }
  if (const auto spec = filter::ParseFilterSpec(texts.filter); spec.ok()) {
    texts.filter = filter::ToString(*spec);
  }
  return texts;
}

absl::Status CheckSchema(TableSchema* schema) {
  WINNOW_RETURN_IF_ERROR(CheckName(schema->name));
  if (schema->families.empty()) return BadSchema(schema->name, "a table has at least one family");
  // In the order in which they are stored; and names that are equal stand side by side.
  std::sort(schema->families.begin(), schema->families.end(),
            [](const FamilySchema& a, const FamilySchema& b) { return a.name < b.name; });
  const FamilySchema* before = nullptr;
  for (const FamilySchema& family : schema->families) {
    WINNOW_RETURN_IF_ERROR(CheckName(family.name));
    if (before != nullptr && before->name == family.name) {
      return BadSchema(family.name, "the family comes twice");
    }
    before = &family;
    if (ColumnFamilyName(schema->name, family.name).size() > kMaxColumnFamilyNameBytes) {
      return BadSchema(schema->name, "the names of table and family are too long");
    }
    WINNOW_RETURN_IF_ERROR(CheckFamilyRules(family));
  }
  return absl::OkStatus();
}

namespace {

GarbageRule RuleOf(const FamilySchema& schema) {
  if (schema.garbage_rule.empty()) return GarbageRule::Of(schema);
  // It was checked when the schema was. A rule without limits keeps everything.
  return GarbageRule::Parse(schema.garbage_rule).value_or(GarbageRule());
}

}  // namespace

FamilyRules RulesOf(const StoredFamily& family) {
  return FamilyRules(RuleOf(family.schema), family.tightened_ms);
}

bool AreStricter(const FamilySchema& after, const FamilySchema& before) {
  return RuleOf(after).IsStricterThan(RuleOf(before));
}

// GetFamily reads the same fields in the same order.
std::string EncodeTable(const StoredTable& table) {
  std::string stored(1, kTableFormat);
  PutVarint64(&stored, table.families.size());
  for (const StoredFamily& family : table.families) {
    PutLengthPrefixed(&stored, family.schema.name);
    PutVarint32(&stored, family.schema.max_versions);
    PutVarint32(&stored, family.schema.min_versions);
    PutVarint64(&stored, family.schema.ttl_seconds);
    PutLengthPrefixed(&stored, family.schema.bloom_filter);
    PutLengthPrefixed(&stored, family.schema.filter);
    PutLengthPrefixed(&stored, family.schema.garbage_rule);
    PutLengthPrefixed(&stored, family.schema.signature);
    PutVarint64(&stored, family.tightened_ms);
    PutVarint64(&stored, (family.has_row_markers ? kHasRowMarkers : 0) |
                             (family.has_cell_ttls ? kHasCellTtls : 0));
  }
  return stored;
}

absl::StatusOr<StoredTable> DecodeTable(std::string_view name, std::string_view stored) {
  const auto damaged = [&] {
    return absl::DataLossError(
        absl::StrCat("the schema of table '", absl::CHexEscape(ToAbsl(name)), "' is damaged"));
  };
  if (stored.empty()) return damaged();
  if (stored.front() != kTableFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("a newer version of Winnow wrote the schema of table '",
                     absl::CHexEscape(ToAbsl(name)), "'"));
  }
  stored.remove_prefix(1);
  uint64_t count = 0;
  // A family takes more than a byte: a count that cannot be true is found before the loop.
  if (!GetVarint64(&stored, &count) || count == 0 || count > stored.size()) return damaged();
  StoredTable table;
  TableSchema schema;
  schema.name = name;
  for (uint64_t i = 0; i < count; i++) {
    StoredFamily family;
    if (!GetFamily(&stored, &family)) return damaged();
    schema.families.push_back(family.schema);
    table.families.push_back(std::move(family));
  }
  // What is stored has passed this check before, and in the order into which it puts families.
  if (!stored.empty() || !CheckSchema(&schema).ok()) return damaged();
  for (size_t i = 0; i < count; i++) {
    if (schema.families[i].name != table.families[i].schema.name) return damaged();
  }
  return table;
}

}  // namespace winnow
