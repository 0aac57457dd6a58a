// What a look-up of a key meets, step by step, and how that is shown.
//
// Both forms of an explanation show the same steps in the order in which they were taken. The names
// below are output that scripts may read: they are kept apart from those of the enumerators.
#include "winnow/explain.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "engine/base/number_text.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/statistics/text_table.h"
#include "engine/version/explained_chain.h"
#include "filter/base/out_of_memory.h"

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

// No default in these switches: the compiler then names the one that a new enumerator is missing
// from.
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
    case ExplainStep::Answer::kExpired:
      return "expired";
    case ExplainStep::Answer::kError:
      return "error";
    case ExplainStep::Answer::kOperand:
      return "operand";
    case ExplainStep::Answer::kRangeDeleted:
      return "range deleted";
    case ExplainStep::Answer::kEntries:
      return "entries";
  }
  return "";
}

// Of a value with a write time: what it comes to now.
void ExplainExpiry(const TimeToLive& ttl, ExplainStep* step) {
  if (!step->write_time_micros.has_value()) return;
  const uint64_t written = *step->write_time_micros;
  if (!ttl.is_on()) {
    step->detail = absl::StrCat("written at ", TimeText(written));
    return;
  }
  const bool expired = ExpiryMoment(ttl).HasExpired(written);
  if (expired) step->answer = ExplainStep::Answer::kExpired;
  // For people alone: who decides whether something has expired subtracts times, and cannot
  // overflow.
  const uint64_t end = written > UINT64_MAX - ttl.micros ? UINT64_MAX : written + ttl.micros;
  step->detail = absl::StrCat(expired ? "expired at " : "expires at ", TimeText(end));
}

std::string StepsTable(const std::vector<ExplainStep>& steps) {
  TextTable table({"asked", "level", "filter", "filter says", "content says", "sequence", "note"},
                  7);
  for (const ExplainStep& step : steps) {
    const std::string note = step.false_positive ? "false positive" : step.detail;
    // Level and sequence are a dash where they mean nothing, rather than a number that looks real.
    table.AddRow({SourceName(step), step.level < 0 ? "-" : absl::StrCat(step.level), step.filter,
                  FilterAnswerName(step.filter_answer), AnswerName(step.answer),
                  step.sequence == 0 ? "-" : absl::StrCat(step.sequence), note});
  }
  return table.ToString();
}

// Every field is always there, so that a reader need not test for it; 0 and -1 mean "none".
std::string StepsJson(const std::vector<ExplainStep>& steps) {
  std::string rows;
  for (const ExplainStep& step : steps) {
    absl::StrAppend(
        &rows, rows.empty() ? "" : ",", "{\"asked\":", JsonString(SourceName(step)),
        ",\"level\":", step.level, ",\"file\":", JsonString(step.file_name),
        ",\"filter\":", JsonString(step.filter),
        ",\"filter_answer\":", JsonString(FilterAnswerName(step.filter_answer)),
        ",\"answer\":", JsonString(AnswerName(step.answer)),
        ",\"false_positive\":", step.false_positive ? "true" : "false",
        ",\"sequence\":", step.sequence, ",\"written\":",
        step.write_time_micros.has_value() ? JsonString(TimeText(*step.write_time_micros)) : "null",
        ",\"detail\":", JsonString(step.detail), "}");
  }
  return absl::StrCat("[", rows, "]");
}

}  // namespace

std::string KeyExplanation::ToString() const {
  return absl::StrCat("filter key ", JsonString(filter_key), ", hash ", AllHexDigits(key_hash),
                      ": ", found ? "found" : "not found", "\n", StepsTable(steps));
}

std::string KeyExplanation::ToJson() const {
  return absl::StrCat("{\"filter_key\":", JsonString(filter_key), ",\"hash\":\"",
                      AllHexDigits(key_hash), "\"", ",\"found\":", found ? "true" : "false",
                      ",\"steps\":", StepsJson(steps), "}");
}

std::string RangeExplanation::ToString() const {
  return absl::StrCat(found ? "entries found" : "no entries", "\n", StepsTable(steps));
}

std::string RangeExplanation::ToJson() const {
  return absl::StrCat("{\"found\":", found ? "true" : "false", ",\"steps\":", StepsJson(steps),
                      "}");
}

