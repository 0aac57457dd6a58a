// What the batch says of a key is the answer; where it says nothing, or has operands alone, the
// database is asked.
#include "winnow/indexed_write_batch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/error_iterator.h"
#include "engine/base/merge_context.h"
#include "engine/base/status.h"
#include "engine/column_family/column_family_state.h"
#include "engine/sstable/pinned_value_access.h"
#include "engine/transaction/batch_index.h"
#include "engine/transaction/overlay_iterator.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

absl::Status KeyOverLimit(size_t bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("key of ", bytes, " bytes is over the limit of ", kMaxKeyBytes));
}

}  // namespace

struct IndexedWriteBatch::Rep {
  explicit Rep(DB& database)
      : db(&database),
        default_family(database.DefaultColumnFamily()),
        database_number(static_cast<ColumnFamilyState*>(default_family)->database_number()) {}

  // The family's state, once it has been found to be one of this database.
  absl::StatusOr<const ColumnFamilyState*> Check(const ColumnFamily* family) const {
    if (family == nullptr) return absl::InvalidArgumentError("the column family is null");
    // A handle lives as long as its database; its number says whose it is, before anything else of
    // it is looked at.
    const auto* state = static_cast<const ColumnFamilyState*>(family);
    if (state->database_number() != database_number) {
      return absl::InvalidArgumentError(
          absl::StrCat("column family '", ToAbsl(family->name()), "' belongs to another database"));
    }
    if (state->is_dropped()) {
      return absl::FailedPreconditionError(
          absl::StrCat("column family '", ToAbsl(family->name()), "' has been dropped"));
    }
    return state;
  }

  // What `add` appends to the batch gets its places in the index, or neither is there.
  template <typename Add>
  absl::Status Append(const ColumnFamily* family, std::string_view key, std::string_view value,
                      Add add) {
    return CatchOutOfMemory([&]() -> absl::Status {
      WINNOW_ASSIGN_OR_RETURN(const ColumnFamilyState* const state, Check(family));
      WINNOW_RETURN_IF_ERROR(CheckSizes(key, value));
      // An addition to the batch that finds no memory leaves it as it was
      // (WriteBatch::AppendUpdate).
      const WriteBatchMark mark = WriteBatchAccess::MarkOf(batch);
      WINNOW_RETURN_IF_ERROR(add(*state));
      const bool indexed = UnlessOutOfMemory([&] { index.AddSince(mark, state->comparator()); });
      if (indexed) return absl::OkStatus();
      CutBackTo(mark);
      return OutOfMemory();
    });
  }
  absl::Status CheckSizes(std::string_view key, std::string_view value) const {
    if (key.size() > kMaxKeyBytes) return KeyOverLimit(key.size());
    if (value.size() > kMaxValueBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("value of ", value.size(), " bytes is over the limit of ", kMaxValueBytes));
    }
    constexpr size_t kMostFraming = 16;  // type, family, two lengths
    // DB::Write would refuse the batch, but only when all of it is there; and the index has 32 bits
    // for an offset.
    if (batch.size_bytes() + key.size() + value.size() + kMostFraming > kMaxBatchBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the write batch would be over the limit of ", kMaxBatchBytes, " bytes"));
    }
    return absl::OkStatus();
  }
  // The index first, which finds its places by the bytes that are about to go.
  void CutBackTo(const WriteBatchMark& mark) {
    index.RemoveSince(mark);
    WriteBatchAccess::CutBackTo(mark, &batch);
  }

  // Or had some that were rolled back: then a snapshot is taken in vain, without harm.
  bool HasOperands(const ColumnFamily& family) const {
    return index.has_operands() && index.UpdatesOf(family.id()) != nullptr;
  }
  BatchIndex::KeyUpdates Collect(const ColumnFamily& family, std::string_view key) const {
    const BatchIndex::FamilyUpdates* updates = index.UpdatesOf(family.id());
    if (updates == nullptr) return {};
    return BatchIndex::Collect(*updates, key);
  }
  // The value of a key of which the batch says something: `*merged` takes it where it is not in the
  // batch. NotFound: there is none.
  absl::Status Resolve(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                       const BatchIndex::KeyUpdates& updates, std::string* merged,
                       std::string_view* value) const {
    if (updates.operands.empty()) {
      if (!updates.value) return absl::NotFoundError("");
      *value = *updates.value;
      return absl::OkStatus();
    }
    std::optional<std::string_view> existing = updates.value;
    // Operands alone: they go on top of what the database has, as of the caller's snapshot.
    std::string base;
    if (!updates.hides_base) {
      const absl::Status status = db->Get(options, family, key, &base);
      if (status.ok()) existing = base;
      if (!status.ok() && !absl::IsNotFound(status)) return status;
    }
    const auto& state = *static_cast<const ColumnFamilyState*>(family);
    WINNOW_RETURN_IF_ERROR(
        MergeOperands(state.merge_operator(), key, existing, updates.operands, merged));
    *value = *merged;
    return absl::OkStatus();
  }

  // `take` is given what the batch settles, `ask` looks into the database: what differs between
  // strings and pinned values.
  template <typename Take, typename Ask>
  absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                   Take take, Ask ask) const {
    return CatchOutOfMemory([&]() -> absl::Status {
      WINNOW_RETURN_IF_ERROR(Check(family).status());
      const BatchIndex::KeyUpdates updates = Collect(*family, key);
      if (!updates.any) return ask();
      std::string merged;
      std::string_view value;
      // `value` points into the batch or into `merged`, which both stay until it is taken.
      WINNOW_RETURN_IF_ERROR(Resolve(options, family, key, updates, &merged, &value));
      take(value);
      return absl::OkStatus();
    });
  }

  void MultiGet(const ReadOptions& options, ColumnFamily* family,
                std::span<const std::string_view> keys, std::span<PinnedValue> values,
                std::span<absl::Status> statuses);
  absl::Status TakeSavepoint(WriteBatchMark* mark);

  DB* const db;
  ColumnFamily* const default_family;
  const uint64_t database_number;
  WriteBatch batch;
  BatchIndex index{&batch};
  std::vector<WriteBatchMark> savepoints;
};

