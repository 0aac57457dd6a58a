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
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : version.files(level)) {
      // Linear up to the end of the range; behind that nothing of a sorted level is looked at.
      if (file->EndsBefore(lower, comparator)) continue;
      if (comparator.CompareUserKeys(file->smallest_user_key(), upper) >= 0) {
        if (level == 0) continue;
        break;
      }
      if (MayHaveKeys(*file, lower, upper, comparator.is_bytewise())) return true;
    }
  }
  return false;
}

}  // namespace winnow
