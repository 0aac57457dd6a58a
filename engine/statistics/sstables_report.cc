#include "engine/statistics/sstables_report.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/statistics/text_table.h"

namespace winnow {

namespace {

// As many as LevelDB's property lists, empty or not.
constexpr int kLevelDbLevels = 7;

// Of a file that could not be opened nothing is known: its filter is "unreadable".
struct FilterOfFile {
  std::string spec = "unreadable";
  std::string key;
  uint64_t bytes = 0;
};

FilterOfFile FilterOf(const SstableFile& file) {
  if (file.reader() == nullptr) return {};
  const FilterDescription& filter = file.reader()->filter_description();
  // Under a policy the spec says "none", which would be taken for no filter at all.
  const std::string spec =
      filter.policy.empty() ? filter.spec : absl::StrCat("policy ", filter.policy);
  // As stored, whether it is in memory or not.
  return {spec, filter.key_text, file.reader()->figures().filter_bytes};
}

// The number of the filter file that is asked; 0: the table's own filter is.
uint64_t FilterFileOf(const SstableFile& file) {
  return file.filter_file_status().ok() ? file.metadata().filter_file.number : 0;
}

// The caller holds the version, and with it the files: nothing has to be locked while this runs.
void ForEachFile(const Version& version,
                 absl::FunctionRef<void(int level, const SstableFile& file)> visit) {
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : version.files(level)) visit(level, *file);
  }
}

// Bytes that are no printable ASCII as \xNN.
void AppendPrintable(std::string_view key, std::string* text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : key) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text->push_back(c);
    } else {
      text->append({'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]});
    }
  }
}

}  // namespace

// Keys are any bytes: as JSON strings, in the table too, they stay on their line and can be told
// apart.
std::string SstablesTable(const Version& version) {
  TextTable table({"file", "filter", "filter key", "first key", "last key", "level", "size",
                   "entries", "deletions", "range deletions", "filter size"},
                  5);
  ForEachFile(version, [&](int level, const SstableFile& file) {
    const FileMetadata& metadata = file.metadata();
    const FilterOfFile filter = FilterOf(file);
    table.AddRow({absl::StrCat(SixDigits(metadata.number), ".sst"), filter.spec, filter.key,
                  JsonString(file.smallest_user_key()), JsonString(file.largest_user_key()),
                  absl::StrCat(level), FormatBytes(metadata.file_bytes),
                  FormatCount(metadata.num_entries), FormatCount(metadata.num_deletions),
                  FormatCount(metadata.num_range_deletions), FormatBytes(filter.bytes)});
  });
  return table.ToString();
}

// Plain numbers, where the table has units: whoever reads this calculates.
std::string SstablesJson(const Version& version) {
  std::string rows;
  ForEachFile(version, [&](int level, const SstableFile& file) {
    const FileMetadata& metadata = file.metadata();
    const FilterOfFile filter = FilterOf(file);
    absl::StrAppend(&rows, rows.empty() ? "" : ",", "{\"file_number\":", metadata.number,
                    ",\"level\":", level, ",\"file_bytes\":", metadata.file_bytes,
                    ",\"entries\":", metadata.num_entries,
                    ",\"deletions\":", metadata.num_deletions,
                    ",\"range_deletions\":", metadata.num_range_deletions);
    absl::StrAppend(&rows, ",\"first_key\":", JsonString(file.smallest_user_key()),
                    ",\"last_key\":", JsonString(file.largest_user_key()),
                    ",\"filter\":", JsonString(filter.spec),
                    ",\"filter_key\":", JsonString(filter.key), ",\"filter_bytes\":", filter.bytes);
    const FilterUnits* const units =
        file.reader() == nullptr ? nullptr : file.reader()->filter_units();
    if (units != nullptr) {
      absl::StrAppend(&rows, ",\"filter_units\":", units->units().size(),
                      ",\"filter_units_in_memory\":", units->num_resident());
    }
    if (const uint64_t filter_file = FilterFileOf(file); filter_file != 0) {
      absl::StrAppend(&rows, ",\"filter_file\":", filter_file);
    }
    rows.push_back('}');
  });
  return absl::StrCat("[", rows, "]");
}

// Whoever reads this counts lines and splits at the quotes: LevelDB escapes only what cannot be
// printed, so that a quote inside a key stays as it is.
std::string SstablesByLevel(const Version& version) {
  const int num_levels = std::max(kLevelDbLevels, version.deepest_level() + 1);
  std::string text;
  for (int level = 0; level < num_levels; level++) {
    absl::StrAppend(&text, "--- level ", level, " ---\n");
    for (const auto& file : version.files(level)) {
      absl::StrAppend(&text, " ", file->metadata().number, ":", file->metadata().file_bytes, "['");
      AppendPrintable(file->smallest_user_key(), &text);
      text.append("' .. '");
      AppendPrintable(file->largest_user_key(), &text);
      text.append("']\n");
    }
  }
  return text;
}

}  // namespace winnow