// The keys that the batch says nothing of are asked for together, all as of one moment.
void IndexedWriteBatch::Rep::MultiGet(const ReadOptions& options, ColumnFamily* family,
                                      std::span<const std::string_view> keys,
                                      std::span<PinnedValue> values,
                                      std::span<absl::Status> statuses) {
  // Operands read their key's value by themselves.
  ReadOptions at_one_moment = options;
  std::optional<SnapshotGuard> moment;
  // Without a snapshot each of those reads, and that of the other keys, would be of its own moment.
  if (options.snapshot == nullptr && HasOperands(*family)) {
    at_one_moment.snapshot = moment.emplace(*db).get();
    if (at_one_moment.snapshot == nullptr) throw std::bad_alloc();
  }
  std::vector<size_t> asked;
  for (size_t i = 0; i < keys.size(); i++) {
    const BatchIndex::KeyUpdates updates = Collect(*family, keys[i]);
    if (!updates.any) {
      asked.push_back(i);
      continue;
    }
    values[i].Reset();
    std::string merged;
    std::string_view value;
    statuses[i] = Resolve(at_one_moment, family, keys[i], updates, &merged, &value);
    if (statuses[i].ok()) PinnedValueAccess::Copy(&values[i], value);
  }
  // The common case, in which the caller's own arrays will do.
  if (asked.size() == keys.size()) {
    return db->MultiGet(at_one_moment, family, keys, values, statuses);
  }
  if (asked.empty()) return;
  std::vector<std::string_view> asked_keys;
  for (const size_t i : asked) asked_keys.push_back(keys[i]);
  // Gathered, since DB::MultiGet takes arrays without gaps.
  std::vector<PinnedValue> asked_values(asked.size());
  std::vector<absl::Status> asked_statuses(asked.size());
  db->MultiGet(at_one_moment, family, asked_keys, asked_values, asked_statuses);
  for (size_t i = 0; i < asked.size(); i++) {
    values[asked[i]] = std::move(asked_values[i]);
    statuses[asked[i]] = std::move(asked_statuses[i]);
  }
}

absl::Status IndexedWriteBatch::Rep::TakeSavepoint(WriteBatchMark* mark) {
  if (savepoints.empty()) {
    return CatchOutOfMemory([] { return absl::FailedPreconditionError("there is no savepoint"); });
  }
  *mark = savepoints.back();
  savepoints.pop_back();
  return absl::OkStatus();
}

IndexedWriteBatch::IndexedWriteBatch(DB& db) : rep_(std::make_unique<Rep>(db)) {}
IndexedWriteBatch::~IndexedWriteBatch() = default;
IndexedWriteBatch::IndexedWriteBatch(IndexedWriteBatch&&) noexcept = default;
IndexedWriteBatch& IndexedWriteBatch::operator=(IndexedWriteBatch&&) noexcept = default;

absl::Status IndexedWriteBatch::Put(ColumnFamily* family, std::string_view key,
                                    std::string_view value) {
  return rep_->Append(family, key, value, [&](const ColumnFamilyState&) {
    rep_->batch.Put(family, key, value);
    return absl::OkStatus();
  });
}

absl::Status IndexedWriteBatch::Delete(ColumnFamily* family, std::string_view key) {
  return rep_->Append(family, key, {}, [&](const ColumnFamilyState&) {
    rep_->batch.Delete(family, key);
    return absl::OkStatus();
  });
}

absl::Status IndexedWriteBatch::Merge(ColumnFamily* family, std::string_view key,
                                      std::string_view operand) {
  return rep_->Append(family, key, operand, [&](const ColumnFamilyState& state) {
    // Here, or the leader of the write would refuse the whole batch for it.
    WINNOW_RETURN_IF_ERROR(state.CheckOperand(operand));
    rep_->batch.Merge(family, key, operand);
    return absl::OkStatus();
  });
}

