// Iterators: what they walk, and what they tell of it.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error_iterator.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/db/db_iterator.h"
#include "engine/db/expiring_iterator.h"
#include "engine/version/merging_iterator.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Those that come later are too new for the iterator.
void AddTombstonesOf(const Memtable& memtable, IteratorTombstones* tombstones) {
  // Also where there are none: the tombstones of sources before this one hide entries of it.
  tombstones->BeginSource();
  const std::shared_ptr<const MemtableTombstoneRuns> runs = memtable.range_tombstones().Shared();
  if (runs == nullptr) return;
  for (size_t i = 0; i < runs->num_runs(); i++) tombstones->AddRun({&runs->run(i)}, runs);
}

// Passing so many entries takes as long as a flush: its syncs, and each entry that it writes.
constexpr uint64_t kPassedPerFlush = 100'000;
constexpr uint64_t kPassedPerEntry = 4;

// Worth a flush for what readers pass, `passed` entries now and `passed_by_all` since it was made:
// at least a quarter of it are deletions, which take what they hide here along, or as many entries
// were passed and it has range deletions to hide them. A small one would be flushed with each scan
// of a queue, and so is worth it only once readers have taken as long to pass its entries.
bool IsWorthAnEarlyFlush(const Memtable& memtable, uint64_t passed, uint64_t passed_by_all,
                         size_t write_buffer_bytes) {
  const uint64_t num_entries = memtable.num_entries();
  const uint64_t num_deletions = memtable.num_deletions();
  const uint64_t much = num_entries / 4 + 1;
  const bool hides_range = memtable.range_tombstones().Shared() != nullptr && passed >= much;
  if (num_deletions < much && !hides_range) return false;
  if (memtable.memory_bytes() >= write_buffer_bytes / 8) return true;
  // With few deletions for that, what was passed lies in files.
  const bool is_of_this = num_deletions >= passed / 4;
  return is_of_this && passed_by_all >= kPassedPerFlush + kPassedPerEntry * num_entries;
}

}  // namespace

std::unique_ptr<Iterator> DBImpl::NewIterator(const ReadOptions& options, ColumnFamily* family) {
  return NewIteratorWithin(options, family, std::nullopt);
}

std::unique_ptr<Iterator> DBImpl::NewIteratorWithin(const ReadOptions& options,
                                                    ColumnFamily* family,
                                                    const std::optional<KeyTimeBounds>& times) {
  std::unique_ptr<Iterator> iterator;
  const bool had_memory =
      UnlessOutOfMemory([&] { iterator = MakeIterator(options, family, times); });
  return had_memory ? std::move(iterator) : NewOutOfMemoryIterator();
}

std::unique_ptr<Iterator> DBImpl::MakeIterator(const ReadOptions& options, ColumnFamily* family,
                                               const std::optional<KeyTimeBounds>& times) {
  if (absl::Status status = CheckRead(options, family, ""); !status.ok()) {
    return NewErrorIterator(std::move(status));
  }
  DbIteratorOptions iterator_options;
  iterator_options.owner = this;
  iterator_options.family = family;
  iterator_options.family_id = Own(family)->id();
  iterator_options.has_user_snapshot = options.snapshot != nullptr;
  iterator_options.fill_cache = options.fill_cache;
  iterator_options.verify_checksums = options.verify_checksums;
  iterator_options.lower_bound = options.lower_bound;
  iterator_options.upper_bound = options.upper_bound;
  iterator_options.times = times;
  iterator_options.recorder = &recorder_;
  iterator_options.events = &events_;
  // On the heap, since files' iterators have its address while the options are moved.
  iterator_options.reads = std::make_unique<ReadCounters>();
  DbIteratorInput input = MakeInput(options, family, times, iterator_options.reads.get());
  auto iterator = NewDbIterator(std::move(input), std::move(iterator_options));
  if (trace_.is_on()) [[unlikely]]
    return Traced(std::move(iterator), family);
  return iterator;
}

