// Both forms of an explanation show the same steps in the order in which they were taken. The names
// below are output that scripts may read: they are kept apart from those of the enumerators.
#include "winnow/explain.h"

#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/statistics/text_table.h"

namespace winnow {

namespace {

std::string SourceName(const ExplainStep& step) {
  switch (step.source) {
    case ExplainStep::Source::kMemtable:
      return "memtable";
    case ExplainStep::Source::kImmutableMemtable:
      return "immutable memtable";
    case ExplainStep::Source::kSstable:
      break;
  }
  return absl::StrCat(SixDigits(step.file_number), ".sst");
}

std::string FilterAnswerName(ExplainStep::FilterAnswer answer) {
  switch (answer) {
    case ExplainStep::FilterAnswer::kNoFilter:
      return "no filter";
    case ExplainStep::FilterAnswer::kUnusable:
      return "unusable";
    case ExplainStep::FilterAnswer::kNo:
      return "no";
    case ExplainStep::FilterAnswer::kMaybe:
      return "maybe";
  }
  return "";
}

std::string AnswerName(ExplainStep::Answer answer) {
  switch (answer) {
    case ExplainStep::Answer::kNotAsked:
      return "not asked";
    case ExplainStep::Answer::kAbsent:
      return "absent";
    case ExplainStep::Answer::kValue:
      return "value";
    case ExplainStep::Answer::kDeleted:
      return "deleted";
    case ExplainStep::Answer::kError:
      return "error";
  }
  return "";
}

}  // namespace

std::string KeyExplanation::ToString() const {
  TextTable table({"asked", "level", "filter", "filter says", "content says", "sequence", "note"},
                  7);
  for (const ExplainStep& step : steps) {
    const std::string note = step.false_positive ? "false positive" : step.detail;
    // Level and sequence are a dash where they mean nothing, rather than a number that looks real.
    table.AddRow({SourceName(step), step.level < 0 ? "-" : absl::StrCat(step.level), step.filter,
                  FilterAnswerName(step.filter_answer), AnswerName(step.answer),
                  step.sequence == 0 ? "-" : absl::StrCat(step.sequence), note});
  }
  return absl::StrCat("filter key ", JsonString(filter_key), ", hash ", AllHexDigits(key_hash),
                      ": ", found ? "found" : "not found", "\n", table.ToString());
}

// Every field is always there, so that a reader need not test for it; 0 and -1 mean "none".
std::string KeyExplanation::ToJson() const {
  std::string rows;
  for (const ExplainStep& step : steps) {
    absl::StrAppend(&rows, rows.empty() ? "" : ",", "{\"asked\":", JsonString(SourceName(step)),
                    ",\"level\":", step.level, ",\"file\":", JsonString(step.file_name),
                    ",\"filter\":", JsonString(step.filter),
                    ",\"filter_answer\":", JsonString(FilterAnswerName(step.filter_answer)),
                    ",\"answer\":", JsonString(AnswerName(step.answer)),
                    ",\"false_positive\":", step.false_positive ? "true" : "false",
                    ",\"sequence\":", step.sequence, ",\"detail\":", JsonString(step.detail), "}");
  }
  return absl::StrCat("{\"filter_key\":", JsonString(filter_key), ",\"hash\":\"",
                      AllHexDigits(key_hash), "\"", ",\"found\":", found ? "true" : "false",
                      ",\"steps\":[", rows, "]}");
}

}  // namespace winnow
