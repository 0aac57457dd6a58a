// Get, MultiGet, MayExist, Exists, snapshots.
//
// View before sequence number, in every call here. Whatever is in the tables of a view was visible
// before the view was installed: a memtable is retired between groups, all of whose entries are
// published by then. So a sequence number that is read after the view includes everything in its
// tables. The other way round, a flush in between could have dropped the version that the older
// number sees, because a newer one hides it and no snapshot asks for it, and the key would seem
// absent.
#include <algorithm>
#include <numeric>
#include <optional>

#include "engine/base/entry_limits.h"
#include "engine/base/error_iterator.h"
#include "engine/base/status.h"
#include "engine/base/write_time.h"
#include "engine/db/db_impl.h"
#include "engine/db/merge_reads.h"
#include "engine/sstable/pinned_value_access.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// What the memtables know of a key.
struct MemtableAnswer {
  const BTree::Entry* node = nullptr;  // the newest entry
  bool range_deleted = false;          // by what is newer than all entries: there is no node then

  bool known() const { return node != nullptr || range_deleted; }
};

// In a memtable with range deletions. One that covers the key counts whatever the filter says,
// which knows of entries alone.
[[gnu::noinline]] MemtableAnswer FindBesideRangeDeletions(const Memtable& memtable, uint64_t hash,
                                                          const LookupKey& key) {
  MemtableAnswer answer;
  if (memtable.MayContain(key.user_key, hash))
    answer.node = memtable.Find(key.user_key, key.snapshot);
  const SequenceNumber covering =
      memtable.range_tombstones().NewestCovering(key.user_key, key.snapshot);
  if (covering != 0 &&
      (answer.node == nullptr || Sequence(answer.node->internal_key()) < covering)) {
    answer = {nullptr, true};
  }
  return answer;
}

// Looks through the memtables, newest first. The first hit is the answer, value or deletion of
// either sort: everything further on is older.
[[gnu::noinline]] MemtableAnswer FindInFullMemtables(const ReadView& view, const LookupKey& key) {
  // Of the whole key, whatever the tables' filters are made of: see Memtable.
  const uint64_t hash = view.WholeKeyHash(key);
  const auto find = [&](const Memtable& memtable) -> MemtableAnswer {
    if (memtable.has_range_deletions()) [[unlikely]]
      return FindBesideRangeDeletions(memtable, hash, key);
    if (memtable.empty() || !memtable.MayContain(key.user_key, hash)) return {};
    return {memtable.Find(key.user_key, key.snapshot), false};
  };
  if (const MemtableAnswer answer = find(*view.active); answer.known()) return answer;
  for (const auto& memtable : view.immutables) {
    if (const MemtableAnswer answer = find(*memtable); answer.known()) return answer;
  }
  return {};
}

// Nothing is called, nor the whole key hashed where the tables' filters hash only a part of it, in
// a database that only reads.
inline MemtableAnswer FindInMemtables(const ReadView& view, const LookupKey& key) {
  const bool nothing = view.immutables.empty() && view.active->empty();
  if (nothing) return {};
  return FindInFullMemtables(view, key);
}

// A type that entries, or answers in their place, can have. Any other is taken neither for a value
// nor for a deletion: either would be a wrong answer without an error.
bool IsKnownType(EntryType type) {
  return IsKnownEntryType(type) || type == EntryType::kRangeDelete;
}

absl::Status UnknownType() {
  return absl::DataLossError("entry of unknown type: a newer version of Winnow wrote it");
}

