// The options that a manifest has, as texts by name (engine/version/FORMAT.md).
//
// They are a convenience and no part of the data: settings that belong to it (comparator, merge
// operator, filter, time to live) have fields of their own there. So a name or a value that this
// version does not know is passed over, whether a newer version wrote it or an older one, and never
// a reason not to open.
#include "engine/db/recorded_options.h"

#include <utility>

#include "engine/base/database_mutex.h"
#include "engine/base/status.h"
#include "engine/db/database_directory.h"
#include "engine/db/option_table.h"
#include "engine/file_system/file_system_of.h"
#include "engine/version/version_set.h"
#include "filter/base/out_of_memory.h"
#include "winnow/db.h"
#include "winnow/merge_operator.h"

namespace winnow {

namespace {

// In the order of the table.
// Made once and never destroyed, as the table of options.
const std::vector<std::string>& DefaultTexts() {
  static const auto& texts = *new std::vector<std::string>([] {
    const Options defaults;
    std::vector<std::string> all;
    for (const TextOption& option : TextOptions()) all.push_back(option.get(defaults));
    return all;
  }());
  return texts;
}

OptionTexts TextsToRecord(const Options& options, bool of_family) {
  OptionTexts texts;
  const std::vector<TextOption>& table = TextOptions();
  for (size_t i = 0; i < table.size(); i++) {
    const TextOption& option = table[i];
    if (option.record != TextOption::Record::kAsText || option.is_of_family != of_family) continue;
    std::string text = option.get(options);
    // What is not recorded is the default of the version that reads: one that gets better is not
    // held up by databases of before.
    if (text != DefaultTexts()[i]) texts.emplace(option.name, std::move(text));
  }
  return texts;
}

// Names and values of another version are left out: options are no part of the data.
void TakeTexts(const OptionTexts& texts, bool of_family, Options* options) {
  for (const auto& [name, text] : texts) {
    const absl::StatusOr<const TextOption*> option = FindTextOption(name);
    if (!option.ok() || (*option)->record != TextOption::Record::kAsText) continue;
    // By the public function, which checks the range: a value out of it is left out like an unknown
    // name.
    if ((*option)->is_of_family == of_family) SetOption(options, name, text).IgnoreError();
  }
}

// `given`: what text cannot say, for a family that it is meant for, or for any.
ColumnFamilyOptions LoadFamily(const RecordedOptions::Family& recorded,
                               const ColumnFamilyOptions& given, bool is_meant) {
  Options loaded;
  TakeTexts(recorded.options, /*of_family=*/true, &loaded);
  loaded.filter = recorded.filter;
  loaded.filter_key = recorded.filter_key;
  loaded.ttl_seconds = recorded.ttl_seconds;
  loaded.filter_policy = given.filter_policy;
  loaded.compaction_filter = given.compaction_filter;
  // The one comparator that needs no pointer from the program. Another one is checked by the
  // opening, which knows both names.
  const bool is_bytewise = recorded.comparator == BytewiseComparator()->Name();
  loaded.comparator = is_bytewise ? BytewiseComparator() : given.comparator;
  // The program's own where it has the recorded name; then the built-in one of that name. One of
  // another name is taken only where it was given for this family, so that the opening refuses it
  // with both names.
  const bool is_operator =
      given.merge_operator != nullptr && given.merge_operator->Name() == recorded.merge_operator;
  if (is_operator) {
    loaded.merge_operator = given.merge_operator;
  } else if (auto built_in = ParseMergeOperator(recorded.merge_operator); built_in.ok()) {
    loaded.merge_operator = *std::move(built_in);
  } else if (is_meant) {
    loaded.merge_operator = given.merge_operator;
  }
  return loaded;
}

}  // namespace

OptionTexts FamilyOptionTexts(const ColumnFamilyOptions& options) {
  Options of_family;
  static_cast<ColumnFamilyOptions&>(of_family) = options;
  return TextsToRecord(of_family, /*of_family=*/true);
}

OptionTexts DatabaseOptionTexts(const Options& options) {
  return TextsToRecord(options, /*of_family=*/false);
}

bool IsRecordedOption(std::string_view name) {
  const absl::StatusOr<const TextOption*> option = FindTextOption(name);
  return option.ok() && (*option)->record == TextOption::Record::kAsText;
}

// Takes no lock and writes nothing. No table is opened and no comparator needed.
absl::StatusOr<RecordedOptions> ReadRecordedOptions(FileSystem& file_system,
                                                    const std::string& path) {
  WINNOW_RETURN_IF_ERROR(CheckIsDatabase(file_system, path));
  RecordedOptions recorded;
  const auto read = [&] {
    DatabaseMutex mutex;
    VersionSet versions({&file_system, path, nullptr}, &mutex);
    DatabaseLock lock(&mutex);
    const absl::Status status = versions.ReadFamilies();
    // Set anew by each try, and not only by the last: ReadBesideWriter may call this many times.
    recorded = {versions.database_options(), {}};
    for (const auto& [id, family] : versions.families()) {
      recorded.families.push_back({family.name, family.comparator_name, family.merge_operator_name,
                                   family.filter, family.filter_key, family.ttl_seconds,
                                   family.options});
    }
    return status;
  };
  WINNOW_RETURN_IF_ERROR(ReadBesideWriter(file_system, path, read));
  return recorded;
}

absl::Status DB::LoadOptions(const std::string& path, Options* options) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const RecordedOptions recorded,
                            ReadRecordedOptions(*FileSystemOf(*options), path));
    // A copy, so that after an error nothing has changed.
    Options loaded = *options;
    // To the defaults first, which are not recorded: what the caller has set must not shine
    // through.
    for (const TextOption& option : TextOptions()) {
      if (option.is_of_family || option.record == TextOption::Record::kNot) continue;
      WINNOW_RETURN_IF_ERROR(option.set(&loaded, option.get(Options())));
    }
    TakeTexts(recorded.database, /*of_family=*/false, &loaded);
    loaded.column_families.clear();
    for (const RecordedOptions::Family& family : recorded.families) {
      if (family.name == "default") {
        static_cast<ColumnFamilyOptions&>(loaded) = LoadFamily(family, *options, true);
        continue;
      }
      const auto given = options->column_families.find(family.name);
      const bool is_given = given != options->column_families.end();
      loaded.column_families[family.name] =
          LoadFamily(family, is_given ? given->second : *options, is_given);
    }
    *options = std::move(loaded);
    return absl::OkStatus();
  });
}

}  // namespace winnow
