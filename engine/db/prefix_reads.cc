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

}  // namespace

// What is in memtables and files, as a merge would find it, but without one.
absl::StatusOr<bool> DBImpl::SearchFirsts(const ReadView& view, const FirstQuestion& question,
                                          const LookupContext& context,
                                          std::span<FirstInRange> firsts) {
  for (FirstInRange& first : firsts) {
    first.Begin();
    const auto search = [&](const Memtable& memtable) {
      const BTree::Entry* const entry = FirstIn(memtable, &*first.question);
      if (entry == nullptr) return;
      const std::string_view key = entry->internal_key();
      if (!first.is_found || view.comparator.Compare(key, first.key) < 0) {
        first.Take(first.prefix, UserKey(key).substr(first.prefix.size()), Trailer(key),
                   entry->value());
      }
    };
    search(*view.active);
    for (const auto& memtable : view.immutables) search(*memtable);
  }
  absl::StatusOr<bool> searched = FindFirstInFiles(*view.version, question, context, firsts);
  if (!searched.ok()) events_.AddIfCorruption(searched.status());
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
  ColumnFamilyState* const own = Own(family);
  // What CheckRead would find nothing wrong with, without a call.
  const bool is_surely_readable = IsUsable() && options.snapshot == nullptr && own != nullptr &&
                                  own->database_number() == families_.database_number() &&
                                  !own->is_dropped();
  if (!is_surely_readable) WINNOW_RETURN_IF_ERROR(CheckRead(options, family, ""));
  for (size_t i = 0; i < firsts.size(); i++) {
    if (firsts[i].prefix.size() > kMaxKeyBytes) [[unlikely]]
      return CheckRead(options, family, firsts[i].prefix);
    answers[i] = FirstAnswer::kUnknown;
  }
  ThreadCounters& counters = recorder_.Local();
  const ViewGuard view(own->views);
  // Under another order keys with one beginning need not be neighbours.
  if (view->has_write_times() || !view->comparator.is_bytewise()) [[unlikely]]
    return absl::OkStatus();
  const SequenceNumber snapshot = SequenceFor(options);
  const LookupContext context = MakeContext(options, own->id(), FilterCall::kSeek, counters);
  FirstQuestion question{own->key_time_parser()};
  WINNOW_ASSIGN_OR_RETURN(const bool are_searched, SearchFirsts(*view, question, context, firsts));
  if (!are_searched) return absl::OkStatus();
  const auto time_of = [&](const FirstInRange& first) -> std::optional<uint64_t> {
    TimedKey parsed;
    const KeyTimeParser parse = question.key_time_parser;
    if (parse == nullptr || !parse(UserKey(first.key), &parsed)) return std::nullopt;
    return parsed.time;
  };
  bool is_any_found = false;
  for (size_t i = 0; i < firsts.size(); i++) {
    // Range deletions change nothing then.
    if (!firsts[i].is_found) answers[i] = FirstAnswer::kAbsent;
    is_any_found = is_any_found || firsts[i].is_found;
  }
  if (!is_any_found) return absl::OkStatus();
  // Markers matter from the oldest of the times on.
  uint64_t oldest = UINT64_MAX;
  // After the snapshot's number was read: range deletions that come in later are too new for it.
  const bool has_range_deletions = view->has_range_deletions();
  for (size_t i = 0; i < firsts.size(); i++) {
    const FirstInRange& first = firsts[i];
    if (!first.is_found) continue;
    if (Type(first.key) != EntryType::kPut || Sequence(first.key) > snapshot) continue;
    if (has_range_deletions) [[unlikely]] {
      const LookupKey key = view->MakeLookupKey(UserKey(first.key), snapshot);
      if (view->NewestRangeDeletion(key) > Sequence(first.key)) continue;
    }
    if (!markers->prefix.empty()) {
      const std::optional<uint64_t> time = time_of(first);
      if (!time.has_value()) continue;
      oldest = std::min(oldest, *time);
    }
    answers[i] = FirstAnswer::kFound;
  }
  if (oldest == UINT64_MAX) return absl::OkStatus();
  question.far_markers_from = oldest;
  WINNOW_ASSIGN_OR_RETURN(const bool are_markers_searched,
                          SearchFirsts(*view, question, context, {markers, 1}));
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
  if (is_bytewise) AskForPrefixesInFiles(*view->version, prefixes);
  return absl::OkStatus();
}

bool DBImpl::FiltersKnowBehind(ColumnFamily* family, std::string_view prefix, size_t num_bytes) {
  const ViewGuard view(Own(family)->views);
  filter::FilterKeyExtractor::Question question;
  return view->extractor.AskForPrefix(prefix, view->hash_seed, &question) &&
         question.filter_key.size() > num_bytes;
}

}  // namespace winnow