// What one key of a batch comes to, found in a memtable, in a table, or nowhere.
absl::Status TakeAnswer(const BTree::Entry* node, const ExpiryMoment& moment, PointResult* result,
                        PinnedValue* value) {
  if (node == nullptr && !result->found) return absl::NotFoundError("");
  EntryType type = node != nullptr ? Type(node->internal_key()) : result->type;
  std::string_view node_value;
  std::string_view& stored = node != nullptr ? node_value : result->value;
  if (node != nullptr) stored = node->value();
  if (type == EntryType::kPutWithTime) [[unlikely]]
    WINNOW_RETURN_IF_ERROR(ResolveWriteTime(moment, &type, &stored));
  if (type == EntryType::kDelete || type == EntryType::kRangeDelete) {
    return absl::NotFoundError("");
  }
  if (type != EntryType::kPut) return UnknownType();
  return CatchOutOfMemory([&] {
    if (node != nullptr) {
      PinnedValueAccess::Copy(value, node_value);
    } else {
      PinnedValueAccess::PinResult(value, result);
    }
    return absl::OkStatus();
  });
}

}  // namespace

// Where a look-up ended: in a memtable (`node`), or in a table (`result`). A node's bytes live as
// long as the memtable, which the caller's view holds; a result's bytes live as long as its pin,
// with or without the view.
struct DBImpl::Found {
  // Not constexpr, and so not a copy of a constant: a Get would spend more on clearing what is
  // never read than on its filter.
  Found() {}

  const BTree::Entry* node = nullptr;
  PointResult result;
  std::string_view node_value;  // of the node, without its write time
  bool value = false;           // a value is there, neither absent nor deleted
  bool operand = false;         // one has to be made of this operand, and what is older
};

// Relaxed: whoever calls while another thread closes is in error anyway, and is only told so where
// it can be noticed without cost.
absl::Status DBImpl::CheckRead(const ReadOptions& options, const ColumnFamily* family,
                               std::string_view key) const {
  WINNOW_RETURN_IF_ERROR(CheckRead(family, key));
  return CheckSnapshot(options);
}

absl::Status DBImpl::CheckRead(const ColumnFamily* family, std::string_view key) const {
  if (!IsUsable()) [[unlikely]]
    return Unusable();
  if (key.size() > kMaxKeyBytes) [[unlikely]]
    return KeyTooLarge(key.size());
  return CheckFamily(family);
}

