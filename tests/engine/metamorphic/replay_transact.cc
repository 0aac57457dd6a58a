#include "tests/engine/metamorphic/replay_transact.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "winnow/indexed_write_batch.h"
#include "winnow/transaction.h"

namespace winnow::metamorphic {

namespace {

using Families = std::array<ColumnFamily*, kFamilySlots>;

ColumnFamily* FamilyAt(const Families& families, int slot) {
  return families[static_cast<size_t>(slot)];
}

// `Target` is a transaction or a batch that can be read.
template <typename Target>
absl::Status Apply(Target& target, ColumnFamily* family, const Update& update) {
  if (update.merges) return target.Merge(family, update.key, *update.value);
  if (update.value.has_value()) return target.Put(family, update.key, *update.value);
  if (update.end.has_value()) return target.DeleteRange(family, update.key, *update.end);
  return target.Delete(family, update.key);
}

template <typename Target>
absl::Status UpdateAll(Target& target, const Operation& operation, const Families& families) {
  bool has_savepoint = false;
  for (size_t i = 0; i < operation.updates.size(); i++) {
    if (i == operation.kept_updates) {
      if (absl::Status set = target.SetSavepoint(); !set.ok()) return set;
      has_savepoint = true;
    }
    ColumnFamily* const family = FamilyAt(families, operation.updates[i].family);
    if (family == nullptr) continue;
    absl::Status updated = Apply(target, family, operation.updates[i]);
    if (!updated.ok()) return updated;
  }
  return has_savepoint ? target.RollbackToSavepoint() : absl::OkStatus();
}

std::string Shown(const absl::Status& status, std::string_view value) {
  if (absl::IsNotFound(status)) return "absent; ";
  if (!status.ok()) return absl::StrCat(status.ToString(), "; ");
  return absl::StrCat(value.size(), " bytes ", absl::Hex(std::hash<std::string_view>()(value)),
                      "; ");
}

// Each key alone and all at once, which must agree; then a walk there and back.
template <typename Target>
absl::StatusOr<std::string> ReadAll(Target& target, const Operation& operation,
                                    ColumnFamily* family, ReadOptions read) {
  const std::vector<std::string_view> keys(operation.keys.begin(), operation.keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  target.MultiGet(read, family, keys, values, statuses);
  std::string line;
  for (size_t i = 0; i < keys.size(); i++) {
    std::string value;
    const absl::Status got = target.Get(read, family, keys[i], &value);
    if (!got.ok() && !absl::IsNotFound(got)) return got;
    const std::string shown = Shown(got, value);
    if (shown != Shown(statuses[i], statuses[i].ok() ? values[i].view() : "")) {
      return absl::InternalError("MultiGet and Get differ");
    }
    line += shown;
  }
  read.lower_bound = operation.lower;
  read.upper_bound = operation.upper;
  const std::unique_ptr<Iterator> iterator = target.NewIterator(read, family);
  const auto show = [&] {
    absl::StrAppend(&line, Quoted(iterator->key()), " ",
                    Shown(absl::OkStatus(), iterator->value()));
  };
  iterator->SeekToFirst();
  for (int left = 30; left > 0 && iterator->Valid(); left--, iterator->Next()) show();
  if (!iterator->Valid() && iterator->status().ok()) iterator->SeekToLast();
  for (int left = 15; left > 0 && iterator->Valid(); left--, iterator->Prev()) show();
  if (!iterator->status().ok()) return iterator->status();
  return line;
}

absl::StatusOr<std::string> AsBatch(DB& db, const Operation& operation, const Families& families,
                                    const WriteOptions& write, ColumnFamily* family,
                                    const ReadOptions& read) {
  WriteBatch batch;
  const size_t count = std::min(operation.kept_updates, operation.updates.size());
  for (const auto& update : std::span(operation.updates).first(count)) {
    ColumnFamily* const its_family = FamilyAt(families, update.family);
    if (its_family == nullptr) continue;
    if (update.merges) {
      batch.Merge(its_family, update.key, *update.value);
    } else if (update.value.has_value()) {
      batch.Put(its_family, update.key, *update.value);
    } else if (update.end.has_value()) {
      batch.DeleteRange(its_family, update.key, *update.end);
    } else {
      batch.Delete(its_family, update.key);
    }
  }
  if (absl::Status written = db.Write(write, batch); !written.ok()) return written;
  return ReadAll(db, operation, family, read);
}

absl::StatusOr<std::string> AsIndexedBatch(DB& db, const Operation& operation,
                                           const Families& families, const WriteOptions& write,
                                           ColumnFamily* family, const ReadOptions& read) {
  IndexedWriteBatch batch(db);
  if (absl::Status made = UpdateAll(batch, operation, families); !made.ok()) return made;
  auto shown = ReadAll(batch, operation, family, read);
  if (!shown.ok() || operation.rolls_back) return shown;
  if (absl::Status written = db.Write(write, batch.batch()); !written.ok()) return written;
  return shown;
}

// What is read for update is what is read; nobody else writes, so that no commit fails for it.
absl::Status ReadSomeForUpdate(Transaction& transaction, const Operation& operation,
                               ColumnFamily* family, const ReadOptions& read) {
  for (size_t i = operation.number % 2; i < operation.keys.size(); i += 2) {
    PinnedValue for_update;
    const absl::Status locked =
        transaction.GetForUpdate(read, family, operation.keys[i], &for_update);
    if (!locked.ok() && !absl::IsNotFound(locked)) return locked;
    std::string value;
    const absl::Status got = transaction.Get(read, family, operation.keys[i], &value);
    if (Shown(locked, locked.ok() ? for_update.view() : "") != Shown(got, value)) {
      return absl::InternalError("GetForUpdate and Get differ");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> AsTransaction(DB& db, const Operation& operation,
                                          TransactionOptions::Mode mode, const Families& families,
                                          const WriteOptions& write, ColumnFamily* family,
                                          const ReadOptions& read) {
  TransactionOptions options;
  options.mode = mode;
  options.snapshot_at_begin = operation.number % 2 == 0;
  const auto begun = db.BeginTransaction(options);
  if (!begun.ok()) return begun.status();
  Transaction& transaction = **begun;
  if (absl::Status made = UpdateAll(transaction, operation, families); !made.ok()) return made;
  absl::Status locked = ReadSomeForUpdate(transaction, operation, family, read);
  if (!locked.ok()) return locked;
  auto shown = ReadAll(transaction, operation, family, read);
  if (!shown.ok()) return shown;
  const absl::Status ended =
      operation.rolls_back ? transaction.Rollback() : transaction.Commit(write);
  if (!ended.ok()) return ended;
  return shown;
}

}  // namespace

absl::StatusOr<std::string> Transact(DB& db, const Operation& operation, OptionSet::Together how,
                                     const Families& families, const WriteOptions& write,
                                     const ReadOptions& read) {
  ColumnFamily* family = FamilyAt(families, operation.family);
  if (family == nullptr) family = db.DefaultColumnFamily();
  switch (how) {
    case OptionSet::Together::kBatch:
      // What is given up could not be read.
      return operation.rolls_back ? AsIndexedBatch(db, operation, families, write, family, read)
                                  : AsBatch(db, operation, families, write, family, read);
    case OptionSet::Together::kIndexedBatch:
      return AsIndexedBatch(db, operation, families, write, family, read);
    case OptionSet::Together::kOptimistic:
      return AsTransaction(db, operation, TransactionOptions::Mode::kOptimistic, families, write,
                           family, read);
    case OptionSet::Together::kPessimistic:
      return AsTransaction(db, operation, TransactionOptions::Mode::kPessimistic, families, write,
                           family, read);
  }
  return absl::InternalError("no such way to write");
}

}  // namespace winnow::metamorphic