// Equal ends leave no trace.
absl::Status IndexedWriteBatch::DeleteRange(ColumnFamily* family, std::string_view begin,
                                            std::string_view end) {
  return rep_->Append(family, begin, end, [&](const ColumnFamilyState& state) {
    if (end.size() > kMaxKeyBytes) return KeyOverLimit(end.size());
    const int order = state.comparator().CompareUserKeys(begin, end);
    if (order > 0) return InvertedRange();
    if (order < 0) rep_->batch.DeleteRange(family, begin, end);
    return absl::OkStatus();
  });
}

absl::Status IndexedWriteBatch::Get(const ReadOptions& options, ColumnFamily* family,
                                    std::string_view key, std::string* value) {
  return rep_->Get(
      options, family, key, [&](std::string_view own) { value->assign(own); },
      [&] { return rep_->db->Get(options, family, key, value); });
}

absl::Status IndexedWriteBatch::Get(const ReadOptions& options, ColumnFamily* family,
                                    std::string_view key, PinnedValue* value) {
  return rep_->Get(
      options, family, key, [&](std::string_view own) { PinnedValueAccess::Copy(value, own); },
      [&] { return rep_->db->Get(options, family, key, value); });
}

void IndexedWriteBatch::MultiGet(const ReadOptions& options, ColumnFamily* family,
                                 std::span<const std::string_view> keys,
                                 std::span<PinnedValue> values, std::span<absl::Status> statuses) {
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    if (keys.size() != values.size() || keys.size() != statuses.size()) {
      return absl::InvalidArgumentError("MultiGet: the spans must have equal sizes");
    }
    WINNOW_RETURN_IF_ERROR(rep_->Check(family).status());
    rep_->MultiGet(options, family, keys, values, statuses);
    return absl::OkStatus();
  });
  if (status.ok()) return;
  for (PinnedValue& value : values) value.Reset();
  std::fill(statuses.begin(), statuses.end(), status);
}

std::unique_ptr<Iterator> IndexedWriteBatch::NewIterator(const ReadOptions& options,
                                                         ColumnFamily* family) {
  std::unique_ptr<Iterator> iterator;
  const bool had_memory = UnlessOutOfMemory([&] {
    const auto checked = rep_->Check(family);
    if (!checked.ok()) {
      iterator = NewErrorIterator(checked.status());
      return;
    }
    // The base has the moment of this call, or of the snapshot; the overlay that of the batch now.
    std::unique_ptr<Iterator> base = rep_->db->NewIterator(options, family);
    const BatchIndex::FamilyUpdates* const updates = rep_->index.UpdatesOf(family->id());
    iterator =
        updates == nullptr || updates->empty()
            ? std::move(base)
            : NewOverlayIterator(&rep_->index, updates, (*checked)->merge_operator(),
                                 std::move(base), {options.lower_bound, options.upper_bound});
  });
  return had_memory ? std::move(iterator) : NewOutOfMemoryIterator();
}

absl::Status IndexedWriteBatch::SetSavepoint() {
  return CatchOutOfMemory([this] {
    rep_->savepoints.push_back(WriteBatchAccess::MarkOf(rep_->batch));
    return absl::OkStatus();
  });
}

absl::Status IndexedWriteBatch::RollbackToSavepoint() {
  WriteBatchMark mark;
  WINNOW_RETURN_IF_ERROR(rep_->TakeSavepoint(&mark));
  rep_->CutBackTo(mark);
  return absl::OkStatus();
}

// The updates stay: a savepoint is nothing but a mark.
absl::Status IndexedWriteBatch::PopSavepoint() {
  WriteBatchMark mark;
  return rep_->TakeSavepoint(&mark);
}

// To an empty mark rather than a new batch: iterators learn by the index that what they showed is
// gone.
void IndexedWriteBatch::Clear() {
  rep_->savepoints.clear();
  rep_->CutBackTo(WriteBatchMark());
}

const WriteBatch& IndexedWriteBatch::batch() const { return rep_->batch; }

absl::Status IndexedWriteBatch::Put(std::string_view key, std::string_view value) {
  return Put(rep_->default_family, key, value);
}
absl::Status IndexedWriteBatch::Delete(std::string_view key) {
  return Delete(rep_->default_family, key);
}
absl::Status IndexedWriteBatch::Merge(std::string_view key, std::string_view operand) {
  return Merge(rep_->default_family, key, operand);
}
absl::Status IndexedWriteBatch::DeleteRange(std::string_view begin, std::string_view end) {
  return DeleteRange(rep_->default_family, begin, end);
}
absl::Status IndexedWriteBatch::Get(const ReadOptions& options, std::string_view key,
                                    std::string* value) {
  return Get(options, rep_->default_family, key, value);
}
absl::Status IndexedWriteBatch::Get(const ReadOptions& options, std::string_view key,
                                    PinnedValue* value) {
  return Get(options, rep_->default_family, key, value);
}
void IndexedWriteBatch::MultiGet(const ReadOptions& options, std::span<const std::string_view> keys,
                                 std::span<PinnedValue> values, std::span<absl::Status> statuses) {
  MultiGet(options, rep_->default_family, keys, values, statuses);
}

std::unique_ptr<Iterator> IndexedWriteBatch::NewIterator(const ReadOptions& options) {
  return NewIterator(options, rep_->default_family);
}

}  // namespace winnow