// Only after the check for a closed database, whose snapshots are gone.
absl::Status DBImpl::CheckSnapshot(const ReadOptions& options) const {
  if (options.snapshot == nullptr || snapshots_.Has(*options.snapshot)) [[likely]] {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("the snapshot belongs to another database");
}

template <bool kThroughRowCache>
[[gnu::always_inline]] inline absl::Status DBImpl::Find(const ReadOptions& options,
                                                        ColumnFamilyState* family,
                                                        const ReadView& view,
                                                        const RowValidity::Moment& moment,
                                                        std::string_view key,
                                                        ThreadCounters& counters, Found* found) {
  // The view was taken before the sequence number: entries that the view lacks because it was
  // replaced in between belong to writes that ran at the same time as this call.
  const LookupKey lookup = view.MakeLookupKey(key, SequenceFor(options));
  EntryType type;
  const MemtableAnswer in_memory = FindInMemtables(view, lookup);
  found->node = in_memory.node;
  if (found->node != nullptr) {
    counters.Add(Ticker::kMemtableHits);
    type = Type(found->node->internal_key());
  } else if (in_memory.range_deleted) [[unlikely]] {
    counters.Add(Ticker::kMemtableHits);
    return absl::OkStatus();
  } else {
    if constexpr (kThroughRowCache) {
      WINNOW_RETURN_IF_ERROR(
          GetThroughRowCache(options, family, view, moment, lookup, counters, &found->result));
    } else {
      const LookupContext context = MakeContext(options, family->id(), FilterCall::kGet, counters);
      WINNOW_RETURN_IF_ERROR(view.version->Get(lookup, context, &found->result));
    }
    if (!found->result.found) return absl::OkStatus();
    type = found->result.type;
  }
  std::string_view& value = found->node != nullptr ? found->node_value : found->result.value;
  if (found->node != nullptr) value = found->node->value();
  if (type == EntryType::kPutWithTime) [[unlikely]]
    WINNOW_RETURN_IF_ERROR(ResolveWriteTime(ExpiryMoment(family->ttl()), &type, &value));
  found->value = type == EntryType::kPut;
  if (found->value) [[likely]]
    return absl::OkStatus();
  if (!IsKnownType(type)) return UnknownType();
  found->operand = type == EntryType::kMerge;
  return absl::OkStatus();
}

namespace {

void CountRow(const PointResult& result, ThreadCounters& counters) {
  counters.Add(Ticker::kRowCacheHits);
  const bool is_there = result.found && (IsPut(result.type) || result.type == EntryType::kMerge);
  if (!is_there) counters.Add(Ticker::kRowCacheAbsentHits);
}

// A row has the bytes of the key that it was asked for with; a write of an equal key of other bytes
// would not be known to concern it.
bool MayKeepRows(const ReadView& view) { return view.comparator.user()->EqualKeysHaveEqualBytes(); }

}  // namespace

// Memtables have been asked. A snapshot sees what is kept if that was read at its moment or before;
// what is found with one is not what newer readers find.
[[gnu::noinline]] absl::Status DBImpl::GetThroughRowCache(
    const ReadOptions& options, ColumnFamilyState* family, const ReadView& view,
    const RowValidity::Moment& moment, const LookupKey& lookup, ThreadCounters& counters,
    PointResult* result) {
  const RowFamily rows = family->row_family();
  const bool may_keep = MayKeepRows(view);
  if (may_keep && row_cache_.Find(rows, lookup.user_key, lookup.snapshot, result)) {
    CountRow(*result, counters);
    return absl::OkStatus();
  }
  counters.Add(Ticker::kRowCacheMisses);
  const LookupContext context = MakeContext(options, family->id(), FilterCall::kGet, counters);
  WINNOW_RETURN_IF_ERROR(view.version->Get(lookup, context, result));
  if (may_keep && options.snapshot == nullptr && options.fill_cache) {
    row_cache_.Insert(rows, moment, lookup.user_key, lookup.snapshot, *result);
  }
  return absl::OkStatus();
}

void DBImpl::MultiGetThroughRowCache(const ReadOptions& options, ColumnFamilyState* family,
                                     const ReadView& view, const RowValidity::Moment& moment,
                                     std::span<BatchLookup> batch, const LookupContext& context,
                                     ThreadCounters& counters) {
  const RowFamily rows = family->row_family();
  const bool may_keep = MayKeepRows(view);
  std::vector<BatchLookup*> missed;
  for (BatchLookup& lookup : batch) {
    if (lookup.done) continue;
    if (may_keep &&
        row_cache_.Find(rows, lookup.key.user_key, lookup.key.snapshot, &lookup.result)) {
      // Version::MultiGet passes over it.
      lookup.done = true;
      CountRow(lookup.result, counters);
    } else {
      missed.push_back(&lookup);
    }
  }
  counters.Add(Ticker::kRowCacheMisses, missed.size());
  view.version->MultiGet(batch, context);
  if (!may_keep || options.snapshot != nullptr || !options.fill_cache) return;
  for (BatchLookup* lookup : missed) {
    if (!lookup->status.ok()) continue;
    row_cache_.Insert(rows, moment, lookup->key.user_key, lookup->key.snapshot, lookup->result);
  }
}

// What differs between the calls is only what becomes of the value; `take` runs while the view is
// still pinned, so that bytes in a memtable may be read in it.
template <typename Take, typename TakeMerged>
absl::Status DBImpl::GetWith(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                             Take take, TakeMerged take_merged) {
  if (row_cache_.is_on()) [[unlikely]]
    return GetBy<true>(options, family, key, take, take_merged);
  return GetBy<false>(options, family, key, take, take_merged);
}

// With the cache and without are two functions, since most databases have none, and the moment and
// the arguments of the other way would cost each look-up some 25 instructions.
template <bool kThroughRowCache, typename Take, typename TakeMerged>
absl::Status DBImpl::GetBy(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                           Take& take, TakeMerged& take_merged) {
  if (!IsSurelyReadable(options, family, key)) [[unlikely]]
    WINNOW_RETURN_IF_ERROR(CheckRead(options, family, key));
  if (trace_.is_on()) [[unlikely]]
    TraceKey(TraceCall::kGet, family, key);
  ColumnFamilyState* own = Own(family);
  ThreadCounters& counters = recorder_.Local();
  SampledTimer timer(counters, LatencyHistogram::kGet);
  counters.Add(Ticker::kGets);
  RowValidity::Moment moment;
  if constexpr (kThroughRowCache) moment = own->rows.Now();
  const ViewGuard view(own->views);
  Found found;
  // An error ends the look-up, though an older file might have the key: what cannot be read may
  // hold a newer version or its deletion.
  if (absl::Status status =
          Find<kThroughRowCache>(options, own, *view, moment, key, counters, &found);
      !status.ok()) {
    events_.AddIfCorruption(status);
    return status;
  }
  if (!found.value) [[unlikely]] {
    if (!found.operand) return absl::NotFoundError("");  // no message: no allocation
    std::string merged;
    WINNOW_RETURN_IF_ERROR(FinishMerge(options, *own, *view, key, "get", counters, found, &merged));
    counters.Add(Ticker::kGetsFound);
    take_merged(std::move(merged));
    return absl::OkStatus();
  }
  counters.Add(Ticker::kGetsFound);
  take(found);
  return absl::OkStatus();
}

// Of the moment of Find: nothing that is newer than the operand that was found counts. Out of line:
// keys without operands need none of its stack.
[[gnu::noinline]] absl::Status DBImpl::FinishMerge(const ReadOptions& options,
                                                   const ColumnFamilyState& family,
                                                   const ReadView& view, std::string_view key,
                                                   std::string_view call, ThreadCounters& counters,
                                                   const Found& found, std::string* value) {
  const bool in_tables = found.node == nullptr;
  const SequenceNumber newest =
      in_tables ? found.result.sequence : Sequence(found.node->internal_key());
  const LookupContext context = MakeContext(options, family.id(), FilterCall::kGet, counters);
  absl::Status status =
      ReadMergedValue(view, view.MakeLookupKey(key, newest), context, in_tables, counters, value);
  events_.AddIfCorruption(status);
  if (absl::IsFailedPrecondition(status)) events_.AddMergeFailures(family.name(), call, status, 1);
  return status;
}

absl::Status DBImpl::Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                         std::string* value) {
  return CatchOutOfMemory([&] {
    const auto take = [&](const Found& found) {
      value->assign(found.node != nullptr ? found.node_value : found.result.value);
    };
    return GetWith(options, family, key, take, [&](std::string&& merged) { value->swap(merged); });
  });
}