// Goes the way of Get step by step, with a note of each. A separate walk, so that Get pays nothing
// for it.
absl::StatusOr<KeyExplanation> DBImpl::Explain(ColumnFamily* family, std::string_view key) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<KeyExplanation> {
    WINNOW_RETURN_IF_ERROR(CheckRead(family, key));
    const std::shared_ptr<const ReadView> view = Own(family)->views.Shared();
    // After the view, as in Get.
    const LookupKey lookup = view->MakeLookupKey(key, SequenceFor(ReadOptions()));
    KeyExplanation explanation;
    explanation.filter_key = std::string(view->extractor.FilterKey(key));
    explanation.key_hash = lookup.filter_hash;

    const uint64_t whole_hash = view->WholeKeyHash(lookup);
    const auto explain = [&](const Memtable& memtable, ExplainStep::Source source) {
      ExplainStep& step = explanation.steps.emplace_back();
      step.source = source;
      step.filter = memtable.has_filter() ? "memtable filter" : "none";
      const SequenceNumber covering =
          memtable.range_tombstones().NewestCovering(key, lookup.snapshot);
      // Takes the versions of the key, newest first, up to where a look-up ends in this memtable.
      ExplainedChain chain(covering);
      if (memtable.has_filter()) {
        const bool maybe = memtable.MayContain(key, whole_hash);
        step.filter_answer =
            maybe ? ExplainStep::FilterAnswer::kMaybe : ExplainStep::FilterAnswer::kNo;
        // A filter knows of entries alone: a range deletion answers all the same.
        if (!maybe) return covering != 0 && chain.Describe(&step);
      }
      const BTree::Entry* const newest = memtable.Find(key, lookup.snapshot);
      const BTree::Entry* node = newest;
      while (node != nullptr &&
             view->comparator.CompareUserKeys(UserKey(node->internal_key()), key) == 0 &&
             chain.Take(Trailer(node->internal_key()))) {
        node = BTree::Next(node);
      }
      const bool is_answer = chain.Describe(&step);
      // The filter has let through what the memtable does not hold.
      step.false_positive =
          chain.empty() && step.filter_answer == ExplainStep::FilterAnswer::kMaybe;
      // A value has its write time behind it, or its bytes are damaged.
      if (!chain.empty() && Type(newest->internal_key()) == EntryType::kPutWithTime &&
          HasWriteTime(newest->value())) {
        step.write_time_micros = WriteTime(newest->value());
      }
      return is_answer;
    };
    bool known = explain(*view->active, ExplainStep::Source::kMemtable);
    for (size_t i = 0; i < view->immutables.size() && !known; i++) {
      known = explain(*view->immutables[i], ExplainStep::Source::kImmutableMemtable);
    }
    // As in Get, an answer ends the walk: what is older is not looked at, and has no step.
    if (!known) view->version->Explain(lookup, &explanation.steps);
    // The last step alone can be the answer.
    if (!explanation.steps.empty()) ExplainExpiry(Own(family)->ttl(), &explanation.steps.back());
    // An operand counts as found, though its operator may make no value of it: that only Get tries.
    explanation.found = std::any_of(explanation.steps.begin(), explanation.steps.end(),
                                    [](const ExplainStep& step) {
                                      return step.answer == ExplainStep::Answer::kValue ||
                                             step.answer == ExplainStep::Answer::kOperand;
                                    });
    return explanation;
  });
}

// Memtables have no range filter: they are looked into.
absl::StatusOr<RangeExplanation> DBImpl::ExplainRange(ColumnFamily* family, std::string_view lower,
                                                      std::string_view upper) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RangeExplanation> {
    WINNOW_RETURN_IF_ERROR(CheckRead(family, lower));
    WINNOW_RETURN_IF_ERROR(CheckRead(family, upper));
    const std::shared_ptr<const ReadView> view = Own(family)->views.Shared();
    if (view->comparator.CompareUserKeys(lower, upper) >= 0) {
      return absl::InvalidArgumentError("the upper bound of the range is not above its lower one");
    }
    RangeExplanation explanation;
    // From the newest version of the lower bound on: what is told is where an iterator would have
    // to look, and not what it would show.
    const std::string begin = MakeInternalKey(lower, kMaxSequenceNumber, kEntryTypeForSeek);
    const auto explain = [&](const Memtable& memtable, ExplainStep::Source source) {
      ExplainStep& step = explanation.steps.emplace_back();
      step.source = source;
      const std::optional<bool> may_contain = memtable.AskRange(lower, upper);
      step.filter = may_contain.has_value() ? "memtable filter" : "none";
      if (may_contain.has_value()) {
        step.filter_answer =
            *may_contain ? ExplainStep::FilterAnswer::kMaybe : ExplainStep::FilterAnswer::kNo;
        if (!*may_contain) return;
      }
      const std::unique_ptr<InternalIterator> iterator = memtable.NewIterator();
      Version::ExplainSeek(begin, upper, view->comparator, iterator.get(), &step);
      step.false_positive = may_contain.has_value() && step.answer == ExplainStep::Answer::kAbsent;
    };
    // All of them, since each can have entries in the range, and none ends the walk.
    explain(*view->active, ExplainStep::Source::kMemtable);
    for (const auto& memtable : view->immutables) {
      explain(*memtable, ExplainStep::Source::kImmutableMemtable);
    }
    view->version->ExplainRange(lower, upper, &explanation.steps);
    explanation.found = std::any_of(
        explanation.steps.begin(), explanation.steps.end(),
        [](const ExplainStep& step) { return step.answer == ExplainStep::Answer::kEntries; });
    return explanation;
  });
}

}  // namespace winnow
