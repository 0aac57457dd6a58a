// The first entry whose key has a beginning: what a look-up is where the end of the key is not
// known.
#ifndef WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_
#define WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/key_times.h"
#include "engine/version/version.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

// Of all entries whose keys begin with the prefix, the least; versions that are newer than the
// snapshot are among them.
struct FirstInRange {
  bool is_found = false;
  std::string key;  // internal
  std::string value;

  // Takes an entry that is less than what was found before.
  void Take(std::string_view internal_key, std::string_view entry_value) {
    is_found = true;
    key.assign(internal_key);
    value.assign(entry_value);
  }
};

struct FirstQuestion {
  filter::PrefixQuestion* prefix = nullptr;  // of a prefix that is not empty
  // Tells the times of keys, where they have any. Then the latest come first, and files that have
  // none as late as what was found are passed over.
  KeyTimeParser key_time_parser = nullptr;
  // Set: the keys are of far markers, and those of this time or later alone are wanted.
  std::optional<uint64_t> far_markers_from = std::nullopt;
};

// Looks for it in the files, and takes it into `*first` if it is less than what is there. The
// filters of all files are fetched before the first is asked. False: there are too many files; then
// nothing was asked. Range deletions are not looked at. Allocates nothing where the buffers suffice
// and no block has to be read. Of versions whose keys are in bytewise order only.
absl::StatusOr<bool> FindFirstInFiles(const Version& version, const FirstQuestion& question,
                                      const LookupContext& context, FirstInRange* first);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_