// A block stays in memory for a value that points into it. A memtable does not: one small value
// could keep megabytes of writes alive, and the view that holds it ends with this call. So a value
// from a memtable is copied.
absl::Status DBImpl::Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                         PinnedValue* value) {
  return CatchOutOfMemory([&] {
    const auto take = [&](Found& found) {
      if (found.node != nullptr) {
        PinnedValueAccess::Copy(value, found.node_value);
      } else {
        PinnedValueAccess::PinResult(value, &found.result);
      }
    };
    return GetWith(options, family, key, take, [&](std::string&& merged) {
      PinnedValueAccess::Take(value, std::move(merged));
    });
  });
}

// One moment for all keys, in stages: order, memtables, tables, results. Each stage does
// all keys before the next begins, so that Version::MultiGet gets as many as there are and their
// cache misses overlap. A key's error is its own; the others are answered.
void DBImpl::MultiGet(const ReadOptions& options, ColumnFamily* family,
                      std::span<const std::string_view> keys, std::span<PinnedValue> values,
                      std::span<absl::Status> statuses) {
  if (keys.size() != values.size() || keys.size() != statuses.size()) {
    const absl::Status wrong = CatchOutOfMemory(
        [] { return absl::InvalidArgumentError("MultiGet: the spans must have equal sizes"); });
    std::fill(statuses.begin(), statuses.end(), wrong);
    return;
  }
  const bool had_memory =
      UnlessOutOfMemory([&] { MultiGetAll(options, family, keys, values, statuses); });
  if (had_memory) return;
  // Of all or of none: some may have been answered before memory ran out.
  for (PinnedValue& value : values) value.Reset();
  std::fill(statuses.begin(), statuses.end(), OutOfMemory());
}

