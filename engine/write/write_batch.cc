// A batch is kept in the form in which the log stores it (FORMAT.md, "Batches"), so that a leader
// copies bytes and encodes nothing. The sequence number in the header stays 0: it is given out when
// the batch is written, and a batch may be written more than once.
#include "winnow/write_batch.h"

#include <algorithm>

#include "engine/base/status.h"
#include "engine/base/write_time.h"
#include "engine/write/batch_format.h"
#include "winnow/db.h"

namespace winnow {

namespace {

absl::Status Call(WriteBatch::Handler& handler, const BatchUpdate& update) {
  switch (update.type) {
    case EntryType::kPut:
      return handler.Put(update.family_id, update.key, update.value);
    case EntryType::kPutWithTime:
      return handler.Put(update.family_id, update.key, WithoutWriteTime(update.value));
    case EntryType::kMerge:
      return handler.Merge(update.family_id, update.key, update.value);
    case EntryType::kRangeDelete:
      return handler.DeleteRange(update.family_id, update.key, update.value);
    default:
      return handler.Delete(update.family_id, update.key);
  }
}

}  // namespace

WriteBatch::WriteBatch() { Clear(); }

void WriteBatch::Clear() {
  encoded_.assign(kBatchHeaderBytes, '\0');
  largest_key_bytes_ = 0;
  largest_value_bytes_ = 0;
  is_plain_ = true;
  family_id_ = 0;
  database_number_ = 0;
}

// Handles say whose they are, ids do not: without this a family of another database would stand for
// the one that has its id here.
void WriteBatch::BindTo(uint64_t database_number) {
  if (database_number == database_number_) return;
  database_number_ = database_number_ == 0 ? database_number : kNoDatabase;
}

uint32_t WriteBatch::IdOf(const ColumnFamily* family) {
  if (encoded_.size() < kBatchHeaderBytes) Clear();
  if (family == nullptr) {
    BindTo(kNoDatabase);
    return 0;
  }
  if (family->database_number_ != 0) BindTo(family->database_number_);
  return family->id();
}

// A batch that was moved from has no header; it counts as empty and may be filled again.
uint32_t WriteBatch::num_updates() const {
  return encoded_.size() < kBatchHeaderBytes ? 0 : DecodeFixed32(encoded_.data() + 8);
}

// Before it is counted.
void WriteBatch::NoteFamily(uint32_t family_id) {
  if (family_id == family_id_) return;
  is_plain_ = is_plain_ && num_updates() == 0;
  family_id_ = family_id;
}

// The largest key and value are kept as updates arrive, so that DB::Write checks their limits
// without walking the batch. The leader walks no plain batch either: its form is right by
// construction, and it has one family to look for.
void WriteBatch::AppendUpdate(uint8_t type, uint32_t family_id, std::string_view key,
                              const std::string_view* value, std::string_view rest) {
  if (encoded_.size() < kBatchHeaderBytes) Clear();
  // All memory first: a caller that goes on after std::bad_alloc has the batch as it was.
  const size_t value_bytes = value == nullptr ? 0 : value->size() + rest.size();
  const size_t needed = encoded_.size() + 1 + 3 * kMaxVarint64Bytes + key.size() + value_bytes;
  if (needed > encoded_.capacity()) encoded_.reserve(std::max(needed, 2 * encoded_.capacity()));
  NoteFamily(family_id);
  EncodeFixed32(encoded_.data() + 8, num_updates() + 1);
  // The id of the default family is left out: who has no other pays no byte for them.
  char header[1 + 2 * kMaxVarint64Bytes];
  char* end = header;
  *end++ = static_cast<char>(family_id == 0 ? type : type | kBatchFamilyFlag);
  if (family_id != 0) end = EncodeVarint32(end, family_id);
  end = EncodeVarint64(end, key.size());
  encoded_.append(header, end).append(key);
  largest_key_bytes_ = std::max(largest_key_bytes_, key.size());
  if (value != nullptr) {
    PutVarint64(&encoded_, value_bytes);
    encoded_.append(*value).append(rest);
    largest_value_bytes_ = std::max(largest_value_bytes_, value_bytes);
  }
}

void WriteBatch::Put(std::string_view key, std::string_view value) {
  AppendUpdate(static_cast<uint8_t>(EntryType::kPut), 0, key, &value);
}
void WriteBatch::Put(const ColumnFamily* family, std::string_view key, std::string_view value) {
  AppendUpdate(static_cast<uint8_t>(EntryType::kPut), IdOf(family), key, &value);
}
void WriteBatch::Delete(std::string_view key) {
  AppendUpdate(static_cast<uint8_t>(EntryType::kDelete), 0, key, nullptr);
}
void WriteBatch::Delete(const ColumnFamily* family, std::string_view key) {
  AppendUpdate(static_cast<uint8_t>(EntryType::kDelete), IdOf(family), key, nullptr);
}

// Not plain: whether the family has an operator, and that takes the operand, the leader finds out.
void WriteBatch::Merge(std::string_view key, std::string_view operand) {
  AppendUpdate(static_cast<uint8_t>(EntryType::kMerge), 0, key, &operand);
  is_plain_ = false;
}
void WriteBatch::Merge(const ColumnFamily* family, std::string_view key, std::string_view operand) {
  AppendUpdate(static_cast<uint8_t>(EntryType::kMerge), IdOf(family), key, &operand);
  is_plain_ = false;
}

absl::Status WriteBatch::Handler::Merge(uint32_t column_family_id, std::string_view key,
                                        std::string_view operand) {
  return absl::FailedPreconditionError("the handler of the write batch takes no merge operands");
}

void WriteBatch::DeleteRange(std::string_view begin, std::string_view end) {
  AppendRangeDeletion(0, begin, end);
}
void WriteBatch::DeleteRange(const ColumnFamily* family, std::string_view begin,
                             std::string_view end) {
  AppendRangeDeletion(IdOf(family), begin, end);
}

// Both ends are keys, with a key's limit.
void WriteBatch::AppendRangeDeletion(uint32_t family_id, std::string_view begin,
                                     std::string_view end) {
  // AppendUpdate takes the end for a value, with a value's limit.
  const size_t largest_value_bytes = largest_value_bytes_;
  AppendUpdate(static_cast<uint8_t>(EntryType::kRangeDelete), family_id, begin, &end);
  largest_value_bytes_ = largest_value_bytes;
  largest_key_bytes_ = std::max(largest_key_bytes_, end.size());
  is_plain_ = false;
}

WriteBatchMark WriteBatchAccess::MarkOf(const WriteBatch& batch) {
  WriteBatchMark mark;
  mark.encoded_bytes = std::max(batch.encoded_.size(), kBatchHeaderBytes);
  mark.num_updates = batch.num_updates();
  mark.largest_key_bytes = batch.largest_key_bytes_;
  mark.largest_value_bytes = batch.largest_value_bytes_;
  mark.is_plain = batch.is_plain_;
  mark.family_id = batch.family_id_;
  mark.database_number = batch.database_number_;
  return mark;
}

void WriteBatchAccess::CutBackTo(const WriteBatchMark& mark, WriteBatch* batch) {
  // Nothing has come since, or the batch was moved from and has less than a header.
  if (batch->encoded_.size() <= mark.encoded_bytes) return;
  batch->encoded_.resize(mark.encoded_bytes);
  EncodeFixed32(batch->encoded_.data() + 8, mark.num_updates);
  batch->largest_key_bytes_ = mark.largest_key_bytes;
  batch->largest_value_bytes_ = mark.largest_value_bytes;
  batch->is_plain_ = mark.is_plain;
  batch->family_id_ = mark.family_id;
  batch->database_number_ = mark.database_number;
}

void WriteBatch::Append(const WriteBatch& other) {
  if (other.encoded_.size() < kBatchHeaderBytes) return;
  if (encoded_.size() < kBatchHeaderBytes) Clear();
  const uint32_t total = num_updates() + other.num_updates();
  const std::string copy = &other == this ? encoded_ : std::string();
  const std::string& source = &other == this ? copy : other.encoded_;
  encoded_.append(source, kBatchHeaderBytes, std::string::npos);
  if (other.num_updates() != 0) NoteFamily(other.family_id_);
  EncodeFixed32(encoded_.data() + 8, total);
  largest_key_bytes_ = std::max(largest_key_bytes_, other.largest_key_bytes_);
  largest_value_bytes_ = std::max(largest_value_bytes_, other.largest_value_bytes_);
  is_plain_ = is_plain_ && other.is_plain_;
  if (other.database_number_ != 0) BindTo(other.database_number_);
}

// Never fails. Of bytes that are no batch the limits are taken as far as they can be read; the
// error is DB::Write's to report, which reads the same bytes again before they reach the log.
WriteBatch WriteBatch::FromEncoded(std::string_view encoded) {
  WriteBatch batch;
  // The numbers of databases are not in the bytes: families go by their ids alone.
  batch.encoded_ = encoded;
  batch.is_plain_ = false;  // unchecked: DB::Write looks at every update
  BatchReader reader(encoded);
  BatchUpdate update;
  for (bool more = true; reader.Next(&update, &more).ok() && more;) {
    batch.largest_key_bytes_ = std::max(batch.largest_key_bytes_, update.key.size());
    if (update.type == EntryType::kPutWithTime) update.value = WithoutWriteTime(update.value);
    size_t& largest = update.type == EntryType::kRangeDelete ? batch.largest_key_bytes_
                                                             : batch.largest_value_bytes_;
    largest = std::max(largest, update.value.size());
  }
  return batch;
}

absl::Status WriteBatch::ForEach(Handler& handler) const {
  BatchReader reader(encoded_);
  for (;;) {
    BatchUpdate update;
    bool more;
    if (absl::Status status = reader.Next(&update, &more); !status.ok() || !more) return status;
    WINNOW_RETURN_IF_ERROR(Call(handler, update));
  }
}

BatchReader::BatchReader(std::string_view encoded) : rest_(encoded) {
  uint64_t sequence;
  has_header_ = GetFixed64(&rest_, &sequence) && GetFixed32(&rest_, &num_updates_);
  if (has_header_) first_sequence_ = sequence;
}

// The bytes may come from a log or from a caller, and are believed in nothing: number of updates
// and length must agree, since a record that was cut at an update's end would otherwise pass as
// whole.
absl::Status BatchReader::Next(BatchUpdate* update, bool* more) {
  *more = false;
  if (!has_header_) return absl::DataLossError("write batch is shorter than its header");
  if (rest_.empty()) {
    if (seen_ == num_updates_) return absl::OkStatus();
    return absl::DataLossError("write batch holds fewer updates than its header says");
  }
  if (seen_ == num_updates_) {
    return absl::DataLossError("write batch holds more updates than its header says");
  }
  std::string_view rest = rest_;
  const auto tag = static_cast<uint8_t>(rest[0]);
  rest.remove_prefix(1);
  // FORMAT.md, "Batches": the high bit says whether a family id follows, the rest is the type.
  const uint8_t type = tag & static_cast<uint8_t>(~kBatchFamilyFlag);
  update->family_id = 0;
  update->value = {};
  // Reserved types too: replaying what is not understood would change what it means.
  update->type = static_cast<EntryType>(type);
  if (!IsKnownEntryType(update->type) && update->type != EntryType::kRangeDelete) {
    return absl::DataLossError("write batch holds an update of unknown type");
  }
  if (((tag & kBatchFamilyFlag) != 0 && !GetVarint32(&rest, &update->family_id)) ||
      !GetLengthPrefixed(&rest, &update->key) ||
      (update->type != EntryType::kDelete && !GetLengthPrefixed(&rest, &update->value))) {
    return absl::DataLossError("write batch ends in the middle of an update");
  }
  if (update->type == EntryType::kPutWithTime && !HasWriteTime(update->value)) [[unlikely]] {
    return absl::DataLossError("write batch holds a value that ends before its write time");
  }
  rest_ = rest;
  seen_++;
  *more = true;
  return absl::OkStatus();
}

}  // namespace winnow