DbIteratorInput DBImpl::MakeInput(const ReadOptions& options, ColumnFamily* family,
                                  const std::optional<KeyTimeBounds>& times, ReadCounters* reads) {
  ColumnFamilyState* own = Own(family);
  DbIteratorInput input;
  // Shared and not announced: an iterator outlives this call, may change threads, and there may be
  // many on one thread, which has one hazard slot.
  input.view = own->views.Shared();
  const ReadView* view = input.view.get();
  const ViewGuard guard(own->views);  // for what is counted until it is made
  // After the view, as everywhere. The number need not be among the snapshots: flushes and
  // compactions that drop versions make new files, and this view keeps the old ones and its
  // memtables.
  input.snapshot = SequenceFor(options);

  ThreadCounters& counters = recorder_.Local();
  LookupContext context = MakeContext(options, own->id(), FilterCall::kSeek, counters);
  // Not the calling thread's: see DbIteratorOptions.
  context.read_options.counters = reads;
  Version::IteratorRange range;
  if (options.lower_bound.has_value()) range.lower = *options.lower_bound;
  if (options.upper_bound.has_value()) range.upper = *options.upper_bound;
  range.times = times;
  const bool is_bounded = options.lower_bound.has_value() || options.upper_bound.has_value();
  // Without any bound there is no range that a filter could be asked about.
  if (is_bounded && view->version->has_range_filters()) {
    input.questions = std::make_unique<RangeQuestions>(options.lower_bound, options.upper_bound);
    range.questions = input.questions.get();
  }
  // Newest first. Order decides nothing between versions, which their sequence numbers do; it is
  // the order in which everything else here looks.
  std::vector<std::unique_ptr<InternalIterator>> children;
  // What an empty one will get comes too late for the snapshot, and a merge costs each step.
  std::optional<IteratorTombstones> tombstones;
  // After the snapshot's number was read: what comes in later is too new for it.
  if (view->has_range_deletions()) [[unlikely]] {
    input.steps_under_tombstones = std::make_unique<StepsUnderTombstones>();
    tombstones.emplace(view->comparator, input.snapshot, options.lower_bound, options.upper_bound,
                       input.steps_under_tombstones.get());
  }
  const auto add_memtable = [&](const Memtable& memtable) {
    // The filter knows of entries alone: range deletions hide what is older all the same.
    if (tombstones.has_value()) AddTombstonesOf(memtable, &*tombstones);
    const bool may_have_keys = !range.lower.has_value() || !range.upper.has_value() ||
                               memtable.MayContainRange(*range.lower, *range.upper);
    if (!may_have_keys) return;
    std::unique_ptr<InternalIterator> iterator = memtable.NewIterator();
    if (tombstones.has_value()) iterator = tombstones->Hide(std::move(iterator));
    children.push_back(std::move(iterator));
  };
  if (!view->active->empty()) add_memtable(*view->active);
  for (const auto& memtable : view->immutables) add_memtable(*memtable);
  view->version->AddIterators(range, context, tombstones.has_value() ? &*tombstones : nullptr,
                              &children);
  input.internal = NewMergingIterator(view->comparator, std::move(children));
  if (view->has_write_times()) [[unlikely]] {
    input.moment = std::make_unique<IteratorMoment>();
    input.moment->ttl = own->ttl();
    // Around the merge, so that one object resolves for all children. The moment is on the heap:
    // its address stays when the input is moved into the iterator.
    input.internal = NewExpiringIterator(std::move(input.internal), &input.moment->moment);
  }
  return input;
}

// The user's bounds and settings, on the present view and at the present number: an iterator with a
// snapshot of the user's does not come here.
absl::Status DBImpl::RenewInput(const DbIteratorOptions& options, DbIteratorInput* input) {
  ReadOptions read;
  read.fill_cache = options.fill_cache;
  read.verify_checksums = options.verify_checksums;
  read.lower_bound = options.lower_bound;
  read.upper_bound = options.upper_bound;
  WINNOW_RETURN_IF_ERROR(CheckRead(read, options.family, ""));
  *input = MakeInput(read, options.family, options.times, options.reads.get());
  return absl::OkStatus();
}

bool DBImpl::MayHaveFarMarkers(ColumnFamily* family) {
  const ViewGuard view(Own(family)->views);
  if (!view->active->empty() || !view->immutables.empty()) return true;
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : view->version->files(level)) {
      const std::optional<KeyTimes>& times = file->metadata().key_times;
      // Unknown, in one that was written where nobody knew of tables.
      if (!times.has_value() || times->far_marker_end != 0) return true;
    }
  }
  return false;
}

// The files around the key that have deletions, or versions of one key, to get rid of; and the
// memtable. Each is noted once, and goes with its compaction or flush: what readers meet makes no
// more work than that.
void DBImpl::NoteGarbage(ColumnFamily* family, const ReadView& view, std::string_view user_key,
                         uint64_t num_entries) {
  // In a forked child any lock may be held by a thread that the child has not.
  if (!process_.IsThisOne()) return;
  UnlessOutOfMemory([&] {
    events_.AddGarbage(family->name(), num_entries);
    // That of the view, which may have been retired since: NoteGarbage marks it all the same, and
    // the leader looks whether the present one is marked.
    Memtable& memtable = *view.active;
    // The iterator may be destroyed after the database was closed: then nothing is asked for.
    const bool can_work = !options_.read_only && IsUsable();
    const uint64_t passed_by_all = memtable.AddGarbagePassed(num_entries);
    if (can_work &&
        IsWorthAnEarlyFlush(memtable, num_entries, passed_by_all,
                            Own(family)->write_buffer_bytes()) &&
        memtable.NoteGarbage()) {
      leader_.WantEarlyFlush(Own(family));
    }
    bool is_new = false;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : view.version->Overlapping(level, &user_key, &user_key)) {
        is_new = file->NoteGarbage() || is_new;
      }
    }
    // Waking the threads takes the mutex: once for files, and not for each seek that passes them.
    if (!is_new || !can_work) return;
    DatabaseLock lock(&mutex_);
    scheduler_.SignalWork();
  });
}

}  // namespace winnow
