// The options that a manifest remembers: those with which the database was last open.
#ifndef WINNOW_ENGINE_DB_RECORDED_OPTIONS_H_
#define WINNOW_ENGINE_DB_RECORDED_OPTIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/version/version_edit.h"
#include "winnow/file_system.h"
#include "winnow/options.h"

namespace winnow {

// As they are recorded: those that have no field of their own in the manifest and are not the
// defaults.
OptionTexts FamilyOptionTexts(const ColumnFamilyOptions& options);
OptionTexts DatabaseOptionTexts(const Options& options);

// Whether an option of this name is among those, where it is not the default.
bool IsRecordedOption(std::string_view name);

// What is recorded of a database that may be closed, or open in any process.
struct RecordedOptions {
  struct Family {
    std::string name;
    std::string comparator;
    std::string merge_operator;  // empty: there was never one
    std::string filter;
    std::string filter_key;
    uint64_t ttl_seconds = 0;
    OptionTexts options;
  };
  OptionTexts database;
  std::vector<Family> families;  // "default" first
};
absl::StatusOr<RecordedOptions> ReadRecordedOptions(FileSystem& file_system,
                                                    const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_RECORDED_OPTIONS_H_
