// The stored form of a write batch (FORMAT.md, "Batches").
#ifndef WINNOW_ENGINE_WRITE_BATCH_FORMAT_H_
#define WINNOW_ENGINE_WRITE_BATCH_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "engine/base/coding.h"
#include "engine/base/internal_key.h"
#include "engine/memtable/memtable.h"
#include "winnow/write_batch.h"

namespace winnow {

// 8 bytes sequence number of the first update, 4 bytes number of updates.
inline constexpr size_t kBatchHeaderBytes = 12;
// In the place of a database's number: families of several, or none at all.
inline constexpr uint64_t kNoDatabase = ~uint64_t{0};

inline constexpr uint8_t kBatchFamilyFlag = 0x80;  // a column family id follows the type

// One update inside a batch; the views point into the batch's bytes. Of a range deletion they are
// the two ends; the value of a kPutWithTime ends with its write time.
struct BatchUpdate {
  EntryType type;
  uint32_t family_id;
  std::string_view key;
  std::string_view value;
};

// Walks the updates of an encoded batch. Bytes are untrusted.
class BatchReader {
 public:
  explicit BatchReader(std::string_view encoded);
  // A part of a batch: so many updates, without the header.
  BatchReader(std::string_view updates, uint32_t num_updates)
      : rest_(updates), num_updates_(num_updates), has_header_(true) {}

  // OK and *more false at the right end; DataLoss if the bytes are no batch.
  absl::Status Next(BatchUpdate* update, bool* more);
  // What the next call begins to read at.
  std::string_view rest() const { return rest_; }
  uint32_t num_updates() const { return num_updates_; }
  SequenceNumber first_sequence() const { return first_sequence_; }

 private:
  std::string_view rest_;
  uint32_t num_updates_ = 0;
  uint32_t seen_ = 0;
  SequenceNumber first_sequence_ = 0;
  bool has_header_ = false;
};

inline absl::Status InvertedRange() {
  return absl::InvalidArgumentError("range deletion: its end comes before its begin");
}

// A range deletion that deletes nothing.
inline bool IsEmptyRange(const BatchUpdate& update, const InternalKeyComparator& comparator) {
  return update.type == EntryType::kRangeDelete &&
         comparator.CompareUserKeys(update.key, update.value) >= 0;
}

// Puts an update where readers will find it. A range that is empty leaves no trace.
inline void InsertUpdate(const BatchUpdate& update, SequenceNumber sequence, Memtable* memtable) {
  if (update.type == EntryType::kRangeDelete) [[unlikely]] {
    if (IsEmptyRange(update, memtable->comparator())) return;
    memtable->AddRangeDeletion(sequence, update.key, update.value);
    return;
  }
  memtable->Add(sequence, update.type, update.key, update.value);
}
// How far a batch has come: CutBackTo undoes what was added since.
struct WriteBatchMark {
  size_t encoded_bytes = kBatchHeaderBytes;
  uint32_t num_updates = 0;
  size_t largest_key_bytes = 0;
  size_t largest_value_bytes = 0;
  bool is_plain = true;
  uint32_t family_id = 0;
  uint64_t database_number = 0;
};

// What the store may ask of a batch beyond its public face.
class WriteBatchAccess {
 public:
  static WriteBatchMark MarkOf(const WriteBatch& batch);
  // `mark` was taken of this batch, which has only grown since. Takes no memory.
  static void CutBackTo(const WriteBatchMark& mark, WriteBatch* batch);
  static size_t largest_key_bytes(const WriteBatch& batch) { return batch.largest_key_bytes_; }
  static size_t largest_value_bytes(const WriteBatch& batch) { return batch.largest_value_bytes_; }
  // True if all updates were added through the public functions, and put or delete keys of a single
  // family: of a merge's operand and a range's ends only the family can say whether they will do.
  static bool is_plain(const WriteBatch& batch) { return batch.is_plain_; }
  // Of a plain batch; 0 if it has no update.
  static uint32_t family_id(const WriteBatch& batch) { return batch.family_id_; }
  // `batch` with other bytes for the same updates.
  static WriteBatch WithEncoded(const WriteBatch& batch, std::string encoded) {
    WriteBatch other;
    other.encoded_ = std::move(encoded);
    other.largest_key_bytes_ = batch.largest_key_bytes_;
    other.largest_value_bytes_ = batch.largest_value_bytes_;
    other.is_plain_ = batch.is_plain_;
    other.family_id_ = batch.family_id_;
    other.database_number_ = batch.database_number_;
    return other;
  }
  // Adds a value whose two parts stand apart.
  static void PutInParts(WriteBatch* batch, const ColumnFamily* family, std::string_view key,
                         std::string_view value, std::string_view rest) {
    batch->AppendUpdate(static_cast<uint8_t>(EntryType::kPut), batch->IdOf(family), key, &value,
                        rest);
  }
  // Adds a value that was written before, with its write time.
  static void PutWithTime(WriteBatch* batch, const ColumnFamily* family, std::string_view key,
                          std::string_view stored_value) {
    batch->AppendUpdate(static_cast<uint8_t>(EntryType::kPutWithTime), batch->IdOf(family), key,
                        &stored_value);
  }
  // True unless a family was given that is null or not of this database.
  static bool may_go_to(const WriteBatch& batch, uint64_t database_number) {
    return batch.database_number_ == 0 || batch.database_number_ == database_number;
  }
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_WRITE_BATCH_FORMAT_H_
