// What an iterator asks the range filters of the files that it walks, and what came of it.
#ifndef WINNOW_ENGINE_VERSION_RANGE_QUESTIONS_H_
#define WINNOW_ENGINE_VERSION_RANGE_QUESTIONS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/internal_key.h"
#include "engine/version/filter_counter_table.h"
#include "engine/version/sstable_file.h"
#include "winnow/options.h"

namespace winnow {

// Of one iterator with a bound: before a file is read for a seek, its range filter is asked whether
// it has anything between the key and the bound that lies ahead. What is asked is counted here,
// since an iterator may go from thread to thread, and handed over by whoever calls.
//
// A question is followed by Note, once the seek has read the file, unless the answer was no.
class RangeQuestions {
 public:
  // Inclusive and exclusive, as ReadOptions has them.
  RangeQuestions(std::optional<std::string> lower, std::optional<std::string> upper)
      : lower_(std::move(lower)), upper_(std::move(upper)) {}
  RangeQuestions(const RangeQuestions&) = delete;
  RangeQuestions& operator=(const RangeQuestions&) = delete;

  enum class Answer : uint8_t { kNo, kMaybe, kNotAsked };

  // Before a seek forward, from an internal key: may the file have entries from there on, before
  // the upper bound?
  Answer AskFrom(const SstableFile& file, int level, std::string_view internal_key);
  // Before a seek backward: may it have entries from the lower bound up to the internal key?
  Answer AskUpTo(const SstableFile& file, int level, std::string_view internal_key);
  // Where the seek that followed ended: at an entry of this user key, or at none.
  void Note(int level, std::optional<std::string_view> user_key);

  // Adds what has been counted since the last time to the calling thread's counters.
  void HandOver(FilterCounterTable* counters);
  bool has_counted() const { return has_counted_; }

 private:
  struct Counts {
    uint64_t not_asked = 0;
    uint64_t rejected = 0;
    uint64_t true_positive = 0;
    uint64_t false_positive = 0;
    double promised = 0;
  };

  Answer Ask(const SstableFile& file, int level, std::string_view lower,
             std::optional<std::string_view> upper);

  const std::optional<std::string> lower_;
  const std::optional<std::string> upper_;
  std::string successor_;  // of a user key
  double promised_ = 0;    // by the last question
  bool has_counted_ = false;
  std::array<Counts, kNumLevels> counts_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_RANGE_QUESTIONS_H_
