// Look-ups of beginnings of keys: of what is behind them, and of what filters say.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/status.h"
#include "engine/db/db_impl.h"

namespace winnow {

namespace {

// The memtable's first entry whose key begins with the prefix, from the newest version on, as in
// files; null: there is none.
const BTree::Entry* FirstIn(const Memtable& memtable, filter::PrefixQuestion* question) {
  if (memtable.empty() || !memtable.MayContainPrefix(question)) return nullptr;
  const BTree::Entry* const entry = memtable.FirstFrom(question->prefix());
  if (entry == nullptr || !UserKey(entry->internal_key()).starts_with(question->prefix())) {
    return nullptr;
  }
  return entry;
}

// Into `first`, if it is less than what is there.
void FindFirstIn(const Memtable& memtable, const InternalKeyComparator& comparator,
                 FirstInRange* first) {
  const BTree::Entry* const entry = FirstIn(memtable, &*first->question);
  if (entry == nullptr) return;
  const std::string_view key = entry->internal_key();
  if (first->is_found && comparator.Compare(key, first->key) >= 0) return;
  first->Take(first->prefix, UserKey(key).substr(first->prefix.size()), Trailer(key),
              entry->value());
}

}  // namespace

// What is in memtables and files, as a merge would find it, but without one.
[[gnu::always_inline]] inline absl::Status DBImpl::SearchFirsts(const ReadView& view,
                                                                const FirstQuestion& question,
                                                                const LookupContext& context,
                                                                std::span<FirstInRange> firsts,
                                                                bool* are_searched) {
  for (FirstInRange& first : firsts) {
    first.Begin();
    if (!view.active->empty()) FindFirstIn(*view.active, view.comparator, &first);
    for (const auto& memtable : view.immutables) FindFirstIn(*memtable, view.comparator, &first);
  }
  absl::Status searched = FindFirstInFiles(*view.version, question, context, firsts, are_searched);
  if (!searched.ok()) [[unlikely]]
    events_.AddIfCorruption(searched);
  return searched;
}

// The first internal key is the answer only if it is a plain value that the snapshot sees. A
// deletion, an operand, or a version that is too new says that something else may be shown, and
// leaves that to an iterator; and so does a far marker of its time or a later one. Of several that
// are written together, the moment of the search may lie before one and behind another: then the
// latter is too new.
absl::Status DBImpl::FindFirsts(const ReadOptions& options, ColumnFamily* family,
                                std::span<FirstInRange> firsts, std::span<FirstAnswer> answers,
                                FirstInRange* markers) {
  if (!IsSurelyReadable(options, family, "")) [[unlikely]]
    WINNOW_RETURN_IF_ERROR(CheckRead(options, family, ""));
  for (size_t i = 0; i < firsts.size(); i++) {
    if (firsts[i].prefix.size() > kMaxKeyBytes) [[unlikely]]
      return CheckRead(options, family, firsts[i].prefix);
    answers[i] = FirstAnswer::kUnknown;
  }
  ColumnFamilyState* const own = Own(family);
  ThreadCounters& counters = recorder_.Local();
  const ViewGuard view(own->views);
  // Under another order keys with one beginning need not be neighbours.
  if (view->has_write_times() || !view->comparator.is_bytewise()) [[unlikely]]
    return absl::OkStatus();
  const SequenceNumber snapshot = SequenceFor(options);
  const LookupContext context = MakeContext(options, own->id(), FilterCall::kSeek, counters);
  const FirstQuestion question{own->key_time_parser()};
  bool are_searched = false;
  WINNOW_RETURN_IF_ERROR(SearchFirsts(*view, question, context, firsts, &are_searched));
  if (!are_searched) return absl::OkStatus();
  bool is_any_found = false;
  for (size_t i = 0; i < firsts.size(); i++) {
    // Range deletions change nothing then.
    if (!firsts[i].is_found) answers[i] = FirstAnswer::kAbsent;
    is_any_found = is_any_found || firsts[i].is_found;
  }
  if (!is_any_found) return absl::OkStatus();
  return AnswerFound(*view, snapshot, question.key_time_parser, context, firsts, answers, markers);
}

// Apart from what comes before, which is all that most look-ups of what is not there take.
absl::Status DBImpl::AnswerFound(const ReadView& view, SequenceNumber snapshot,
                                 KeyTimeParser parse_time, const LookupContext& context,
                                 std::span<FirstInRange> firsts, std::span<FirstAnswer> answers,
                                 FirstInRange* markers) {
  const auto time_of = [&](const FirstInRange& first) -> std::optional<uint64_t> {
    TimedKey parsed;
    if (parse_time == nullptr || !parse_time(UserKey(first.key), &parsed)) return std::nullopt;
    return parsed.time;
  };
  // Markers matter from the oldest of the times on.
  uint64_t oldest = UINT64_MAX;
  // After the snapshot's number was read: range deletions that come in later are too new for it.
  const bool has_range_deletions = view.has_range_deletions();
  for (size_t i = 0; i < firsts.size(); i++) {
    const FirstInRange& first = firsts[i];
    if (!first.is_found) continue;
    if (Type(first.key) != EntryType::kPut || Sequence(first.key) > snapshot) continue;
    if (has_range_deletions) [[unlikely]] {
      const LookupKey key = view.MakeLookupKey(UserKey(first.key), snapshot);
      if (view.NewestRangeDeletion(key) > Sequence(first.key)) continue;
    }
    if (!markers->prefix.empty()) {
      const std::optional<uint64_t> time = time_of(first);
      if (!time.has_value()) continue;
      oldest = std::min(oldest, *time);
    }
    answers[i] = FirstAnswer::kFound;
  }
  if (oldest == UINT64_MAX) return absl::OkStatus();
  const FirstQuestion question{parse_time, oldest};
  bool are_markers_searched = false;
  WINNOW_RETURN_IF_ERROR(
      SearchFirsts(view, question, context, {markers, 1}, &are_markers_searched));
  // The latest of all, be it still there or deleted itself.
  const std::optional<uint64_t> latest =
      are_markers_searched && markers->is_found ? time_of(*markers) : std::nullopt;
  for (size_t i = 0; i < firsts.size(); i++) {
    if (answers[i] != FirstAnswer::kFound) continue;
    const bool may_hide =
        !are_markers_searched ||
        (markers->is_found && (!latest.has_value() || *latest >= *time_of(firsts[i])));
    if (may_hide) answers[i] = FirstAnswer::kUnknown;
  }
  return absl::OkStatus();
}

absl::Status DBImpl::AskForPrefixes(const ReadOptions& options, ColumnFamily* family,
                                    std::optional<FilterCall> call,
                                    std::span<PrefixAsked> prefixes) {
  WINNOW_RETURN_IF_ERROR(CheckRead(options, family, ""));
  const ViewGuard view(Own(family)->views);
  const bool is_bytewise = view->comparator.is_bytewise();
  for (PrefixAsked& asked : prefixes) {
    filter::PrefixQuestion question(asked.prefix);
    asked.may_exist = !is_bytewise || FirstIn(*view->active, &question) != nullptr;
    for (const auto& memtable : view->immutables) {
      asked.may_exist = asked.may_exist || FirstIn(*memtable, &question) != nullptr;
    }
  }
  if (!is_bytewise) return absl::OkStatus();
  FilterCounterTable* const counters =
      call.has_value() ? &recorder_.Local().Filters(Own(family)->id(), *call) : nullptr;
  AskForPrefixesInFiles(*view->version, counters, prefixes);
  return absl::OkStatus();
}

bool DBImpl::FiltersKnowBehind(ColumnFamily* family, std::string_view prefix, size_t num_bytes) {
  const ViewGuard view(Own(family)->views);
  filter::FilterKeyExtractor::Question question;
  return view->extractor.AskForPrefix(prefix, view->hash_seed, &question) &&
         question.filter_key.size() > num_bytes;
}

}  // namespace winnow