void DBImpl::MultiGetAll(const ReadOptions& options, ColumnFamily* family,
                         std::span<const std::string_view> keys, std::span<PinnedValue> values,
                         std::span<absl::Status> statuses) {
  ThreadCounters& counters = recorder_.Local();
  SampledTimer timer(counters, LatencyHistogram::kMultiGet);
  counters.Add(Ticker::kMultiGetKeys, keys.size());
  if (absl::Status status = CheckRead(options, family, ""); !status.ok()) {
    std::fill(statuses.begin(), statuses.end(), status);
    return;
  }
  if (trace_.is_on()) [[unlikely]] {
    for (const std::string_view key : keys) TraceKey(TraceCall::kMultiGet, family, key);
  }
  ColumnFamilyState* own = Own(family);
  // Before the view, as RowValidity asks: after a change between the two this call keeps nothing.
  // The other way round it would keep what is out of date.
  const RowValidity::Moment before_view = own->rows.Now();
  const ViewGuard view(own->views);
  const SequenceNumber snapshot = SequenceFor(options);
  LookupContext context = MakeContext(options, own->id(), FilterCall::kMultiGet, counters);
  if (options_.io_uring_reads) context.read_rings = &read_rings_;

  // What is looked up together is put in order by blocks (Version::MultiGet). A larger batch is put
  // in key order before, so that the keys of a block are looked up together: `order` leads back to
  // the caller's spans.
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  if (keys.size() > Version::kKeysAtOnce) {
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return view->comparator.CompareUserKeys(keys[a], keys[b]) < 0;
    });
  }
  std::vector<BatchLookup> batch(keys.size());
  // In the order of `batch`: an entry, where a memtable had the key.
  std::vector<const BTree::Entry*> nodes(keys.size(), nullptr);
  // What the memtables know is done before the tables are looked at, which skip what is done.
  for (size_t i = 0; i < order.size(); i++) {
    const std::string_view key = keys[order[i]];
    if (key.size() > kMaxKeyBytes) [[unlikely]] {
      batch[i].status = KeyTooLarge(key.size());
      batch[i].done = true;
      continue;
    }
    batch[i].key = view->MakeLookupKey(key, snapshot);
    const MemtableAnswer in_memory = FindInMemtables(*view, batch[i].key);
    nodes[i] = in_memory.node;
    batch[i].done = in_memory.known();
  }
  if (row_cache_.is_on()) [[unlikely]] {
    MultiGetThroughRowCache(options, own, *view, before_view, batch, context, counters);
  } else {
    view->version->MultiGet(batch, context);
  }
  // One moment for all keys.
  const ExpiryMoment moment(own->ttl());
  // Values are reset whatever the outcome: one from an earlier call must not pass for this one's.
  for (size_t i = 0; i < order.size(); i++) {
    BatchLookup& lookup = batch[i];
    absl::Status& status = statuses[order[i]];
    PinnedValue& value = values[order[i]];
    value.Reset();
    status = std::move(lookup.status);
    if (!status.ok()) {
      events_.AddIfCorruption(status);
      continue;
    }
    const bool has_operands = nodes[i] != nullptr
                                  ? Type(nodes[i]->internal_key()) == EntryType::kMerge
                                  : lookup.result.found && lookup.result.type == EntryType::kMerge;
    if (has_operands) [[unlikely]] {
      status = CatchOutOfMemory([&] {
        Found found;
        found.node = nodes[i];
        // All that FinishMerge needs to know of an operand in a table.
        found.result.sequence = lookup.result.sequence;
        std::string merged;
        WINNOW_RETURN_IF_ERROR(FinishMerge(options, *own, *view, lookup.key.user_key, "multi-get",
                                           counters, found, &merged));
        PinnedValueAccess::Take(&value, std::move(merged));
        return absl::OkStatus();
      });
    } else {
      status = TakeAnswer(nodes[i], moment, &lookup.result, &value);
    }
    if (status.ok()) counters.Add(Ticker::kMultiGetKeysFound);
  }
}

