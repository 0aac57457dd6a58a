#include "engine/memtable/memtable.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "winnow/filter/hash.h"

namespace winnow {

namespace {

// Each takes an atomic operation of a write, mostly; fewer cost reads little where a filter has
// some twenty bits for each entry, as by default (memtable_filter_ratio).
constexpr int kFilterProbes = 4;

// The share of a full memtable's filter that one of this size needs.
size_t FilterBytesFor(size_t expected_bytes, const MemtableSizes& sizes) {
  if (expected_bytes >= sizes.buffer_bytes) return sizes.filter_bytes;
  const double share =
      static_cast<double>(expected_bytes) / static_cast<double>(sizes.buffer_bytes);
  return static_cast<size_t>(static_cast<double>(sizes.filter_bytes) * share);
}

// Sees entries that are inserted while it moves, in their places; those with sequence numbers above
// the reader's snapshot are skipped by whoever reads through it. Entries are never removed, so that
// an entry stays valid, and its successor is looked up only when Next is called.
class MemtableIterator final : public InternalIterator {
 public:
  explicit MemtableIterator(const BTree& tree) : tree_(tree) {}

  bool Valid() const override { return entry_ != nullptr; }
  void SeekToFirst() override { entry_ = tree_.First(); }
  void SeekToLast() override { entry_ = tree_.Last(); }
  void Seek(std::string_view internal_key) override {
    entry_ = tree_.FindGreaterOrEqual(UserKey(internal_key), Trailer(internal_key));
  }
  void SeekForPrev(std::string_view internal_key) override {
    entry_ = tree_.FindLessOrEqual(UserKey(internal_key), Trailer(internal_key));
  }
  // What the caller does with one entry hides the time that the next takes to arrive.
  void Next() override {
    entry_ = BTree::Next(entry_);
    if (entry_ != nullptr) BTree::PrefetchNext(entry_);
  }
  void Prev() override {
    const std::string_view key = entry_->internal_key();
    // The list is linked forwards only: a step back is a search from the top.
    entry_ = tree_.FindLess(UserKey(key), Trailer(key));
  }
  std::string_view key() const override { return entry_->internal_key(); }
  std::string_view value() const override { return entry_->value(); }
  absl::Status status() const override { return absl::OkStatus(); }

