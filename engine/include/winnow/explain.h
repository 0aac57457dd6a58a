// Why a look-up returned what it did.
#ifndef WINNOW_EXPLAIN_H_
#define WINNOW_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace winnow {

// One place that could have held the key, in the order in which Get looks.
struct ExplainStep {
  enum class Source { kMemtable, kImmutableMemtable, kSstable };
  enum class FilterAnswer { kNoFilter, kUnusable, kNo, kMaybe };
  // kOperand: merge operands, so that what is older counts as well, up to the value or deletion
  // that `detail` tells of. kRangeDeleted: a range deletion there covers the key and is newer than
  // all of its entries there, whatever the filter says of those. kEntries: of a range, that the
  // place has at least one.
  enum class Answer {
    kNotAsked,
    kAbsent,
    kValue,
    kDeleted,
    kExpired,
    kError,
    kOperand,
    kRangeDeleted,
    kEntries
  };

  Source source = Source::kSstable;
  int level = -1;            // SSTables only
  uint64_t file_number = 0;  // SSTables only
  std::string file_name;     // SSTables only
  std::string filter;        // spec text of the file's filter
  FilterAnswer filter_answer = FilterAnswer::kNoFilter;
  Answer answer = Answer::kNotAsked;  // what the memtable or block holds; kNotAsked after "no"
  bool false_positive = false;        // filter said maybe, block said absent
  uint64_t sequence = 0;              // of the newest version, or range deletion, found
  // When the value found was written, in microseconds since 1970; unset: it has no write time.
  std::optional<uint64_t> write_time_micros;
  // An error, why a filter was not usable, how many operands, or when the value has expired or
  // will.
  std::string detail;
};

struct KeyExplanation {
  std::string filter_key;  // the part of the key that look-ups query filters for
  uint64_t key_hash = 0;   // its hash under the database's seed
  // Operands count as found. Whether the merge operator makes a value of them Get alone tells: it
  // may be an error of that key.
  bool found = false;
  std::vector<ExplainStep> steps;

  std::string ToString() const;  // an aligned table for people
  std::string ToJson() const;
};

// Why an iterator between two bounds reads what it reads.
struct RangeExplanation {
  // Each place whose keys reach into the range. `filter` is what an iterator asks: the part that
  // all keys of the range have, "blocked_bloom:10 by prefix:8", and unless that says no the range
  // filter, "range:12"; both are joined by " and ". `answer` is kEntries, kAbsent, kError, or
  // kNotAsked after a "no". Range deletions are not looked at.
  std::vector<ExplainStep> steps;
  bool found = false;  // some place has entries, which may be deletions

  std::string ToString() const;  // an aligned table for people
  std::string ToJson() const;
};

}  // namespace winnow

#endif  // WINNOW_EXPLAIN_H_
