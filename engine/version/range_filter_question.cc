#include "engine/version/range_filter_question.h"

namespace winnow {

namespace {

bool MayHaveKeys(const SstableFile& file, std::string_view lower, std::string_view upper,
                 bool is_bytewise) {
  const SstableReader* const reader = file.reader();
  if (reader == nullptr || !reader->has_filter() || !is_bytewise) return true;
  const auto question = reader->filter_key().QuestionOfRange(lower, upper, reader->hash_seed());
  if (!question) return true;
  SstableReadOptions without_reading;
  // A filter that is not in memory is not loaded for this, and says "maybe".
  without_reading.fill_cache = false;
  return reader->AskFilter(without_reading, question->hash, question->filter_key) !=
         FilterAnswer::kNo;
}

}  // namespace

// Of several files of a sorted level each but the last has its largest key in the range, and would
// be asked in vain.
bool MayHaveKeysInRange(const Version& version, std::string_view lower, std::string_view upper) {
  const InternalKeyComparator& comparator = version.comparator();
  const auto begins_before_end = [&](const SstableFile& file) {
    return comparator.CompareUserKeys(file.smallest_user_key(), upper) < 0;
  };
  const auto may_have_keys = [&](const SstableFile& file) {
    return MayHaveKeys(file, lower, upper, comparator.is_bytewise());
  };
  for (const auto& file : version.files(0)) {
    if (file->EndsBefore(lower, comparator) || !begins_before_end(*file)) continue;
    if (may_have_keys(*file)) return true;
  }
  for (const auto& [level, index, tombstones] : version.sorted_levels()) {
    // One search for where the range begins; from there on mostly the first file decides.
    const Version::Files& files = version.files(level);
    for (size_t i = index.LowerBound(lower); i < files.size(); i++) {
      if (!begins_before_end(*files[i])) break;
      if (may_have_keys(*files[i])) return true;
    }
  }
  return false;
}

}  // namespace winnow