 private:
  const BTree& tree_;
  const BTree::Entry* entry_ = nullptr;
};

}  // namespace

// tree_ keeps a pointer to arena_, which is declared before it and so destroyed after it.
Memtable::Memtable(const InternalKeyComparator& comparator, const MemtableSizes& sizes,
                   std::shared_ptr<WriteBufferBudget> budget, const MemtableFilterKey& filter_key)
    : comparator_(comparator),
      sizes_(sizes),
      filter_key_(filter_key),
      has_whole_keys_(!filter_key.extractor.lookup_part().is_components()),
      budget_(budget != nullptr ? std::move(budget) : std::make_shared<WriteBufferBudget>()),
      arena_(sizes.buffer_bytes, budget_.get()),
      tree_(comparator_, &arena_) {
  budget_->Begin();
}

Memtable::~Memtable() {
  budget_->Free(memory_bytes(), stage_);
  delete filter_.load(std::memory_order_relaxed);
}

// Of several first entries at once one's filter is taken, before any of them is added to it. Many
// memtables under one budget will be flushed long before they are full, and their filters are for
// what they will hold.
filter::ConcurrentBlockedBloom* Memtable::FilterForAdd() {
  filter::ConcurrentBlockedBloom* present = filter_.load(std::memory_order_acquire);
  if (present != nullptr || sizes_.filter_bytes == 0) return present;
  const size_t expected_bytes = std::max(budget_->ShareOfOne(), sizes_.previous_bytes);
  auto fresh = std::make_unique<filter::ConcurrentBlockedBloom>(
      FilterBytesFor(expected_bytes, sizes_), kFilterProbes);
  const size_t bytes = fresh->memory_bytes();
  // Counted by the one whose filter is taken: memory_bytes() has it from now on, and as much is
  // given back in the end.
  if (filter_.compare_exchange_strong(present, fresh.get(), std::memory_order_acq_rel)) {
    budget_->Grow(bytes);
    return fresh.release();
  }
  return present;
}

// No writer is at it any more: stages change with write leadership held, or after the first has.
void Memtable::EnterStage(WriteBufferBudget::Stage stage) {
  if (stage == stage_) return;
  budget_->Move(memory_bytes(), stage_, stage);
  stage_ = stage;
}

// Keys come in no order, so that parts which the key before had are hashed again. All lines are
// fetched at once, so that the waits for them pass together.
Memtable::FilterHashes Memtable::HashForFilter(std::string_view user_key,
                                               const filter::ConcurrentBlockedBloom& filter) const {
  FilterHashes found;
  if (!filter_key_.extractor.is_whole_key()) {
    found.count = filter_key_.extractor.NewHashes(user_key, /*shared=*/0, filter_key_.hash_seed,
                                                  &found.parts);
    for (size_t i = 0; i < found.count; i++) filter.Prefetch(found.parts[i]);
  }
  if (has_whole_keys_) {
    found.whole_key = filter::HashKey(user_key, filter_key_.hash_seed);
    filter.Prefetch(found.whole_key);
  }
  return found;
}

void Memtable::AddToFilter(const FilterHashes& hashes,
                           filter::ConcurrentBlockedBloom* filter) const {
  if (has_whole_keys_) filter->Add(hashes.whole_key);
  for (size_t i = 0; i < hashes.count; i++) {
    if (!has_whole_keys_ || hashes.parts[i] != hashes.whole_key) filter->Add(hashes.parts[i]);
  }
}

// What leads a reader to the entry is its sequence number, which is published after all of this, by
// a release store: in what order things are done here is nobody's concern. The filter's lines are
// fetched before the search of the tree and written to after it, when they have long been there: an
// atomic operation waits for its line, and everything behind it waits too.
void Memtable::Add(SequenceNumber sequence, EntryType type, std::string_view user_key,
                   std::string_view value) {
  filter::ConcurrentBlockedBloom* const filter = FilterForAdd();
  const FilterHashes hashes = filter == nullptr ? FilterHashes() : HashForFilter(user_key, *filter);
  tree_.Insert(user_key, PackTrailer(sequence, type), value, [&] {
    if (filter != nullptr) AddToFilter(hashes, filter);
  });
  NoteSequence(sequence);
  if (type == EntryType::kDelete) num_deletions_.fetch_add(1, std::memory_order_relaxed);
  if (type == EntryType::kPutWithTime) [[unlikely]]
    has_write_times_.store(true, std::memory_order_relaxed);
  // Release: whoever sees the count non-zero may look.
  num_entries_.fetch_add(1, std::memory_order_release);
}

std::optional<bool> Memtable::AskRange(std::string_view lower, std::string_view upper) const {
  if (filter_key_.extractor.is_whole_key() || !has_filter()) return std::nullopt;
  const auto question = filter_key_.extractor.QuestionOfRange(lower, upper, filter_key_.hash_seed);
  if (!question.has_value()) return std::nullopt;
  return AskFilter(question->hash);
}

// In the arena as the entries are; the index over them counts in the budget by itself.
void Memtable::AddRangeDeletion(SequenceNumber sequence, std::string_view begin,
                                std::string_view end) {
  const auto copy = [this](std::string_view key) {
    char* const bytes = arena_.Allocate(key.size());
    if (!key.empty()) std::memcpy(bytes, key.data(), key.size());
    return std::string_view(bytes, key.size());
  };
  const size_t bytes = tombstones_.Add({copy(begin), copy(end), sequence});
  NoteSequence(sequence);
  tombstone_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  budget_->Grow(bytes);
  num_range_deletions_.fetch_add(1, std::memory_order_relaxed);
  num_entries_.fetch_add(1, std::memory_order_release);
}

// Versions of one key stand newest first, and a seek trailer sorts before every entry of its
// sequence number: the first entry at or after it is the newest version that the snapshot includes,
// if it has the key at all.
const BTree::Entry* Memtable::Find(std::string_view user_key, SequenceNumber snapshot) const {
  const BTree::Entry* entry =
      tree_.FindGreaterOrEqual(user_key, PackTrailer(snapshot, kEntryTypeForSeek));
  if (entry == nullptr) return nullptr;
  return comparator_.CompareUserKeys(UserKey(entry->internal_key()), user_key) == 0 ? entry
                                                                                    : nullptr;
}

std::unique_ptr<InternalIterator> Memtable::NewIterator() const {
  return std::make_unique<MemtableIterator>(tree_);
}

size_t Memtable::memory_bytes() const {
  const auto* filter = filter_.load(std::memory_order_acquire);
  return arena_.memory_bytes() + tombstone_bytes_.load(std::memory_order_relaxed) +
         (filter == nullptr ? 0 : filter->memory_bytes());
}

}  // namespace winnow
