// The first entry whose key has a beginning: what a look-up is where the end of the key is not
// known.
#ifndef WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_
#define WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/key_times.h"
#include "engine/version/version.h"
#include "winnow/filter/filter_key.h"

namespace winnow {

// Of all entries whose keys begin with the prefix, the least; versions that are newer than the
// snapshot are among them. Used again and again it keeps its memory.
struct FirstInRange {
  std::string prefix;                              // not empty
  std::span<const size_t> component_ends;          // of it, if they are known: see PrefixQuestion
  std::optional<filter::PrefixQuestion> question;  // of the prefix, for the time of a search
  bool is_found = false;
  std::string key;  // internal
  std::string value;

  // Nothing is found yet.
  void Begin() {
    question.emplace(prefix, component_ends);
    is_found = false;
  }
  // Takes an entry that is less than what was found before. The user key in two parts.
  void Take(std::string_view begin, std::string_view rest, uint64_t trailer,
            std::string_view entry_value) {
    is_found = true;
    // Of columns that are read again and again the length hardly changes, and this costs nothing.
    key.resize(begin.size() + rest.size() + kTrailerBytes);
    char* const at = std::copy_n(begin.data(), begin.size(), key.data());
    EncodeFixed64(std::copy_n(rest.data(), rest.size(), at), trailer);
    value.assign(entry_value);
  }
};

// What is wanted of all of them.
struct FirstQuestion {
  // Tells the times of keys, where they have any. Then the latest come first, and files that have
  // none as late as what was found are passed over.
  KeyTimeParser key_time_parser = nullptr;
  // Set: the keys are of far markers, and those of this time or later alone are wanted.
  std::optional<uint64_t> far_markers_from = std::nullopt;
};

// Looks in the files, and takes into each of `firsts`, which have begun, what is less than what is
// there. The filters of all files are fetched before the first is asked. Of several, whose prefixes
// ascend, those that stand close behind one another in a file, as columns of a row do, are taken
// without a question; from the first that does not on the filters are fetched for all, and where
// neighbours ask a filter the same, as columns ask a filter of rows, it is asked once.
// `*are_searched` is false where there are too many files; what was asked until then has been
// counted. Range deletions are not looked at. Allocates nothing where it is one, the buffers
// suffice and no block has to be read. Of versions whose keys are in bytewise order only.
absl::Status FindFirstInFiles(const Version& version, const FirstQuestion& question,
                              const LookupContext& context, std::span<FirstInRange> firsts,
                              bool* are_searched);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FIRST_IN_RANGE_H_
