// Get, MultiGet, MayExist, Exists, iterators, snapshots, Explain.
//
// View before sequence number, in every call here. Whatever is in the tables of a view was visible
// before the view was installed: a memtable is retired between groups, all of whose entries are
// published by then. So a sequence number that is read after the view includes everything in its
// tables. The other way round, a flush in between could have dropped the version that the older
// number sees, because a newer one hides it and no snapshot asks for it, and the key would seem
// absent.
#include <algorithm>
#include <numeric>

#include "engine/base/error_iterator.h"
#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/db/db_iterator.h"
#include "engine/db/merge_reads.h"
#include "engine/sstable/pinned_value_access.h"
#include "engine/version/merging_iterator.h"

namespace winnow {

namespace {

// Looks through the memtables, newest first; null if none knows the key. The first hit is the
// answer, value or deletion: everything further on is older.
const BTree::Entry* FindInMemtables(const ReadView& view, const LookupKey& key) {
  // Spares hashing the whole key where the tables' filters hash only a part of it.
  const bool nothing = view.immutables.empty() && view.active->empty();
  if (nothing) return nullptr;
  // Of the whole key, whatever the tables' filters are made of: see Memtable.
  const uint64_t hash = view.WholeKeyHash(key);
  const auto find = [&](const Memtable& memtable) -> const BTree::Entry* {
    if (memtable.empty() || !memtable.MayContain(hash)) return nullptr;
    return memtable.Find(key.user_key, key.snapshot);
  };
  if (const BTree::Entry* node = find(*view.active)) return node;
  for (const auto& memtable : view.immutables) {
    if (const BTree::Entry* node = find(*memtable)) return node;
  }
  return nullptr;
}

absl::Status KeyTooLong(std::string_view key) {
  return absl::InvalidArgumentError(
      absl::StrCat("key of ", key.size(), " bytes is over the limit of ", kMaxKeyBytes));
}

// Not taken for a value and not for a deletion: either would be a wrong answer without an error.
absl::Status UnknownType() {
  return absl::DataLossError("entry of unknown type: a newer version of Winnow wrote it");
}

}  // namespace

// Where a look-up ended: in a memtable (`node`), or in a table (`result`). A node's bytes live as
// long as the memtable, which the caller's view holds; a result's bytes live as long as its pin,
// with or without the view.
struct DBImpl::Found {
  const BTree::Entry* node = nullptr;
  PointResult result;
  bool value = false;    // a value is there, neither absent nor deleted
  bool operand = false;  // one has to be made of this operand, and what is older
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
    return KeyTooLong(key);
  return CheckFamily(family);
}

inline bool DBImpl::IsSurelyReadable(const ReadOptions& options, const ColumnFamily* family,
                                     std::string_view key) const {
  return IsUsable() && key.size() <= kMaxKeyBytes && family == default_family_ &&
         options.snapshot == nullptr;
}

// Only after the check for a closed database, whose snapshots are gone.
absl::Status DBImpl::CheckSnapshot(const ReadOptions& options) const {
  if (options.snapshot == nullptr || snapshots_.Has(*options.snapshot)) [[likely]] {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("the snapshot belongs to another database");
}

// Acquire, inside: entries up to this number are seen in the memtables of any view taken before.
SequenceNumber DBImpl::SequenceFor(const ReadOptions& options) const {
  return options.snapshot != nullptr
             ? static_cast<const SnapshotImpl*>(options.snapshot)->sequence()
             : write_queue_.publishing().visible_sequence();
}

// The counters are the calling thread's own; a context must not move to another thread.
inline LookupContext DBImpl::MakeContext(const ReadOptions& options, uint32_t family_id,
                                         FilterCall call, ThreadCounters& counters) {
  LookupContext context;
  context.read_options.verify_checksums = options.verify_checksums;
  context.read_options.fill_cache = options.fill_cache;
  context.read_options.counters = &counters.reads();
  context.filter_counters = &counters.Filters(family_id, call);
  context.false_positive_cache = &false_positive_cache_;
  context.false_positive_cache_hits = &counters.ticker(Ticker::kFalsePositiveCacheHits);
  return context;
}

absl::Status DBImpl::Find(const ReadOptions& options, ColumnFamilyState* family,
                          const ReadView& view, std::string_view key, ThreadCounters& counters,
                          Found* found) {
  // The view was taken before the sequence number: entries that the view lacks because it was
  // replaced in between belong to writes that ran at the same time as this call.
  const LookupKey lookup = view.MakeLookupKey(key, SequenceFor(options));
  EntryType type;
  found->node = FindInMemtables(view, lookup);
  if (found->node != nullptr) {
    counters.Add(Ticker::kMemtableHits);
    type = Type(found->node->internal_key());
  } else {
    const LookupContext context = MakeContext(options, family->id(), FilterCall::kGet, counters);
    WINNOW_RETURN_IF_ERROR(view.version->Get(lookup, context, &found->result));
    if (!found->result.found) return absl::OkStatus();
    type = found->result.type;
  }
  found->value = type == EntryType::kPut;
  if (found->value) [[likely]]
    return absl::OkStatus();
  if (static_cast<uint8_t>(type) > kMaxKnownEntryType) return UnknownType();
  found->operand = type == EntryType::kMerge;
  return absl::OkStatus();
}

// What differs between the calls is only what becomes of the value; `take` runs while the view is
// still pinned, so that bytes in a memtable may be read in it.
template <typename Take, typename TakeMerged>
absl::Status DBImpl::GetWith(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                             Take take, TakeMerged take_merged) {
  // Most calls are of the default family and without a snapshot, which takes no call to know.
  if (!IsSurelyReadable(options, family, key)) [[unlikely]]
    WINNOW_RETURN_IF_ERROR(CheckRead(options, family, key));
  ColumnFamilyState* own = Own(family);
  ThreadCounters& counters = recorder_.Local();
  SampledTimer timer(counters, LatencyHistogram::kGet);
  counters.Add(Ticker::kGets);
  const ViewGuard view(own->views);
  Found found;
  // An error ends the look-up, though an older file might have the key: what cannot be read may
  // hold a newer version or its deletion.
  if (absl::Status status = Find(options, own, *view, key, counters, &found); !status.ok()) {
    events_.AddIfCorruption(status);
    return status;
  }
  if (!found.value) [[unlikely]] {
    if (!found.operand) return absl::NotFoundError("");  // no message: no allocation
    std::string merged;
    WINNOW_RETURN_IF_ERROR(FinishMerge(options, *own, *view, key, counters, found, &merged));
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
                                                   ThreadCounters& counters, const Found& found,
                                                   std::string* value) {
  const bool in_tables = found.node == nullptr;
  const SequenceNumber newest =
      in_tables ? found.result.sequence : Sequence(found.node->internal_key());
  const LookupContext context = MakeContext(options, family.id(), FilterCall::kGet, counters);
  absl::Status status = ReadMergedValue(view, view.MakeLookupKey(key, newest), context, in_tables,
                                        counters, value);
  events_.AddIfCorruption(status);
  return status;
}

absl::Status DBImpl::Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                         std::string* value) {
  return CatchOutOfMemory([&] {
    const auto take = [&](const Found& found) {
      value->assign(found.node != nullptr ? found.node->value() : found.result.value);
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
        PinnedValueAccess::Copy(value, found.node->value());
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
  ColumnFamilyState* own = Own(family);
  const ViewGuard view(own->views);
  const SequenceNumber snapshot = SequenceFor(options);
  const LookupContext context = MakeContext(options, own->id(), FilterCall::kMultiGet, counters);

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
  std::vector<const BTree::Entry*> nodes(keys.size(), nullptr);
  // What the memtables know is done before the tables are looked at, which skip what is done.
  for (size_t i = 0; i < order.size(); i++) {
    const std::string_view key = keys[order[i]];
    if (key.size() > kMaxKeyBytes) [[unlikely]] {
      batch[i].status = KeyTooLong(key);
      batch[i].done = true;
      continue;
    }
    batch[i].key = view->MakeLookupKey(key, snapshot);
    nodes[i] = FindInMemtables(*view, batch[i].key);
    batch[i].done = nodes[i] != nullptr;
  }
  view->version->MultiGet(batch, context);
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
    const bool known = nodes[i] != nullptr || lookup.result.found;
    const EntryType type =
        nodes[i] != nullptr ? Type(nodes[i]->internal_key()) : lookup.result.type;
    if (!known || type == EntryType::kDelete) {
      status = absl::NotFoundError("");
    } else if (type == EntryType::kMerge) {
      status = CatchOutOfMemory([&] {
        Found found;
        found.node = nodes[i];
        found.result.sequence = lookup.result.sequence;
        std::string merged;
        WINNOW_RETURN_IF_ERROR(
            FinishMerge(options, *own, *view, lookup.key.user_key, counters, found, &merged));
        PinnedValueAccess::Take(&value, std::move(merged));
        return absl::OkStatus();
      });
    } else if (type != EntryType::kPut) {
      status = UnknownType();
    } else if (nodes[i] != nullptr) {
      status = CatchOutOfMemory([&] {
        PinnedValueAccess::Copy(&value, nodes[i]->value());
        return absl::OkStatus();
      });
    } else {
      status = CatchOutOfMemory([&] {
        PinnedValueAccess::PinResult(&value, &lookup.result);
        return absl::OkStatus();
      });
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
    if (const BTree::Entry* node = FindInMemtables(*view, lookup)) {
      may_exist = Type(node->internal_key()) != EntryType::kDelete;
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
    return GetWith(options, family, key, [](const Found&) {}, [](std::string&&) {});
  });
  if (absl::IsNotFound(status)) return false;
  if (!status.ok()) return status;
  return true;
}

std::unique_ptr<Iterator> DBImpl::NewIterator(const ReadOptions& options, ColumnFamily* family) {
  std::unique_ptr<Iterator> iterator;
  const bool had_memory = UnlessOutOfMemory([&] { iterator = MakeIterator(options, family); });
  return had_memory ? std::move(iterator) : NewOutOfMemoryIterator();
}

std::unique_ptr<Iterator> DBImpl::MakeIterator(const ReadOptions& options, ColumnFamily* family) {
  if (absl::Status status = CheckRead(options, family, ""); !status.ok()) {
    return NewErrorIterator(std::move(status));
  }
  ColumnFamilyState* own = Own(family);
  // Shared and not announced: an iterator outlives this call, may change threads, and there may be
  // many on one thread, which has one hazard slot.
  std::shared_ptr<const ReadView> view = own->views.Shared();
  DbIteratorOptions iterator_options;
  // After the view, as everywhere. The number need not be among the snapshots: flushes and
  // compactions that drop versions make new files, and this view keeps the old ones and its
  // memtables.
  iterator_options.snapshot = SequenceFor(options);
  iterator_options.lower_bound = options.lower_bound;
  iterator_options.upper_bound = options.upper_bound;
  iterator_options.recorder = &recorder_;
  iterator_options.events = &events_;
  iterator_options.reads = std::make_unique<ReadCounters>();

  ThreadCounters& counters = recorder_.Local();
  LookupContext context = MakeContext(options, own->id(), FilterCall::kSeek, counters);
  // Not the calling thread's: see DbIteratorOptions.
  context.read_options.counters = iterator_options.reads.get();
  Version::IteratorRange range;
  if (options.lower_bound.has_value()) range.lower = *options.lower_bound;
  if (options.upper_bound.has_value()) range.upper = *options.upper_bound;
  // Newest first. Order decides nothing between versions, which their sequence numbers do; it is
  // the order in which everything else here looks.
  std::vector<std::unique_ptr<InternalIterator>> children;
  // What an empty one will get comes too late for the snapshot, and a merge costs each step.
  if (!view->active->empty()) children.push_back(view->active->NewIterator());
  for (const auto& memtable : view->immutables) children.push_back(memtable->NewIterator());
  view->version->AddIterators(range, context, &children);
  auto merged = NewMergingIterator(view->comparator, std::move(children));
  return NewDbIterator(std::move(view), std::move(merged), std::move(iterator_options));
}

// The list reads the number itself, under its lock: see SnapshotList::Add.
const Snapshot* DBImpl::GetSnapshot() {
  const Snapshot* snapshot = nullptr;
  if (!process_.IsThisOne()) [[unlikely]]
    return nullptr;
  UnlessOutOfMemory(
      [&] { snapshot = snapshots_.Add(write_queue_.publishing().visible_sequence_source()); });
  return snapshot;
}

void DBImpl::ReleaseSnapshot(const Snapshot* snapshot) {
  if (process_.IsThisOne()) [[likely]]
    snapshots_.Remove(snapshot);
}

}  // namespace winnow
