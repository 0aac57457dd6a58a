#include "engine/version/range_questions.h"

namespace winnow {

RangeQuestions::Answer RangeQuestions::Ask(const SstableFile& file, int level,
                                           std::string_view lower,
                                           std::optional<std::string_view> upper) {
  // A file that could not be opened is left to those who report it.
  if (file.reader() == nullptr) return Answer::kNotAsked;
  const RangeFilterBlock* const filter = file.reader()->range_filter();
  // Not counted: where there is no range filter nothing could have been asked.
  if (filter == nullptr) return Answer::kNotAsked;
  Counts& counts = counts_[static_cast<size_t>(level)];
  has_counted_ = true;
  if (!filter->is_usable()) {
    counts.not_asked++;
    return Answer::kNotAsked;
  }
  const filter::RangeFilterAnswer answer = filter->reader().Ask(lower, upper);
  promised_ = answer.promised_rate;
  // What became of it Note counts, once the file has been read.
  if (answer.may_contain) return Answer::kMaybe;
  counts.rejected++;
  // Promised is what the filter should have let through wrongly, summed over all ranges in which
  // there was nothing: those that it rejected, and those of Note that were false positives.
  counts.promised += promised_;
  return Answer::kNo;
}

// Without the bound, all that lies ahead is asked for, which no filter rules out but by its ends.
RangeQuestions::Answer RangeQuestions::AskFrom(const SstableFile& file, int level,
                                               std::string_view internal_key) {
  if (!upper_.has_value()) return Answer::kNotAsked;
  return Ask(file, level, UserKey(internal_key), *upper_);
}

// The key itself belongs to the range, but where the seek is to what comes before all its versions.
RangeQuestions::Answer RangeQuestions::AskUpTo(const SstableFile& file, int level,
                                               std::string_view internal_key) {
  if (!lower_.has_value()) return Answer::kNotAsked;
  if (Sequence(internal_key) == kMaxSequenceNumber) {
    return Ask(file, level, *lower_, UserKey(internal_key));
  }
  // Under the bytewise order nothing lies between a key and the key with a zero byte behind it.
  successor_.assign(UserKey(internal_key));
  successor_.push_back('\0');
  return Ask(file, level, *lower_, successor_);
}

// Under the bytewise order, as all range filters are.
void RangeQuestions::Note(int level, std::optional<std::string_view> user_key) {
  Counts& counts = counts_[static_cast<size_t>(level)];
  const bool found = user_key.has_value() && (!upper_.has_value() || *user_key < *upper_) &&
                     (!lower_.has_value() || *user_key >= *lower_);
  if (found) {
    counts.true_positive++;
  } else {
    counts.false_positive++;
    counts.promised += promised_;
  }
}

void RangeQuestions::HandOver(FilterCounterTable* counters) {
  if (!has_counted_) return;
  has_counted_ = false;
  FilterCounterTable::Ranges* const ranges = counters->RangeFilters();
  for (size_t level = 0; level < counts_.size(); level++) {
    Counts& counts = counts_[level];
    if (ranges != nullptr) {
      RangeFilterCounters& sum = (*ranges)[level];
      sum.not_asked.Add(counts.not_asked);
      sum.rejected.Add(counts.rejected);
      sum.true_positive.Add(counts.true_positive);
      sum.false_positive.Add(counts.false_positive);
      // A sum of probabilities, in units of 2^-32: counters are whole numbers.
      sum.promised.Add(static_cast<uint64_t>(counts.promised * 0x1p32));
    }
    // Also where there was no memory for the counters: nothing is counted twice later.
    counts = Counts();
  }
}

}  // namespace winnow
