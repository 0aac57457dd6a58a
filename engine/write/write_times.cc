// The time is part of the value in the batch, and so of the log: replay, backups and whoever copies
// the database see the same one (FORMAT.md, "Batches").
#include "engine/write/write_times.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/base/write_time.h"
#include "engine/write/batch_format.h"

namespace winnow {

namespace {

void AppendPutWithTime(const BatchUpdate& put, uint64_t now, std::string* encoded) {
  // A put as WriteBatch::AppendUpdate writes it, with eight bytes more behind the value.
  const auto type = static_cast<uint8_t>(EntryType::kPutWithTime);
  encoded->push_back(static_cast<char>(put.family_id == 0 ? type : type | kBatchFamilyFlag));
  if (put.family_id != 0) PutVarint32(encoded, put.family_id);
  PutLengthPrefixed(encoded, put.key);
  PutVarint32(encoded, static_cast<uint32_t>(put.value.size() + kWriteTimeBytes));
  encoded->append(put.value);
  AppendWriteTime(encoded, now);
}

}  // namespace

WriteBatch WithWriteTimes(const WriteBatch& batch,
                          absl::FunctionRef<bool(uint32_t family_id)> has_ttl, uint64_t now) {
  // One byte more where a value's length takes one more. No batch has more updates than bytes.
  const size_t most_updates = std::min<size_t>(batch.num_updates(), batch.size_bytes());
  std::string encoded;
  encoded.reserve(batch.size_bytes() + most_updates * (kWriteTimeBytes + 1));
  encoded.append(batch.encoded().substr(0, kBatchHeaderBytes));
  BatchReader reader(batch.encoded());
  BatchUpdate update;
  for (bool more = true;;) {
    const std::string_view before = reader.rest();
    // The leader looks through it again, and says what is wrong (WriteLeader::CheckMembers).
    if (!reader.Next(&update, &more).ok()) return batch;
    if (!more) break;
    if (update.type == EntryType::kPut && has_ttl(update.family_id)) {
      AppendPutWithTime(update, now, &encoded);
    } else {
      // Byte for byte what the reader has just passed.
      encoded.append(before.substr(0, before.size() - reader.rest().size()));
    }
  }
  return WriteBatchAccess::WithEncoded(batch, std::move(encoded));
}

}  // namespace winnow