// Promises no I/O and never a wrong "no". A filter cannot know of deletions, so that "yes" says
// little about a key that was deleted, unless the deletion is still in a memtable. Nor can it wait:
// a file without a usable filter counts as "yes".
bool DBImpl::MayExist(const ReadOptions& options, ColumnFamily* family, std::string_view key) {
  bool may_exist = true;
  UnlessOutOfMemory([&] {
    // What cannot be asked may exist: the exact call tells the error.
    if (!CheckRead(options, family, key).ok()) return;
    ColumnFamilyState* own = Own(family);
    const ViewGuard view(own->views);
    const LookupKey lookup = view->MakeLookupKey(key, SequenceFor(options));
    if (const MemtableAnswer in_memory = FindInMemtables(*view, lookup); in_memory.known()) {
      may_exist = in_memory.node != nullptr;
      if (!may_exist) return;
      EntryType type = Type(in_memory.node->internal_key());
      std::string_view value = in_memory.node->value();
      // A damaged one stays of this type, and so may exist.
      if (type == EntryType::kPutWithTime) [[unlikely]]
        ResolveWriteTime(ExpiryMoment(own->ttl()), &type, &value).IgnoreError();
      may_exist = type != EntryType::kDelete;
      return;
    }
    // Without counters: the filters' measured rates are of look-ups whose outcome is known, and
    // this one ends before anybody finds out.
    LookupContext context;
    context.false_positive_cache = &false_positive_cache_;
    may_exist = view->version->MayContain(lookup, context);
  });
  return may_exist;
}

// Exact, at the price of Get: a filter alone cannot say yes. Only copying the value is saved.
absl::StatusOr<bool> DBImpl::Exists(const ReadOptions& options, ColumnFamily* family,
                                    std::string_view key) {
  const absl::Status status = CatchOutOfMemory([&] {
    return GetWith(
        options, family, key, [](const Found&) {}, [](std::string&&) {});
  });
  if (absl::IsNotFound(status)) return false;
  if (!status.ok()) return status;
  return true;
}

// The list reads the number itself, under its lock: see SnapshotList::Add.
const Snapshot* DBImpl::GetSnapshot() {
  const Snapshot* snapshot = nullptr;
  // Its lock may be held by a thread that the child has not.
  if (!process_.IsThisOne()) [[unlikely]]
    return nullptr;
  UnlessOutOfMemory(
      [&] { snapshot = snapshots_.Add(write_queue_.publishing().visible_sequence_source()); });
  return snapshot;
}

void DBImpl::ReleaseSnapshot(const Snapshot* snapshot) {
  if (!process_.IsThisOne()) [[unlikely]]
    return;
  snapshots_.Remove(snapshot);
  // Nearly never, so that a release takes no lock that others hold for long.
  if (!jobs_.HaveWaitedForRelease() || !IsUsable()) [[likely]]
    return;
  DatabaseLock lock(&mutex_);
  scheduler_.SignalWork();
}

}  // namespace winnow
