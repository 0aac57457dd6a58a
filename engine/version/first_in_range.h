// The first entry of a range of keys that have one part in common: what a look-up is where the end
// of the key is not known.
#ifndef WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_
#define WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_

#include <string>
#include <string_view>

#include "engine/version/version.h"

namespace winnow {

// Of all entries from `lower` to before `upper`, the least; versions that are newer than the
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

// Looks for it in the files, and takes it into `*first` if it is less than what is there. The
// filters of all files are fetched before the first is asked. False: there are too many files; then
// nothing was asked. Range deletions are not looked at. Allocates nothing where the buffers suffice
// and no block has to be read.
absl::StatusOr<bool> FindFirstInFiles(const Version& version, std::string_view lower,
                                      std::string_view upper, const LookupContext& context,
                                      FirstInRange* first);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_
